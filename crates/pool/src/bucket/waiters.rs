//! The callers that wait for an item, and the creations they are assigned to. A creation is begun by the pool, which knows the
//! capacity (`inner.rs`); this file only decides what each waiter gets when it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Bucket;
use super::state::{Accept, BucketState, EndReason, PendingCreation, Phase, Waiter};
use crate::deferred::{Deferred, WaiterResult};
use crate::keyed_pool::AcquireError;
use crate::lease::OwnedLease;
use crate::manager::{DestroyReason, ItemHealth, Manager};
use crate::slot::{Seq, Slot, SlotId};

/// The end of a creation.
#[must_use]
pub(crate) struct CreationEnd {
    /// What was reserved for it.
    pub(crate) reserved: u64,
    /// No other may begin for so long; then [`BucketState::resume_creations`] is to be called.
    pub(crate) pause: Option<Duration>,
}

impl<M: Manager> BucketState<M> {
    /// Why the bucket gives no leases, if it is not open.
    pub(crate) fn closed_error(&self) -> Option<AcquireError<M::Error>> {
        match self.phase {
            Phase::Open => None,
            Phase::Ended(EndReason::Retired) => Some(AcquireError::Retired),
            Phase::Ended(EndReason::Closed) => Some(AcquireError::Closed),
        }
    }

    pub(crate) fn push_waiter(&mut self) -> (Seq, oneshot::Receiver<WaiterResult<M>>) {
        let seq = self.next_seq();
        let (result, receiver) = oneshot::channel();
        self.waiters.push_back(Waiter { seq, creation: None, result });
        self.assign_creations();
        (seq, receiver)
    }

    /// A caller went away. If it is not in the queue any more, its result was sent.
    pub(crate) fn remove_waiter(&mut self, seq: Seq) {
        if let Ok(index) = self.waiters.binary_search_by_key(&seq, |waiter| waiter.seq) {
            let waiter = self.waiters.remove(index).expect("the index was just found");
            self.unassign(waiter.creation);
            self.assign_creations();
        }
    }

    /// Whether an item should be made, if the pool has capacity: for a waiter that is assigned to no creation, or to succeed a
    /// worn one.
    pub(crate) fn needs_creation(&self) -> bool {
        let is_wanted = self.waiters.iter().any(|waiter| waiter.creation.is_none())
            || (self.needs_successor() && self.creations.is_empty() && self.slots.iter().any(Slot::is_worn));
        is_wanted
            && self.phase == Phase::Open
            && !self.creations_paused
            && self.usable() + self.creations.len() < self.limits.max_items
    }

    fn usable(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_usable() && !slot.is_worn()).count()
    }

    /// Creations may begin again.
    pub(crate) fn resume_creations(&mut self) {
        self.creations_paused = false;
    }

    fn pause_creations(&mut self) -> Option<Duration> {
        if self.creations_paused {
            return None;
        }
        self.creations_paused = true;
        self.backoff.failed(self.backoff.round())
    }

    /// Gives items with a free lease to the waiters, first come first served. A waiter that is assigned to a creation gets no
    /// busy item: the one that is being made is better. Others get what `accept` allows.
    pub(crate) fn serve_waiters(
        &mut self,
        bucket: &Arc<Bucket<M>>,
        accept: Accept,
        now: Option<Instant>,
        deferred: &mut Deferred<M>,
    ) {
        let mut at = 0;
        while let Some(waiter) = self.waiters.get(at) {
            let unassigned = waiter.creation.is_none();
            let accept = if unassigned { accept } else { Accept::NotBusy };
            match self.select(bucket, accept, now, deferred) {
                Some(index) => {
                    let waiter = self.waiters.remove(at).expect("the waiter is at this index");
                    self.unassign(waiter.creation);
                    if self.slots[index].added < waiter.seq {
                        self.counts.hits += 1;
                    } else {
                        self.counts.misses += 1;
                    }
                    let (slot, item) = self.lease_slot(index);
                    deferred.work().results.push((waiter.result, Ok(OwnedLease::new(bucket.clone(), slot, item))));
                }
                None if unassigned => break,
                None => match (at..self.waiters.len()).find(|&next| self.waiters[next].creation.is_none()) {
                    Some(next) => at = next,
                    None => break,
                },
            }
        }
        self.assign_creations();
    }

    /// Assigns unassigned waiters to creations that can serve more.
    fn assign_creations(&mut self) {
        let concurrency = self.limits.concurrency;
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.creation.is_none()) {
            let spare = self.creations.iter_mut().find(|creation| concurrency == 0 || creation.waiters < concurrency);
            let Some(creation) = spare else { return };
            creation.waiters += 1;
            waiter.creation = Some(creation.id);
        }
    }

    fn unassign(&mut self, id: Option<SlotId>) {
        if let Some(creation) = self.creations.iter_mut().find(|creation| Some(creation.id) == id) {
            creation.waiters -= 1;
        }
    }

    /// A creation begins, for which `weight` was reserved.
    pub(crate) fn begin_creation(&mut self, id: SlotId, weight: u64) {
        self.creations.push(PendingCreation { id, waiters: 0, weight });
        self.assign_creations();
    }

    /// Removes a creation that has ended and returns what was reserved for it. The caller handles the waiters that were
    /// assigned to it.
    fn end_creation(&mut self, id: SlotId) -> u64 {
        let index = self.creations.iter().position(|creation| creation.id == id).expect("a creation ends once");
        self.creations.remove(index).weight
    }

    /// A creation succeeded.
    pub(crate) fn add_item(
        &mut self,
        mut slot: Slot<M::Item>,
        bucket: &Arc<Bucket<M>>,
        deferred: &mut Deferred<M>,
    ) -> CreationEnd {
        let reserved = self.end_creation(slot.id);
        let is_broken = matches!(bucket.manager().health(&slot.item), ItemHealth::Retiring | ItemHealth::Gone);
        if is_broken && self.phase == Phase::Open {
            return CreationEnd { reserved, pause: self.add_broken_item(slot, bucket, deferred) };
        }
        self.backoff.succeeded();
        for waiter in self.waiters.iter_mut().filter(|waiter| waiter.creation == Some(slot.id)) {
            waiter.creation = None;
        }
        self.counts.created += 1;
        slot.added = self.next_seq();
        if let Phase::Ended(end) = self.phase {
            slot.condemn(end.destroy_reason());
        }
        if self.needs_successor {
            self.slots.iter_mut().filter(|slot| slot.is_worn()).for_each(|slot| slot.condemn(DestroyReason::Expired));
            self.needs_successor = false;
        }
        self.slots.push(slot);
        self.remove_condemned(bucket, deferred);
        // The waiters get the item however short its lifetime is: otherwise they would wait for the next one without end.
        self.serve_waiters(bucket, Accept::Any, None, deferred);
        CreationEnd { reserved, pause: None }
    }

    /// An item was made that gets no new leases already. The waiters that were assigned to it get it all the same, for its
    /// answer or for the reason why there is none: otherwise they would wait for the next one without end.
    fn add_broken_item(
        &mut self,
        mut slot: Slot<M::Item>,
        bucket: &Arc<Bucket<M>>,
        deferred: &mut Deferred<M>,
    ) -> Option<Duration> {
        let id = slot.id;
        self.counts.created += 1;
        slot.added = self.next_seq();
        self.slots.push(slot);
        let index = self.slots.len() - 1;
        for mut waiter in std::mem::take(&mut self.waiters) {
            if waiter.creation == Some(id) && self.slots[index].is_usable() {
                self.counts.misses += 1;
                let (slot, item) = self.lease_slot(index);
                deferred.work().results.push((waiter.result, Ok(OwnedLease::new(bucket.clone(), slot, item))));
            } else {
                waiter.creation = waiter.creation.filter(|creation| *creation != id);
                self.waiters.push_back(waiter);
            }
        }
        let pause = self.pause_creations();
        self.slots[index].check_health(bucket.manager(), &self.limits.lifetime, None);
        self.remove_condemned(bucket, deferred);
        self.assign_creations();
        pause
    }

    /// A creation failed, and with it all waiters that were assigned to it.
    pub(crate) fn fail_creation(
        &mut self,
        id: SlotId,
        error: &AcquireError<M::Error>,
        deferred: &mut Deferred<M>,
    ) -> CreationEnd {
        let reserved = self.end_creation(id);
        self.counts.failed += 1;
        let waiters = std::mem::take(&mut self.waiters);
        for waiter in waiters {
            if waiter.creation == Some(id) {
                deferred.work().results.push((waiter.result, Err(error.clone())));
            } else {
                self.waiters.push_back(waiter);
            }
        }
        // A caller has its own reason to try again; the successor of a worn item would be tried without end.
        let pause = if self.needs_successor() { self.pause_creations() } else { None };
        CreationEnd { reserved, pause }
    }
}
