//! Admission control: which request may run, which waits, which is rejected.
//!
//! Each owner has a queue of its own: first come, first served, bounded in length and in time. There may be limits for all
//! owners together; the slots under such a limit are granted in an order that is fair between owners
//! (`gate/fair_queue.rs`).
//!
//! ```text
//! enter ──> slot free, queue empty ──────────────────────────────> OwnedPermit ──drop──> the next in the queue
//!    └────> queued ── its turn ──────────────────────────────────────┘
//!             ├─ queue timeout ───> AdmissionError::TimedOut
//!             ├─ owner blocked ───> AdmissionError::Blocked
//!             └─ future dropped ──> removed from the queue
//! ```
//!
//! Invariants:
//! - `entered = running + left` for each owner at every moment; a permit is released once, by its `Drop`.
//! - No request overtakes another of its owner: one that arrives while others wait is queued behind them.
//! - No slot is left free while a request waits that may have it. A grant that reaches a request whose future was just dropped
//!   is a permit like any other: dropping it passes the slot on.
//! - Without shared limits, entering and leaving take the owner's own lock only.
//!
//! Locks: `fair_queue` before `registry` before an owner's queue; never two owners' queues at once; results are sent under
//! none.

mod fair_queue;
mod owner;
mod queue;
mod shared;
mod slots;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::stats::GateStats;
use owner::Owner;
use shared::GateShared;

pub use owner::QueuedRequest;

/// Limits for all owners together. `None` is no limit, and costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateLimits {
    /// Requests that run at once.
    pub max_running: Option<usize>,
    /// Requests that run or wait.
    pub max_total: Option<usize>,
}

/// Limits for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerLimits {
    pub max_running: usize,
    /// How many requests may wait in the queue.
    pub max_queued: usize,
    /// How long they may wait.
    pub queue_timeout: Duration,
    /// The owner's share of the shared slots, against the weights of the other owners that wait: 1 to 2^20.
    pub weight: u32,
}

/// A gate through which owners' requests pass. Clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    shared: Arc<GateShared>,
}

/// One owner's side of a gate. Clones are the same queue. A component that keeps one per owner looks nothing up.
#[derive(Clone)]
pub struct OwnerQueue {
    owner: Arc<Owner>,
}

/// The right to run; released when dropped.
#[must_use = "a permit that is dropped is released"]
pub struct OwnedPermit {
    owner: Arc<Owner>,
}

/// A permit that borrows the [`OwnerQueue`] it comes from.
#[must_use = "a permit that is dropped is released"]
pub struct Permit<'a> {
    owner: &'a Arc<Owner>,
}

/// While it exists, no request of its owner enters or waits.
#[must_use = "a block that is dropped has no effect"]
pub struct OwnerBlock {
    owner: Arc<Owner>,
}

/// What a request gets at once if it is not rejected.
pub enum GateEntry {
    Entered(OwnedPermit),
    Queued(QueuedRequest),
}

/// Why a request may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    #[error("{queued} wait already")]
    QueueFull { queued: usize },
    /// The limit for all owners together ([`GateLimits::max_total`]).
    #[error("{limit} run or wait already, of all owners together")]
    Overloaded { limit: usize },
    #[error("waited for {waited:?}, and no slot became free")]
    TimedOut { waited: Duration },
    #[error("the gate admits no new requests")]
    Draining,
    #[error("the owner is blocked for now")]
    Blocked,
}

// === impl Gate ===

impl Gate {
    pub fn new(limits: GateLimits) -> Self {
        Self { shared: Arc::new(GateShared::new(limits)) }
    }

    /// Another gate, with slots of its own: its requests and this gate's count for one total.
    pub fn with_same_total(&self, max_running: Option<usize>) -> Self {
        Self { shared: Arc::new(GateShared::with_total(max_running, self.shared.total.clone())) }
    }

    /// A new queue. Two calls make two owners: the caller keeps the handle of its owner.
    pub fn add_owner(&self, limits: OwnerLimits) -> OwnerQueue {
        OwnerQueue { owner: self.shared.add_owner(limits) }
    }

    /// From now on no new request enters. Queued requests still get their turn.
    pub fn drain(&self) {
        self.shared.drain();
    }

    /// Resolves when, after [`drain`](Self::drain), no request runs or waits.
    pub async fn drained(&self) {
        self.shared.drained().await;
    }

    /// Undoes [`drain`](Self::drain): new requests enter again, also after the drain has ended.
    pub fn reopen(&self) {
        self.shared.reopen();
    }

    /// The sum over all owners, removed ones included.
    pub fn stats(&self) -> GateStats {
        self.shared.stats()
    }
}

// === impl OwnerQueue ===

impl OwnerQueue {
    /// Enters if that is possible at once, without overtaking a queued request.
    pub fn try_enter_owned(&self) -> Option<OwnedPermit> {
        self.try_enter().map(Permit::into_owned)
    }

    /// The same, borrowed from this handle: it saves the reference count that an owned permit needs.
    pub fn try_enter(&self) -> Option<Permit<'_>> {
        self.owner.try_enter()
    }

    /// Enters as soon as it is this caller's turn. The caller is queued at the first poll, and removed when the future is
    /// dropped.
    pub async fn enter(&self) -> Result<OwnedPermit, AdmissionError> {
        match self.enter_or_queue()? {
            GateEntry::Entered(permit) => Ok(permit),
            GateEntry::Queued(request) => request.permit().await,
        }
    }

    /// Enters if that is possible at once, or takes a place in the queue: [`enter`](Self::enter) in two steps, for callers that
    /// want to know which of the two it is.
    pub fn enter_or_queue(&self) -> Result<GateEntry, AdmissionError> {
        self.owner.enter_or_queue()
    }

    /// Changes the limits. Queued requests that may run now do; requests that run or wait beyond the new limits stay.
    pub fn set_limits(&self, limits: OwnerLimits) {
        self.owner.set_limits(limits);
    }

    /// Rejects queued and new requests until the block is dropped. Running requests are not affected.
    pub fn block(&self) -> OwnerBlock {
        OwnerBlock::new(self.owner.clone())
    }

    pub fn stats(&self) -> GateStats {
        self.owner.stats()
    }
}

// === impl OwnedPermit ===

impl fmt::Debug for OwnedPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedPermit").finish_non_exhaustive()
    }
}

impl Drop for OwnedPermit {
    fn drop(&mut self) {
        self.owner.release();
    }
}

// === impl Permit ===

impl Permit<'_> {
    /// Makes it independent of its handle.
    pub fn into_owned(self) -> OwnedPermit {
        let permit = OwnedPermit { owner: self.owner.clone() };
        std::mem::forget(self);
        permit
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.owner.release();
    }
}

// === impl OwnerBlock ===

impl OwnerBlock {
    fn new(owner: Arc<Owner>) -> Self {
        owner.add_block();
        Self { owner }
    }
}

impl Drop for OwnerBlock {
    fn drop(&mut self) {
        self.owner.remove_block();
    }
}

// === impl AdmissionError ===

impl AdmissionError {
    /// When it may be worth trying again. `None` when this gate will not open again.
    pub fn retry_after(&self) -> Option<Duration> {
        const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
        const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);
        match self {
            // A queue moves all the time, and a block ends with the turn that is being stopped.
            AdmissionError::QueueFull { .. } | AdmissionError::Overloaded { .. } | AdmissionError::Blocked => {
                Some(MIN_RETRY_DELAY)
            }
            // The queue moved less than one place in all that time: an earlier retry would only make it longer.
            AdmissionError::TimedOut { waited } => Some((*waited).clamp(MIN_RETRY_DELAY, MAX_RETRY_DELAY)),
            AdmissionError::Draining => None,
        }
    }
}
