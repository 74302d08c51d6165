//! Vsock context ids for sandboxes that are virtual machines, unique among live ones. Those of
//! spares begin at 10000, others at 3 (0 to 2 stand for the hypervisor, the machine itself and its
//! host), so that an id tells where its sandbox came from.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

/// What the sandbox is booted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Pool,
    Caller,
}

/// The ids in use. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct VsockCids {
    taken: Arc<Mutex<BTreeSet<u32>>>,
}

/// An id that is reserved until this is dropped.
pub(crate) struct VsockCid {
    number: u32,
    cids: VsockCids,
}

impl VsockCids {
    /// The lowest free id; `None` when there is none.
    pub(crate) fn take(&self, origin: Origin) -> Option<VsockCid> {
        let range = range(origin);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = *range.start();
        for number in taken.range(range.clone()) {
            if *number != free {
                break;
            }
            free = free.checked_add(1)?;
        }
        if !range.contains(&free) {
            return None;
        }
        taken.insert(free);
        Some(VsockCid { number: free, cids: self.clone() })
    }
}

fn range(origin: Origin) -> RangeInclusive<u32> {
    match origin {
        Origin::Caller => 3..=9_999,
        // The highest means "any".
        Origin::Pool => 10_000..=u32::MAX - 1,
    }
}

impl VsockCid {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for VsockCid {
    fn drop(&mut self) {
        self.cids.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_two_live_ones_are_the_same() {
        let cids = VsockCids::default();
        let numbers = |held: &[VsockCid]| held.iter().map(VsockCid::number).collect::<Vec<_>>();
        let mut callers: Vec<_> = (0..3).map(|_| cids.take(Origin::Caller).unwrap()).collect();
        let pool: Vec<_> = (0..2).map(|_| cids.take(Origin::Pool).unwrap()).collect();
        assert_eq!((numbers(&callers), numbers(&pool)), (vec![3, 4, 5], vec![10_000, 10_001]));
        drop(callers.remove(1));
        assert_eq!(cids.take(Origin::Caller).unwrap().number(), 4, "free again");
        let all: Vec<_> = std::iter::from_fn(|| cids.take(Origin::Caller)).collect();
        assert_eq!((all.len(), all.last().unwrap().number()), (9_997 - 2, 9_999), "never into the pool's");
    }
}
