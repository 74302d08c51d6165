//! The whole of a pool: racks by key, the room they share, and the steps that concern both.
//!
//! Locks, in the order in which they are taken: `catalogue`, `room`, a rack's `row`. Never two rows at once. Under none of
//! them are things made or destroyed or callers answered: that is put into a [`Later`], and [`Stock::carry_out`] does it.
//! A hit takes the row's lock only.
//!
//! Who finds the pool full waits in the room's line, rack by rack. Room can come from any rack, so whoever gives a thing
//! back looks at `hungry`. It is raised before rows are searched for something to evict: a thing that becomes idle after
//! its row was searched is given back by somebody who sees that. What changes without a lease (a load that falls, a thing
//! that breaks) is found by the next sweep, or at once by who says so (`Pool::nudge`).
//!
//! A rack whose group is full waits in the group's line instead, so that it holds up no rack of another group; a lease of the
//! group that comes back looks at the group's `hungry` in the same way.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::catalogue::Catalogue;
use crate::creation::Creation;
use crate::group::Group;
use crate::keep::Keep;
use crate::pool::PoolLimits;
use crate::rack::{Later, Leaving, Place, Rack};
use crate::room::Room;
use crate::row::{End, Hunger, Reach};
use crate::stats::PoolStats;

pub(crate) struct Stock<K: Keep> {
    pub(crate) keep: K,
    /// [`PoolLimits::per_group`].
    pub(crate) per_group: Option<usize>,
    /// Where things are made: leases may be dropped on threads that belong to no runtime.
    pub(crate) runtime: Handle,
    catalogue: Mutex<Catalogue<K>>,
    room: Mutex<Room<K>>,
    /// Racks in the room's line.
    hungry: AtomicUsize,
    /// Told when a closed pool has become empty.
    empty: Notify,
}

impl<K: Keep> Stock<K> {
    pub(crate) fn new(keep: K, limits: PoolLimits, runtime: Handle) -> Self {
        Self {
            keep,
            per_group: limits.per_group,
            runtime,
            catalogue: Mutex::new(Catalogue::new()),
            room: Mutex::new(Room::new(limits)),
            hungry: AtomicUsize::new(0),
            empty: Notify::new(),
        }
    }

    pub(crate) fn catalogue(&self) -> MutexGuard<'_, Catalogue<K>> {
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn room(&self) -> MutexGuard<'_, Room<K>> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody waits for room in the pool.
    pub(crate) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Acquire) > 0
    }

    /// Begins the creations that the rack's callers need, as far as there is room; for the rest, waits for room.
    pub(crate) fn provide(self: &Arc<Self>, rack: &Arc<Rack<K>>) {
        let later = self.provision(rack);
        self.carry_out(later);
    }

    /// The same for a caller in the rack's line, who gets one of the rack's creations, where there are some, to begin it itself.
    pub(crate) fn provide_for(self: &Arc<Self>, rack: &Arc<Rack<K>>) -> Option<Creation<K>> {
        let mut later = self.provision(rack);
        let creations = &mut later.work().creations;
        let own = creations.iter().position(|creation| creation.is_for(rack)).map(|place| creations.remove(place));
        self.carry_out(later);
        own
    }

    fn provision(self: &Arc<Self>, rack: &Arc<Rack<K>>) -> Later<K> {
        let mut later = Later::new();
        let mut room = self.room();
        let mut row = rack.lock();
        if row.hunger == Hunger::Fed && row.needs_creation() {
            row.hunger = Hunger::InLine;
            room.line.push_back(rack.clone());
        }
        drop(row);
        self.feed_line(&mut room, &mut later);
        drop(room);
        let mut row = rack.lock();
        if row.hunger == Hunger::InLine {
            // There will be no new thing for now: a busy one that has room must do.
            let now = row.clock();
            row.serve(rack, Reach::Any, now, &mut later);
        }
        drop(row);
        later
    }

    /// Gives what room there is to those who wait for it.
    pub(crate) fn feed(self: &Arc<Self>) {
        let mut later = Later::new();
        let mut room = self.room();
        self.feed_line(&mut room, &mut later);
        drop(room);
        self.carry_out(later);
    }

    fn feed_line(self: &Arc<Self>, room: &mut Room<K>, later: &mut Later<K>) {
        self.hungry.store(room.line.len(), Ordering::Release);
        while let Some(rack) = room.line.front().cloned() {
            let mut row = rack.lock();
            let now = row.clock();
            // A busy thing is for when there is no room for a new one.
            row.serve(&rack, Reach::Free, now, later);
            let still_needs = row.needs_creation();
            drop(row);
            let weight = self.keep.blank_weight();
            if still_needs && !self.make_group_room(room, &rack, later) {
                room.line.pop_front();
                if let Some(group) = &rack.group {
                    group.push(rack.clone());
                }
                continue;
            }
            if still_needs && !self.make_room(room, weight, later) {
                break;
            }
            room.line.pop_front();
            let mut row = rack.lock();
            if still_needs && row.needs_creation() {
                let slot = room.reserve(weight, &rack);
                row.begin(slot, weight);
                later.work().creations.push(Creation::new(rack.clone(), slot));
            }
            // Once more at the end: between racks it goes in turn.
            if row.needs_creation() {
                room.line.push_back(rack.clone());
            } else {
                row.hunger = Hunger::Fed;
            }
        }
        self.hungry.store(room.line.len(), Ordering::Release);
    }

    /// Gives what room there is in the rack's group to the racks that wait for it.
    pub(crate) fn feed_group_of(self: &Arc<Self>, rack: &Arc<Rack<K>>) {
        if let Some(group) = rack.group.as_ref().filter(|group| group.is_hungry()) {
            self.feed_group(group);
        }
    }

    /// The same for all groups.
    pub(crate) fn feed_groups(self: &Arc<Self>) {
        if self.per_group.is_some() {
            self.racks().iter().for_each(|rack| self.feed_group_of(rack));
        }
    }

    fn feed_group(self: &Arc<Self>, group: &Group<K>) {
        let mut later = Later::new();
        let mut room = self.room();
        while let Some(rack) = group.first() {
            let mut row = rack.lock();
            let now = row.clock();
            row.serve(&rack, Reach::Free, now, &mut later);
            let still_needs = row.needs_creation();
            drop(row);
            if still_needs && !self.make_group_room(&mut room, &rack, &mut later) {
                break;
            }
            // Its group has a place; the pool's line says whether the pool has one.
            group.pop();
            room.line.push_back(rack);
            self.feed_line(&mut room, &mut later);
        }
        group.settle();
        drop(room);
        self.carry_out(later);
    }

    /// Evicts what is the group's own until it has a place for one more thing. False when it has none.
    fn make_group_room(&self, room: &mut Room<K>, rack: &Arc<Rack<K>>, later: &mut Later<K>) -> bool {
        let Some(group) = rack.group.as_ref().filter(|group| group.is_full()) else { return true };
        group.expect();
        while group.is_full() {
            match room.evict_of(group) {
                Some(leaving) => later.work().leavings.push(leaving),
                None => return false,
            }
        }
        group.settle();
        true
    }

    /// Evicts until one more thing of this weight fits. False when nothing more can be evicted.
    fn make_room(&self, room: &mut Room<K>, weight: u64, later: &mut Later<K>) -> bool {
        while !room.fits(weight) {
            match room.evict() {
                Some(leaving) => later.work().leavings.push(leaving),
                None => return false,
            }
        }
        true
    }

    /// Does what could not be done under locks.
    pub(crate) fn carry_out(self: &Arc<Self>, later: Later<K>) {
        let Some(work) = later.into_work() else { return };
        for (caller, answer) in work.answers {
            // A lease that nobody is there for comes back, and dropping it puts it back on its shelf.
            let _unsent = caller.send(answer);
        }
        for thing in work.idlers {
            if std::panic::catch_unwind(AssertUnwindSafe(|| self.keep.idle(&thing))).is_err() {
                tracing::error!("Telling a thing that it is idle panicked");
            }
        }
        for thing in work.lingerers {
            if std::panic::catch_unwind(AssertUnwindSafe(|| self.keep.leaving(&thing))).is_err() {
                tracing::error!("Telling a thing that it is leaving panicked");
            }
        }
        // What is evicted goes before what takes its place comes.
        for leaving in work.leavings {
            self.destroy(leaving);
        }
        for creation in work.creations {
            creation.start();
        }
    }

    fn destroy(self: &Arc<Self>, leaving: Leaving<K>) {
        let Leaving { thing, rack, notice } = leaving;
        if std::panic::catch_unwind(AssertUnwindSafe(|| self.keep.destroy(thing, notice.why))).is_err() {
            tracing::error!(key = ?rack.key, "Destroying panicked");
        }
        let mut room = self.room();
        room.leave(notice, &rack);
        self.unlock(room);
        if rack.lock().needs_creation() {
            self.provide(&rack);
        } else if notice.place == Place::Held && self.is_hungry() {
            self.feed();
        }
        self.feed_group_of(&rack);
        self.strike_off_if_empty(&rack);
    }

    /// Lets go of a room in which something ended: it may have been the last.
    pub(crate) fn unlock(&self, room: MutexGuard<'_, Room<K>>) {
        let empty = room.is_empty();
        drop(room);
        if empty {
            self.empty.notify_waiters();
        }
    }

    pub(crate) fn strike_off_if_empty(&self, rack: &Rack<K>) {
        if rack.lock().is_empty() {
            self.catalogue().strike_off(rack);
        }
    }

    /// Nobody gets anything from this rack any more.
    pub(crate) fn retire(self: &Arc<Self>, rack: &Arc<Rack<K>>) {
        self.catalogue().unname(rack);
        self.end(rack, End::Retired);
    }

    fn end(self: &Arc<Self>, rack: &Arc<Rack<K>>, end: End) {
        let mut later = Later::new();
        rack.lock().end_all(end, rack, &mut later);
        self.carry_out(later);
    }

    pub(crate) fn close(self: &Arc<Self>) {
        self.catalogue().close();
        for rack in self.racks() {
            self.end(&rack, End::Closed);
        }
        // Nobody in line needs anything now; this empties the lines.
        self.feed();
        self.feed_groups();
    }

    pub(crate) async fn emptied(&self) {
        loop {
            let mut notified = std::pin::pin!(self.empty.notified());
            // Listen first, look then: the last one may go in between.
            notified.as_mut().enable();
            if self.room().is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// Destroys what is too old, idle for too long or broken, and what is too much.
    pub(crate) fn sweep(self: &Arc<Self>) {
        let now = Instant::now();
        for rack in self.racks() {
            let mut later = Later::new();
            let mut row = rack.lock();
            row.sweep(now, &rack, &mut later);
            let needs_creation = row.needs_creation();
            drop(row);
            self.carry_out(later);
            if needs_creation {
                self.provide(&rack);
            }
        }
        self.trim();
        self.feed();
        self.feed_groups();
    }

    /// Weighs everything, and evicts while it is too much.
    pub(crate) fn trim(self: &Arc<Self>) {
        for rack in self.racks() {
            let mut room = self.room();
            let weights = rack.lock().weigh(&self.keep);
            room.reweigh(weights);
        }
        let mut later = Later::new();
        let mut room = self.room();
        while room.is_too_heavy() {
            match room.evict() {
                Some(leaving) => later.work().leavings.push(leaving),
                None => break,
            }
        }
        drop(room);
        self.carry_out(later);
    }

    /// Evicts idle things until `weight` bytes of them are gone. Says how many were.
    pub(crate) fn relieve(self: &Arc<Self>, weight: u64) -> u64 {
        let mut later = Later::new();
        let mut room = self.room();
        let mut freed = 0;
        while freed < weight {
            let Some(leaving) = room.evict() else { break };
            freed += leaving.notice.weighed;
            later.work().leavings.push(leaving);
        }
        drop(room);
        self.carry_out(later);
        freed
    }

    pub(crate) fn racks(&self) -> Vec<Arc<Rack<K>>> {
        self.catalogue().racks().cloned().collect()
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let catalogue = self.catalogue();
        let room = self.room().stats();
        let rows = catalogue.stats();
        PoolStats {
            hits: rows.hits,
            misses: rows.misses,
            failed: rows.failed,
            waiting: rows.waiting,
            leased: rows.leased,
            ..room
        }
    }
}

impl<K: Keep> Drop for Stock<K> {
    fn drop(&mut self) {
        if cfg!(debug_assertions) && !std::thread::panicking() {
            let stats = self.room().stats();
            assert!(stats.adds_up(), "created - destroyed = live: {stats:?}");
            assert_eq!(
                (stats.cached, stats.cold, stats.weight),
                (0, 0, 0),
                "nothing is left of a pool that nobody has"
            );
        }
    }
}
