//! The shared state of a pool: buckets by key, the capacity that they share, and the steps that concern both.
//!
//! Locks, in the order in which they are taken: `bucket_map`, `capacity`, a bucket's state. Never two buckets at once. Under
//! none of them are items made or destroyed or results sent: that is added to a [`Deferred`], and
//! [`PoolInner::run_deferred`] does it. A hit takes the bucket's lock only.
//!
//! A bucket that finds the pool full waits in the capacity's queue. Capacity can come from any bucket, so every release of a
//! lease reads `capacity_waiters`. The number is raised before buckets are searched for something to evict: an item that
//! becomes idle after its bucket was searched is released by a thread that sees the number. What changes without a lease (a
//! load that falls, an item that breaks) is found by the next sweep, or at once by `Pool::notify_maybe_idle`.
//!
//! A bucket whose group is full waits in the group's queue instead, so that it delays no bucket of another group; a released
//! lease of the group reads the group's number of waiters in the same way.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::bucket::{Accept, Bucket, EndReason};
use crate::bucket_map::BucketMap;
use crate::capacity::Capacity;
use crate::creation::Creation;
use crate::deferred::{Deferred, Removal};
use crate::group::Group;
use crate::manager::Manager;
use crate::pool::PoolLimits;
use crate::stats::PoolStats;

pub(crate) struct PoolInner<M: Manager> {
    pub(crate) manager: M,
    /// [`PoolLimits::max_per_group`].
    pub(crate) max_per_group: Option<usize>,
    /// Where items are made: leases may be dropped on threads that belong to no runtime.
    pub(crate) runtime: Handle,
    bucket_map: Mutex<BucketMap<M>>,
    capacity: Mutex<Capacity<M>>,
    /// Buckets in the capacity's queue.
    capacity_waiters: AtomicUsize,
    /// Notified when a closed pool has become empty.
    empty: Notify,
}

impl<M: Manager> PoolInner<M> {
    pub(crate) fn new(manager: M, limits: PoolLimits, runtime: Handle) -> Self {
        Self {
            manager,
            max_per_group: limits.max_per_group,
            runtime,
            bucket_map: Mutex::new(BucketMap::new()),
            capacity: Mutex::new(Capacity::new(limits)),
            capacity_waiters: AtomicUsize::new(0),
            empty: Notify::new(),
        }
    }

    pub(crate) fn bucket_map(&self) -> MutexGuard<'_, BucketMap<M>> {
        self.bucket_map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn capacity(&self) -> MutexGuard<'_, Capacity<M>> {
        self.capacity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_capacity_waiters(&self) -> bool {
        self.capacity_waiters.load(Ordering::Acquire) > 0
    }

    /// Begins the creations that the bucket's waiters need, as far as there is capacity; for the rest, queues the bucket.
    pub(crate) fn ensure_capacity_for(self: &Arc<Self>, bucket: &Arc<Bucket<M>>) {
        let deferred = self.plan_creations(bucket);
        self.run_deferred(deferred);
    }

    /// The same for a caller in the bucket's queue, which gets one of the bucket's creations, if there is one, to begin itself.
    pub(crate) fn ensure_capacity_for_caller(self: &Arc<Self>, bucket: &Arc<Bucket<M>>) -> Option<Creation<M>> {
        let mut deferred = self.plan_creations(bucket);
        let creations = &mut deferred.work().creations;
        let own = creations.iter().position(|creation| creation.is_for(bucket)).map(|index| creations.remove(index));
        self.run_deferred(deferred);
        own
    }

    fn plan_creations(self: &Arc<Self>, bucket: &Arc<Bucket<M>>) -> Deferred<M> {
        let mut deferred = Deferred::new();
        let mut capacity = self.capacity();
        let mut state = bucket.lock();
        if !state.waiting_for_capacity && state.needs_creation() {
            state.waiting_for_capacity = true;
            capacity.waiting.push_back(bucket.clone());
        }
        drop(state);
        self.serve_waiting_buckets(&mut capacity, &mut deferred);
        drop(capacity);
        let mut state = bucket.lock();
        if state.waiting_for_capacity {
            // No item will be made for now: a busy one with a free lease is acceptable.
            let now = state.now_if_ttl();
            state.serve_waiters(bucket, Accept::Any, now, &mut deferred);
        }
        drop(state);
        deferred
    }

    /// Gives the capacity there is to the buckets that wait for it.
    pub(crate) fn serve_capacity_waiters(self: &Arc<Self>) {
        let mut deferred = Deferred::new();
        let mut capacity = self.capacity();
        self.serve_waiting_buckets(&mut capacity, &mut deferred);
        drop(capacity);
        self.run_deferred(deferred);
    }

    fn serve_waiting_buckets(self: &Arc<Self>, capacity: &mut Capacity<M>, deferred: &mut Deferred<M>) {
        self.capacity_waiters.store(capacity.waiting.len(), Ordering::Release);
        while let Some(bucket) = capacity.waiting.front().cloned() {
            let mut state = bucket.lock();
            let now = state.now_if_ttl();
            // Busy items are acceptable only where there is no capacity for a new one.
            state.serve_waiters(&bucket, Accept::NotBusy, now, deferred);
            let still_needs = state.needs_creation();
            drop(state);
            let weight = self.manager.estimated_weight();
            if still_needs && !self.evict_for_group(capacity, &bucket, deferred) {
                capacity.waiting.pop_front();
                if let Some(group) = &bucket.group {
                    group.push(bucket.clone());
                }
                continue;
            }
            if still_needs && !self.evict_until_fits(capacity, weight, deferred) {
                break;
            }
            capacity.waiting.pop_front();
            let mut state = bucket.lock();
            if still_needs && state.needs_creation() {
                let slot = capacity.reserve(weight, &bucket);
                state.begin_creation(slot, weight);
                deferred.work().creations.push(Creation::new(bucket.clone(), slot));
            }
            // A bucket that needs more goes to the end of the queue: buckets take turns.
            if state.needs_creation() {
                capacity.waiting.push_back(bucket.clone());
            } else {
                state.waiting_for_capacity = false;
            }
        }
        self.capacity_waiters.store(capacity.waiting.len(), Ordering::Release);
    }

    /// Gives the free slots of the bucket's group to the buckets that wait for it.
    pub(crate) fn serve_group_of(self: &Arc<Self>, bucket: &Arc<Bucket<M>>) {
        if let Some(group) = bucket.group.as_ref().filter(|group| group.has_waiters()) {
            self.serve_group(group);
        }
    }

    /// The same for all groups.
    pub(crate) fn serve_groups(self: &Arc<Self>) {
        if self.max_per_group.is_some() {
            self.buckets().iter().for_each(|bucket| self.serve_group_of(bucket));
        }
    }

    fn serve_group(self: &Arc<Self>, group: &Group<M>) {
        let mut deferred = Deferred::new();
        let mut capacity = self.capacity();
        while let Some(bucket) = group.first() {
            let mut state = bucket.lock();
            let now = state.now_if_ttl();
            state.serve_waiters(&bucket, Accept::NotBusy, now, &mut deferred);
            let still_needs = state.needs_creation();
            drop(state);
            if still_needs && !self.evict_for_group(&mut capacity, &bucket, &mut deferred) {
                break;
            }
            // Its group has a slot; the pool's queue decides whether the pool has one.
            group.pop();
            capacity.waiting.push_back(bucket);
            self.serve_waiting_buckets(&mut capacity, &mut deferred);
        }
        group.update_waiters();
        drop(capacity);
        self.run_deferred(deferred);
    }

    /// Evicts items of the bucket's group until the group has a slot for one more. False when it has none.
    fn evict_for_group(&self, capacity: &mut Capacity<M>, bucket: &Arc<Bucket<M>>, deferred: &mut Deferred<M>) -> bool {
        let Some(group) = bucket.group.as_ref().filter(|group| group.is_full()) else { return true };
        group.announce_waiter();
        while group.is_full() {
            match capacity.evict_from_group(group) {
                Some(removal) => deferred.work().removals.push(removal),
                None => return false,
            }
        }
        group.update_waiters();
        true
    }

    /// Evicts until one more item of this weight fits. False when nothing more can be evicted.
    fn evict_until_fits(&self, capacity: &mut Capacity<M>, weight: u64, deferred: &mut Deferred<M>) -> bool {
        while !capacity.fits(weight) {
            match capacity.evict() {
                Some(removal) => deferred.work().removals.push(removal),
                None => return false,
            }
        }
        true
    }

    /// Does what could not be done under locks.
    pub(crate) fn run_deferred(self: &Arc<Self>, deferred: Deferred<M>) {
        let Some(work) = deferred.into_work() else { return };
        for (waiter, result) in work.results {
            // If the waiter is gone, the lease in the result is dropped here, which releases it to its bucket.
            let _unsent = waiter.send(result);
        }
        for item in work.idle {
            if std::panic::catch_unwind(AssertUnwindSafe(|| self.manager.on_idle(&item))).is_err() {
                tracing::error!("pool: on_idle callback panicked");
            }
        }
        for item in work.draining {
            if std::panic::catch_unwind(AssertUnwindSafe(|| self.manager.on_draining(&item))).is_err() {
                tracing::error!("pool: on_draining callback panicked");
            }
        }
        // Evicted items are destroyed before the items that replace them are made.
        for removal in work.removals {
            self.destroy(removal);
        }
        for creation in work.creations {
            creation.spawn();
        }
    }

    fn destroy(self: &Arc<Self>, removal: Removal<M>) {
        let Removal { item, bucket, record } = removal;
        if std::panic::catch_unwind(AssertUnwindSafe(|| self.manager.destroy(item, record.why))).is_err() {
            tracing::error!(key = ?bucket.key, "pool: destroy callback panicked");
        }
        let mut capacity = self.capacity();
        capacity.remove(record, &bucket);
        self.unlock(capacity);
        if bucket.lock().needs_creation() {
            self.ensure_capacity_for(&bucket);
        } else if !record.slot_reassigned && self.has_capacity_waiters() {
            self.serve_capacity_waiters();
        }
        self.serve_group_of(&bucket);
        self.remove_if_empty(&bucket);
    }

    /// Unlocks a capacity from which an item or a creation was removed, and notifies if it was the last.
    pub(crate) fn unlock(&self, capacity: MutexGuard<'_, Capacity<M>>) {
        let empty = capacity.is_empty();
        drop(capacity);
        if empty {
            self.empty.notify_waiters();
        }
    }

    pub(crate) fn remove_if_empty(&self, bucket: &Bucket<M>) {
        if bucket.lock().is_empty() {
            self.bucket_map().remove_if_unused(bucket);
        }
    }

    /// The bucket gives no leases any more, and its key leads to a new bucket.
    pub(crate) fn retire(self: &Arc<Self>, bucket: &Arc<Bucket<M>>) {
        self.bucket_map().detach(bucket);
        self.end(bucket, EndReason::Retired);
    }

    fn end(self: &Arc<Self>, bucket: &Arc<Bucket<M>>, end: EndReason) {
        let mut deferred = Deferred::new();
        bucket.lock().end(end, bucket, &mut deferred);
        self.run_deferred(deferred);
    }

    pub(crate) fn close(self: &Arc<Self>) {
        self.bucket_map().close();
        for bucket in self.buckets() {
            self.end(&bucket, EndReason::Closed);
        }
        // No bucket in a queue needs an item now; this empties the queues.
        self.serve_capacity_waiters();
        self.serve_groups();
    }

    pub(crate) async fn wait_until_empty(&self) {
        loop {
            let mut notified = std::pin::pin!(self.empty.notified());
            // Registered before the check: the last item may be removed in between.
            notified.as_mut().enable();
            if self.capacity().is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// Destroys items that are too old, idle for too long or broken, and evicts beyond the weight limit.
    pub(crate) fn sweep(self: &Arc<Self>) {
        let now = Instant::now();
        for bucket in self.buckets() {
            let mut deferred = Deferred::new();
            let mut state = bucket.lock();
            state.sweep(now, &bucket, &mut deferred);
            let needs_creation = state.needs_creation();
            drop(state);
            self.run_deferred(deferred);
            if needs_creation {
                self.ensure_capacity_for(&bucket);
            }
        }
        self.trim();
        self.serve_capacity_waiters();
        self.serve_groups();
    }

    /// Reads all weights again, and evicts while their sum is over the limit.
    pub(crate) fn trim(self: &Arc<Self>) {
        for bucket in self.buckets() {
            let mut capacity = self.capacity();
            let weights = bucket.lock().reweigh(&self.manager);
            capacity.reweigh(weights);
        }
        let mut deferred = Deferred::new();
        let mut capacity = self.capacity();
        while capacity.is_over_weight() {
            match capacity.evict() {
                Some(removal) => deferred.work().removals.push(removal),
                None => break,
            }
        }
        drop(capacity);
        self.run_deferred(deferred);
    }

    /// Evicts idle items until `weight` bytes of them are gone. Returns how many were.
    pub(crate) fn evict_weight(self: &Arc<Self>, weight: u64) -> u64 {
        let mut deferred = Deferred::new();
        let mut capacity = self.capacity();
        let mut freed = 0;
        while freed < weight {
            let Some(removal) = capacity.evict() else { break };
            freed += removal.record.weight;
            deferred.work().removals.push(removal);
        }
        drop(capacity);
        self.run_deferred(deferred);
        freed
    }

    pub(crate) fn buckets(&self) -> Vec<Arc<Bucket<M>>> {
        self.bucket_map().buckets().cloned().collect()
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let bucket_map = self.bucket_map();
        let capacity = self.capacity().stats();
        let keys = bucket_map.stats();
        PoolStats {
            hits: keys.hits,
            misses: keys.misses,
            failed: keys.failed,
            waiting: keys.waiting,
            leased: keys.leased,
            ..capacity
        }
    }
}

impl<M: Manager> Drop for PoolInner<M> {
    fn drop(&mut self) {
        if cfg!(debug_assertions) && !std::thread::panicking() {
            let stats = self.capacity().stats();
            assert!(stats.adds_up(), "created - destroyed = live: {stats:?}");
            assert_eq!((stats.cached, stats.creating, stats.weight), (0, 0, 0), "a pool is empty when it is dropped");
        }
    }
}
