//! The order in which owners get the shared slots: start-time fair queueing. Virtual time counts slots, as an owner of weight 1
//! that always waits sees them. An owner is listed with the virtual time at which its next slot would begin: where its last
//! one ended, or now, whichever is later. The earliest is next, and its slot lasts `SLOT_DURATION / weight`. So an owner of
//! weight 2 is served twice as often as one of weight 1, one that was away starts from now and has no credit for its absence,
//! and equals are served in the order in which they were listed.
//!
//! An owner is listed at most once (`Queue::is_listed`). One whose requests are all gone stays listed until it is first, where
//! it is skipped: its virtual time has not been reached yet, so it would be listed with the same one again.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::owner::Owner;

/// Virtual time. In 2^44 slots it does not overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VirtualTime(u64);

/// How long a slot lasts for an owner of weight 1; also the largest weight.
const SLOT_DURATION: u64 = 1 << 20;

#[derive(Default)]
pub(super) struct FairQueue {
    now: VirtualTime,
    listed: BTreeMap<(VirtualTime, u64), Arc<Owner>>,
    /// Tells apart owners that are listed for the same time.
    sequence: u64,
}

impl FairQueue {
    /// Lists an owner whose last slot ended at `finish`.
    pub(super) fn insert(&mut self, owner: Arc<Owner>, finish: VirtualTime) {
        self.sequence += 1;
        self.listed.insert((finish.max(self.now), self.sequence), owner);
    }

    /// The owner that is next, and when its slot begins.
    pub(super) fn pop(&mut self) -> Option<(VirtualTime, Arc<Owner>)> {
        self.listed.pop_first().map(|((start, _), owner)| (start, owner))
    }

    /// A slot was granted that began at `start`. Returns when it ends for an owner of this weight.
    pub(super) fn record_grant(&mut self, start: VirtualTime, weight: u32) -> VirtualTime {
        self.now = self.now.max(start);
        VirtualTime(start.0 + SLOT_DURATION / u64::from(weight).clamp(1, SLOT_DURATION))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}
