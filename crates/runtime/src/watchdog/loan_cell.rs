//! A value of one thread that another may inspect while it is published. Publishing costs a store
//! and reclaiming one locked instruction, where a mutex would cost four: the owner does both all
//! the time, and inspections are rare.
//!
//! States: `OWNED -> PUBLISHED -> OWNED`, and `PUBLISHED -> INSPECTED -> PUBLISHED` by an
//! inspector. Invariant: the value is touched by its owner while it is `OWNED`, by the inspector
//! while it is `INSPECTED`, and otherwise not at all.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const OWNED: u8 = 0;
const PUBLISHED: u8 = 1;
const INSPECTED: u8 = 2;

/// The inspector's side.
pub(super) struct LoanCell<T> {
    state: AtomicU8,
    /// Held during an inspection: the owner waits for it.
    inspecting: Mutex<()>,
    value: UnsafeCell<Option<T>>,
}

/// The owner's side.
pub(super) struct LoanOwner<T> {
    shared: Arc<LoanCell<T>>,
}

// SAFETY: demands that threads do not touch the value at the same time: the states guarantee that;
// and that it may be sent to another thread: `T: Send`.
unsafe impl<T: Send> Sync for LoanCell<T> {}

impl<T> LoanOwner<T> {
    pub(super) fn new() -> Self {
        let (state, inspecting, value) = (AtomicU8::new(OWNED), Mutex::default(), UnsafeCell::new(None));
        Self { shared: Arc::new(LoanCell { state, inspecting, value }) }
    }

    pub(super) fn shared(&self) -> Arc<LoanCell<T>> {
        self.shared.clone()
    }

    /// Replaces the value by `value` and publishes it.
    pub(super) fn publish(&mut self, value: T) {
        self.reclaim();
        // SAFETY: demands that no other thread touches the value: it is `OWNED`, and there is one
        // owner (`&mut self`).
        unsafe { *self.shared.value.get() = Some(value) };
        self.shared.state.store(PUBLISHED, Ordering::Release);
    }

    /// The published value, if there is one; waits for an inspection to end.
    pub(super) fn reclaim(&mut self) -> Option<&mut T> {
        let LoanCell { state, inspecting, value } = &*self.shared;
        // Only the owner sets and leaves this state.
        if state.load(Ordering::Relaxed) == OWNED {
            return None;
        }
        while state.compare_exchange(PUBLISHED, OWNED, Ordering::Acquire, Ordering::Relaxed).is_err() {
            drop(inspecting.lock().unwrap_or_else(PoisonError::into_inner));
        }
        // SAFETY: as above; the borrow lasts no longer than that of the owner, without which it is
        // not published again.
        unsafe { (*value.get()).as_mut() }
    }
}

impl<T> Drop for LoanOwner<T> {
    fn drop(&mut self) {
        self.reclaim();
    }
}

impl<T> LoanCell<T> {
    /// Whether it is published at this moment.
    pub(super) fn is_published(&self) -> bool {
        self.state.load(Ordering::Relaxed) != OWNED
    }

    /// Calls `f` with the value, if it is published.
    pub(super) fn inspect<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        /// Ends the inspection, also where it panics.
        struct Inspection<'a>(&'a AtomicU8);

        impl Drop for Inspection<'_> {
            fn drop(&mut self) {
                self.0.store(PUBLISHED, Ordering::Release);
            }
        }

        let _turn = self.inspecting.lock().unwrap_or_else(PoisonError::into_inner);
        self.state.compare_exchange(PUBLISHED, INSPECTED, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let _inspection = Inspection(&self.state);
        // SAFETY: demands that no other thread touches the value: it is `INSPECTED`, by this
        // thread, which has the lock of inspectors, until `_inspection` is dropped, before the lock
        // is.
        unsafe { (*self.value.get()).as_mut() }.map(f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn only_what_is_lent_is_seen() {
        let mut own = LoanOwner::new();
        let shared = own.shared();
        assert!(!shared.is_published() && shared.inspect(|_: &mut u32| ()).is_none());
        own.publish(7);
        assert!(shared.is_published());
        assert_eq!(shared.inspect(|value| std::mem::replace(value, 8)), Some(7));
        assert_eq!(own.reclaim(), Some(&mut 8));
        assert!(own.reclaim().is_none() && shared.inspect(|_| ()).is_none());
        own.publish(9);
        assert!(
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shared.inspect(|_| panic!("on purpose"))))
                .is_err()
        );
        assert_eq!(shared.inspect(|value| *value), Some(9));
        drop(own);
        assert!(!shared.is_published());
    }

    /// Both sides write two halves that always agree.
    #[test]
    fn no_side_sees_a_half_written_value() {
        let mut own = LoanOwner::new();
        let (shared, over) = (own.shared(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let inspector = scope.spawn(|| {
                let mut seen = 0u64;
                while !over.load(Ordering::Relaxed) {
                    let inspected = shared.inspect(|(a, b): &mut (u64, u64)| {
                        assert_eq!(a, b);
                        (*a, *b) = (*a + 1, *b + 1);
                    });
                    seen += u64::from(inspected.is_some());
                }
                seen
            });
            let mut added = 0;
            for n in (0..100_000_000u64).step_by(1_000) {
                own.publish((n, n));
                std::hint::spin_loop();
                let (a, b) = own.reclaim().unwrap();
                assert_eq!(a, b);
                added += *a - n;
            }
            over.store(true, Ordering::Relaxed);
            assert_eq!(inspector.join().unwrap(), added);
        });
    }
}
