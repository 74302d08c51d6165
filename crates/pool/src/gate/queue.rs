//! The queue of one owner: how many requests run, which wait, and the counts. Plain data; its lock and the rules that need more
//! than one queue are in `owner.rs` and `shared.rs`.
//!
//! States: `Open -> Draining -> Drained`, the last one when no request runs or waits any more; both go back to `Open`.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::oneshot;

use super::fair_queue::VirtualTime;
use super::{AdmissionError, OwnedPermit, OwnerLimits};
use crate::stats::GateStats;

pub(super) type AdmissionResult = Result<OwnedPermit, AdmissionError>;

/// Names a queued request. Later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WaiterId(u64);

pub(super) struct Queue {
    pub(super) limits: OwnerLimits,
    state: DrainState,
    /// How many [`OwnerBlock`](super::OwnerBlock)s exist.
    blocks: usize,
    running: usize,
    waiters: VecDeque<Waiter>,
    last_id: u64,
    counts: GateStats,
    /// Whether the owner is in the fair queue of the shared slots. Changed only under the fair queue's lock too.
    pub(super) is_listed: bool,
    /// When the owner's last shared slot ended.
    pub(super) finish: VirtualTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainState {
    Open,
    Draining,
    Drained,
}

/// Why a request leaves the queue without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuitReason {
    Abandoned,
    TimedOut { waited: Duration },
}

struct Waiter {
    id: WaiterId,
    sender: oneshot::Sender<AdmissionResult>,
}

impl Queue {
    pub(super) fn new(state: DrainState, limits: OwnerLimits) -> Self {
        Self {
            limits,
            state,
            blocks: 0,
            running: 0,
            waiters: VecDeque::new(),
            last_id: 0,
            counts: GateStats::default(),
            is_listed: false,
            finish: VirtualTime::default(),
        }
    }

    /// Whether a new request could run at once, as far as this queue goes.
    pub(super) fn can_enter_now(&self) -> bool {
        self.state == DrainState::Open
            && self.blocks == 0
            && self.waiters.is_empty()
            && self.running < self.limits.max_running
    }

    /// Why a new request may not even wait, if so.
    pub(super) fn rejection(&self) -> Option<AdmissionError> {
        if self.state != DrainState::Open {
            return Some(AdmissionError::Draining);
        }
        if self.blocks > 0 {
            return Some(AdmissionError::Blocked);
        }
        let queued = self.waiters.len();
        (queued >= self.limits.max_queued).then_some(AdmissionError::QueueFull { queued })
    }

    /// Whether the first queued request could run if it had a shared slot.
    pub(super) fn wants_shared_slot(&self) -> bool {
        !self.waiters.is_empty() && self.running < self.limits.max_running
    }

    pub(super) fn enter(&mut self) {
        self.running += 1;
        self.counts.entered += 1;
    }

    pub(super) fn leave(&mut self) {
        debug_assert!(self.running > 0, "a permit was released twice");
        self.running -= 1;
        self.counts.left += 1;
    }

    pub(super) fn push_waiter(&mut self) -> (WaiterId, oneshot::Receiver<AdmissionResult>) {
        self.last_id += 1;
        self.counts.waits += 1;
        let id = WaiterId(self.last_id);
        let (sender, receiver) = oneshot::channel();
        self.waiters.push_back(Waiter { id, sender });
        (id, receiver)
    }

    /// Lets the first queued request run; its permit is to be sent when no lock is held.
    pub(super) fn admit_next(&mut self) -> Option<oneshot::Sender<AdmissionResult>> {
        if self.running >= self.limits.max_running {
            return None;
        }
        let next = self.waiters.pop_front()?;
        self.enter();
        Some(next.sender)
    }

    /// Removes a request that will not wait any longer. `None` if it is not in the queue: then its result was sent.
    pub(super) fn remove_waiter(&mut self, id: WaiterId, reason: QuitReason) -> Option<()> {
        let index = self.waiters.binary_search_by_key(&id, |waiter| waiter.id).ok()?;
        self.waiters.remove(index)?;
        match reason {
            QuitReason::Abandoned => self.counts.abandoned += 1,
            QuitReason::TimedOut { waited } => self.count_rejection(AdmissionError::TimedOut { waited }),
        }
        Some(())
    }

    /// Adds a block and empties the queue: the requests that are returned are to be sent [`AdmissionError::Blocked`].
    pub(super) fn add_block(&mut self) -> Vec<oneshot::Sender<AdmissionResult>> {
        self.blocks += 1;
        self.counts.rejected.blocked += self.waiters.len() as u64;
        self.waiters.drain(..).map(|waiter| waiter.sender).collect()
    }

    pub(super) fn remove_block(&mut self) {
        self.blocks -= 1;
    }

    pub(super) fn count_rejection(&mut self, error: AdmissionError) {
        let counts = &mut self.counts.rejected;
        let number = match error {
            AdmissionError::QueueFull { .. } => &mut counts.queue_full,
            AdmissionError::Overloaded { .. } => &mut counts.overloaded,
            AdmissionError::TimedOut { .. } => &mut counts.timed_out,
            AdmissionError::Draining => &mut counts.draining,
            AdmissionError::Blocked => &mut counts.blocked,
        };
        *number += 1;
    }

    pub(super) fn drain(&mut self) {
        if self.state == DrainState::Open {
            self.state = DrainState::Draining;
        }
    }

    /// Returns how far the drain had come.
    pub(super) fn reopen(&mut self) -> DrainState {
        std::mem::replace(&mut self.state, DrainState::Open)
    }

    /// True once: when a queue that drains has become empty.
    pub(super) fn has_just_drained(&mut self) -> bool {
        let empty = self.running == 0 && self.waiters.is_empty();
        if self.state != DrainState::Draining || !empty {
            return false;
        }
        self.state = DrainState::Drained;
        true
    }

    pub(super) fn stats(&self) -> GateStats {
        GateStats { running: self.running, queued: self.waiters.len(), ..self.counts }
    }
}
