//! The handle to the items of one key. A component that uses a key often keeps its `KeyedPool`: then a warm request looks
//! nothing up and takes no lock but the one of this key's bucket.
//!
//! ```text
//! try_acquire: last used on this thread and not busy > not busy > busy, if no better one can be expected
//!              (each: with a free lease)
//! acquire:     the same > a creation under way that can serve one more caller > a new creation
//!              > any busy item with a free lease > wait
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::bucket::Bucket;
use crate::creation::Creation;
use crate::deferred::{Deferred, WaiterResult};
use crate::lease::{Lease, OwnedLease};
use crate::manager::Manager;
use crate::slot::Seq;
use crate::stats::KeyStats;

/// How many items a key has, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyLimits {
    /// Usable items at once, those that are being made included. Items that get no new leases do not count.
    pub max_items: usize,
    /// Leases of one item at once; 0 is no bound.
    pub concurrency: u32,
    pub lifetime: ItemLifetime,
}

/// When an item has served long enough. `None` is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ItemLifetime {
    /// Leases, in all.
    pub uses: Option<u64>,
    /// From its creation on. Checked when a lease is requested, which costs a clock reading, and in sweeps.
    pub ttl: Option<Duration>,
    /// From its last lease on. Checked in sweeps: the first that finds it exceeded calls [`Manager::on_idle`], the next
    /// destroys the item.
    pub idle: Option<Duration>,
}

/// The items of one key of a [`Pool`](crate::Pool). Clones refer to the same bucket. Items stay in it when the last handle is
/// dropped; a later handle for the key finds them.
pub struct KeyedPool<M: Manager> {
    bucket: Arc<Bucket<M>>,
    handle: Arc<Handle<M>>,
}

/// Keeps the bucket in the pool's map.
struct Handle<M: Manager> {
    bucket: Arc<Bucket<M>>,
}

/// Why there is no lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError<E> {
    #[error("the creation failed")]
    Failed(E),
    /// It panicked, or its runtime was shut down.
    #[error("the creation did not come to its end")]
    Panicked,
    #[error("the key is retired")]
    Retired,
    #[error("the pool is closed")]
    Closed,
}

/// What a caller gets at once.
pub enum Acquisition<M: Manager> {
    Leased(OwnedLease<M>),
    Queued(QueuedCaller<M>),
}

/// A caller that waits for a lease. Dropping it removes the caller from the queue.
pub struct QueuedCaller<M: Manager> {
    bucket: Arc<Bucket<M>>,
    seq: Seq,
    result: oneshot::Receiver<WaiterResult<M>>,
    /// The creation that was begun for this caller, if there is one.
    creation: Option<Creation<M>>,
}

// === impl KeyedPool ===

impl<M: Manager> KeyedPool<M> {
    pub(crate) fn new(bucket: Arc<Bucket<M>>) -> Self {
        let handle = Arc::new(Handle { bucket: bucket.clone() });
        Self { bucket, handle }
    }

    pub fn key(&self) -> &M::Key {
        &self.bucket.key
    }

    /// A lease of an item that is there, without waiting.
    pub fn try_acquire_owned(&self) -> Option<OwnedLease<M>> {
        self.try_acquire().map(Lease::into_owned)
    }

    /// The same, borrowed from this handle: it saves the reference counts that an owned lease needs.
    pub fn try_acquire(&self) -> Option<Lease<'_, M>> {
        let mut deferred = Deferred::new();
        let mut state = self.bucket.lock();
        let taken = state.try_lease(&self.bucket, &mut deferred);
        // An item that was found broken on the way may be what other callers wait for.
        let needs_creation = (taken.is_none() || state.needs_successor()) && state.needs_creation();
        drop(state);
        self.bucket.pool.run_deferred(deferred);
        if needs_creation {
            self.bucket.pool.ensure_capacity_for(&self.bucket);
        }
        taken.map(|(slot, item)| Lease::new(&self.bucket, slot, item))
    }

    /// A lease, of a new item if necessary. Waits for as long as it takes: put a deadline around it. Dropping the future leaves
    /// the queue; an item that is being made for it is finished all the same and stays in the bucket.
    pub async fn acquire(&self) -> Result<OwnedLease<M>, AcquireError<M::Error>> {
        match self.acquire_or_queue()? {
            Acquisition::Leased(lease) => Ok(lease),
            Acquisition::Queued(caller) => caller.lease().await,
        }
    }

    /// A lease of an item that is there, or a place in the queue: [`acquire`](Self::acquire) in two steps, for callers that want
    /// to know which of the two it is.
    pub fn acquire_or_queue(&self) -> Result<Acquisition<M>, AcquireError<M::Error>> {
        let (bucket, pool) = (&self.bucket, &self.bucket.pool);
        let mut deferred = Deferred::new();
        let mut state = bucket.lock();
        if let Some(error) = state.closed_error() {
            return Err(error);
        }
        let acquisition = match state.try_lease(bucket, &mut deferred) {
            Some((slot, item)) => Acquisition::Leased(OwnedLease::new(bucket.clone(), slot, item)),
            None => {
                let (seq, result) = state.push_waiter();
                Acquisition::Queued(QueuedCaller { bucket: bucket.clone(), seq, result, creation: None })
            }
        };
        let needs_creation = state.needs_creation();
        drop(state);
        pool.run_deferred(deferred);
        if !needs_creation {
            return Ok(acquisition);
        }
        Ok(match acquisition {
            Acquisition::Queued(mut caller) => {
                caller.creation = pool.ensure_capacity_for_caller(bucket);
                Acquisition::Queued(caller)
            }
            leased @ Acquisition::Leased(_) => {
                pool.ensure_capacity_for(bucket);
                leased
            }
        })
    }

    /// Ends the key: it gives no new leases, and waiting callers get [`AcquireError::Retired`]. Items are destroyed as they
    /// become idle. The pool makes a new bucket when the key is requested again.
    pub fn retire(&self) {
        self.bucket.pool.retire(&self.bucket);
    }

    pub fn stats(&self) -> KeyStats {
        self.bucket.lock().stats()
    }
}

impl<M: Manager> Clone for KeyedPool<M> {
    fn clone(&self) -> Self {
        Self { bucket: self.bucket.clone(), handle: self.handle.clone() }
    }
}

// === impl Handle ===

impl<M: Manager> Drop for Handle<M> {
    fn drop(&mut self) {
        self.bucket.pool.bucket_map().release(&self.bucket);
    }
}

// === impl QueuedCaller ===

impl<M: Manager> QueuedCaller<M> {
    /// Waits for the lease; see [`KeyedPool::acquire`].
    pub async fn lease(mut self) -> Result<OwnedLease<M>, AcquireError<M::Error>> {
        if let Some(creation) = self.creation.take() {
            creation.start_here();
        }
        (&mut self.result).await.expect("a waiter that is taken out of the queue is sent a result")
    }
}

impl<M: Manager> Drop for QueuedCaller<M> {
    fn drop(&mut self) {
        if let Some(creation) = self.creation.take() {
            creation.spawn();
        }
        // If the result was sent already, it goes with the channel, and a lease in it is released.
        self.bucket.lock().remove_waiter(self.seq);
    }
}
