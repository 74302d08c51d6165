//! Who may run, who waits, who is refused.
//!
//! Each owner has a line of its own: first come, first served, bounded in length and in time. Above the owners there may
//! be bounds for all of them together; who waits for one of the shared places gets it in an order that is fair between
//! owners (`gate/order.rs`).
//!
//! ```text
//! enter ──> place free, nobody ahead ──────────────────────────> Permit ──drop──> the next in line
//!    └────> in line ── its turn ────────────────────────────────────┘
//!             ├─ patience is over ──> Refused::Late
//!             ├─ a bar goes down ───> Refused::Barred
//!             └─ dropped ───────────> out of the line
//! ```
//!
//! Invariants:
//! - `entered = running + left` for each owner at every moment; a permit is given back once, by its `Drop`.
//! - Nobody overtakes: who tries to enter while others of its owner wait, waits behind them.
//! - A place that is free is never left unused while somebody waits who may have it. A grant that reaches somebody who has
//!   just gone is a permit like any other: dropping it hands the place on.
//! - Without shared bounds, entering and leaving touch nothing but the owner's own lock.
//!
//! Locks: `order` before `roll` before a `line`; never two lines at once; answers are sent under none.

mod hall;
mod line;
mod order;
mod owner;
mod places;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::stats::GateStats;
use hall::Hall;
use owner::{Entry, Owner};

/// Bounds for all owners together. `None` is no bound, and costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateLimits {
    /// Who runs at once.
    pub running: Option<usize>,
    /// Who runs or waits.
    pub total: Option<usize>,
}

/// Bounds for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerLimits {
    pub running: usize,
    /// How many may wait in line.
    pub queued: usize,
    /// How long they may wait.
    pub patience: Duration,
    /// The owner's share of the shared places, against the weights of the other owners that wait: 1 to 2^20.
    pub weight: u32,
}

/// A gate through which owners' requests pass. Clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    hall: Arc<Hall>,
}

/// One owner's side of a gate. Clones are the same line: keep one per owner and nothing needs looking up.
#[derive(Clone)]
pub struct OwnerGate {
    owner: Arc<Owner>,
}

/// The right to run; given back when dropped.
#[must_use = "a permit that is dropped is given back"]
pub struct Permit {
    owner: Arc<Owner>,
}

/// The same for as long as its gate is at hand.
#[must_use = "a permit that is dropped is given back"]
pub struct BriefPermit<'a> {
    owner: &'a Arc<Owner>,
}

/// While it lives nobody of its owner enters or waits.
#[must_use = "a bar that is dropped bars nobody"]
pub struct Bar {
    owner: Arc<Owner>,
}

/// Why somebody may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{queued} wait already")]
    Full { queued: usize },
    /// The bound on all owners together ([`GateLimits::total`]).
    #[error("{limit} run or wait already, of all owners together")]
    Overloaded { limit: usize },
    #[error("waited for {waited:?}, and no place became free")]
    Late { waited: Duration },
    #[error("the gate lets nobody in any more")]
    Draining,
    #[error("the owner is barred for now")]
    Barred,
}

// === impl Gate ===

impl Gate {
    pub fn new(limits: GateLimits) -> Self {
        Self { hall: Arc::new(Hall::new(limits)) }
    }

    /// Another gate, with places of its own: its requests and this gate's have one total.
    pub fn with_same_total(&self, running: Option<usize>) -> Self {
        Self { hall: Arc::new(Hall::with_total(running, self.hall.total.clone())) }
    }

    /// A new line. Two calls make two owners: who has an owner keeps its handle.
    pub fn owner(&self, limits: OwnerLimits) -> OwnerGate {
        OwnerGate { owner: self.hall.admit_owner(limits) }
    }

    /// From now on nobody new enters. Who is in line already still gets its turn.
    pub fn drain(&self) {
        self.hall.drain();
    }

    /// Resolves when, after [`drain`](Self::drain), nobody runs and nobody waits.
    pub async fn drained(&self) {
        self.hall.drained().await;
    }

    /// Undoes [`drain`](Self::drain): new requests enter again, also where it has come to its end.
    pub fn reopen(&self) {
        self.hall.reopen();
    }

    /// The sum over all owners that ever were.
    pub fn stats(&self) -> GateStats {
        self.hall.stats()
    }
}

// === impl OwnerGate ===

impl OwnerGate {
    /// Enters if that is possible at once, without overtaking anybody.
    pub fn try_enter(&self) -> Option<Permit> {
        self.try_enter_briefly().map(BriefPermit::keep)
    }

    /// The same for a moment.
    pub fn try_enter_briefly(&self) -> Option<BriefPermit<'_>> {
        self.owner.try_enter()
    }

    /// Enters as soon as it is this caller's turn. The place in line is taken at the first poll, and left when the future
    /// is dropped.
    pub async fn enter(&self) -> Result<Permit, Refused> {
        let mut waiting = match self.owner.line_up()? {
            Entry::Now(permit) => return Ok(permit),
            Entry::InLine(waiting) => waiting,
        };
        let since = Instant::now();
        match tokio::time::timeout(waiting.patience, waiting.answered()).await {
            Ok(answer) => answer,
            Err(_) => waiting.give_up(since.elapsed()).await,
        }
    }

    /// Other limits from now on. Who waits and may run now does; who runs or waits beyond them is left alone.
    pub fn set_limits(&self, limits: OwnerLimits) {
        self.owner.set_limits(limits);
    }

    /// Refuses those who wait, and everybody who comes, until the bar is dropped. Who runs is not touched.
    pub fn bar(&self) -> Bar {
        Bar::lower(self.owner.clone())
    }

    pub fn stats(&self) -> GateStats {
        self.owner.stats()
    }
}

// === impl Permit ===

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.owner.leave();
    }
}

// === impl BriefPermit ===

impl BriefPermit<'_> {
    /// Makes it last.
    pub fn keep(self) -> Permit {
        let permit = Permit { owner: self.owner.clone() };
        std::mem::forget(self);
        permit
    }
}

impl Drop for BriefPermit<'_> {
    fn drop(&mut self) {
        self.owner.leave();
    }
}

// === impl Bar ===

impl Bar {
    fn lower(owner: Arc<Owner>) -> Self {
        owner.lower_bar();
        Self { owner }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.owner.lift_bar();
    }
}

// === impl Refused ===

impl Refused {
    /// When it may be worth trying again. `None` when this gate will not open again.
    pub fn retry_after(&self) -> Option<Duration> {
        const SOON: Duration = Duration::from_secs(1);
        const AT_MOST: Duration = Duration::from_secs(30);
        match self {
            // A line moves all the time, and a bar is there for a turn that is being stopped.
            Refused::Full { .. } | Refused::Overloaded { .. } | Refused::Barred => Some(SOON),
            // The line moved less than one place in all that time: coming back sooner only makes it longer.
            Refused::Late { waited } => Some((*waited).clamp(SOON, AT_MOST)),
            Refused::Draining => None,
        }
    }
}
