//! A slot of a bucket and the item in it.
//!
//! ```text
//! Creating ──made──> Warm <──last release── Leased
//!   └─failed─> x       ├──────first lease────^ │
//!                      └──> Condemned <────────┘  ──no lease left──> destroyed
//! ```
//!
//! `Creating` is a type of its own (`PendingCreation`): it has waiters, but no item yet. Only `lease` and `release` change the
//! number of leases. A condemned slot gets no new leases and never becomes usable again; it stays in the bucket until its
//! last lease is released, and some reasons also let the item finish what it does without one.

use std::time::Duration;

use tokio::time::Instant;

use crate::keyed_pool::ItemLifetime;
use crate::listing::ItemState;
use crate::manager::{DestroyReason, ItemHealth, Load, Manager};

/// Names a slot; never used again in the same pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotId(pub(crate) u64);

/// A logical clock of a bucket: tells which of two events was first. It is not time, since two events can have the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seq(pub(crate) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Warm,
    Leased { leases: u32 },
    Condemned { leases: u32, why: DestroyReason },
}

pub(crate) struct Slot<T> {
    pub(crate) id: SlotId,
    pub(crate) item: T,
    state: State,
    /// When the item was added to its bucket, to tell hits from misses.
    pub(crate) added: Seq,
    created: Instant,
    /// When the last lease was released.
    last_used: Instant,
    uses: u64,
    /// Unused for too long; `Manager::on_idle` was called.
    idle_notified: bool,
    /// `Manager::on_draining` was called.
    drain_notified: bool,
    /// To be condemned as soon as there is a successor.
    worn: bool,
    /// The slot's time in the eviction list. Changed only under the capacity's lock too.
    pub(crate) lru_time: Instant,
    /// The weight with which the capacity counts the item. Changed only under the capacity's lock too.
    pub(crate) weight: u64,
}

impl<T> Slot<T> {
    pub(crate) fn new(id: SlotId, item: T, now: Instant, weight: u64) -> Self {
        Self {
            id,
            item,
            state: State::Warm,
            added: Seq::default(),
            created: now,
            last_used: now,
            uses: 0,
            idle_notified: false,
            drain_notified: false,
            worn: false,
            lru_time: now,
            weight,
        }
    }

    pub(crate) fn leases(&self) -> u32 {
        match self.state {
            State::Warm => 0,
            State::Leased { leases } | State::Condemned { leases, .. } => leases,
        }
    }

    pub(crate) fn is_usable(&self) -> bool {
        !matches!(self.state, State::Condemned { .. })
    }

    pub(crate) fn is_worn(&self) -> bool {
        self.worn && self.is_usable()
    }

    /// Whether one more lease is within `concurrency`; 0 is no bound.
    pub(crate) fn has_free_lease(&self, concurrency: u32) -> bool {
        concurrency == 0 || self.leases() < concurrency
    }

    pub(crate) fn last_used(&self) -> Instant {
        self.last_used
    }

    /// Only for usable slots. The last use of the item's lifetime condemns it.
    pub(crate) fn lease(&mut self, lifetime: &ItemLifetime) {
        debug_assert!(self.is_usable(), "a condemned slot is not leased");
        self.uses += 1;
        self.idle_notified = false;
        self.state = State::Leased { leases: self.leases() + 1 };
        if lifetime.uses.is_some_and(|max| self.uses >= max) {
            self.condemn(DestroyReason::Expired);
        }
    }

    /// Releases a lease. True when it was the last one.
    pub(crate) fn release(&mut self, now: impl FnOnce() -> Instant) -> bool {
        let left = self.leases().checked_sub(1).expect("a lease is released once");
        self.state = match self.state {
            State::Condemned { why, .. } => State::Condemned { leases: left, why },
            State::Warm | State::Leased { .. } if left == 0 => State::Warm,
            State::Warm | State::Leased { .. } => State::Leased { leases: left },
        };
        if left == 0 {
            // While leases are out the time of the last use is not read, and a clock reading costs as much as the rest.
            self.last_used = now();
        }
        left == 0
    }

    /// The item gets no new leases. A reason that does not let it finish replaces one that does.
    pub(crate) fn condemn(&mut self, why: DestroyReason) {
        let why = match self.state {
            State::Condemned { why: before, .. } if !before.lets_it_finish() || why.lets_it_finish() => before,
            _ => why,
        };
        self.state = State::Condemned { leases: self.leases(), why };
    }

    /// Condemns the item if its health or its age demands it. `now` is needed for items that have an age to reach.
    pub(crate) fn check_health<M: Manager<Item = T>>(
        &mut self,
        manager: &M,
        lifetime: &ItemLifetime,
        now: Option<Instant>,
    ) {
        match manager.health(&self.item) {
            ItemHealth::Gone => self.condemn(DestroyReason::Gone),
            ItemHealth::Retiring => self.condemn(DestroyReason::Retired),
            health @ (ItemHealth::Ready | ItemHealth::Worn) => {
                self.worn |= health == ItemHealth::Worn;
                if let (Some(ttl), Some(now)) = (lifetime.ttl, now)
                    && now.duration_since(self.created) >= ttl
                {
                    self.condemn(DestroyReason::Expired);
                }
            }
        }
    }

    /// Checks in a sweep whether the item was unused for too long. True the first time, when `Manager::on_idle` is to be
    /// called; the second time in a row condemns the item.
    pub(crate) fn check_idle_time<M: Manager<Item = T>>(
        &mut self,
        manager: &M,
        lifetime: &ItemLifetime,
        now: Instant,
    ) -> bool {
        let Some(idle) = lifetime.idle else { return false };
        if !self.is_usable() || !self.is_idle(manager) || now.duration_since(self.last_used) < idle {
            return false;
        }
        if self.idle_notified {
            self.condemn(DestroyReason::Expired);
            return false;
        }
        self.idle_notified = true;
        true
    }

    /// True once, when a condemned item has leases out: then `Manager::on_draining` is to be called.
    pub(crate) fn mark_draining(&mut self) -> bool {
        if !matches!(self.state, State::Condemned { leases: 1.., .. }) || self.drain_notified {
            return false;
        }
        self.drain_notified = true;
        true
    }

    pub(crate) fn item_state(&self) -> ItemState {
        match self.state {
            State::Condemned { .. } => ItemState::Draining,
            State::Warm if self.idle_notified => ItemState::Idle,
            State::Warm | State::Leased { .. } => ItemState::Active,
        }
    }

    pub(crate) fn age(&self, now: Instant) -> Duration {
        now.duration_since(self.created)
    }

    /// Since its last release; zero while a lease is out.
    pub(crate) fn unused_for(&self, now: Instant) -> Duration {
        if self.leases() > 0 { Duration::ZERO } else { now.duration_since(self.last_used) }
    }

    /// No lease is out and the item has no work: it can be evicted.
    pub(crate) fn is_idle<M: Manager<Item = T>>(&self, manager: &M) -> bool {
        self.leases() == 0 && manager.load(&self.item) == Load::Idle
    }

    /// Why a condemned item can be destroyed now, if it can.
    pub(crate) fn removal_reason<M: Manager<Item = T>>(&self, manager: &M) -> Option<DestroyReason> {
        match self.state {
            State::Condemned { leases: 0, why } => {
                (!why.lets_it_finish() || manager.load(&self.item) == Load::Idle).then_some(why)
            }
            _ => None,
        }
    }
}
