//! Conversion between JavaScript's strings and buffers and Rust's. Array buffers are always V8's
//! own memory, copied in and out: V8's sandbox does not allow them over Hearth's memory.

use std::sync::Arc;

use bytes::Bytes;
use hearth_core::ByteSize;

use crate::heap::HeapGuard;
use crate::op_error::OpError;

/// A V8 string from UTF-8.
pub(crate) fn text_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    text: &str,
) -> Result<v8::Local<'s, v8::String>, OpError> {
    let made = if text.is_ascii() {
        v8::String::new_from_one_byte(scope, text.as_bytes(), v8::NewStringType::Normal)
    } else {
        v8::String::new(scope, text)
    };
    made.ok_or_else(|| OpError::Range("the string is too long".into()))
}

/// A V8 string of bytes as Latin-1 (header values).
pub(crate) fn header_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
) -> Result<v8::Local<'s, v8::String>, OpError> {
    v8::String::new_from_one_byte(scope, bytes, v8::NewStringType::Normal)
        .ok_or_else(|| OpError::Range("the string is too long".into()))
}

/// The string as UTF-8, lone surrogates replaced.
pub(crate) fn string_bytes(scope: &mut v8::PinScope<'_, '_>, text: v8::Local<v8::String>) -> Vec<u8> {
    let length = text.length();
    if text.is_onebyte() {
        let mut bytes: Vec<u8> = Vec::with_capacity(length);
        text.write_one_byte_uninit_v2(scope, 0, &mut bytes.spare_capacity_mut()[..length], v8::WriteFlags::empty());
        // SAFETY: the call above wrote all `length` units of the string, which fit the capacity.
        unsafe { bytes.set_len(length) };
        if bytes.is_ascii() {
            return bytes;
        }
    }
    let length = text.utf8_length(scope);
    let mut bytes: Vec<u8> = Vec::with_capacity(length);
    let written = text.write_utf8_uninit_v2(
        scope,
        &mut bytes.spare_capacity_mut()[..length],
        v8::WriteFlags::kReplaceInvalidUtf8,
        None,
    );
    // SAFETY: V8 says that it initialised `written` bytes, which is at most the capacity.
    unsafe { bytes.set_len(written) };
    bytes
}

/// The argument as V8's string; the JavaScript side has converted it to one already.
pub(crate) fn text_of<'s>(value: v8::Local<'s, v8::Value>) -> Result<v8::Local<'s, v8::String>, OpError> {
    value.try_into().map_err(|_| OpError::type_error("internal: a string was expected"))
}

/// The bytes of a string whose units are all bytes.
pub(crate) fn byte_string(scope: &mut v8::PinScope<'_, '_>, text: v8::Local<v8::String>) -> Vec<u8> {
    let mut bytes = vec![0; text.length()];
    text.write_one_byte_v2(scope, 0, &mut bytes, v8::WriteFlags::empty());
    bytes
}

/// The argument as a Rust string.
pub(crate) fn string_of(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<v8::Value>) -> Result<String, OpError> {
    let text = text_of(value)?;
    let bytes = string_bytes(scope, text);
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// A fresh Uint8Array with these bytes.
pub(crate) fn bytes_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
) -> Result<v8::Local<'s, v8::Uint8Array>, OpError> {
    let buffer = buffer_value(scope, bytes);
    v8::Uint8Array::new(scope, buffer, 0, bytes.len()).ok_or_else(|| OpError::Range("the buffer is too long".into()))
}

/// A fresh ArrayBuffer with these bytes.
pub(crate) fn buffer_value<'s>(scope: &mut v8::PinScope<'s, '_>, bytes: &[u8]) -> v8::Local<'s, v8::ArrayBuffer> {
    let buffer = v8::ArrayBuffer::new(scope, bytes.len());
    if let Some(data) = buffer.data() {
        // SAFETY: the buffer was made just above with this length, and no JavaScript has run since.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.as_ptr().cast::<u8>(), bytes.len()) };
    }
    buffer
}

/// Calls `f` with the bytes of a view or an array buffer. `f` must not run JavaScript.
pub(crate) fn with_bytes<R>(value: v8::Local<v8::Value>, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, OpError> {
    let (data, length) = if let Ok(view) = v8::Local::<v8::ArrayBufferView>::try_from(value) {
        (view.data().cast::<u8>(), view.byte_length())
    } else if let Ok(buffer) = v8::Local::<v8::ArrayBuffer>::try_from(value) {
        (buffer.data().map_or(std::ptr::null_mut(), |data| data.as_ptr().cast()), buffer.byte_length())
    } else {
        return Err(OpError::type_error("internal: bytes were expected"));
    };
    if data.is_null() || length == 0 {
        return Ok(f(&mut []));
    }
    // SAFETY: V8 says that `length` bytes lie at `data`, and keeps them while the handle lives. No
    // JavaScript runs in `f` to detach or resize them, and the isolate is this thread's, so no
    // other thread writes to them (no shared buffers exist).
    Ok(f(unsafe { std::slice::from_raw_parts_mut(data, length) }))
}

/// A copy of a view's or an array buffer's bytes.
pub(crate) fn bytes_of(value: v8::Local<v8::Value>) -> Result<Bytes, OpError> {
    with_bytes(value, |bytes| Bytes::copy_from_slice(bytes))
}

/// The argument as a number that is an id.
pub(crate) fn id_of(value: v8::Local<v8::Value>) -> Result<u64, OpError> {
    let number: v8::Local<v8::Number> =
        value.try_into().map_err(|_| OpError::type_error("internal: an id was expected"))?;
    Ok(number.value() as u64)
}

/// Text of this many units and more is measured before it is copied out of V8's heap. A text may be far longer than what
/// V8 holds for it: it keeps repetitions and joined texts as trees.
const LONG_TEXT: usize = 1 << 20;

/// Refuses to copy a text that takes more bytes than the app's memory limit.
pub(crate) fn check_text(
    isolate: &v8::Isolate,
    text: v8::Local<v8::String>,
    bytes_per_unit: usize,
) -> Result<(), OpError> {
    if text.length() < LONG_TEXT {
        return Ok(());
    }
    let limit = isolate.get_slot::<Arc<HeapGuard>>().map_or(0, |heap| heap.limit().bytes());
    if limit > 0 && (text.length() as u64).saturating_mul(bytes_per_unit as u64) > limit {
        return Err(OpError::Range(format!(
            "the text has {} units, which take more than the app's memory limit of {}: raise it with `memory`",
            text.length(),
            ByteSize(limit)
        )));
    }
    Ok(())
}

/// [name, value, ...] from an array of strings.
pub(crate) fn strings_of(
    scope: &mut v8::PinScope<'_, '_>,
    value: v8::Local<v8::Value>,
) -> Result<Vec<String>, OpError> {
    let array: v8::Local<v8::Array> =
        value.try_into().map_err(|_| OpError::type_error("internal: an array was expected"))?;
    let mut strings = Vec::new();
    for index in 0..array.length() {
        let item = array.get_index(scope, index).ok_or(OpError::Pending)?;
        strings.push(string_of(scope, item)?);
    }
    Ok(strings)
}
