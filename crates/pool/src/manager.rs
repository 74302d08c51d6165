//! What a pool needs to know about the items it holds. All policy is the pool's; a [`Manager`] only makes, destroys and
//! describes items. The descriptions (`health`, `load`, `affinity`, `weight`, `estimated_weight`) are read under the pool's
//! locks, the first three on the hot path: they must be a few loads of atomics, must not block or panic, and must not call
//! back into the pool. A change of health is noticed when a lease is requested or released, and in sweeps.

use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

/// How items are made, described and destroyed.
pub trait Manager: Send + Sync + 'static {
    /// Items of the same key are interchangeable; items of different keys never are.
    type Key: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// A cheap handle of the item: clones refer to the same item.
    type Item: Clone + Send + Sync + 'static;
    /// Why a creation failed. Each caller that waited for it gets a clone.
    type Error: Clone + Send + Sync + 'static;

    /// Makes an item. Runs in a task of its own, which is never cancelled, and under no lock.
    fn create(&self, key: &Self::Key) -> impl Future<Output = Result<Self::Item, Self::Error>> + Send;

    /// The group of the key's items, which is bounded by [`PoolLimits::max_per_group`](crate::PoolLimits). Called once for
    /// each bucket; `None` is in no group.
    fn group(&self, _key: &Self::Key) -> Option<Arc<str>> {
        None
    }

    fn health(&self, item: &Self::Item) -> ItemHealth;

    fn load(&self, item: &Self::Item) -> Load;

    fn affinity(&self, item: &Self::Item) -> Affinity;

    /// Bytes that the item holds now.
    fn weight(&self, item: &Self::Item) -> u64;

    /// Bytes that a new item is expected to hold.
    fn estimated_weight(&self) -> u64;

    /// The item was not used for as long as [`ItemLifetime::idle`](crate::ItemLifetime) says. Called once in each such
    /// period, under no lock, by the sweep that notices it. The next sweep destroys the item, unless it was used meanwhile or
    /// has work. Must not block.
    fn on_idle(&self, _item: &Self::Item) {}

    /// The item gets no new leases and is destroyed when its last lease is released; at least one lease is out. Work that could
    /// go on without end should be ended now. Called at most once for each item, under no lock. Must not block.
    fn on_draining(&self, _item: &Self::Item) {}

    /// Called exactly once for each item that was made, when no lease of it is out, under no lock. It must not block for
    /// long: it runs on the thread that released the last lease.
    fn destroy(&self, item: Self::Item, why: DestroyReason);
}

/// Whether an item may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemHealth {
    Ready,
    /// Usable, but to be replaced soon: a successor is made, and from then on the item gets no new leases.
    Worn,
    /// Finishes its work and gets no new leases.
    Retiring,
    /// Unusable, also for the leases that are out.
    Gone,
}

/// What an item does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// It has no work.
    Idle,
    /// It has work, but does not run at this moment and can take more.
    Working,
    /// It runs at this moment: another item is preferred.
    Busy,
}

/// Whether an item was last used on the thread of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    Here,
    Elsewhere,
}

/// Why an item is destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DestroyReason {
    /// Another item needed its slot or its bytes.
    Evicted,
    /// It reached its number of uses, its age, or its idle time.
    Expired,
    /// The holder of a lease condemned it.
    Condemned,
    /// It was found to be [`ItemHealth::Gone`].
    Gone,
    /// It, or its whole bucket, gets no new leases.
    Retired,
    /// The pool was closed.
    Closed,
}

impl DestroyReason {
    /// Whether the item may finish what it does without a lease before it is destroyed.
    pub(crate) fn lets_it_finish(self) -> bool {
        match self {
            DestroyReason::Expired | DestroyReason::Retired | DestroyReason::Closed => true,
            DestroyReason::Evicted | DestroyReason::Condemned | DestroyReason::Gone => false,
        }
    }
}
