//! Warm things by key. The pool holds so many things, and so many bytes of them, over all keys; when one more is needed and
//! there is no room, the least recently used idle thing goes, whatever its key. Keys can be in groups, with a bound for each:
//! beyond it the least recently used idle thing of the same group goes. A thing that somebody has never goes.
//!
//! Parts, from the outside in:
//!
//! | file | what |
//! |---|---|
//! | `pool.rs`, `shelf.rs`, `lease.rs` | what users see |
//! | `stock.rs` | the steps that concern more than one rack; the order of locks |
//! | `room.rs`, `group.rs` | what the whole pool and a group may hold, and what goes first |
//! | `catalogue.rs` | racks by key |
//! | `rack.rs`, `row.rs`, `slot.rs` | one key: its lock, its slots and callers, one slot |
//! | `creation.rs` | the making of one thing |
//!
//! Invariants: `created = cached + destroyed` in every reading of the numbers; N first callers start as many creations as
//! they need and no more; a lease is returned once; each thing is destroyed once, with no lease out.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::holding::Holding;
use crate::keep::Keep;
use crate::shelf::{Shelf, ShelfRules};
use crate::stats::{PoolStats, ShelfStats};
use crate::stock::Stock;

/// What a pool may hold, over all keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Things, those that are being made included.
    pub things: usize,
    /// Bytes. Things grow unseen between two sweeps, so this is a mark to which the pool comes back, not a wall.
    pub weight: u64,
    /// Things of one group ([`Keep::group`]), those that are being made included. `None` is no bound, and costs nothing.
    pub per_group: Option<usize>,
}

/// Warm things of many keys. Clones are the same pool; when the last is dropped, the pool is closed.
pub struct Pool<K: Keep> {
    open: Arc<Open<K>>,
}

/// Closes the pool when nobody has it any more. Shelves and leases refer to the stock, not to this.
struct Open<K: Keep> {
    stock: Arc<Stock<K>>,
}

impl<K: Keep> Pool<K> {
    /// A pool whose things are made on the current tokio runtime. Panics outside of one.
    pub fn new(keep: K, limits: PoolLimits) -> Self {
        let stock = Arc::new(Stock::new(keep, limits, Handle::current()));
        Self { open: Arc::new(Open { stock }) }
    }

    /// The shelf of a key. The rules of the first call hold as long as the shelf is held or has anything on it.
    pub fn shelf(&self, key: K::Key, rules: ShelfRules) -> Shelf<K> {
        let stock = self.stock();
        let rack = stock.catalogue().hold(key, rules, stock);
        Shelf::new(rack)
    }

    pub fn keep(&self) -> &K {
        &self.stock().keep
    }

    /// Destroys what is too old, was idle for too long or takes nothing new, trims, and gives the room to those who wait.
    pub fn sweep(&self) {
        self.stock().sweep();
    }

    /// Weighs everything, and evicts idle things, the least recently used first, while they weigh too much.
    pub fn trim(&self) {
        self.stock().trim();
    }

    /// Evicts idle things, the least recently used first, until `weight` bytes of them are gone. Says how many were.
    pub fn relieve(&self, weight: u64) -> u64 {
        self.stock().relieve(weight)
    }

    /// Says that a thing may have become idle without a lease coming back. Costs next to nothing when nobody waits for room.
    pub fn nudge(&self) {
        if self.stock().is_hungry() {
            self.stock().feed();
        }
        self.stock().feed_groups();
    }

    /// Sweeps every `interval` for as long as the pool is there.
    pub fn keep_tidy(&self, interval: Duration) -> JoinHandle<()> {
        let open = Arc::downgrade(&self.open);
        self.stock().runtime.spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                match open.upgrade() {
                    Some(open) => open.stock.sweep(),
                    None => return,
                }
            }
        })
    }

    /// Nobody gets anything any more, and who waits is told so. Resolves when all leases are back and everything is destroyed;
    /// what works without a lease goes when a sweep finds it idle.
    pub async fn close(&self) {
        self.stock().close();
        self.stock().emptied().await;
        debug_assert!(self.stats().adds_up() && self.stats().leased == 0, "all is back and gone: {:?}", self.stats());
    }

    pub fn stats(&self) -> PoolStats {
        self.stock().stats()
    }

    /// Everything that is there. Whoever keeps a thing of the list keeps it from being freed.
    pub fn holdings(&self) -> Vec<Holding<K>> {
        let now = Instant::now();
        let racks = self.stock().racks();
        racks.iter().flat_map(|rack| rack.lock().holdings(&rack.key, now)).collect()
    }

    /// The numbers of each shelf that is held or has anything on it.
    pub fn shelves(&self) -> Vec<(K::Key, ShelfStats)> {
        self.stock().racks().iter().map(|rack| (rack.key.clone(), rack.lock().stats())).collect()
    }

    fn stock(&self) -> &Arc<Stock<K>> {
        &self.open.stock
    }
}

impl<K: Keep> Clone for Pool<K> {
    fn clone(&self) -> Self {
        Self { open: self.open.clone() }
    }
}

impl<K: Keep> Drop for Open<K> {
    fn drop(&mut self) {
        self.stock.close();
    }
}
