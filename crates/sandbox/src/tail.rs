//! The last of what something wrote. Positions count from the first byte ever written, so that a reader who comes back
//! gets what is new, and learns what it missed.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::exec::OUTPUT_LIMIT;
use crate::heritage::{Hex, KeptTail};

#[derive(Default)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    /// Bytes that were let go of.
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

    pub(crate) fn resume(kept: KeptTail) -> Self {
        Self { bytes: kept.bytes.0.into(), dropped: kept.dropped }
    }

    pub(crate) fn leave(&self) -> KeptTail {
        KeptTail { dropped: self.dropped, bytes: Hex(self.bytes.iter().copied().collect()) }
    }

    /// How much was written.
    pub(crate) fn end(&self) -> u64 {
        self.dropped + self.bytes.len() as u64
    }

    /// What was written after `seen`, and how much of that is not here any more.
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
        assert_eq!(tail.since(99), (Bytes::new(), 0), "nobody has seen more than there was");
        let kept = OUTPUT_LIMIT.bytes();
        tail.push(&vec![b'x'; kept as usize]);
        let (rest, missed) = tail.since(6);
        assert_eq!((rest.len() as u64, missed, tail.end()), (kept, 5, kept + 11));
        assert!(rest.iter().all(|b| *b == b'x'));
        let resumed = Tail::resume(tail.leave());
        assert_eq!((resumed.since(6), resumed.end()), ((rest, missed), tail.end()), "the same in the next program");
    }
}
