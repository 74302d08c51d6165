//! `structuredClone`, by V8's own serialiser. JavaScript knows the platform's own objects (blobs, ports): for each object that
//! is not of the language alone it says which of a list of clones is to stand for it, and that one's index is serialised.

use std::cell::Cell;

use v8::{ValueDeserializerHelper, ValueSerializerHelper};

use super::{Arguments, Return};
use crate::op_error::OpError;

/// The wire format's version is V8's. Callbacks of V8 get scopes of their own, so handles are global.
struct Writer {
    /// `(object) => index`: -1 for what V8 is to clone; it throws for what cannot be cloned.
    find: v8::Global<v8::Function>,
    /// `Object.prototype`, whose direct heirs V8 is to clone without asking; none if all are to be asked about.
    plain: Option<v8::Global<v8::Value>>,
    /// What `find` said of the object that V8 writes next.
    found: Cell<Option<u32>>,
}

/// The clones, by the indices that `find` gave. They were taken from their array before V8 reads: while it does, it ends the
/// process where JavaScript runs, and an app may have put accessors on the prototype of arrays.
struct Reader {
    clones: Vec<v8::Global<v8::Object>>,
}

fn clone_error(scope: &mut v8::PinScope<'_, '_>, message: v8::Local<v8::String>) {
    let message = message.to_rust_string_lossy(scope);
    OpError::Dom { name: "DataCloneError", message }.throw(scope);
}

impl v8::ValueSerializerImpl for Writer {
    fn throw_data_clone_error<'s>(&self, scope: &mut v8::PinScope<'s, '_>, message: v8::Local<'s, v8::String>) {
        clone_error(scope, message);
    }

    fn has_custom_host_object(&self, _isolate: &v8::Isolate) -> bool {
        true
    }

    fn is_host_object<'s>(&self, scope: &mut v8::PinScope<'s, '_>, object: v8::Local<'s, v8::Object>) -> Option<bool> {
        if let (Some(plain), Some(prototype)) = (&self.plain, object.get_prototype(scope))
            && *plain == prototype
        {
            return Some(false);
        }
        let (find, undefined) = (v8::Local::new(scope, &self.find), v8::undefined(scope).into());
        let index = find.call(scope, undefined, &[object.into()])?;
        let index = index.uint32_value(scope).filter(|_| index.is_uint32());
        self.found.set(index);
        Some(index.is_some())
    }

    fn write_host_object<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        _object: v8::Local<'s, v8::Object>,
        writer: &dyn ValueSerializerHelper,
    ) -> Option<bool> {
        let Some(index) = self.found.take() else {
            OpError::Dom { name: "DataCloneError", message: "an object could not be cloned".into() }.throw(scope);
            return None;
        };
        writer.write_uint32(index);
        Some(true)
    }
}

impl v8::ValueDeserializerImpl for Reader {
    fn read_host_object<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        reader: &dyn ValueDeserializerHelper,
    ) -> Option<v8::Local<'s, v8::Object>> {
        let mut index = 0;
        if !reader.read_uint32(&mut index) {
            return None;
        }
        let clone = self.clones.get(usize::try_from(index).ok()?)?;
        Some(v8::Local::new(scope, clone))
    }
}

fn not_transferable() -> OpError {
    OpError::Dom { name: "DataCloneError", message: "the array buffer cannot be transferred".into() }
}

/// The array buffers that are to be transferred, each of which can be.
fn buffers_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    transfer: v8::Local<'s, v8::Array>,
) -> Result<Vec<v8::Local<'s, v8::ArrayBuffer>>, OpError> {
    let mut buffers = Vec::with_capacity(transfer.length() as usize);
    for index in 0..transfer.length() {
        let buffer = transfer.get_index(scope, index).ok_or(OpError::Pending)?;
        let buffer: v8::Local<v8::ArrayBuffer> = buffer.try_into().map_err(|_| OpError::Dom {
            name: "DataCloneError",
            message: "only array buffers can be transferred".into(),
        })?;
        if buffer.was_detached() || !buffer.is_detachable() || buffers.contains(&buffer) {
            return Err(not_transferable());
        }
        buffers.push(buffer);
    }
    Ok(buffers)
}

fn objects_of<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    list: v8::Local<'s, v8::Array>,
) -> Result<Vec<v8::Global<v8::Object>>, OpError> {
    let mut objects = Vec::new();
    for index in 0..list.length() {
        let object = list.get_index(scope, index).ok_or(OpError::Pending)?;
        let object: v8::Local<v8::Object> =
            object.try_into().map_err(|_| OpError::type_error("internal: an object was expected"))?;
        objects.push(v8::Global::new(scope, object));
    }
    Ok(objects)
}

pub(super) fn op_structured_clone<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let context = scope.get_current_context();
    let value = args.get(0);
    let transfer: v8::Local<v8::Array> =
        args.get(1).try_into().map_err(|_| OpError::type_error("internal: an array was expected"))?;
    let buffers = buffers_of(scope, transfer)?;
    let wanted = || OpError::type_error("internal: a function and an array were expected");
    let find: v8::Local<v8::Function> = args.get(2).try_into().map_err(|_| wanted())?;
    let clones: v8::Local<v8::Array> = args.get(3).try_into().map_err(|_| wanted())?;
    let plain = Some(args.get(4)).filter(|plain| plain.is_object()).map(|plain| v8::Global::new(scope, plain));
    let writer = Writer { find: v8::Global::new(scope, find), plain, found: Cell::new(None) };
    let serializer = v8::ValueSerializer::new(scope, Box::new(writer));
    serializer.write_header();
    for (index, buffer) in buffers.iter().enumerate() {
        serializer.transfer_array_buffer(index as u32, *buffer);
    }
    if serializer.write_value(context, value) != Some(true) {
        return Err(OpError::Pending);
    }
    let bytes = serializer.release();
    // Getters of the value may have bound a buffer to asm.js or detached it meanwhile; `detach`
    // would do nothing and report no error.
    if buffers.iter().any(|buffer| buffer.was_detached() || !buffer.is_detachable()) {
        return Err(not_transferable());
    }
    let reader = Reader { clones: objects_of(scope, clones)? };
    let mut moved = Vec::with_capacity(buffers.len());
    for buffer in &buffers {
        let store = buffer.get_backing_store();
        buffer.detach(None);
        moved.push(v8::ArrayBuffer::with_backing_store(scope, &store));
    }
    let deserializer = v8::ValueDeserializer::new(scope, Box::new(reader), &bytes);
    if deserializer.read_header(context) != Some(true) {
        return Err(OpError::Pending);
    }
    for (index, buffer) in moved.iter().enumerate() {
        deserializer.transfer_array_buffer(index as u32, *buffer);
    }
    let clone = deserializer.read_value(context).ok_or(OpError::Pending)?;
    rv.set(clone);
    Ok(())
}
