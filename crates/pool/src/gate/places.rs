//! The shared places as one number, so that entering and leaving need no shared lock as long as nobody waits for a place.
//! The number holds how many places are taken and a mark that says that somebody waits. Both are in one atomic because
//! that is what makes it impossible to miss each other: whoever gives a place back either did so before the mark was set,
//! and then who set it finds the place, or sees the mark, and then hands the place on.

use std::sync::atomic::{AtomicUsize, Ordering};

const WAITING: usize = 1;
const PLACE: usize = 2;

/// Places for those who run.
pub(super) struct Places {
    limit: usize,
    /// Places taken times `PLACE`, plus `WAITING` if somebody is in the order.
    taken: AtomicUsize,
}

/// Whether somebody waits for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    Nobody,
    Somebody,
}

/// Places for all who run or wait: nobody waits for these.
pub(super) struct Total {
    limit: usize,
    taken: AtomicUsize,
}

// === impl Places ===

impl Places {
    pub(super) fn new(limit: usize) -> Self {
        // Half of the range is far more than can ever run, and it keeps the arithmetic from overflowing.
        Self { limit: limit.min(usize::MAX / (2 * PLACE)), taken: AtomicUsize::new(0) }
    }

    /// Takes a place if one is free and nobody waits for it.
    pub(super) fn take_if_nobody_waits(&self) -> bool {
        self.take(|taken| taken & WAITING == 0 && taken / PLACE < self.limit)
    }

    /// Takes a place on behalf of whoever is next in the order.
    pub(super) fn take_in_turn(&self) -> bool {
        self.take(|taken| taken / PLACE < self.limit)
    }

    fn take(&self, may: impl Fn(usize) -> bool) -> bool {
        let next = |taken| may(taken).then_some(taken + PLACE);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    /// Gives a place back. If somebody waits, the caller must see to it that the place is handed on.
    pub(super) fn give_back(&self) -> Waiting {
        match self.taken.fetch_sub(PLACE, Ordering::AcqRel) & WAITING {
            0 => Waiting::Nobody,
            _ => Waiting::Somebody,
        }
    }

    /// Only under the lock of the order.
    pub(super) fn mark(&self, waiting: Waiting) {
        match waiting {
            Waiting::Somebody => self.taken.fetch_or(WAITING, Ordering::AcqRel),
            Waiting::Nobody => self.taken.fetch_and(!WAITING, Ordering::AcqRel),
        };
    }
}

// === impl Total ===

impl Total {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: AtomicUsize::new(0) }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn take(&self) -> bool {
        let next = |taken| (taken < self.limit).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    pub(super) fn give_back(&self, count: usize) {
        self.taken.fetch_sub(count, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marked_place_goes_only_to_who_is_next() {
        let places = Places::new(2);
        assert!(places.take_if_nobody_waits());
        places.mark(Waiting::Somebody);
        assert!(!places.take_if_nobody_waits());
        assert!(places.take_in_turn());
        assert!(!places.take_in_turn(), "there are two");
        assert_eq!(places.give_back(), Waiting::Somebody);
        places.mark(Waiting::Nobody);
        assert_eq!(places.give_back(), Waiting::Nobody);
    }
}
