//! Base64, as far as the handshake's keys need it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let index = bits >> (18 - 6 * place) & 0x3f;
            text.push(if place > group.len() { '=' } else { char::from(ALPHABET[index as usize]) });
        }
    }
    text
}

/// Whether it is sixteen bytes in base64. The four bits that are left over need not be zero, as in other servers.
pub(crate) fn is_key(text: &[u8]) -> bool {
    text.len() == 24 && text[22..] == *b"==" && text[..22].iter().all(|byte| ALPHABET.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_4648() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
        }
        assert_eq!(encode(&[0xff, 0xfe, 0xfb]), "//77");
    }

    #[test]
    fn keys_have_sixteen_bytes() {
        assert!(is_key(b"dGhlIHNhbXBsZSBub25jZQ=="));
        assert!(is_key(encode(&[7; 16]).as_bytes()));
        for wrong in [
            "",
            "dGhlIHNhbXBsZSBub25jZQ=",
            "dGhlIHNhbXBsZSBub25jZQ",
            "dGhlIHNhbXBsZSBub25jZQ=== ",
            "dGhlIHNhbXBsZSBub25jZ!==",
        ] {
            assert!(!is_key(wrong.as_bytes()), "{wrong}");
        }
    }
}
