//! The slots of one shelf and the callers that wait for one: plain state under the shelf's lock. Everything that must not
//! happen under a lock (answering callers, destroying and making things) is put into a [`Later`] for who holds it.
//!
//! Callers wait in one line. Each either counts on a creation that is under way (`Caller::cold`), or on room becoming free.
//! A creation carries as many callers as its thing will have places, so as many creations run as callers need.
//!
//! Invariants, whenever the lock is free:
//! - usable + cold <= `most`. Condemned and worn things do not count here: a thing that takes nothing new, or soon will, must
//!   not keep its successor waiting. They do count for the pool.
//! - Somebody who counts on no creation waits only while no usable thing has room, so nobody can overtake it.
//! - A caller counts on a creation that exists, and `Cold::callers` is their number.
//! - A row that is not open has no callers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::backoff::{Backoff, BackoffRules};
use crate::holding::Holding;
use crate::keep::{Affinity, Keep, Load, Reason};
use crate::rack::{Answer, Later, Leaving, Place, Rack};
use crate::shelf::ShelfRules;
use crate::slot::{Moment, Slot, SlotId};
use crate::stats::ShelfStats;

mod callers;
mod ending;

pub(crate) use ending::Eviction;

pub(crate) struct Row<K: Keep> {
    rules: ShelfRules,
    phase: Phase,
    slots: Vec<Slot<K::Thing>>,
    cold: Vec<Cold>,
    callers: VecDeque<Caller<K>>,
    moments: u64,
    /// A worn thing was found, whose successor is not there yet.
    succession: Succession,
    pause: Pause,
    backoff: Backoff,
    /// Whether the rack is in the room's line. Changed only under the room's lock too.
    pub(crate) hunger: Hunger,
    counts: ShelfStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Open,
    Over(End),
}

/// Why nobody gets anything any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Retired,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hunger {
    Fed,
    InLine,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Succession {
    Settled,
    Wanted,
}

/// Whether creations may begin. After a thing that was broken when it came, they wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pause {
    Off,
    On,
}

/// How long creations wait after things that were broken when they came. Callers wait for longer than that.
const BACKOFF: BackoffRules = BackoffRules { first: Duration::from_millis(50), most: Duration::from_secs(2) };

/// What came of a creation that is over.
#[must_use]
pub(crate) struct Over {
    /// What was reserved for it.
    pub(crate) reserved: u64,
    /// No other may begin for so long; then [`Row::resume`] is to be called.
    pub(crate) pause: Option<Duration>,
}

/// Which things will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// One that is not busy.
    Free,
    /// A busy one too, if no better one can be hoped for: no more may be made, or one is being made already.
    Pressed,
    /// Any that has room.
    Any,
}

/// A thing that is being made.
struct Cold {
    id: SlotId,
    /// Who counts on it.
    callers: u32,
    /// What was reserved for it in the room.
    weight: u64,
}

struct Caller<K: Keep> {
    came: Moment,
    cold: Option<SlotId>,
    answer: oneshot::Sender<Answer<K>>,
}

impl<K: Keep> Row<K> {
    pub(crate) fn new(rules: ShelfRules, phase: Phase) -> Self {
        Self {
            rules,
            phase,
            slots: Vec::new(),
            cold: Vec::new(),
            callers: VecDeque::new(),
            moments: 0,
            succession: Succession::Settled,
            pause: Pause::Off,
            backoff: Backoff::new(BACKOFF),
            hunger: Hunger::Fed,
            counts: ShelfStats::default(),
        }
    }

    /// Leases a thing that is there. The lease is made by the caller, when the lock is released: every nanosecond under it
    /// counts when threads meet.
    pub(crate) fn take(&mut self, rack: &Arc<Rack<K>>, later: &mut Later<K>) -> Option<(SlotId, K::Thing)> {
        if self.phase != Phase::Open {
            return None;
        }
        let now = self.clock();
        let index = self.choose(rack, Reach::Pressed, now, later)?;
        self.counts.hits += 1;
        Some(self.lease(index))
    }

    /// The first thing that is at home here and not busy, or else not busy, or else (as far as `reach` goes) the busy one with
    /// the fewest leases. Things that are found to be of no use any more leave on the way.
    /// Ages are looked at if `now` is said.
    fn choose(
        &mut self,
        rack: &Arc<Rack<K>>,
        reach: Reach,
        now: Option<Instant>,
        later: &mut Later<K>,
    ) -> Option<usize> {
        let keep = rack.keep();
        let mut usable = 0;
        let mut elsewhere = None;
        let mut busy: Option<(u32, usize)> = None;
        let mut index = 0;
        while let Some(slot) = self.slots.get_mut(index) {
            slot.examine(keep, &self.rules.life, now);
            if !slot.is_usable() {
                match slot.may_go(keep) {
                    Some(why) => self.remove(index, why, rack, later),
                    None => index += 1,
                }
                continue;
            }
            if slot.is_worn() {
                self.succession = Succession::Wanted;
            } else {
                usable += 1;
            }
            if slot.has_room(self.rules.concurrency) {
                match (keep.load(&slot.thing), keep.affinity(&slot.thing)) {
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
        let busy_will_do = match reach {
            Reach::Free => false,
            Reach::Pressed => !self.cold.is_empty() || usable >= self.rules.most,
            Reach::Any => true,
        };
        elsewhere.or(busy.filter(|_| busy_will_do).map(|(_, index)| index))
    }

    /// Whether a look at `needs_creation` is worth it although there was something to take.
    pub(crate) fn wants_successor(&self) -> bool {
        self.succession == Succession::Wanted
    }

    fn lease(&mut self, index: usize) -> (SlotId, K::Thing) {
        let slot = &mut self.slots[index];
        slot.lease(&self.rules.life);
        (slot.id, slot.thing.clone())
    }

    /// Takes a lease back. True when the thing may now be idle, which is news for who waits for room in the pool.
    pub(crate) fn put_back(
        &mut self,
        id: SlotId,
        now: impl FnOnce() -> Instant,
        rack: &Arc<Rack<K>>,
        later: &mut Later<K>,
    ) -> bool {
        let index = self.find(id).expect("a slot stays as long as a lease of it is out");
        let keep = rack.keep();
        let slot = &mut self.slots[index];
        let last = slot.put_back(now);
        if last {
            // A thing that broke under its last user goes now, and not when somebody next looks.
            slot.examine(keep, &self.rules.life, None);
            if let Some(why) = slot.may_go(keep) {
                self.remove(index, why, rack, later);
            }
        }
        if !self.callers.is_empty() {
            self.serve(rack, Reach::Any, self.clock(), later);
        }
        last
    }

    pub(crate) fn condemn(&mut self, id: SlotId) {
        let index = self.find(id).expect("a slot stays as long as a lease of it is out");
        self.slots[index].condemn(Reason::Condemned);
    }

    fn find(&self, id: SlotId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.id == id)
    }

    fn remove(&mut self, index: usize, why: Reason, rack: &Arc<Rack<K>>, later: &mut Later<K>) {
        let slot = self.slots.remove(index);
        self.counts.removed += 1;
        later.work().leavings.push(Leaving::new(slot, rack.clone(), why, Place::Held));
    }

    /// What time it is, if that matters: a look at the clock is half the price of a lease.
    pub(crate) fn clock(&self) -> Option<Instant> {
        self.rules.life.ttl.map(|_| Instant::now())
    }

    fn moment(&mut self) -> Moment {
        self.moments += 1;
        Moment(self.moments)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty() && self.cold.is_empty() && self.callers.is_empty()
    }

    pub(crate) fn holdings(&self, key: &K::Key, now: Instant) -> Vec<Holding<K>> {
        self.slots.iter().map(|slot| Holding::new(key, slot, now)).collect()
    }

    pub(crate) fn stats(&self) -> ShelfStats {
        ShelfStats {
            cached: self.slots.len(),
            cold: self.cold.len(),
            waiting: self.callers.len(),
            leased: self.slots.iter().map(|slot| slot.leases() as usize).sum(),
            ..self.counts
        }
    }
}
