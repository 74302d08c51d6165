//! Bytes as hexadecimal text, two digits each.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// In lower case.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Either case; `None` for text that is not pairs of digits.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

/// Exactly `N` bytes.
pub fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    decode(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
        assert_eq!(encode(&[0, 0xff, 0x1a]), "00ff1a");
        assert_eq!(decode_array(&encode(&[1, 2])), Some([1, 2]));
        assert_eq!(decode("AbcD"), Some(vec![0xab, 0xcd]));
    }

    #[test]
    fn what_is_no_pair_of_digits_is_refused() {
        for wrong in ["0", "0g", "000", "+1", "\u{e9}"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
        assert_eq!(decode_array::<1>(""), None);
        assert_eq!(decode_array::<1>("0000"), None);
    }
}
