//! The right to use a thing, for one request. Dropping it gives the place back, exactly once, and hands it to whoever waits
//! for it. What was leased is then warm again, or destroyed when it was condemned and this was its last lease.
//!
//! The lease has a handle of the thing of its own: using the thing takes no lock. Most requests are over before anybody else
//! could have their lease: those borrow the shelf for it ([`BriefLease`]), and only what lasts has a handle of it, too.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio::time::Instant;

use crate::keep::Keep;
use crate::rack::{Later, Rack};
use crate::slot::SlotId;

#[must_use = "a lease that is dropped is given back"]
pub struct Lease<K: Keep> {
    rack: Arc<Rack<K>>,
    slot: SlotId,
    thing: K::Thing,
}

/// A lease for as long as its shelf is at hand.
#[must_use = "a lease that is dropped is given back"]
pub struct BriefLease<'a, K: Keep> {
    place: Taken<'a, K>,
    thing: K::Thing,
}

/// What goes back when it is dropped.
struct Taken<'a, K: Keep> {
    rack: &'a Arc<Rack<K>>,
    slot: SlotId,
}

// === impl Lease ===

impl<K: Keep> Lease<K> {
    pub(crate) fn new(rack: Arc<Rack<K>>, slot: SlotId, thing: K::Thing) -> Self {
        Self { rack, slot, thing }
    }

    /// The key of the shelf that it came from.
    pub fn key(&self) -> &K::Key {
        &self.rack.key
    }

    /// Nobody gets this thing again. It is destroyed when its last lease is back; other leases of it stay good until then.
    pub fn condemn(&self) {
        let mut row = self.rack.lock();
        row.condemn(self.slot);
        let needs_creation = row.needs_creation();
        drop(row);
        if needs_creation {
            self.rack.stock.provide(&self.rack);
        }
    }
}

impl<K: Keep> Deref for Lease<K> {
    type Target = K::Thing;

    fn deref(&self) -> &K::Thing {
        &self.thing
    }
}

impl<K: Keep> fmt::Debug for Lease<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("key", self.key()).field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<K: Keep> Drop for Lease<K> {
    fn drop(&mut self) {
        put_back(&self.rack, self.slot, Instant::now);
    }
}

// === impl BriefLease ===

impl<'a, K: Keep> BriefLease<'a, K> {
    pub(crate) fn new(rack: &'a Arc<Rack<K>>, slot: SlotId, thing: K::Thing) -> Self {
        Self { place: Taken { rack, slot }, thing }
    }

    /// Makes it last.
    pub fn keep(self) -> Lease<K> {
        let Self { place, thing } = self;
        let lease = Lease::new(place.rack.clone(), place.slot, thing);
        std::mem::forget(place);
        lease
    }

    /// Gives it back, where the time is known: a look at the clock costs as much as the rest.
    pub fn give_back(self, now: Instant) {
        let Self { place, thing: _thing } = self;
        put_back(place.rack, place.slot, || now);
        std::mem::forget(place);
    }
}

impl<K: Keep> Deref for BriefLease<'_, K> {
    type Target = K::Thing;

    fn deref(&self) -> &K::Thing {
        &self.thing
    }
}

impl<K: Keep> Drop for Taken<'_, K> {
    fn drop(&mut self) {
        put_back(self.rack, self.slot, Instant::now);
    }
}

fn put_back<K: Keep>(rack: &Arc<Rack<K>>, slot: SlotId, now: impl FnOnce() -> Instant) {
    let stock = &rack.stock;
    let mut later = Later::new();
    let mut row = rack.lock();
    let last = row.put_back(slot, now, rack, &mut later);
    let needs_creation = row.needs_creation();
    drop(row);
    stock.carry_out(later);
    if needs_creation {
        stock.provide(rack);
    } else if last && stock.is_hungry() {
        stock.feed();
    }
    if last {
        stock.feed_group_of(rack);
    }
}
