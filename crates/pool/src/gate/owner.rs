//! One owner: its limits and its queue, and how its requests enter and leave. There are two ways for both. Without a shared
//! limit on running requests, the queue decides alone, under its own lock. With one, a request that finds a free slot and an
//! empty queue still needs only the queue's lock and the slot counter's atomic; only a request that must wait, and a release
//! while a request waits, take the lock of the fair queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::fair_queue::FairQueue;
use super::queue::{AdmissionResult, Queue, QuitReason, WaiterId};
use super::shared::{GateShared, Grant};
use super::slots::SlotCounter;
use super::{AdmissionError, GateEntry, OwnedPermit, OwnerLimits, Permit};
use crate::stats::GateStats;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OwnerId(pub(super) u64);

pub(super) struct Owner {
    id: OwnerId,
    /// Whether the gate has shared limits. Stored here too, so that an owner without them need not look at the gate.
    has_shared_limits: bool,
    gate: Arc<GateShared>,
    /// Separate from the owner, so that the gate can read the counts while the owner is being dropped.
    queue: Arc<Mutex<Queue>>,
}

/// A request in an owner's queue. Dropping it removes it from the queue.
pub struct QueuedRequest {
    owner: Arc<Owner>,
    id: WaiterId,
    receiver: oneshot::Receiver<AdmissionResult>,
    /// How long it may wait.
    timeout: Duration,
}

pub(super) fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    // No code that can panic half-way runs under this lock.
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Owner ===

impl Owner {
    pub(super) fn new(id: OwnerId, gate: Arc<GateShared>, queue: Arc<Mutex<Queue>>) -> Self {
        let has_shared_limits = gate.slots.is_some() || gate.total.is_some();
        Self { id, has_shared_limits, gate, queue }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.queue)
    }

    pub(super) fn try_enter(self: &Arc<Self>) -> Option<Permit<'_>> {
        let mut queue = self.lock();
        self.try_enter_locked(&mut queue)
    }

    fn try_enter_locked<'a>(self: &'a Arc<Self>, queue: &mut Queue) -> Option<Permit<'a>> {
        if !queue.can_enter_now() {
            return None;
        }
        if self.has_shared_limits {
            self.gate.try_take_slot()?;
        }
        queue.enter();
        Some(Permit { owner: self })
    }

    /// Enters, is queued or is rejected.
    pub(super) fn enter_or_queue(self: &Arc<Self>) -> Result<GateEntry, AdmissionError> {
        let Some(slots) = &self.gate.slots else { return self.queue_for_own_slot() };
        match self.try_enter() {
            Some(permit) => Ok(GateEntry::Entered(permit.into_owned())),
            None => self.queue_for_shared_slot(slots),
        }
    }

    fn queue_for_own_slot(self: &Arc<Self>) -> Result<GateEntry, AdmissionError> {
        let mut queue = self.lock();
        match self.try_enter_locked(&mut queue) {
            Some(permit) => Ok(GateEntry::Entered(permit.into_owned())),
            None => Ok(GateEntry::Queued(self.push_waiter(&mut queue)?)),
        }
    }

    fn queue_for_shared_slot(self: &Arc<Self>, slots: &SlotCounter) -> Result<GateEntry, AdmissionError> {
        let mut fair_queue = self.gate.fair_queue();
        // Owners whose requests have all gone may still be listed; without them there may be a slot at once.
        let mut grants = self.gate.grant_free_slots(&mut fair_queue, slots);
        let mut queue = self.lock();
        let entry = match self.try_enter_locked(&mut queue) {
            Some(permit) => Ok(GateEntry::Entered(permit.into_owned())),
            None => self.push_waiter(&mut queue).map(|request| {
                self.gate.enlist(&mut fair_queue, slots, self, &mut queue);
                GateEntry::Queued(request)
            }),
        };
        drop(queue);
        // A slot may have been released before the waiter bit was set.
        grants.extend(self.gate.grant_free_slots(&mut fair_queue, slots));
        drop(fair_queue);
        grants.into_iter().for_each(Grant::send);
        entry
    }

    fn push_waiter(self: &Arc<Self>, queue: &mut Queue) -> Result<QueuedRequest, AdmissionError> {
        let error = queue.rejection();
        let error = error.or_else(|| self.gate.try_take_total_or_reject().err());
        if let Some(error) = error {
            queue.count_rejection(error);
            return Err(error);
        }
        let (id, receiver) = queue.push_waiter();
        Ok(QueuedRequest { owner: self.clone(), id, receiver, timeout: queue.limits.queue_timeout })
    }

    /// A permit is released.
    pub(super) fn release(self: &Arc<Self>) {
        let mut queue = self.lock();
        queue.leave();
        match (self.has_shared_limits, &self.gate.slots) {
            (false, _) | (_, None) => {
                let next = queue.admit_next();
                self.unlock(queue);
                if self.has_shared_limits {
                    self.gate.release_total(1);
                }
                if let Some(sender) = next {
                    Grant::new(self.clone(), sender).send();
                }
            }
            (true, Some(slots)) => {
                let wants_slot = queue.wants_shared_slot();
                self.unlock(queue);
                self.gate.release_total(1);
                // A request that is queued from here on finds the slot, or sets the waiter bit before it is released.
                if !wants_slot && !slots.release() {
                    return;
                }
                let mut fair_queue = self.gate.fair_queue();
                if wants_slot {
                    // Enlisted before the slot is free, or a request of another owner could take it.
                    self.gate.enlist(&mut fair_queue, slots, self, &mut self.lock());
                    slots.release();
                }
                self.send_grants(fair_queue, slots);
            }
        }
    }

    /// See [`OwnerQueue::set_limits`](super::OwnerQueue::set_limits).
    pub(super) fn set_limits(self: &Arc<Self>, limits: OwnerLimits) {
        let mut queue = self.lock();
        queue.limits = limits;
        match &self.gate.slots {
            None => {
                let mut next = Vec::new();
                while let Some(sender) = queue.admit_next() {
                    next.push(sender);
                }
                drop(queue);
                next.into_iter().for_each(|sender| Grant::new(self.clone(), sender).send());
            }
            Some(slots) => {
                drop(queue);
                let mut fair_queue = self.gate.fair_queue();
                self.gate.enlist(&mut fair_queue, slots, self, &mut self.lock());
                self.send_grants(fair_queue, slots);
            }
        }
    }

    fn send_grants(&self, mut fair_queue: MutexGuard<'_, FairQueue>, slots: &SlotCounter) {
        let grants = self.gate.grant_free_slots(&mut fair_queue, slots);
        drop(fair_queue);
        grants.into_iter().for_each(Grant::send);
    }

    pub(super) fn add_block(&self) {
        let mut queue = self.lock();
        let rejected = queue.add_block();
        self.unlock(queue);
        self.gate.release_total(rejected.len());
        for sender in rejected {
            // A request that has gone meanwhile needs no result.
            let _ = sender.send(Err(AdmissionError::Blocked));
        }
    }

    pub(super) fn remove_block(&self) {
        self.lock().remove_block();
    }

    pub(super) fn stats(&self) -> GateStats {
        self.lock().stats()
    }

    /// Unlocks a queue from which a request was removed, and reports to the gate if it was the last one of a drain.
    fn unlock(&self, mut queue: MutexGuard<'_, Queue>) {
        let drained = queue.has_just_drained();
        drop(queue);
        if drained {
            self.gate.owner_drained();
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.gate.remove_owner(self.id);
    }
}

// === impl QueuedRequest ===

impl QueuedRequest {
    /// Waits for the permit; see [`OwnerQueue::enter`](super::OwnerQueue::enter).
    pub async fn permit(mut self) -> Result<OwnedPermit, AdmissionError> {
        let since = Instant::now();
        match tokio::time::timeout(self.timeout, self.result()).await {
            Ok(result) => result,
            Err(_) => self.time_out(since.elapsed()).await,
        }
    }

    async fn result(&mut self) -> AdmissionResult {
        (&mut self.receiver).await.expect("a waiter that is taken out of the queue is sent a result")
    }

    /// Stops waiting, unless the turn has just come.
    async fn time_out(mut self, waited: Duration) -> AdmissionResult {
        match self.quit(QuitReason::TimedOut { waited }) {
            Some(()) => Err(AdmissionError::TimedOut { waited }),
            None => self.result().await,
        }
    }

    fn quit(&self, reason: QuitReason) -> Option<()> {
        let mut queue = self.owner.lock();
        queue.remove_waiter(self.id, reason)?;
        self.owner.unlock(queue);
        self.owner.gate.release_total(1);
        Some(())
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        // If the result was sent already, it goes with the channel, and a permit in it passes its slot on.
        let _ = self.quit(QuitReason::Abandoned);
    }
}
