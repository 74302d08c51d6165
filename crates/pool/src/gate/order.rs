//! In which order owners get the shared places: start-time fair queueing. Virtual time counts places, as an owner of
//! weight 1 that always waits sees them. An owner lists itself with the virtual time at which its next place would begin:
//! where its last one ended, or now, whichever is later. The earliest is next, and its place lasts `PLACE / weight`. So an
//! owner of weight 2 comes up twice as often as one of weight 1, one that was away starts from now and has no credit for
//! its absence, and equals go in the order in which they listed themselves.
//!
//! An owner is listed at most once; it says so itself (`Standing`). One whose callers all went away stays listed until it
//! is at the front, where it is passed over: its virtual time has not been reached yet, so it would come back at the same
//! one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::owner::Owner;

/// Virtual time. In 2^44 places it does not overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Virtual(u64);

/// How long a place lasts for an owner of weight 1; also the largest weight.
const PLACE: u64 = 1 << 20;

#[derive(Default)]
pub(super) struct Order {
    now: Virtual,
    listed: BTreeMap<(Virtual, u64), Arc<Owner>>,
    /// Tells apart those who are listed for the same time.
    sequence: u64,
}

impl Order {
    /// Lists an owner whose last place ended at `finish`.
    pub(super) fn list(&mut self, owner: Arc<Owner>, finish: Virtual) {
        self.sequence += 1;
        self.listed.insert((finish.max(self.now), self.sequence), owner);
    }

    /// The owner that is next, and when its place begins.
    pub(super) fn next(&mut self) -> Option<(Virtual, Arc<Owner>)> {
        self.listed.pop_first().map(|((start, _), owner)| (start, owner))
    }

    /// A place was given that began at `start`. Says when it ends for an owner of this weight.
    pub(super) fn given(&mut self, start: Virtual, weight: u32) -> Virtual {
        self.now = self.now.max(start);
        Virtual(start.0 + PLACE / u64::from(weight).clamp(1, PLACE))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}
