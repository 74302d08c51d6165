//! A place on a shelf and the thing in it.
//!
//! ```text
//! Cold ──made──> Warm <──last lease back── Leased
//!   └─failed─> x   ├──────first lease────────^ │
//!                  └──> Condemned <────────────┘  ──no lease left──> destroyed
//! ```
//!
//! `Cold` is a type of its own (`row.rs`): it has callers, but no thing yet. Only `lease` and `put_back` change the number of
//! leases. A condemned slot gets no new leases and never becomes usable again; it stays on the shelf until its last
//! lease is back, and some reasons also let the thing finish what it does without one.

use std::time::Duration;

use tokio::time::Instant;

use crate::holding::Standing;
use crate::keep::{Health, Keep, Load, Reason};
use crate::shelf::Life;

/// Names a slot; never used again in the same pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotId(pub(crate) u64);

/// A point in the life of a row: which of two things came first. Not time: two things can happen at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub(crate) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Warm,
    Leased { leases: u32 },
    Condemned { leases: u32, why: Reason },
}

/// How long a thing has been left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Short,
    /// Too long, and its keep was told.
    Long,
}

/// What a look at a slot has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// Nobody has used it for too long, which is news.
    Idle,
    /// It is condemned and somebody has it, which is news.
    Lingering,
}

pub(crate) struct Slot<T> {
    pub(crate) id: SlotId,
    pub(crate) thing: T,
    state: State,
    /// When the thing was put on its shelf, to tell hits from misses.
    pub(crate) landed: Moment,
    born: Instant,
    /// When the last lease came back.
    used: Instant,
    uses: u64,
    rest: Rest,
    /// Its keep was told that it lingers.
    told: bool,
    /// It is to go as soon as there is another.
    worn: bool,
    /// Under which time the room has the slot in its list. Changed only under the room's lock too.
    pub(crate) listed: Instant,
    /// What the room thinks the thing weighs. Changed only under the room's lock too.
    pub(crate) weighed: u64,
}

impl<T> Slot<T> {
    pub(crate) fn new(id: SlotId, thing: T, now: Instant, weighed: u64) -> Self {
        let landed = Moment::default();
        let (state, rest) = (State::Warm, Rest::Short);
        Self {
            id,
            thing,
            state,
            landed,
            born: now,
            used: now,
            uses: 0,
            rest,
            told: false,
            worn: false,
            listed: now,
            weighed,
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
    pub(crate) fn has_room(&self, concurrency: u32) -> bool {
        concurrency == 0 || self.leases() < concurrency
    }

    pub(crate) fn used(&self) -> Instant {
        self.used
    }

    /// Only for usable slots. The last use that the thing has in it condemns it.
    pub(crate) fn lease(&mut self, life: &Life) {
        debug_assert!(self.is_usable(), "a condemned slot is not leased");
        self.uses += 1;
        self.rest = Rest::Short;
        self.state = State::Leased { leases: self.leases() + 1 };
        if life.uses.is_some_and(|most| self.uses >= most) {
            self.condemn(Reason::Expired);
        }
    }

    /// Takes a lease back. True when it was the last one.
    pub(crate) fn put_back(&mut self, now: impl FnOnce() -> Instant) -> bool {
        let left = self.leases().checked_sub(1).expect("a lease is returned once");
        self.state = match self.state {
            State::Condemned { why, .. } => State::Condemned { leases: left, why },
            State::Warm | State::Leased { .. } if left == 0 => State::Warm,
            State::Warm | State::Leased { .. } => State::Leased { leases: left },
        };
        if left == 0 {
            // While it is leased nobody asks when it was last used, and a look at the clock costs as much as the rest.
            self.used = now();
        }
        left == 0
    }

    /// Nobody gets this thing any more. A reason that does not wait replaces one that does.
    pub(crate) fn condemn(&mut self, why: Reason) {
        let why = match self.state {
            State::Condemned { why: before, .. } if !before.lets_it_finish() || why.lets_it_finish() => before,
            _ => why,
        };
        self.state = State::Condemned { leases: self.leases(), why };
    }

    /// Condemns the thing if it, or its age, says so. `now` is needed for things that have an age to reach.
    pub(crate) fn examine<K: Keep<Thing = T>>(&mut self, keep: &K, life: &Life, now: Option<Instant>) {
        match keep.health(&self.thing) {
            Health::Gone => self.condemn(Reason::Gone),
            Health::Retiring => self.condemn(Reason::Retired),
            health @ (Health::Ready | Health::Worn) => {
                self.worn |= health == Health::Worn;
                if let (Some(ttl), Some(now)) = (life.ttl, now) {
                    if now.duration_since(self.born) >= ttl {
                        self.condemn(Reason::Expired);
                    }
                }
            }
        }
    }

    /// Condemns a thing that nobody has used for too long, when a sweep has found so before.
    pub(crate) fn expire_if_idle<K: Keep<Thing = T>>(&mut self, keep: &K, life: &Life, now: Instant) -> Found {
        let Some(idle) = life.idle else { return Found::Nothing };
        if !self.is_usable() || !self.is_idle(keep) || now.duration_since(self.used) < idle {
            return Found::Nothing;
        }
        match self.rest {
            Rest::Short => {
                self.rest = Rest::Long;
                Found::Idle
            }
            Rest::Long => {
                self.condemn(Reason::Expired);
                Found::Nothing
            }
        }
    }

    /// Says once that a condemned thing waits for its leases.
    pub(crate) fn linger(&mut self) -> Found {
        match self.state {
            State::Condemned { leases: 1.., .. } if !self.told => {
                self.told = true;
                Found::Lingering
            }
            _ => Found::Nothing,
        }
    }

    pub(crate) fn standing(&self) -> Standing {
        match (self.state, self.rest) {
            (State::Condemned { .. }, _) => Standing::Leaving,
            (State::Warm, Rest::Long) => Standing::Idle,
            (State::Warm, Rest::Short) | (State::Leased { .. }, _) => Standing::Active,
        }
    }

    pub(crate) fn age(&self, now: Instant) -> Duration {
        now.duration_since(self.born)
    }

    /// Since its last lease came back; nothing while one is out.
    pub(crate) fn unused_for(&self, now: Instant) -> Duration {
        if self.leases() > 0 { Duration::ZERO } else { now.duration_since(self.used) }
    }

    /// Nobody has it, and it does nothing: it can be evicted.
    pub(crate) fn is_idle<K: Keep<Thing = T>>(&self, keep: &K) -> bool {
        self.leases() == 0 && keep.load(&self.thing) == Load::Idle
    }

    /// Why a condemned thing can be destroyed now, if it can.
    pub(crate) fn may_go<K: Keep<Thing = T>>(&self, keep: &K) -> Option<Reason> {
        match self.state {
            State::Condemned { leases: 0, why } => {
                (!why.lets_it_finish() || keep.load(&self.thing) == Load::Idle).then_some(why)
            }
            _ => None,
        }
    }
}
