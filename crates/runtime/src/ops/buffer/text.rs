//! The encodings of Node's `Buffer` that V8's strings do not have: base64, hex, ASCII, and UTF-16 of any alignment.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16,
    Latin1,
    Ascii,
    Base64,
    Base64Url,
    Hex,
}

impl Encoding {
    /// By the number that `js/node/buffer.js` gives it.
    pub(super) fn from_number(number: usize) -> Option<Self> {
        [Self::Utf8, Self::Utf16, Self::Latin1, Self::Ascii, Self::Base64, Self::Base64Url, Self::Hex]
            .get(number)
            .copied()
    }

    /// A lower bound of the units of the text that so many bytes make; exact but for UTF-8.
    pub(super) fn units(self, bytes: usize) -> usize {
        match self {
            Self::Utf8 => bytes / 4,
            Self::Latin1 | Self::Ascii => bytes,
            Self::Utf16 => bytes / 2,
            Self::Base64 => bytes.div_ceil(3).saturating_mul(4),
            Self::Base64Url => bytes.saturating_mul(4).div_ceil(3),
            Self::Hex => bytes.saturating_mul(2),
        }
    }
}

/// Little-endian units; a last odd byte is left out.
pub(super) fn units(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// Bytes to the text of an encoding whose characters are ASCII.
pub(super) fn encode(encoding: Encoding, bytes: &[u8]) -> Vec<u8> {
    match encoding {
        Encoding::Base64 => base64_simd::STANDARD.encode_type(bytes),
        Encoding::Base64Url => base64_simd::URL_SAFE_NO_PAD.encode_type(bytes),
        Encoding::Hex => encode_hex(bytes),
        _ => bytes.iter().map(|byte| byte & 0x7f).collect(),
    }
}

fn encode_hex(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = Vec::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.extend_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    text
}

/// The text of an encoding, one byte a character, to bytes: as much as there is of it, as Node does.
pub(super) fn decode(encoding: Encoding, text: Vec<u8>) -> Vec<u8> {
    match encoding {
        Encoding::Base64 | Encoding::Base64Url => decode_base64(text),
        Encoding::Hex => decode_hex(&text),
        _ => text,
    }
}

/// Pairs of digits up to the first that is none.
fn decode_hex(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for pair in text.chunks_exact(2) {
        let (high, low) = (HEX[usize::from(pair[0])], HEX[usize::from(pair[1])]);
        if (high | low) > 15 {
            break;
        }
        bytes.push(high << 4 | low);
    }
    bytes
}

/// Either alphabet, also mixed, up to the first `=`; all other characters are skipped.
fn decode_base64(text: Vec<u8>) -> Vec<u8> {
    if let Ok(bytes) = base64_simd::STANDARD.decode_to_vec(&text) {
        return bytes;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0u32, 0u32);
    for character in text {
        if character == b'=' {
            break;
        }
        let value = BASE64[usize::from(character)];
        if value > 63 {
            continue;
        }
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// The value of a digit, and 255 for what is none.
const HEX: [u8; 256] = table(16);
const BASE64: [u8; 256] = table(64);

const fn table(base: u8) -> [u8; 256] {
    let mut table = [255; 256];
    let mut byte = 0;
    while byte < 256 {
        let character = byte as u8;
        table[byte] = match (character, base) {
            (b'0'..=b'9', 16) => character - b'0',
            (b'a'..=b'f', 16) => character - b'a' + 10,
            (b'A'..=b'F', 16) => character - b'A' + 10,
            (b'A'..=b'Z', 64) => character - b'A',
            (b'a'..=b'z', 64) => character - b'a' + 26,
            (b'0'..=b'9', 64) => character - b'0' + 52,
            (b'+' | b'-', 64) => 62,
            (b'/' | b'_', 64) => 63,
            _ => 255,
        };
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(encoding: Encoding, text: &str) -> Vec<u8> {
        decode(encoding, text.as_bytes().to_vec())
    }

    #[test]
    fn base64_takes_what_node_takes() {
        for text in ["aGk=", "aGk", "a G\nk=", "aGk=====", "aGk=ignored", "*aGk*"] {
            assert_eq!(decoded(Encoding::Base64, text), b"hi", "{text}");
        }
        assert_eq!(decoded(Encoding::Base64, "-_+/"), decoded(Encoding::Base64Url, "+/-_"));
        assert_eq!(decoded(Encoding::Base64, "="), b"");
        assert_eq!(decoded(Encoding::Base64, "a"), b"");
    }

    #[test]
    fn hex_ends_at_the_first_pair_that_is_none() {
        assert_eq!(decoded(Encoding::Hex, "0aFf"), [10, 255]);
        assert_eq!(decoded(Encoding::Hex, "0aF"), [10]);
        assert_eq!(decoded(Encoding::Hex, "0axx0b"), [10]);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_to_the_same(bytes: Vec<u8>) {
            for encoding in [Encoding::Base64, Encoding::Base64Url, Encoding::Hex] {
                let text = encode(encoding, &bytes);
                prop_assert!(text.is_ascii());
                prop_assert_eq!(text.len(), encoding.units(bytes.len()));
                prop_assert_eq!(&decode(encoding, text), &bytes);
            }
        }

        #[test]
        fn any_text_is_decoded(text: Vec<u8>) {
            decode(Encoding::Base64, text.clone());
            decode(Encoding::Hex, text);
        }
    }
}
