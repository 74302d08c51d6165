//! The shared slots as one number, so that entering and leaving need no shared lock as long as no request waits for a slot.
//! The number holds how many slots are taken and a bit that is set while requests wait. Both are in one atomic, so that a
//! release and a new waiter cannot miss each other: a slot that was released before the bit was set is found by the thread
//! that set it, and a later release sees the bit and passes the slot on.

use std::sync::atomic::{AtomicUsize, Ordering};

const WAITER_BIT: usize = 1;
const SLOT_UNIT: usize = 2;

/// Slots for running requests.
pub(super) struct SlotCounter {
    limit: usize,
    /// Slots taken times `SLOT_UNIT`, plus `WAITER_BIT` if an owner is in the fair queue.
    taken: AtomicUsize,
}

/// Slots for all requests that run or wait: no request waits for these.
pub(super) struct TotalCounter {
    limit: usize,
    taken: AtomicUsize,
}

// === impl SlotCounter ===

impl SlotCounter {
    pub(super) fn new(limit: usize) -> Self {
        // Half of the range is far more than can ever run, and it keeps the arithmetic from overflowing.
        Self { limit: limit.min(usize::MAX / (2 * SLOT_UNIT)), taken: AtomicUsize::new(0) }
    }

    /// Takes a slot if one is free and no request waits for it.
    pub(super) fn try_take_unless_waiters(&self) -> bool {
        self.try_take_if(|taken| taken & WAITER_BIT == 0 && taken / SLOT_UNIT < self.limit)
    }

    /// Takes a slot for the next owner in the fair queue.
    pub(super) fn try_take(&self) -> bool {
        self.try_take_if(|taken| taken / SLOT_UNIT < self.limit)
    }

    fn try_take_if(&self, may: impl Fn(usize) -> bool) -> bool {
        let next = |taken| may(taken).then_some(taken + SLOT_UNIT);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    /// Releases a slot. Returns whether requests wait: then the caller must grant the slot.
    pub(super) fn release(&self) -> bool {
        self.taken.fetch_sub(SLOT_UNIT, Ordering::AcqRel) & WAITER_BIT != 0
    }

    /// Only under the lock of the fair queue.
    pub(super) fn set_has_waiters(&self, has_waiters: bool) {
        if has_waiters {
            self.taken.fetch_or(WAITER_BIT, Ordering::AcqRel);
        } else {
            self.taken.fetch_and(!WAITER_BIT, Ordering::AcqRel);
        }
    }
}

// === impl TotalCounter ===

impl TotalCounter {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: AtomicUsize::new(0) }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn try_take(&self) -> bool {
        let next = |taken| (taken < self.limit).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    pub(super) fn release(&self, count: usize) {
        self.taken.fetch_sub(count, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_with_the_waiter_bit_set_goes_only_to_the_next_owner() {
        let slots = SlotCounter::new(2);
        assert!(slots.try_take_unless_waiters());
        slots.set_has_waiters(true);
        assert!(!slots.try_take_unless_waiters());
        assert!(slots.try_take());
        assert!(!slots.try_take(), "there are two");
        assert!(slots.release());
        slots.set_has_waiters(false);
        assert!(!slots.release());
    }
}
