//! Checks UTF-8 that arrives in pieces, as early as possible; a character may be cut anywhere.

/// The beginning of a character whose rest has not arrived.
#[derive(Debug, Default)]
pub(crate) struct Utf8 {
    cut: [u8; 4],
    length: usize,
}

impl Utf8 {
    /// Whether the text so far can still become valid.
    pub(crate) fn accepts(&mut self, mut piece: &[u8]) -> bool {
        while self.length > 0 {
            let Some((byte, rest)) = piece.split_first() else { return true };
            self.cut[self.length] = *byte;
            self.length += 1;
            piece = rest;
            match std::str::from_utf8(&self.cut[..self.length]) {
                Ok(_) => self.length = 0,
                // No character has more than four bytes, so it never asks for a fifth.
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return false,
            }
        }
        match std::str::from_utf8(piece) {
            Ok(_) => true,
            Err(error) if error.error_len().is_none() => {
                let cut = &piece[error.valid_up_to()..];
                self.cut[..cut.len()].copy_from_slice(cut);
                self.length = cut.len();
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(pieces: &[&[u8]]) -> bool {
        let mut utf8 = Utf8::default();
        pieces.iter().all(|piece| utf8.accepts(piece)) && utf8.length == 0
    }

    #[test]
    fn a_character_may_be_cut_anywhere() {
        let text = "aé€🔥z".as_bytes();
        for first in 0..=text.len() {
            for second in first..=text.len() {
                assert!(accepts(&[&text[..first], &text[first..second], &text[second..]]), "{first} {second}");
            }
        }
    }

    #[test]
    fn invalid_text_is_rejected_at_once() {
        for bytes in [&b"\xff"[..], b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"a\xe2\x28"] {
            for cut in 0..=bytes.len() {
                assert!(!accepts(&[&bytes[..cut], &bytes[cut..]]), "{bytes:?} cut at {cut}");
            }
        }
        let mut utf8 = Utf8::default();
        assert!(!utf8.accepts(b"\xf4\x90"), "before the character is complete");
        assert!(!accepts(&[b"\xf0\x9f"]), "an end within a character");
    }
}
