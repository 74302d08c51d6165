//! The slots of one key and the callers that wait for one: plain data under the bucket's lock. Whatever must not happen under a
//! lock (sending results, destroying and making items) is added to a [`Deferred`] for the holder of the lock.
//!
//! Callers wait in one queue. Each is either assigned to a creation that is under way (`Waiter::creation`), or waits for a
//! lease or for capacity. A creation serves as many waiters as its item will have leases, so as many creations run as the
//! waiters need.
//!
//! Invariants, whenever the lock is free:
//! - usable + creations <= `max_items`. Condemned and worn items do not count here: an item that gets no new leases, or soon
//!   will not, must not delay its successor. They do count for the pool.
//! - A waiter that is assigned to no creation waits only while no usable item has a free lease, so no caller can overtake it.
//! - A waiter is assigned to a creation that exists, and `PendingCreation::waiters` is their number.
//! - A bucket that is not open has no waiters.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Bucket;
use crate::backoff::{Backoff, BackoffConfig};
use crate::deferred::{Deferred, Removal, WaiterResult};
use crate::keyed_pool::KeyLimits;
use crate::listing::ItemInfo;
use crate::manager::{Affinity, DestroyReason, Load, Manager};
use crate::slot::{Seq, Slot, SlotId};
use crate::stats::KeyStats;

pub(crate) struct BucketState<M: Manager> {
    pub(super) limits: KeyLimits,
    pub(super) phase: Phase,
    pub(super) slots: Vec<Slot<M::Item>>,
    pub(super) creations: Vec<PendingCreation>,
    pub(super) waiters: VecDeque<Waiter<M>>,
    last_seq: Seq,
    /// A worn item was found, whose successor is not there yet.
    pub(super) needs_successor: bool,
    /// Creations may not begin: an item was broken when it was made, and the delay after it is not over.
    pub(super) creations_paused: bool,
    pub(super) backoff: Backoff,
    /// Whether the bucket is in the queue of the pool or of its group. Changed only under the capacity's lock too.
    pub(crate) waiting_for_capacity: bool,
    pub(super) counts: KeyStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    Ended(EndReason),
}

/// Why a bucket gives no leases any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndReason {
    Retired,
    Closed,
}

/// How long creations wait after items that were broken when they were made. Callers wait for longer than that.
const BACKOFF: BackoffConfig = BackoffConfig { initial: Duration::from_millis(50), max: Duration::from_secs(2) };

/// Which items are acceptable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accept {
    /// One that is not busy.
    NotBusy,
    /// A busy one too, if no better one can be expected: no more may be made, or one is being made already.
    BusyIfNoBetter,
    /// Any that has a free lease.
    Any,
}

/// An item that is being made.
pub(super) struct PendingCreation {
    pub(super) id: SlotId,
    /// The number of waiters that are assigned to it.
    pub(super) waiters: u32,
    /// What was reserved for it in the pool's capacity.
    pub(super) weight: u64,
}

pub(super) struct Waiter<M: Manager> {
    pub(super) seq: Seq,
    pub(super) creation: Option<SlotId>,
    pub(super) result: oneshot::Sender<WaiterResult<M>>,
}

impl<M: Manager> BucketState<M> {
    pub(crate) fn new(limits: KeyLimits, phase: Phase) -> Self {
        Self {
            limits,
            phase,
            slots: Vec::new(),
            creations: Vec::new(),
            waiters: VecDeque::new(),
            last_seq: Seq::default(),
            needs_successor: false,
            creations_paused: false,
            backoff: Backoff::new(BACKOFF),
            waiting_for_capacity: false,
            counts: KeyStats::default(),
        }
    }

    /// Leases an item that is there. The lease itself is made by the caller when the lock is released: the time under it
    /// matters when threads compete for it.
    pub(crate) fn try_lease(
        &mut self,
        bucket: &Arc<Bucket<M>>,
        deferred: &mut Deferred<M>,
    ) -> Option<(SlotId, M::Item)> {
        if self.phase != Phase::Open {
            return None;
        }
        let now = self.now_if_ttl();
        let index = self.select(bucket, Accept::BusyIfNoBetter, now, deferred)?;
        self.counts.hits += 1;
        Some(self.lease_slot(index))
    }

    /// The first item that was last used on this thread and is not busy, or else is not busy, or else (as far as `accept` goes)
    /// the busy one with the fewest leases. Items that are found to be unusable are removed on the way.
    /// Ages are checked if `now` is given.
    pub(super) fn select(
        &mut self,
        bucket: &Arc<Bucket<M>>,
        accept: Accept,
        now: Option<Instant>,
        deferred: &mut Deferred<M>,
    ) -> Option<usize> {
        let manager = bucket.manager();
        let mut usable = 0;
        let mut elsewhere = None;
        let mut busy: Option<(u32, usize)> = None;
        let mut index = 0;
        while let Some(slot) = self.slots.get_mut(index) {
            slot.check_health(manager, &self.limits.lifetime, now);
            if !slot.is_usable() {
                match slot.removal_reason(manager) {
                    Some(why) => self.remove(index, why, bucket, deferred),
                    None => index += 1,
                }
                continue;
            }
            if slot.is_worn() {
                self.needs_successor = true;
            } else {
                usable += 1;
            }
            if slot.has_free_lease(self.limits.concurrency) {
                match (manager.load(&slot.item), manager.affinity(&slot.item)) {
                    (Load::Idle | Load::Working, Affinity::Here) => return Some(index),
                    (Load::Idle | Load::Working, Affinity::Elsewhere) => elsewhere = elsewhere.or(Some(index)),
                    (Load::Busy, _) => {
                        if busy.is_none_or(|(least, _)| slot.leases() < least) {
                            busy = Some((slot.leases(), index));
                        }
                    }
                }
            }
            index += 1;
        }
        let accepts_busy = match accept {
            Accept::NotBusy => false,
            Accept::BusyIfNoBetter => !self.creations.is_empty() || usable >= self.limits.max_items,
            Accept::Any => true,
        };
        elsewhere.or(busy.filter(|_| accepts_busy).map(|(_, index)| index))
    }

    /// Whether `needs_creation` is worth asking although an item was leased.
    pub(crate) fn needs_successor(&self) -> bool {
        self.needs_successor
    }

    pub(super) fn lease_slot(&mut self, index: usize) -> (SlotId, M::Item) {
        let slot = &mut self.slots[index];
        slot.lease(&self.limits.lifetime);
        (slot.id, slot.item.clone())
    }

    /// Releases a lease. True when the item may now be idle, which buckets that wait for capacity depend on.
    pub(crate) fn release(
        &mut self,
        id: SlotId,
        now: impl FnOnce() -> Instant,
        bucket: &Arc<Bucket<M>>,
        deferred: &mut Deferred<M>,
    ) -> bool {
        let index = self.index_of(id).expect("a slot stays as long as a lease of it is out");
        let manager = bucket.manager();
        let slot = &mut self.slots[index];
        let last = slot.release(now);
        if last {
            // An item that broke during its last lease is removed now, not at the next request or sweep.
            slot.check_health(manager, &self.limits.lifetime, None);
            if let Some(why) = slot.removal_reason(manager) {
                self.remove(index, why, bucket, deferred);
            }
        }
        if !self.waiters.is_empty() {
            self.serve_waiters(bucket, Accept::Any, self.now_if_ttl(), deferred);
        }
        last
    }

    pub(crate) fn condemn(&mut self, id: SlotId) {
        let index = self.index_of(id).expect("a slot stays as long as a lease of it is out");
        self.slots[index].condemn(DestroyReason::Condemned);
    }

    pub(super) fn index_of(&self, id: SlotId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.id == id)
    }

    pub(super) fn remove(
        &mut self,
        index: usize,
        why: DestroyReason,
        bucket: &Arc<Bucket<M>>,
        deferred: &mut Deferred<M>,
    ) {
        let slot = self.slots.remove(index);
        self.counts.removed += 1;
        deferred.work().removals.push(Removal::new(slot, bucket.clone(), why, false));
    }

    /// The time, if items have an age to reach: a clock reading is half the cost of a lease.
    pub(crate) fn now_if_ttl(&self) -> Option<Instant> {
        self.limits.lifetime.ttl.map(|_| Instant::now())
    }

    pub(super) fn next_seq(&mut self) -> Seq {
        self.last_seq.0 += 1;
        self.last_seq
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.creations.is_empty() && self.waiters.is_empty()
    }

    pub(crate) fn list(&self, key: &M::Key, now: Instant) -> Vec<ItemInfo<M>> {
        self.slots.iter().map(|slot| ItemInfo::new(key, slot, now)).collect()
    }

    pub(crate) fn stats(&self) -> KeyStats {
        KeyStats {
            cached: self.slots.len(),
            creating: self.creations.len(),
            waiting: self.waiters.len(),
            leased: self.slots.iter().map(|slot| slot.leases() as usize).sum(),
            ..self.counts
        }
    }
}
