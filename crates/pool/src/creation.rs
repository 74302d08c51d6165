//! The creation of one item, in a task of its own, so that it survives a caller that goes away; a creation that waits for
//! nothing may run on its caller's thread. However it ends, the result is recorded exactly once: the item is added to its
//! bucket, or all waiters that were assigned to the creation get the error. A panic drops the `Creation`, whose `Drop`
//! records a failure.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::Instant;

use crate::bucket::Bucket;
use crate::deferred::Deferred;
use crate::keyed_pool::AcquireError;
use crate::manager::Manager;
use crate::slot::{Slot, SlotId};

pub(crate) struct Creation<M: Manager> {
    bucket: Arc<Bucket<M>>,
    slot: SlotId,
    finished: bool,
}

impl<M: Manager> Creation<M> {
    pub(crate) fn new(bucket: Arc<Bucket<M>>, slot: SlotId) -> Self {
        Self { bucket, slot, finished: false }
    }

    pub(crate) fn is_for(&self, bucket: &Arc<Bucket<M>>) -> bool {
        Arc::ptr_eq(&self.bucket, bucket)
    }

    pub(crate) fn spawn(self) {
        let runtime = self.bucket.pool.runtime.clone();
        runtime.spawn(self.run());
    }

    /// The same for a caller that can do nothing until the item is made: begins on this thread, and becomes a task as soon as it
    /// has to wait. A task from the start would have to be picked up by a thread, possibly another one, whose caches are cold.
    pub(crate) fn start_here(self) {
        let runtime = self.bucket.pool.runtime.clone();
        let _inside = runtime.enter();
        let mut running = Box::pin(self.run());
        // No wake-up is needed: the task is polled again at once. A panic must not reach the caller.
        let mut context = Context::from_waker(Waker::noop());
        let first_poll = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(&mut context)));
        if let Ok(Poll::Pending) = first_poll {
            runtime.spawn(running);
        }
    }

    async fn run(self) {
        let created = self.bucket.manager().create(&self.bucket.key).await;
        match created {
            Ok(item) => self.succeed(item),
            Err(error) => self.fail(&AcquireError::Failed(error)),
        }
    }

    fn succeed(mut self, item: M::Item) {
        self.finished = true;
        let (bucket, pool) = (&self.bucket, &self.bucket.pool);
        let mut deferred = Deferred::new();
        let weight = pool.manager.weight(&item);
        let slot = Slot::new(self.slot, item, Instant::now(), weight);
        let mut capacity = pool.capacity();
        capacity.add(&slot, bucket);
        let mut state = bucket.lock();
        let end = state.add_item(slot, bucket, &mut deferred);
        let needs_creation = state.needs_creation();
        drop(state);
        capacity.release_reservation(end.reserved, bucket);
        drop(capacity);
        pool.run_deferred(deferred);
        self.resume_creations_after(end.pause);
        if needs_creation {
            pool.ensure_capacity_for(bucket);
        } else if pool.has_capacity_waiters() {
            // The item may weigh less than was reserved, or be idle already.
            pool.serve_capacity_waiters();
        }
        pool.serve_group_of(bucket);
    }

    fn fail(mut self, error: &AcquireError<M::Error>) {
        self.record_failure(error);
    }

    fn record_failure(&mut self, error: &AcquireError<M::Error>) {
        self.finished = true;
        let (bucket, pool) = (&self.bucket, &self.bucket.pool);
        let mut deferred = Deferred::new();
        let mut capacity = pool.capacity();
        let end = bucket.lock().fail_creation(self.slot, error, &mut deferred);
        capacity.release_reservation(end.reserved, bucket);
        pool.unlock(capacity);
        pool.run_deferred(deferred);
        self.resume_creations_after(end.pause);
        // Other buckets can use the capacity, and waiters that were assigned to no creation may begin one.
        pool.ensure_capacity_for(bucket);
        pool.serve_group_of(bucket);
        pool.remove_if_empty(bucket);
    }

    /// Lets creations for the bucket begin again when the pause is over.
    fn resume_creations_after(&self, pause: Option<Duration>) {
        let Some(pause) = pause else { return };
        let bucket = self.bucket.clone();
        self.bucket.pool.runtime.spawn(async move {
            tokio::time::sleep(pause).await;
            bucket.lock().resume_creations();
            bucket.pool.ensure_capacity_for(&bucket);
        });
    }
}

impl<M: Manager> Drop for Creation<M> {
    fn drop(&mut self) {
        if !self.finished {
            self.record_failure(&AcquireError::Panicked);
        }
    }
}
