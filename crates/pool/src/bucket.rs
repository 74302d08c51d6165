//! One key's part of the pool: the state of its slots and waiters behind a lock. Handles, leases and creations all refer to a
//! bucket; it lives as long as one of them does.

mod evict;
mod state;
mod waiters;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::group::Group;
use crate::inner::PoolInner;
use crate::manager::Manager;

pub(crate) use evict::Eviction;
pub(crate) use state::{Accept, BucketState, EndReason, Phase};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BucketId(pub(crate) u64);

pub(crate) struct Bucket<M: Manager> {
    pub(crate) id: BucketId,
    pub(crate) key: M::Key,
    pub(crate) pool: Arc<PoolInner<M>>,
    /// `None` where groups have no bound, or the key is in none.
    pub(crate) group: Option<Arc<Group<M>>>,
    state: Mutex<BucketState<M>>,
}

impl<M: Manager> Bucket<M> {
    pub(crate) fn new(
        id: BucketId,
        key: M::Key,
        pool: Arc<PoolInner<M>>,
        group: Option<Arc<Group<M>>>,
        state: BucketState<M>,
    ) -> Self {
        Self { id, key, pool, group, state: Mutex::new(state) }
    }

    /// One more item counts for the bucket's group.
    pub(crate) fn take_group_slot(&self) {
        if let Some(group) = &self.group {
            group.take_slot();
        }
    }

    /// One item less counts for the bucket's group.
    pub(crate) fn release_group_slot(&self) {
        if let Some(group) = &self.group {
            group.release_slot();
        }
    }

    pub(crate) fn manager(&self) -> &M {
        &self.pool.manager
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, BucketState<M>> {
        // Only a broken `Manager` can panic under this lock; between its calls the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Manager> Drop for Bucket<M> {
    fn drop(&mut self) {
        debug_assert!(std::thread::panicking() || self.lock().is_empty(), "a bucket is empty when it is dropped");
    }
}
