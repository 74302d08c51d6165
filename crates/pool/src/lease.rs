//! The right to use an item, for one request. Dropping it releases it, exactly once; if callers wait for the item, the next one
//! gets it. A released item is warm again, or destroyed when it was condemned and this was its last lease.
//!
//! A lease has a handle of the item of its own: using the item takes no lock. Most requests are over in the function that
//! leased their item: those borrow the pool's handle ([`Lease`]). What lasts longer has a handle of its own ([`OwnedLease`]).

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use tokio::time::Instant;

use crate::bucket::Bucket;
use crate::deferred::Deferred;
use crate::manager::Manager;
use crate::slot::SlotId;

#[must_use = "a lease that is dropped is released"]
pub struct OwnedLease<M: Manager> {
    bucket: Arc<Bucket<M>>,
    slot: SlotId,
    item: M::Item,
}

/// A lease that borrows the [`KeyedPool`](crate::KeyedPool) it comes from.
#[must_use = "a lease that is dropped is released"]
pub struct Lease<'a, M: Manager> {
    guard: ReleaseGuard<'a, M>,
    item: M::Item,
}

/// Releases the slot when it is dropped.
struct ReleaseGuard<'a, M: Manager> {
    bucket: &'a Arc<Bucket<M>>,
    slot: SlotId,
}

// === impl OwnedLease ===

impl<M: Manager> OwnedLease<M> {
    pub(crate) fn new(bucket: Arc<Bucket<M>>, slot: SlotId, item: M::Item) -> Self {
        Self { bucket, slot, item }
    }

    pub fn key(&self) -> &M::Key {
        &self.bucket.key
    }

    /// The item gets no new leases. It is destroyed when its last lease is released; other leases of it stay valid until then.
    pub fn condemn(&self) {
        let mut state = self.bucket.lock();
        state.condemn(self.slot);
        let needs_creation = state.needs_creation();
        drop(state);
        if needs_creation {
            self.bucket.pool.ensure_capacity_for(&self.bucket);
        }
    }
}

impl<M: Manager> Deref for OwnedLease<M> {
    type Target = M::Item;

    fn deref(&self) -> &M::Item {
        &self.item
    }
}

impl<M: Manager> fmt::Debug for OwnedLease<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnedLease").field("key", self.key()).field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<M: Manager> Drop for OwnedLease<M> {
    fn drop(&mut self) {
        release(&self.bucket, self.slot, Instant::now);
    }
}

// === impl Lease ===

impl<'a, M: Manager> Lease<'a, M> {
    pub(crate) fn new(bucket: &'a Arc<Bucket<M>>, slot: SlotId, item: M::Item) -> Self {
        Self { guard: ReleaseGuard { bucket, slot }, item }
    }

    /// Makes it independent of its handle.
    pub fn into_owned(self) -> OwnedLease<M> {
        let Self { guard, item } = self;
        let lease = OwnedLease::new(guard.bucket.clone(), guard.slot, item);
        std::mem::forget(guard);
        lease
    }

    /// Releases it at a known time: a clock reading costs as much as the rest.
    pub fn release_at(self, now: Instant) {
        let Self { guard, item: _item } = self;
        release(guard.bucket, guard.slot, || now);
        std::mem::forget(guard);
    }
}

impl<M: Manager> Deref for Lease<'_, M> {
    type Target = M::Item;

    fn deref(&self) -> &M::Item {
        &self.item
    }
}

impl<M: Manager> Drop for ReleaseGuard<'_, M> {
    fn drop(&mut self) {
        release(self.bucket, self.slot, Instant::now);
    }
}

fn release<M: Manager>(bucket: &Arc<Bucket<M>>, slot: SlotId, now: impl FnOnce() -> Instant) {
    let pool = &bucket.pool;
    let mut deferred = Deferred::new();
    let mut state = bucket.lock();
    let last = state.release(slot, now, bucket, &mut deferred);
    let needs_creation = state.needs_creation();
    drop(state);
    pool.run_deferred(deferred);
    if needs_creation {
        pool.ensure_capacity_for(bucket);
    } else if last && pool.has_capacity_waiters() {
        pool.serve_capacity_waiters();
    }
    if last {
        pool.serve_group_of(bucket);
    }
}
