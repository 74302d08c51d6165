//! What the owners of a gate share: the slots, the order in which owners get them, the registry of owners, and the drain. An
//! owner touches any of it only when there are shared limits, or when it is added or removed.
//!
//! A drain counts owners, not requests: each owner that had a request running or queued when it began reports once, when it has
//! none left, so the end is noticed without polling the owners.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::fair_queue::FairQueue;
use super::owner::{self, Owner, OwnerId};
use super::queue::{AdmissionResult, DrainState, Queue};
use super::slots::{SlotCounter, TotalCounter};
use super::{AdmissionError, GateLimits, OwnedPermit, OwnerLimits};
use crate::stats::GateStats;

pub(super) struct GateShared {
    pub(super) slots: Option<SlotCounter>,
    /// May be shared with other gates.
    pub(super) total: Option<Arc<TotalCounter>>,
    fair_queue: Mutex<FairQueue>,
    registry: Mutex<OwnerRegistry>,
    /// Owners that are not drained yet, plus one while no drain has begun or `drain` itself runs.
    undrained: AtomicUsize,
    drained: Notify,
}

/// All owners, and the counts of removed ones.
struct OwnerRegistry {
    state: DrainState,
    queues: HashMap<OwnerId, Arc<Mutex<Queue>>>,
    removed: GateStats,
    last_id: u64,
}

/// A permit for a queued request, to be sent when no lock is held.
pub(super) struct Grant {
    owner: Arc<Owner>,
    sender: oneshot::Sender<AdmissionResult>,
}

// === impl GateShared ===

impl GateShared {
    pub(super) fn new(limits: GateLimits) -> Self {
        Self::with_total(limits.max_running, limits.max_total.map(|limit| Arc::new(TotalCounter::new(limit))))
    }

    pub(super) fn with_total(max_running: Option<usize>, total: Option<Arc<TotalCounter>>) -> Self {
        let registry = OwnerRegistry {
            state: DrainState::Open,
            queues: HashMap::new(),
            removed: GateStats::default(),
            last_id: 0,
        };
        Self {
            slots: max_running.map(SlotCounter::new),
            total,
            fair_queue: Mutex::default(),
            registry: Mutex::new(registry),
            undrained: AtomicUsize::new(1),
            drained: Notify::new(),
        }
    }

    pub(super) fn add_owner(self: &Arc<Self>, limits: OwnerLimits) -> Arc<Owner> {
        let mut registry = self.registry();
        registry.last_id += 1;
        let id = OwnerId(registry.last_id);
        let queue = Arc::new(Mutex::new(Queue::new(registry.state, limits)));
        registry.queues.insert(id, queue.clone());
        Arc::new(Owner::new(id, self.clone(), queue))
    }

    /// The owner's last handle and permit are gone; its counts stay.
    pub(super) fn remove_owner(&self, id: OwnerId) {
        let mut registry = self.registry();
        if let Some(queue) = registry.queues.remove(&id) {
            let counts = owner::lock(&queue).stats();
            registry.removed += counts;
        }
    }

    /// Takes what the shared limits demand, if it is free right now. `None` changes nothing.
    pub(super) fn try_take_slot(&self) -> Option<()> {
        self.try_take_total()?;
        if self.slots.as_ref().is_none_or(SlotCounter::try_take_unless_waiters) {
            return Some(());
        }
        self.release_total(1);
        None
    }

    fn try_take_total(&self) -> Option<()> {
        self.total.as_ref().is_none_or(|total| total.try_take()).then_some(())
    }

    /// The same for a request that is to be queued.
    pub(super) fn try_take_total_or_reject(&self) -> Result<(), AdmissionError> {
        match &self.total {
            Some(total) if !total.try_take() => Err(AdmissionError::Overloaded { limit: total.limit() }),
            _ => Ok(()),
        }
    }

    pub(super) fn release_total(&self, count: usize) {
        if let Some(total) = &self.total {
            total.release(count);
        }
    }

    /// Adds the owner to the fair queue if its first request waits for nothing but a shared slot.
    pub(super) fn enlist(
        &self,
        fair_queue: &mut FairQueue,
        slots: &SlotCounter,
        owner: &Arc<Owner>,
        queue: &mut Queue,
    ) {
        if queue.is_listed || !queue.wants_shared_slot() {
            return;
        }
        queue.is_listed = true;
        fair_queue.insert(owner.clone(), queue.finish);
        slots.set_has_waiters(true);
    }

    /// Grants all free slots, in fair order. When it returns, either no slot is free or no owner is listed.
    pub(super) fn grant_free_slots(&self, fair_queue: &mut FairQueue, slots: &SlotCounter) -> Vec<Grant> {
        let mut grants = Vec::new();
        while !fair_queue.is_empty() && slots.try_take() {
            let (start, owner) = fair_queue.pop().expect("the fair queue is not empty");
            let mut queue = owner.lock();
            queue.is_listed = false;
            match queue.admit_next() {
                Some(sender) => {
                    queue.finish = fair_queue.record_grant(start, queue.limits.weight);
                    self.enlist(fair_queue, slots, &owner, &mut queue);
                    drop(queue);
                    grants.push(Grant { owner, sender });
                }
                // All its requests have gone. No other request can take this slot: the waiter bit is still set.
                None => {
                    slots.release();
                }
            }
        }
        if fair_queue.is_empty() {
            slots.set_has_waiters(false);
        }
        grants
    }

    pub(super) fn fair_queue(&self) -> MutexGuard<'_, FairQueue> {
        self.fair_queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registry(&self) -> MutexGuard<'_, OwnerRegistry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn drain(&self) {
        let mut registry = self.registry();
        if registry.state != DrainState::Open {
            return;
        }
        // Owners that are added later have no request that could run: they are drained from the start.
        registry.state = DrainState::Drained;
        for queue in registry.queues.values() {
            let mut queue = owner::lock(queue);
            queue.drain();
            if !queue.has_just_drained() {
                self.undrained.fetch_add(1, Ordering::AcqRel);
            }
        }
        drop(registry);
        self.owner_drained();
    }

    pub(super) fn reopen(&self) {
        let mut registry = self.registry();
        if registry.state == DrainState::Open {
            return;
        }
        registry.state = DrainState::Open;
        // Restores what `drain` subtracted. First, so that the number does not reach zero on the way.
        self.undrained.fetch_add(1, Ordering::AcqRel);
        for queue in registry.queues.values() {
            // A queue that has drained has been counted, or is about to be.
            if owner::lock(queue).reopen() == DrainState::Draining {
                self.undrained.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    pub(super) fn owner_drained(&self) {
        if self.undrained.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.drained.notify_waiters();
        }
    }

    pub(super) async fn drained(&self) {
        let mut notified = std::pin::pin!(self.drained.notified());
        // Registered before the check: the drain may end in between.
        notified.as_mut().enable();
        if self.undrained.load(Ordering::Acquire) > 0 {
            notified.await;
        }
    }

    pub(super) fn stats(&self) -> GateStats {
        let registry = self.registry();
        let mut sum = registry.removed;
        for queue in registry.queues.values() {
            sum += owner::lock(queue).stats();
        }
        sum
    }
}

// === impl Grant ===

impl Grant {
    pub(super) fn new(owner: Arc<Owner>, sender: oneshot::Sender<AdmissionResult>) -> Self {
        Self { owner, sender }
    }

    /// Sends the permit. If the receiver is gone the permit is dropped here, which passes the slot on.
    pub(super) fn send(self) {
        let _unsent = self.sender.send(Ok(OwnedPermit { owner: self.owner }));
    }
}
