//! How things leave a row: condemned and idle, swept, evicted, or all at once at the end.

use std::sync::Arc;

use tokio::time::Instant;

use super::{End, Phase, Reach, Row};
use crate::keep::{Keep, Reason};
use crate::rack::{Later, Leaving, Place, Rack};
use crate::slot::{Found, SlotId};

/// What came of trying to evict a slot.
pub(crate) enum Eviction<K: Keep> {
    Done(Leaving<K>),
    /// It was used after it was listed.
    UsedSince(Instant),
    InUse,
    /// The slot left on its own.
    Unknown,
}

impl<K: Keep> Row<K> {
    /// Takes away what is condemned and can go.
    pub(super) fn clear(&mut self, rack: &Arc<Rack<K>>, later: &mut Later<K>) {
        let mut index = 0;
        while let Some(slot) = self.slots.get_mut(index) {
            match slot.may_go(rack.keep()) {
                Some(why) => self.remove(index, why, rack, later),
                None => {
                    if slot.linger() == Found::Lingering {
                        later.work().lingerers.push(slot.thing.clone());
                    }
                    index += 1;
                }
            }
        }
    }

    /// Takes away what is too old, unused for too long, or broken.
    pub(crate) fn sweep(&mut self, now: Instant, rack: &Arc<Rack<K>>, later: &mut Later<K>) {
        for slot in &mut self.slots {
            slot.examine(rack.keep(), &self.rules.life, Some(now));
            match slot.expire_if_idle(rack.keep(), &self.rules.life, now) {
                Found::Idle => later.work().idlers.push(slot.thing.clone()),
                Found::Nothing | Found::Lingering => {}
            }
        }
        self.clear(rack, later);
        self.serve(rack, Reach::Any, Some(now), later);
    }

    /// Nobody gets anything any more; things go as they become idle.
    pub(crate) fn end_all(&mut self, end: End, rack: &Arc<Rack<K>>, later: &mut Later<K>) {
        if self.phase == Phase::Over(End::Closed) {
            return;
        }
        self.phase = Phase::Over(end);
        self.slots.iter_mut().for_each(|slot| slot.condemn(end.reason()));
        self.clear(rack, later);
        self.cold.iter_mut().for_each(|cold| cold.callers = 0);
        let error = self.refusal().expect("a row that is over refuses");
        later.work().answers.extend(self.callers.drain(..).map(|caller| (caller.answer, Err(error.clone()))));
    }

    /// Takes the slot away if it can be evicted; if not, says so by putting it off in the list to `now`.
    pub(crate) fn evict(&mut self, id: SlotId, listed: Instant, now: Instant, rack: &Arc<Rack<K>>) -> Eviction<K> {
        let Some(index) = self.find(id) else { return Eviction::Unknown };
        let slot = &mut self.slots[index];
        if slot.used() > listed {
            slot.listed = slot.used();
            return Eviction::UsedSince(slot.used());
        }
        if !slot.is_idle(rack.keep()) {
            slot.listed = now;
            return Eviction::InUse;
        }
        let why = slot.may_go(rack.keep()).unwrap_or(Reason::Evicted);
        let slot = self.slots.remove(index);
        self.counts.removed += 1;
        Eviction::Done(Leaving::new(slot, rack.clone(), why, Place::Given))
    }

    /// Weighs everything again: what was thought before, and what it is.
    pub(crate) fn weigh(&mut self, keep: &K) -> (u64, u64) {
        let (mut before, mut after) = (0, 0);
        for slot in &mut self.slots {
            before += slot.weighed;
            slot.weighed = keep.weight(&slot.thing);
            after += slot.weighed;
        }
        (before, after)
    }
}

impl End {
    pub(super) fn reason(self) -> Reason {
        match self {
            End::Retired => Reason::Retired,
            End::Closed => Reason::Closed,
        }
    }
}
