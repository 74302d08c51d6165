//! How items leave a bucket: condemned and idle, swept, evicted, or all at once when the bucket ends.

use std::sync::Arc;

use tokio::time::Instant;

use super::Bucket;
use super::state::{Accept, BucketState, EndReason, Phase};
use crate::deferred::{Deferred, Removal};
use crate::manager::{DestroyReason, Manager};
use crate::slot::SlotId;

/// The result of trying to evict a slot.
pub(crate) enum Eviction<M: Manager> {
    Evicted(Removal<M>),
    /// It was used after the time at which the list has it.
    UsedSince(Instant),
    InUse,
    /// The slot was removed before.
    NotFound,
}

impl<M: Manager> BucketState<M> {
    /// Removes condemned items that can be destroyed; the others are marked as draining.
    pub(super) fn remove_condemned(&mut self, bucket: &Arc<Bucket<M>>, deferred: &mut Deferred<M>) {
        let mut index = 0;
        while let Some(slot) = self.slots.get_mut(index) {
            match slot.removal_reason(bucket.manager()) {
                Some(why) => self.remove(index, why, bucket, deferred),
                None => {
                    if slot.mark_draining() {
                        deferred.work().draining.push(slot.item.clone());
                    }
                    index += 1;
                }
            }
        }
    }

    /// Removes items that are too old, unused for too long, or broken.
    pub(crate) fn sweep(&mut self, now: Instant, bucket: &Arc<Bucket<M>>, deferred: &mut Deferred<M>) {
        for slot in &mut self.slots {
            slot.check_health(bucket.manager(), &self.limits.lifetime, Some(now));
            if slot.check_idle_time(bucket.manager(), &self.limits.lifetime, now) {
                deferred.work().idle.push(slot.item.clone());
            }
        }
        self.remove_condemned(bucket, deferred);
        self.serve_waiters(bucket, Accept::Any, Some(now), deferred);
    }

    /// The bucket gives no leases any more; items are removed as they become idle.
    pub(crate) fn end(&mut self, end: EndReason, bucket: &Arc<Bucket<M>>, deferred: &mut Deferred<M>) {
        if self.phase == Phase::Ended(EndReason::Closed) {
            return;
        }
        self.phase = Phase::Ended(end);
        self.slots.iter_mut().for_each(|slot| slot.condemn(end.destroy_reason()));
        self.remove_condemned(bucket, deferred);
        self.creations.iter_mut().for_each(|creation| creation.waiters = 0);
        let error = self.closed_error().expect("a bucket that has ended gives an error");
        deferred.work().results.extend(self.waiters.drain(..).map(|waiter| (waiter.result, Err(error.clone()))));
    }

    /// Removes the slot if it can be evicted; if not, moves its time in the eviction list forward.
    pub(crate) fn evict(
        &mut self,
        id: SlotId,
        lru_time: Instant,
        now: Instant,
        bucket: &Arc<Bucket<M>>,
    ) -> Eviction<M> {
        let Some(index) = self.index_of(id) else { return Eviction::NotFound };
        let slot = &mut self.slots[index];
        if slot.last_used() > lru_time {
            slot.lru_time = slot.last_used();
            return Eviction::UsedSince(slot.last_used());
        }
        if !slot.is_idle(bucket.manager()) {
            slot.lru_time = now;
            return Eviction::InUse;
        }
        let why = slot.removal_reason(bucket.manager()).unwrap_or(DestroyReason::Evicted);
        let slot = self.slots.remove(index);
        self.counts.removed += 1;
        Eviction::Evicted(Removal::new(slot, bucket.clone(), why, true))
    }

    /// Reads all weights again. Returns their sum before and after.
    pub(crate) fn reweigh(&mut self, manager: &M) -> (u64, u64) {
        let (mut before, mut after) = (0, 0);
        for slot in &mut self.slots {
            before += slot.weight;
            slot.weight = manager.weight(&slot.item);
            after += slot.weight;
        }
        (before, after)
    }
}

impl EndReason {
    pub(super) fn destroy_reason(self) -> DestroyReason {
        match self {
            EndReason::Retired => DestroyReason::Retired,
            EndReason::Closed => DestroyReason::Closed,
        }
    }
}
