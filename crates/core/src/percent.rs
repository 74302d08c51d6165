//! Percent-encoding, in either direction: the one place that reads `%2F`. What is to be encoded is up to each caller.

/// Decodes once. `None`: a percent sign without two digits after it.
pub fn decode_bytes(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => out.push(digit(rest.next()?)? << 4 | digit(rest.next()?)?),
            byte => out.push(*byte),
        }
    }
    Some(out)
}

/// The same; `None` also where what comes out is no text.
pub fn decode(text: &str) -> Option<String> {
    String::from_utf8(decode_bytes(text.as_bytes())?).ok()
}

/// Adds `text`, all of it encoded but what `is_plain` says.
pub fn encode(out: &mut String, text: &str, is_plain: impl Fn(u8) -> bool) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// What needs no encoding anywhere.
pub fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for text in ["", "a b", "é%/?", "100%"] {
            let mut encoded = String::new();
            encode(&mut encoded, text, is_unreserved);
            assert!(encoded.bytes().all(|byte| byte == b'%' || is_unreserved(byte)), "{encoded}");
            assert_eq!(decode(&encoded).as_deref(), Some(text));
        }
        assert_eq!(decode("%2f%2F%C3%a9").as_deref(), Some("//é"));
        for text in ["%", "%4", "%zz", "%+1", "%é", "%ff"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode_bytes(b"%ff"), Some(vec![255]));
    }
}
