//! How much the whole pool may hold, who waits for room in it, and what goes first when there is none.
//!
//! The list has every slot once, under a time at or before its last use. Hits do not touch it: the time is put right when
//! the slot comes up for eviction. So a hit costs nothing here, and what is found at the front with the right time is the
//! least recently used. A slot in use is put off to now: it cannot have been used before that when it is idle again.
//! Each try passes each slot at most twice, and those it passed are not in the way of the next try.
//!
//! Invariants: `created = live + destroyed`; `live - doomed + cold <= limits.things`, and the same for each group; `weight` is the sum of what the slots
//! weigh, as last read, and of what is reserved for creations.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::time::Instant;

use crate::group::Group;
use crate::keep::Keep;
use crate::pool::PoolLimits;
use crate::rack::{Leaving, Notice, Place, Rack};
use crate::row::Eviction;
use crate::slot::{Slot, SlotId};
use crate::stats::{Departures, PoolStats};

pub(crate) struct Room<K: Keep> {
    limits: PoolLimits,
    live: usize,
    /// Those of the living whose place was given to another already.
    doomed: usize,
    cold: usize,
    weight: u64,
    created: u64,
    destroyed: Departures,
    ids: u64,
    /// Racks whose callers wait for room, first come first served.
    pub(crate) line: VecDeque<Arc<Rack<K>>>,
    list: List<K>,
}

type List<K> = BTreeMap<(Instant, SlotId), Arc<Rack<K>>>;

impl<K: Keep> Room<K> {
    pub(crate) fn new(limits: PoolLimits) -> Self {
        Self {
            limits,
            live: 0,
            doomed: 0,
            cold: 0,
            weight: 0,
            created: 0,
            destroyed: Departures::default(),
            ids: 0,
            line: VecDeque::new(),
            list: BTreeMap::new(),
        }
    }

    /// Whether one more thing fits. A pool that holds nothing takes one however heavy: else nobody would ever be served.
    pub(crate) fn fits(&self, weight: u64) -> bool {
        let held = self.live - self.doomed + self.cold;
        held < self.limits.things && (held == 0 || self.weight.saturating_add(weight) <= self.limits.weight)
    }

    pub(crate) fn is_too_heavy(&self) -> bool {
        self.weight > self.limits.weight
    }

    pub(crate) fn reserve(&mut self, weight: u64, rack: &Rack<K>) -> SlotId {
        rack.take_place();
        self.cold += 1;
        self.weight += weight;
        self.ids += 1;
        SlotId(self.ids)
    }

    /// What was reserved is not needed, or came to nothing.
    pub(crate) fn give_back(&mut self, weight: u64, rack: &Rack<K>) {
        rack.give_back_place();
        self.cold -= 1;
        self.weight -= weight;
    }

    /// What was reserved is now this slot.
    pub(crate) fn land(&mut self, slot: &Slot<K::Thing>, rack: &Arc<Rack<K>>) {
        rack.take_place();
        self.live += 1;
        self.created += 1;
        self.weight += slot.weighed;
        self.list.insert((slot.listed, slot.id), rack.clone());
    }

    /// The thing is destroyed.
    pub(crate) fn leave(&mut self, notice: Notice, rack: &Rack<K>) {
        self.live -= 1;
        self.destroyed.count(notice.why);
        match notice.place {
            Place::Held => {
                rack.give_back_place();
                self.weight -= notice.weighed;
                self.list.remove(&(notice.listed, notice.slot));
            }
            Place::Given => self.doomed -= 1,
        }
    }

    pub(crate) fn reweigh(&mut self, (before, after): (u64, u64)) {
        self.weight = self.weight - before + after;
    }

    /// Takes the least recently used idle thing out of its row; its place is free from now on.
    pub(crate) fn evict(&mut self) -> Option<Leaving<K>> {
        let leaving = evict_from(&mut self.list);
        self.note(leaving)
    }

    /// The same among the things of one group.
    pub(crate) fn evict_of(&mut self, group: &Arc<Group<K>>) -> Option<Leaving<K>> {
        let is_own = |rack: &Rack<K>| rack.group.as_ref().is_some_and(|other| Arc::ptr_eq(other, group));
        let own: Vec<_> = self.list.iter().filter(|(_, rack)| is_own(rack)).map(|(place, _)| *place).collect();
        let mut own: List<K> = own.into_iter().filter_map(|place| self.list.remove_entry(&place)).collect();
        let leaving = evict_from(&mut own);
        self.list.append(&mut own);
        self.note(leaving)
    }

    fn note(&mut self, evicted: Option<Leaving<K>>) -> Option<Leaving<K>> {
        if let Some(leaving) = &evicted {
            leaving.rack.give_back_place();
            self.doomed += 1;
            self.weight -= leaving.notice.weighed;
        }
        evicted
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0 && self.cold == 0
    }

    /// What the room knows; the rest is counted by the rows.
    pub(crate) fn stats(&self) -> PoolStats {
        PoolStats {
            total: self.limits.things,
            cached: self.live,
            cold: self.cold,
            weight: self.weight,
            created: self.created,
            destroyed: self.destroyed,
            ..PoolStats::default()
        }
    }
}

/// Takes the first idle thing of the list out of its row.
fn evict_from<K: Keep>(list: &mut List<K>) -> Option<Leaving<K>> {
    let now = Instant::now();
    let mut put_off = Vec::new();
    let mut evicted = None;
    while let Some(((listed, id), rack)) = list.pop_first() {
        let eviction = rack.lock().evict(id, listed, now, &rack);
        match eviction {
            Eviction::Done(leaving) => {
                evicted = Some(leaving);
                break;
            }
            Eviction::UsedSince(used) => {
                list.insert((used, id), rack);
            }
            // Back in only when all is seen, or it would come up again and again.
            Eviction::InUse => put_off.push(((now, id), rack)),
            Eviction::Unknown => {}
        }
    }
    list.extend(put_off);
    evicted
}
