//! The right to use a thing, for one request. Dropping it gives the place back, exactly once, and hands it to whoever waits
//! for it. What was leased is then warm again, or destroyed when it was condemned and this was its last lease.
//!
//! The lease has a handle of the thing of its own: using the thing takes no lock.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::keep::Keep;
use crate::rack::{Later, Rack};
use crate::slot::SlotId;

#[must_use = "a lease that is dropped is given back"]
pub struct Lease<K: Keep> {
    rack: Arc<Rack<K>>,
    slot: SlotId,
    thing: K::Thing,
}

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
        let stock = &self.rack.stock;
        let mut later = Later::new();
        let mut row = self.rack.lock();
        let last = row.put_back(self.slot, &self.rack, &mut later);
        let needs_creation = row.needs_creation();
        drop(row);
        stock.carry_out(later);
        if needs_creation {
            stock.provide(&self.rack);
        } else if last && stock.is_hungry() {
            stock.feed();
        }
    }
}
