//! Warm items by key. The pool has limits on the number of items and on their bytes, over all keys; when one more is needed and
//! there is no capacity, the least recently used idle item is evicted, whatever its key. Keys can be in groups, with a bound
//! for each: beyond it the least recently used idle item of the same group is evicted. A leased item is never evicted.
//!
//! Parts, from the outside in:
//!
//! | file | what |
//! |---|---|
//! | `pool.rs`, `keyed_pool.rs`, `lease.rs`, `listing.rs` | the public API |
//! | `inner.rs` | the steps that concern more than one bucket; the order of locks |
//! | `capacity.rs`, `group.rs` | what the whole pool and a group may hold, and what is evicted first |
//! | `bucket_map.rs` | buckets by key |
//! | `bucket.rs`, `bucket/`, `slot.rs` | one key: its lock, its slots and waiters, one slot |
//! | `creation.rs` | the creation of one item |
//! | `deferred.rs` | what is done after locks are released |
//!
//! Invariants: `created = cached + destroyed` in every reading of the numbers; N first callers start as many creations as
//! they need and no more; a lease is released once; each item is destroyed once, with no lease out.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::inner::PoolInner;
use crate::keyed_pool::{KeyLimits, KeyedPool};
use crate::listing::ItemInfo;
use crate::manager::Manager;
use crate::stats::{KeyStats, PoolStats};

/// What a pool may hold, over all keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Those that are being made included.
    pub max_items: usize,
    /// Bytes. Items grow between two sweeps, so the pool may exceed this for a while; a sweep brings it back.
    pub max_weight: u64,
    /// Items of one group ([`Manager::group`]), those that are being made included. `None` is no bound, and costs nothing.
    pub max_per_group: Option<usize>,
}

/// Warm items of many keys. Clones are the same pool; when the last is dropped, the pool is closed.
pub struct Pool<M: Manager> {
    open: Arc<OpenPool<M>>,
}

/// Closes the pool when its last handle is dropped. Keyed handles and leases refer to the inner pool, not to this.
struct OpenPool<M: Manager> {
    inner: Arc<PoolInner<M>>,
}

impl<M: Manager> Pool<M> {
    /// A pool whose items are made on the current tokio runtime. Panics outside of one.
    pub fn new(manager: M, limits: PoolLimits) -> Self {
        let inner = Arc::new(PoolInner::new(manager, limits, Handle::current()));
        Self { open: Arc::new(OpenPool { inner }) }
    }

    /// The items of a key. The limits of the first call hold as long as the key has a handle or an item.
    pub fn keyed(&self, key: M::Key, limits: KeyLimits) -> KeyedPool<M> {
        let inner = self.inner();
        let bucket = inner.bucket_map().get_or_insert(key, limits, inner);
        KeyedPool::new(bucket)
    }

    pub fn manager(&self) -> &M {
        &self.inner().manager
    }

    /// Destroys items that are too old, were idle for too long or get no new leases, trims, and serves callers that wait for
    /// capacity.
    pub fn sweep(&self) {
        self.inner().sweep();
    }

    /// Reads all weights, and evicts idle items, the least recently used first, while their sum is over the limit.
    pub fn trim(&self) {
        self.inner().trim();
    }

    /// Evicts idle items, the least recently used first, until `weight` bytes of them are gone. Returns how many were.
    pub fn evict_weight(&self, weight: u64) -> u64 {
        self.inner().evict_weight(weight)
    }

    /// An item may have become idle without a release of a lease. Costs next to nothing when no caller waits for capacity.
    pub fn notify_maybe_idle(&self) {
        if self.inner().has_capacity_waiters() {
            self.inner().serve_capacity_waiters();
        }
        self.inner().serve_groups();
    }

    /// Sweeps every `interval` for as long as the pool exists.
    pub fn spawn_sweeper(&self, interval: Duration) -> JoinHandle<()> {
        let open = Arc::downgrade(&self.open);
        self.inner().runtime.spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                match open.upgrade() {
                    Some(open) => open.inner.sweep(),
                    None => return,
                }
            }
        })
    }

    /// Gives no leases any more; waiting callers get [`AcquireError::Closed`](crate::AcquireError). Resolves when all leases are
    /// released and all items are destroyed; an item that works without a lease is destroyed when a sweep finds it idle.
    pub async fn close(&self) {
        self.inner().close();
        self.inner().wait_until_empty().await;
        debug_assert!(self.stats().adds_up() && self.stats().leased == 0, "all items are gone: {:?}", self.stats());
    }

    pub fn stats(&self) -> PoolStats {
        self.inner().stats()
    }

    /// All items. The list holds handles of them, which keep them from being freed.
    pub fn list(&self) -> Vec<ItemInfo<M>> {
        let now = Instant::now();
        let buckets = self.inner().buckets();
        buckets.iter().flat_map(|bucket| bucket.lock().list(&bucket.key, now)).collect()
    }

    /// The numbers of each key that has a handle or an item.
    pub fn key_stats(&self) -> Vec<(M::Key, KeyStats)> {
        self.inner().buckets().iter().map(|bucket| (bucket.key.clone(), bucket.lock().stats())).collect()
    }

    fn inner(&self) -> &Arc<PoolInner<M>> {
        &self.open.inner
    }
}

impl<M: Manager> Clone for Pool<M> {
    fn clone(&self) -> Self {
        Self { open: self.open.clone() }
    }
}

impl<M: Manager> Drop for OpenPool<M> {
    fn drop(&mut self) {
        self.inner.close();
    }
}
