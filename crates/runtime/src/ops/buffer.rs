//! Node's `Buffer`: strings to bytes and back, searching, comparing, filling. All take any views and any numbers: ranges
//! are clamped to what the views hold.

use super::convert::{buffer_value, byte_string, check_text, string_bytes, text_of, with_bytes};
use super::{Arguments, Return};
use crate::op_error::OpError;

mod search;
mod text;

use text::Encoding;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

fn encoding_of(value: v8::Local<v8::Value>) -> Result<Encoding, OpError> {
    number_of(value).and_then(Encoding::from_number).ok_or_else(|| OpError::type_error("internal: no such encoding"))
}

/// A whole number from zero, too large ones clamped; nothing for what is not a number, or negative.
fn number_of(value: v8::Local<v8::Value>) -> Option<usize> {
    let number = v8::Local::<v8::Number>::try_from(value).ok()?.value();
    (number >= 0.0).then_some(number as usize)
}

fn bound(value: v8::Local<v8::Value>, most: usize) -> usize {
    number_of(value).unwrap_or(0).min(most)
}

fn too_long() -> OpError {
    OpError::Range("Cannot create a string longer than 0x1fffffe8 characters".into())
}

/// (bytes, encoding, start, end) -> the text
pub(super) fn op_buffer_to_string<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let encoding = encoding_of(args.get(1))?;
    let text = with_bytes(args.get(0), |bytes| {
        let end = bound(args.get(3), bytes.len());
        let start = bound(args.get(2), end);
        let bytes = &bytes[start..end];
        let kind = v8::NewStringType::Normal;
        if encoding.units(bytes.len()) > v8::String::MAX_LENGTH {
            return None;
        }
        match encoding {
            Encoding::Utf8 if !bytes.is_ascii() => v8::String::new_from_utf8(scope, bytes, kind),
            Encoding::Utf8 | Encoding::Latin1 => v8::String::new_from_one_byte(scope, bytes, kind),
            Encoding::Utf16 => v8::String::new_from_two_byte(scope, &text::units(bytes), kind),
            Encoding::Ascii | Encoding::Base64 | Encoding::Base64Url | Encoding::Hex => {
                v8::String::new_from_one_byte(scope, &text::encode(encoding, bytes), kind)
            }
        }
    })?;
    rv.set(text.ok_or_else(too_long)?.into());
    Ok(())
}

/// The bytes that a text is.
fn decode(scope: Scope<'_, '_, '_>, text: v8::Local<v8::String>, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf8 => string_bytes(scope, text),
        Encoding::Latin1 | Encoding::Ascii => byte_string(scope, text),
        Encoding::Utf16 => {
            let mut units = vec![0u16; text.length()];
            text.write_v2(scope, 0, &mut units, v8::WriteFlags::empty());
            units.into_iter().flat_map(u16::to_le_bytes).collect()
        }
        // Characters above 0xFF are in neither alphabet, but their low bytes may be.
        Encoding::Base64 | Encoding::Base64Url | Encoding::Hex if !text.contains_only_onebyte() => {
            let mut units = vec![0u16; text.length()];
            text.write_v2(scope, 0, &mut units, v8::WriteFlags::empty());
            let bytes: Vec<u8> = units.into_iter().map(|unit| u8::try_from(unit).unwrap_or(0)).collect();
            text::decode(encoding, bytes)
        }
        Encoding::Base64 | Encoding::Base64Url | Encoding::Hex => text::decode(encoding, byte_string(scope, text)),
    }
}

/// (text, encoding) -> ArrayBuffer
pub(super) fn op_buffer_from_string<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let (text, encoding) = (text_of(args.get(0))?, encoding_of(args.get(1))?);
    check_text(scope, text, if encoding == Encoding::Utf16 { 2 } else { 1 })?;
    let bytes = decode(scope, text, encoding);
    rv.set(buffer_value(scope, &bytes).into());
    Ok(())
}

/// (into, text, encoding, offset, length) -> how many bytes were written: whole characters only
pub(super) fn op_buffer_write<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let (text, encoding) = (text_of(args.get(1))?, encoding_of(args.get(2))?);
    check_text(scope, text, if encoding == Encoding::Utf16 { 2 } else { 1 })?;
    let isolate: &v8::Isolate = scope;
    let range = |length: usize| {
        let start = bound(args.get(3), length);
        start..start + bound(args.get(4), length - start)
    };
    let direct = with_bytes(args.get(0), |into| {
        let range = range(into.len());
        let into = &mut into[range];
        match encoding {
            Encoding::Utf8 => Some(text.write_utf8_v2(isolate, into, v8::WriteFlags::kReplaceInvalidUtf8, None)),
            Encoding::Latin1 | Encoding::Ascii => {
                let length = into.len().min(text.length());
                text.write_one_byte_v2(isolate, 0, &mut into[..length], v8::WriteFlags::empty());
                Some(length)
            }
            _ => None,
        }
    })?;
    let written = match direct {
        Some(written) => written,
        None => {
            let bytes = decode(scope, text, encoding);
            with_bytes(args.get(0), |into| {
                let range = range(into.len());
                let into = &mut into[range];
                let mut length = into.len().min(bytes.len());
                if encoding == Encoding::Utf16 {
                    length &= !1;
                }
                into[..length].copy_from_slice(&bytes[..length]);
                length
            })?
        }
    };
    rv.set_double(written as f64);
    Ok(())
}

/// text -> its length in UTF-8
pub(super) fn op_buffer_utf8_length<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    rv.set_double(text_of(args.get(0))?.utf8_length(scope) as f64);
    Ok(())
}

/// (left, right) -> -1, 0 or 1
pub(super) fn op_buffer_compare<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let [left, right] = [place_of(args.get(0))?, place_of(args.get(1))?];
    // SAFETY: both places are in buffers that the arguments keep alive, no JavaScript and no allocation of V8's ran since,
    // and these two references, which may overlap, are the only ones and read only.
    let (left, right) =
        unsafe { (std::slice::from_raw_parts(left.0, left.1), std::slice::from_raw_parts(right.0, right.1)) };
    rv.set_int32(left.cmp(right) as i32);
    Ok(())
}

/// Where a view's bytes are, and how many.
fn place_of(value: v8::Local<v8::Value>) -> Result<(*mut u8, usize), OpError> {
    with_bytes(value, |bytes| (bytes.as_mut_ptr(), bytes.len()))
}

/// (bytes, wanted, from, backwards, two bytes a unit) -> the index, or -1
pub(super) fn op_buffer_index_of<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let (backwards, wide) = (args.get(3).is_true(), args.get(4).is_true());
    // The two may be the same memory, of which there can be but one `&mut`.
    let wanted = with_bytes(args.get(1), |wanted| wanted.to_vec())?;
    let at = with_bytes(args.get(0), |bytes| {
        let from = bound(args.get(2), bytes.len());
        match (backwards, wide) {
            (false, false) => search::first(bytes, &wanted, from),
            (true, false) => search::last(bytes, &wanted, from),
            (false, true) => search::first_wide(bytes, &wanted, from),
            (true, true) => search::last_wide(bytes, &wanted, from),
        }
    })?;
    rv.set_double(at.map_or(-1.0, |at| at as f64));
    Ok(())
}

/// (into, pattern, start, end): the pattern again and again; nothing where it is empty.
pub(super) fn op_buffer_fill<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let pattern = with_bytes(args.get(1), |pattern| pattern.to_vec())?;
    with_bytes(args.get(0), |into| {
        let end = bound(args.get(3), into.len());
        let start = bound(args.get(2), end);
        let into = &mut into[start..end];
        if pattern.is_empty() {
            return;
        }
        // Doubles what is there until it is full.
        let mut done = pattern.len().min(into.len());
        into[..done].copy_from_slice(&pattern[..done]);
        while done < into.len() {
            let more = done.min(into.len() - done);
            into.copy_within(..more, done);
            done += more;
        }
    })
}

/// (from, into, into's start, from's start, length): within one buffer, too.
pub(super) fn op_buffer_copy<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let [(source, held), (target, room)] = [place_of(args.get(0))?, place_of(args.get(1))?];
    let (from, to) = (bound(args.get(3), held), bound(args.get(2), room));
    let length = bound(args.get(4), (held - from).min(room - to));
    // SAFETY: `length` bytes lie behind `from` and behind `to` in buffers that the arguments keep alive; no JavaScript and
    // no allocation of V8's ran since; `copy` allows them to overlap.
    unsafe { std::ptr::copy(source.add(from), target.add(to), length) };
    Ok(())
}

/// (bytes, 2, 4 or 8): turns the order of the bytes of each unit around; what is left over stays.
pub(super) fn op_buffer_swap<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let size = bound(args.get(1), 8).max(1);
    with_bytes(args.get(0), |bytes| bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse))
}

/// bytes -> whether they are UTF-8
pub(super) fn op_buffer_is_utf8<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    rv.set_bool(with_bytes(args.get(0), |bytes| std::str::from_utf8(bytes).is_ok())?);
    Ok(())
}

/// bytes -> whether all are below 0x80
pub(super) fn op_buffer_is_ascii<'s>(
    _scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    rv.set_bool(with_bytes(args.get(0), |bytes| bytes.is_ascii())?);
    Ok(())
}
