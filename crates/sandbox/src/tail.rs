//! The end of a stream of output. Positions count from the first byte ever written, so that a
//! returning reader gets what is new, and learns how much it missed.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::exec::OUTPUT_LIMIT;
use crate::upgrade::{Hex, SavedTail};

#[derive(Default)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    /// Bytes that were dropped.
    dropped: u64,
}

impl Tail {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let kept = usize::try_from(OUTPUT_LIMIT.bytes()).unwrap_or(usize::MAX);
        let surplus = self.bytes.len().saturating_sub(kept);
        self.bytes.drain(..surplus);
        self.dropped += surplus as u64;
    }

    pub(crate) fn import(saved: SavedTail) -> Self {
        Self { bytes: saved.bytes.0.into(), dropped: saved.dropped }
    }

    pub(crate) fn export(&self) -> SavedTail {
        SavedTail { dropped: self.dropped, bytes: Hex(self.bytes.iter().copied().collect()) }
    }

    /// The position after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.dropped + self.bytes.len() as u64
    }

    /// What was written after `seen`, and how much of that is no longer kept.
    pub(crate) fn since(&self, seen: u64) -> (Bytes, u64) {
        let seen = seen.min(self.end());
        let missed = self.dropped.saturating_sub(seen);
        let from = usize::try_from(seen.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        (self.bytes.range(from..).copied().collect(), missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_what_is_new_and_learns_what_it_missed() {
        let mut tail = Tail::new();
        tail.push(b"hello ");
        assert_eq!(tail.since(0), (Bytes::from_static(b"hello "), 0));
        tail.push(b"there");
        assert_eq!(tail.since(6), (Bytes::from_static(b"there"), 0));
        assert_eq!(tail.since(99), (Bytes::new(), 0), "a position beyond the end is the end");
        let kept = OUTPUT_LIMIT.bytes();
        tail.push(&vec![b'x'; kept as usize]);
        let (rest, missed) = tail.since(6);
        assert_eq!((rest.len() as u64, missed, tail.end()), (kept, 5, kept + 11));
        assert!(rest.iter().all(|b| *b == b'x'));
        let resumed = Tail::import(tail.export());
        assert_eq!((resumed.since(6), resumed.end()), ((rest, missed), tail.end()), "the same in the next program");
    }
}
