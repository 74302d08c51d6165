//! `structuredClone`, by V8's own serialiser. Objects of the host (streams, blobs) cannot be cloned.

use v8::{ValueDeserializerHelper, ValueSerializerHelper};

use super::{Arguments, Return};
use crate::op_error::OpError;

/// The wire format's version is V8's; only array buffers are transferred.
struct Delegate;

fn clone_error(scope: &mut v8::PinScope<'_, '_>, message: v8::Local<v8::String>) {
    let message = message.to_rust_string_lossy(scope);
    OpError::Dom { name: "DataCloneError", message }.throw(scope);
}

impl v8::ValueSerializerImpl for Delegate {
    fn throw_data_clone_error<'s>(&self, scope: &mut v8::PinScope<'s, '_>, message: v8::Local<'s, v8::String>) {
        clone_error(scope, message);
    }
}

impl v8::ValueDeserializerImpl for Delegate {}

fn not_transferable() -> OpError {
    OpError::Dom { name: "DataCloneError", message: "the array buffer cannot be transferred".into() }
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
    let serializer = v8::ValueSerializer::new(scope, Box::new(Delegate));
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
    let mut moved = Vec::with_capacity(buffers.len());
    for buffer in &buffers {
        let store = buffer.get_backing_store();
        buffer.detach(None);
        moved.push(v8::ArrayBuffer::with_backing_store(scope, &store));
    }
    let deserializer = v8::ValueDeserializer::new(scope, Box::new(Delegate), &bytes);
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
