//! Node's `v8`: values as bytes by V8's own serialiser, and the numbers of its heap.
//!
//! Views of array buffers are written as Node does, as host objects with their own bytes alone: V8 itself would write the
//! whole buffer that a view is of, which for a small Buffer is the pool that many share.

use v8::{ValueDeserializerHelper, ValueSerializerHelper};

use super::convert::{buffer_value, bytes_of, with_bytes};
use super::{Arguments, Return};
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// The number of a Buffer among Node's kinds of views.
const NODE_BUFFER: u32 = 10;

type Test = fn(&v8::Value) -> bool;

/// Node's numbers of the other kinds are their places.
const KINDS: [Test; 10] = [
    v8::Value::is_int8_array,
    v8::Value::is_uint8_array,
    v8::Value::is_uint8_clamped_array,
    v8::Value::is_int16_array,
    v8::Value::is_uint16_array,
    v8::Value::is_int32_array,
    v8::Value::is_uint32_array,
    v8::Value::is_float32_array,
    v8::Value::is_float64_array,
    v8::Value::is_data_view,
];
/// Numbers that came later than that of the Buffer.
const LATER: [(Test, u32); 3] =
    [(v8::Value::is_big_int64_array, 11), (v8::Value::is_big_uint64_array, 12), (v8::Value::is_float16_array, 13)];

fn clone_error(scope: &mut v8::PinScope<'_, '_>, message: String) {
    OpError::Dom { name: "DataCloneError", message }.throw(scope);
}

struct Writer;

impl v8::ValueSerializerImpl for Writer {
    fn throw_data_clone_error<'s>(&self, scope: &mut v8::PinScope<'s, '_>, message: v8::Local<'s, v8::String>) {
        let message = message.to_rust_string_lossy(scope);
        clone_error(scope, message);
    }

    fn write_host_object<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        object: v8::Local<'s, v8::Object>,
        serializer: &dyn ValueSerializerHelper,
    ) -> Option<bool> {
        let value: v8::Local<v8::Value> = object.into();
        let plain = KINDS.iter().position(|test| test(&value)).map(|kind| kind as u32);
        let later = || LATER.iter().find(|(test, _)| test(&value)).map(|(_, kind)| *kind);
        let Some(mut kind) = plain.or_else(later) else {
            clone_error(scope, "the object could not be cloned".to_owned());
            return None;
        };
        if kind == 1 && !has_own_prototype(scope, object) {
            kind = NODE_BUFFER;
        }
        let bytes = bytes_of(value).ok()?;
        serializer.write_uint32(kind);
        serializer.write_uint32(u32::try_from(bytes.len()).ok()?);
        serializer.write_raw_bytes(&bytes);
        Some(true)
    }
}

/// Whether the prototype of a Uint8Array is that of its class.
fn has_own_prototype(scope: &mut v8::PinScope<'_, '_>, object: v8::Local<v8::Object>) -> bool {
    let buffer = v8::ArrayBuffer::new(scope, 0);
    let plain = v8::Uint8Array::new(scope, buffer, 0, 0).and_then(|array| array.get_prototype(scope));
    object.get_prototype(scope) == plain
}

struct Reader {
    buffer_prototype: v8::Global<v8::Value>,
}

impl v8::ValueDeserializerImpl for Reader {
    fn read_host_object<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        deserializer: &dyn ValueDeserializerHelper,
    ) -> Option<v8::Local<'s, v8::Object>> {
        let view = self.read_view(scope, deserializer);
        if view.is_none() {
            unreadable(scope);
        }
        view
    }

    fn get_shared_array_buffer_from_id<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        _transfer_id: u32,
    ) -> Option<v8::Local<'s, v8::SharedArrayBuffer>> {
        unreadable(scope);
        None
    }

    fn get_wasm_module_from_id<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        _clone_id: u32,
    ) -> Option<v8::Local<'s, v8::WasmModuleObject>> {
        unreadable(scope);
        None
    }
}

/// Throws V8's own kind of error: while V8 reads, it ends the process where JavaScript runs, as making a DOMException would.
fn unreadable(scope: &mut v8::PinScope<'_, '_>) {
    if let Some(message) = v8::String::new(scope, "Unable to deserialize cloned data.") {
        let error = v8::Exception::error(scope, message);
        scope.throw_exception(error);
    }
}

impl Reader {
    fn read_view<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        deserializer: &dyn ValueDeserializerHelper,
    ) -> Option<v8::Local<'s, v8::Object>> {
        let (mut kind, mut length) = (0, 0);
        if !deserializer.read_uint32(&mut kind) || !deserializer.read_uint32(&mut length) {
            return None;
        }
        let length = length as usize;
        let bytes = deserializer.read_raw_bytes(length)?;
        let buffer = buffer_value(scope, bytes);
        let units = |size: usize| length.is_multiple_of(size).then_some(length / size);
        Some(match kind {
            0 => v8::Int8Array::new(scope, buffer, 0, length)?.into(),
            1 => v8::Uint8Array::new(scope, buffer, 0, length)?.into(),
            2 => v8::Uint8ClampedArray::new(scope, buffer, 0, length)?.into(),
            3 => v8::Int16Array::new(scope, buffer, 0, units(2)?)?.into(),
            4 => v8::Uint16Array::new(scope, buffer, 0, units(2)?)?.into(),
            5 => v8::Int32Array::new(scope, buffer, 0, units(4)?)?.into(),
            6 => v8::Uint32Array::new(scope, buffer, 0, units(4)?)?.into(),
            7 => v8::Float32Array::new(scope, buffer, 0, units(4)?)?.into(),
            8 => v8::Float64Array::new(scope, buffer, 0, units(8)?)?.into(),
            9 => v8::DataView::new(scope, buffer, 0, length).into(),
            NODE_BUFFER => {
                let view: v8::Local<v8::Object> = v8::Uint8Array::new(scope, buffer, 0, length)?.into();
                let prototype = v8::Local::new(scope, &self.buffer_prototype);
                view.set_prototype(scope, prototype)?;
                view
            }
            11 => v8::BigInt64Array::new(scope, buffer, 0, units(8)?)?.into(),
            12 => v8::BigUint64Array::new(scope, buffer, 0, units(8)?)?.into(),
            _ => return None,
        })
    }
}

/// value -> ArrayBuffer
pub(super) fn op_v8_serialize<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let context = scope.get_current_context();
    let serializer = v8::ValueSerializer::new(scope, Box::new(Writer));
    serializer.set_treat_array_buffer_views_as_host_objects(true);
    serializer.write_header();
    if serializer.write_value(context, args.get(0)) != Some(true) {
        return Err(OpError::Pending);
    }
    let bytes = serializer.release();
    rv.set(buffer_value(scope, &bytes).into());
    Ok(())
}

/// (bytes, the prototype of Buffer) -> the value
pub(super) fn op_v8_deserialize<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    // A copy: getters do not run, but the bytes must stay as they are whatever V8 does.
    let bytes = with_bytes(args.get(0), |bytes| bytes.to_vec())?;
    if !args.get(1).is_object() {
        return Err(OpError::type_error("internal: a prototype was expected"));
    }
    let context = scope.get_current_context();
    let reader = Reader { buffer_prototype: v8::Global::new(scope, args.get(1)) };
    let deserializer = v8::ValueDeserializer::new(scope, Box::new(reader), &bytes);
    if deserializer.read_header(context) != Some(true) {
        return Err(OpError::Pending);
    }
    rv.set(deserializer.read_value(context).ok_or(OpError::Pending)?);
    Ok(())
}

/// The numbers of the isolate's heap, in bytes; `js/node/v8.js` has their names.
pub(super) fn op_v8_heap<'s>(
    scope: Scope<'_, 's, '_>,
    _args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let heap = scope.get_heap_statistics();
    let numbers = [
        heap.total_heap_size(),
        heap.total_heap_size_executable(),
        heap.total_physical_size(),
        heap.total_available_size(),
        heap.used_heap_size(),
        heap.heap_size_limit(),
        heap.malloced_memory(),
        heap.peak_malloced_memory(),
        heap.total_global_handles_size(),
        heap.used_global_handles_size(),
        heap.external_memory(),
    ];
    let values: Vec<v8::Local<v8::Value>> =
        numbers.iter().map(|number| v8::Number::new(scope, *number as f64).into()).collect();
    rv.set(v8::Array::new_with_elements(scope, &values).into());
    Ok(())
}
