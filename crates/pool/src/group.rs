//! What the keys of one group share: a bound on how many items they have together, and a queue of those of its buckets that
//! wait for a slot. A bucket in the group's queue delays no bucket of another group, and a slot is freed by evicting the
//! group's own least recently used idle item.
//!
//! Everything here is changed under the capacity's lock only; `waiters` is also read without it, when leases are released.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bucket::Bucket;
use crate::manager::Manager;

pub(crate) struct Group<M: Manager> {
    max_items: usize,
    /// Items that exist or are being made, without the evicted ones.
    items: AtomicUsize,
    /// Buckets in the queue, and one that is about to be.
    waiters: AtomicUsize,
    queue: Mutex<VecDeque<Arc<Bucket<M>>>>,
}

impl<M: Manager> Group<M> {
    pub(crate) fn new(max_items: usize) -> Self {
        // With no slot at all the group's requests would wait without end.
        let max_items = max_items.max(1);
        Self { max_items, items: AtomicUsize::new(0), waiters: AtomicUsize::new(0), queue: Mutex::default() }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.items.load(Ordering::Relaxed) >= self.max_items
    }

    pub(crate) fn take_slot(&self) {
        self.items.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn release_slot(&self) {
        let before = self.items.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "a slot of a group was released twice");
    }

    /// Whether a bucket waits for a slot of the group.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiters.load(Ordering::Acquire) > 0
    }

    /// A bucket is about to wait. Called before the group's buckets are searched for something to evict: an item that becomes
    /// idle after its bucket was searched is released by a thread that sees the number.
    pub(crate) fn announce_waiter(&self) {
        self.waiters.store(self.lock().len() + 1, Ordering::Release);
    }

    pub(crate) fn push(&self, bucket: Arc<Bucket<M>>) {
        let mut queue = self.lock();
        queue.push_back(bucket);
        self.waiters.store(queue.len(), Ordering::Release);
    }

    /// The first bucket in the queue, which stays there.
    pub(crate) fn first(&self) -> Option<Arc<Bucket<M>>> {
        self.lock().front().cloned()
    }

    /// Removes the first bucket from the queue.
    pub(crate) fn pop(&self) {
        let mut queue = self.lock();
        let popped = queue.pop_front();
        self.waiters.store(queue.len(), Ordering::Release);
        drop(queue);
        // The last handle of a bucket must not be dropped under the queue's lock.
        drop(popped);
    }

    /// Only the buckets in the queue wait.
    pub(crate) fn update_waiters(&self) {
        self.waiters.store(self.lock().len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Bucket<M>>>> {
        // Nothing that can panic runs under this lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
