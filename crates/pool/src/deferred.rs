//! Actions that must not run under a lock: sending results to waiters, destroying and making items, calling the manager's
//! hooks. Code that holds a lock collects them here; `PoolInner::run_deferred` runs them when all locks are released.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::bucket::Bucket;
use crate::creation::Creation;
use crate::keyed_pool::AcquireError;
use crate::lease::OwnedLease;
use crate::manager::{DestroyReason, Manager};
use crate::slot::{Slot, SlotId};

/// What a caller that waited gets.
pub(crate) type WaiterResult<M> = Result<OwnedLease<M>, AcquireError<<M as Manager>::Error>>;

/// Mostly empty, which costs nothing.
#[must_use = "waiters depend on it"]
pub(crate) struct Deferred<M: Manager> {
    work: Option<Box<DeferredWork<M>>>,
}

pub(crate) struct DeferredWork<M: Manager> {
    pub(crate) results: Vec<(oneshot::Sender<WaiterResult<M>>, WaiterResult<M>)>,
    pub(crate) removals: Vec<Removal<M>>,
    /// Items for [`Manager::on_idle`].
    pub(crate) idle: Vec<M::Item>,
    /// Items for [`Manager::on_draining`].
    pub(crate) draining: Vec<M::Item>,
    pub(crate) creations: Vec<Creation<M>>,
}

/// An item that has left its bucket and is to be destroyed.
pub(crate) struct Removal<M: Manager> {
    pub(crate) item: M::Item,
    pub(crate) bucket: Arc<Bucket<M>>,
    pub(crate) record: RemovalRecord,
}

/// How a removed item is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RemovalRecord {
    pub(crate) slot: SlotId,
    pub(crate) why: DestroyReason,
    /// The item was evicted: its slot counts for another item already. Otherwise it counts until the item is destroyed.
    pub(crate) slot_reassigned: bool,
    pub(crate) weight: u64,
    pub(crate) lru_time: Instant,
}

// === impl Deferred ===

impl<M: Manager> Deferred<M> {
    pub(crate) fn new() -> Self {
        Self { work: None }
    }

    /// The lists to which actions are added.
    pub(crate) fn work(&mut self) -> &mut DeferredWork<M> {
        self.work.get_or_insert_with(|| {
            Box::new(DeferredWork {
                results: Vec::new(),
                removals: Vec::new(),
                idle: Vec::new(),
                draining: Vec::new(),
                creations: Vec::new(),
            })
        })
    }

    pub(crate) fn into_work(self) -> Option<Box<DeferredWork<M>>> {
        self.work
    }
}

// === impl Removal ===

impl<M: Manager> Removal<M> {
    pub(crate) fn new(slot: Slot<M::Item>, bucket: Arc<Bucket<M>>, why: DestroyReason, slot_reassigned: bool) -> Self {
        let Slot { id, item, weight, lru_time, .. } = slot;
        Self { item, bucket, record: RemovalRecord { slot: id, why, slot_reassigned, weight, lru_time } }
    }
}
