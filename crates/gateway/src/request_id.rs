//! The text of `x-request-id`: the client's where it is well-formed, else 16 hex digits that do not repeat within a process and do
//! not disclose how many requests it has served.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use hearth_core::RequestId;

const MAX_LENGTH: usize = 64;

/// 1 to 64 of `[A-Za-z0-9._-]`.
#[derive(Clone, Copy)]
pub struct IdText {
    bytes: [u8; MAX_LENGTH],
    len: u8,
}

/// Makes ids.
#[derive(Debug)]
pub struct Ids {
    seed: u64,
}

// === impl IdText ===

impl IdText {
    pub fn parse(text: &[u8]) -> Option<Self> {
        let well_formed = matches!(text.len(), 1..=MAX_LENGTH)
            && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
        well_formed.then(|| Self::copy(text))
    }

    fn copy(text: &[u8]) -> Self {
        let mut bytes = [0; MAX_LENGTH];
        bytes[..text.len()].copy_from_slice(text);
        Self { bytes, len: text.len() as u8 }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("an id is ASCII")
    }
}

impl fmt::Debug for IdText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for IdText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Ids ===

/// Each byte in hex digits.
const HEX: [[u8; 2]; 256] = {
    let (digits, mut pairs, mut byte) = (b"0123456789abcdef", [[0; 2]; 256], 0);
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

impl Ids {
    /// Seeded by the standard library's random state.
    pub fn new() -> Self {
        Self { seed: RandomState::new().hash_one(std::process::id()) }
    }

    pub fn text(&self, id: RequestId) -> IdText {
        let number = scramble(self.seed.wrapping_add(id.raw()));
        let mut bytes = [0; MAX_LENGTH];
        for (pair, byte) in bytes.chunks_exact_mut(2).zip(number.to_be_bytes()) {
            pair.copy_from_slice(&HEX[usize::from(byte)]);
        }
        IdText { bytes, len: 16 }
    }
}

/// The finaliser of SplitMix64: a bijection, so different ids stay different.
fn scramble(mut n: u64) -> u64 {
    n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_ids_are_taken() {
        for good in ["a", "A-b_c.9", &"x".repeat(64)] {
            assert_eq!(IdText::parse(good.as_bytes()).map(|id| id.to_string()).as_deref(), Some(good));
        }
        for bad in ["", "a b", "a\"", "é", "a\r", &"x".repeat(65)] {
            assert!(IdText::parse(bad.as_bytes()).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn generated_ids_differ_and_are_well_formed() {
        let ids = Ids::new();
        let made: std::collections::HashSet<_> =
            (0..1000).map(|n| ids.text(RequestId::from_raw(n)).to_string()).collect();
        assert_eq!(made.len(), 1000);
        assert!(made.iter().all(|id| id.len() == 16 && IdText::parse(id.as_bytes()).is_some()));
    }
}
