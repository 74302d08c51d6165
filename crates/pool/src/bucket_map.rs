//! All buckets of a pool. A bucket is listed as long as a handle of it exists or it holds an item; then it is removed, and
//! only its counts stay. A retired bucket loses its key at once: the next request for the key gets a new bucket.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::bucket::{Bucket, BucketId, BucketState, EndReason, Phase};
use crate::group::Group;
use crate::inner::PoolInner;
use crate::keyed_pool::KeyLimits;
use crate::manager::Manager;
use crate::stats::KeyStats;

pub(crate) struct BucketMap<M: Manager> {
    phase: Phase,
    buckets: HashMap<BucketId, Entry<M>>,
    by_key: HashMap<M::Key, BucketId>,
    /// Groups without a bucket are removed when there are twice as many groups as were left the last time.
    groups: HashMap<Arc<str>, Weak<Group<M>>>,
    groups_left: usize,
    last_id: u64,
    /// The counts of buckets that were removed.
    removed: KeyStats,
}

struct Entry<M: Manager> {
    bucket: Arc<Bucket<M>>,
    /// Handles that were given out and not released; clones of a handle count as one.
    handles: usize,
}

impl<M: Manager> BucketMap<M> {
    pub(crate) fn new() -> Self {
        Self {
            phase: Phase::Open,
            buckets: HashMap::new(),
            by_key: HashMap::new(),
            groups: HashMap::new(),
            groups_left: 0,
            last_id: 0,
            removed: KeyStats::default(),
        }
    }

    /// The bucket of the key, for one more handle.
    pub(crate) fn get_or_insert(&mut self, key: M::Key, limits: KeyLimits, pool: &Arc<PoolInner<M>>) -> Arc<Bucket<M>> {
        if let Some(entry) = self.by_key.get(&key).and_then(|id| self.buckets.get_mut(id)) {
            entry.handles += 1;
            return entry.bucket.clone();
        }
        self.last_id += 1;
        let id = BucketId(self.last_id);
        let group = pool.max_per_group.and_then(|max| Some(self.group(pool.manager.group(&key)?, max)));
        let state = BucketState::new(limits, self.phase);
        let bucket = Arc::new(Bucket::new(id, key.clone(), pool.clone(), group, state));
        self.buckets.insert(id, Entry { bucket: bucket.clone(), handles: 1 });
        self.by_key.insert(key, id);
        bucket
    }

    fn group(&mut self, name: Arc<str>, max_items: usize) -> Arc<Group<M>> {
        if let Some(group) = self.groups.get(&name).and_then(Weak::upgrade) {
            return group;
        }
        if self.groups.len() > 2 * self.groups_left {
            self.groups.retain(|_, group| group.strong_count() > 0);
            self.groups_left = self.groups.len();
        }
        let group = Arc::new(Group::new(max_items));
        self.groups.insert(name, Arc::downgrade(&group));
        group
    }

    /// A handle was dropped.
    pub(crate) fn release(&mut self, bucket: &Bucket<M>) {
        if let Some(entry) = self.buckets.get_mut(&bucket.id) {
            entry.handles -= 1;
        }
        self.remove_if_unused(bucket);
    }

    /// Removes the bucket if it has no handle and is empty.
    pub(crate) fn remove_if_unused(&mut self, bucket: &Bucket<M>) {
        if self.buckets.get(&bucket.id).is_none_or(|entry| entry.handles > 0) {
            return;
        }
        let state = bucket.lock();
        if !state.is_empty() {
            return;
        }
        self.removed += state.stats();
        drop(state);
        self.detach(bucket);
        self.buckets.remove(&bucket.id);
    }

    /// The key no longer leads to this bucket.
    pub(crate) fn detach(&mut self, bucket: &Bucket<M>) {
        if self.by_key.get(&bucket.key) == Some(&bucket.id) {
            self.by_key.remove(&bucket.key);
        }
    }

    /// New buckets are closed from now on.
    pub(crate) fn close(&mut self) {
        self.phase = Phase::Ended(EndReason::Closed);
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = &Arc<Bucket<M>>> {
        self.buckets.values().map(|entry| &entry.bucket)
    }

    /// The sum over all buckets, removed ones included.
    pub(crate) fn stats(&self) -> KeyStats {
        let mut sum = self.removed;
        for bucket in self.buckets() {
            sum += bucket.lock().stats();
        }
        sum
    }
}
