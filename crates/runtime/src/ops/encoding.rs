//! Text and bytes: TextEncoder, TextDecoder, atob and btoa.

use encoding_rs::{CoderResult, DecoderResult, Encoding};

use super::convert::{
    byte_string, bytes_value, check_text, id_of, string_bytes, string_of, text_of, text_value, with_bytes,
};
use super::{Arguments, Return};
use crate::context_state::ContextState;
use crate::op_error::OpError;

type Scope<'a, 's, 'i> = &'a mut v8::PinScope<'s, 'i>;

/// A streaming decoder that JavaScript holds by its id.
pub(crate) struct Decoder {
    decoder: encoding_rs::Decoder,
    fatal: bool,
}

pub(super) fn op_encoding_label<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let label = string_of(scope, args.get(0))?;
    if let Some(encoding) = Encoding::for_label_no_replacement(label.as_bytes()) {
        let name = text_value(scope, &encoding.name().to_ascii_lowercase())?;
        rv.set(name.into());
    }
    Ok(())
}

pub(super) fn op_text_encode<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let text = text_of(args.get(0))?;
    check_text(scope, text, 1)?;
    let bytes = string_bytes(scope, text);
    let value = bytes_value(scope, &bytes)?;
    rv.set(value.into());
    Ok(())
}

/// out = [code units read, bytes written]
pub(super) fn op_text_encode_into<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let text = text_of(args.get(0))?;
    let mut read = 0usize;
    let isolate: &v8::Isolate = scope;
    let written = with_bytes(args.get(1), |into| {
        text.write_utf8_v2(isolate, into, v8::WriteFlags::kReplaceInvalidUtf8, Some(&mut read))
    })?;
    with_bytes(args.get(2), |out| {
        out[..4].copy_from_slice(&(read as u32).to_ne_bytes());
        out[4..8].copy_from_slice(&(written as u32).to_ne_bytes());
    })
}

pub(super) fn op_text_decode<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let label = string_of(scope, args.get(0))?;
    let encoding = Encoding::for_label(label.as_bytes()).ok_or_else(|| OpError::Range("unknown encoding".into()))?;
    let (fatal, keep_bom) = (args.get(2).is_true(), args.get(3).is_true());
    if encoding == encoding_rs::UTF_8 {
        let text = with_bytes(args.get(1), |bytes| {
            let bytes = if keep_bom { &*bytes } else { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) };
            utf8_value(scope, bytes, fatal)
        })??;
        rv.set(text.into());
        return Ok(());
    }
    let mut decoder = new_decoder(encoding, keep_bom);
    let text = with_bytes(args.get(1), |bytes| decode(&mut decoder, bytes, true, fatal))??;
    let text = text_value(scope, &text)?;
    rv.set(text.into());
    Ok(())
}

/// UTF-8 without its BOM, errors replaced: how a body becomes text.
pub(crate) fn decode_text<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
) -> Result<v8::Local<'s, v8::String>, OpError> {
    utf8_value(scope, bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), false)
}

fn utf8_value<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
    fatal: bool,
) -> Result<v8::Local<'s, v8::String>, OpError> {
    if bytes.is_ascii() {
        return v8::String::new_from_one_byte(scope, bytes, v8::NewStringType::Normal)
            .ok_or_else(|| OpError::Range("the string is too long".into()));
    }
    if fatal && std::str::from_utf8(bytes).is_err() {
        return Err(OpError::type_error("the encoded data is not valid UTF-8"));
    }
    v8::String::new_from_utf8(scope, bytes, v8::NewStringType::Normal)
        .ok_or_else(|| OpError::Range("the string is too long".into()))
}

pub(super) fn op_text_decoder_new<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let label = string_of(scope, args.get(0))?;
    let encoding = Encoding::for_label(label.as_bytes()).ok_or_else(|| OpError::Range("unknown encoding".into()))?;
    let state = ContextState::current(scope);
    let id = state.next_id();
    let decoder = Decoder { decoder: new_decoder(encoding, args.get(2).is_true()), fatal: args.get(1).is_true() };
    state.decoders.borrow_mut().insert(id, decoder);
    rv.set_double(id as f64);
    Ok(())
}

pub(super) fn op_text_decoder_decode<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let state = ContextState::current(scope);
    let id = id_of(args.get(0))?;
    let last = args.get(2).is_true();
    let text = {
        let mut decoders = state.decoders.borrow_mut();
        let decoder = decoders.get_mut(&id).ok_or_else(|| OpError::type_error("the decoder is closed"))?;
        let fatal = decoder.fatal;
        with_bytes(args.get(1), |bytes| decode(&mut decoder.decoder, bytes, last, fatal))?
    };
    if last || text.is_err() {
        state.decoders.borrow_mut().remove(&id);
    }
    let text = text_value(scope, &text?)?;
    rv.set(text.into());
    Ok(())
}

pub(super) fn op_text_decoder_free<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    _rv: &mut Return<'s>,
) -> Result<(), OpError> {
    ContextState::current(scope).decoders.borrow_mut().remove(&id_of(args.get(0))?);
    Ok(())
}

fn new_decoder(encoding: &'static Encoding, keep_bom: bool) -> encoding_rs::Decoder {
    if keep_bom { encoding.new_decoder_without_bom_handling() } else { encoding.new_decoder_with_bom_removal() }
}

fn decode(decoder: &mut encoding_rs::Decoder, bytes: &[u8], last: bool, fatal: bool) -> Result<String, OpError> {
    let too_long = || OpError::Range("the text is too long".into());
    let mut text = String::new();
    if fatal {
        text.reserve(decoder.max_utf8_buffer_length_without_replacement(bytes.len()).ok_or_else(too_long)?);
        let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, last);
        if let DecoderResult::Malformed(..) = result {
            return Err(OpError::type_error("the encoded data is not valid"));
        }
    } else {
        text.reserve(decoder.max_utf8_buffer_length(bytes.len()).ok_or_else(too_long)?);
        let (result, ..) = decoder.decode_to_string(bytes, &mut text, last);
        debug_assert!(matches!(result, CoderResult::InputEmpty), "the buffer was made large enough");
    }
    Ok(text)
}

/// A binary string (one byte per unit) to base64; nothing when a unit is above 0xFF.
pub(super) fn op_base64_encode<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let text = text_of(args.get(0))?;
    if !text.contains_only_onebyte() {
        return Ok(());
    }
    let encoded = base64_simd::STANDARD.encode_to_string(byte_string(scope, text));
    let value = text_value(scope, &encoded)?;
    rv.set(value.into());
    Ok(())
}

/// The forgiving decoding of the Infra standard.
pub(super) fn op_base64_decode<'s>(
    scope: Scope<'_, 's, '_>,
    args: &Arguments<'s>,
    rv: &mut Return<'s>,
) -> Result<(), OpError> {
    let text = text_of(args.get(0))?;
    if !text.contains_only_onebyte() {
        return Ok(());
    }
    if let Some(decoded) = forgiving_base64(byte_string(scope, text)) {
        let value = super::convert::header_value(scope, &decoded)?;
        rv.set(value.into());
    }
    Ok(())
}

fn forgiving_base64(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    bytes.retain(|byte| !matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' '));
    if bytes.len().is_multiple_of(4) {
        if bytes.ends_with(b"==") {
            bytes.truncate(bytes.len() - 2);
        } else if bytes.ends_with(b"=") {
            bytes.truncate(bytes.len() - 1);
        }
    }
    if bytes.len() % 4 == 1 {
        return None;
    }
    base64_simd::forgiving_decode_to_vec(&bytes).ok().filter(|_| !bytes.contains(&b'='))
}

#[cfg(test)]
mod tests {
    use super::forgiving_base64;

    #[test]
    fn base64_is_decoded_as_forgivingly_as_the_standard_says() {
        let decode = |text: &str| forgiving_base64(text.as_bytes().to_vec());
        assert_eq!(decode("aGk="), Some(b"hi".to_vec()));
        assert_eq!(decode("aGk"), Some(b"hi".to_vec()));
        assert_eq!(decode(" a G\nk = "), Some(b"hi".to_vec()));
        assert_eq!(decode("aGl"), Some(b"hi".to_vec()));
        assert_eq!(decode(""), Some(Vec::new()));
        for wrong in ["a", "aGk==", "a=Gk", "=", "aG*k", "aGk=="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
