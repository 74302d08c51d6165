//! Isolates by name, the least recently used evicted first: what
//! [`IsolatePool::acquire`](crate::IsolatePool::acquire) returns.

use std::future::Future;
use std::sync::Arc;

use hearth_core::{ByteSize, Failure};
use hearth_pool::{AcquireError, Affinity, DestroyReason, ItemHealth, Load, Manager, OwnedLease};
use hearth_runtime::{EMPTY_ISOLATE_SIZE, LockedIsolate};

use crate::context::SharedIsolate;
use crate::engine::Engine;

pub(crate) struct Keeper {
    pub(crate) engine: &'static Engine,
    pub(crate) heap: ByteSize,
}

/// An isolate for one caller alone. Dropped, it is kept for the next caller with that name.
pub struct PooledIsolate {
    lease: OwnedLease<Keeper>,
}

impl PooledIsolate {
    pub(crate) fn new(lease: OwnedLease<Keeper>) -> Self {
        Self { lease }
    }

    /// Runs `f` with the isolate locked (V8's `Locker`) and entered, on this thread.
    ///
    /// ```
    /// # use hearth_embed::{IsolatePool, Limits};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), hearth_embed::Error> {
    /// let pool = IsolatePool::new(10, Limits::default())?;
    /// let isolate = pool.acquire("reports").await?;
    /// let bytes = isolate.with_lock(|isolate| isolate.get_heap_statistics().used_heap_size());
    /// assert!(bytes > 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_lock<R>(&self, f: impl FnOnce(&mut LockedIsolate<'_>) -> R) -> R {
        self.lease.with_lock(f)
    }

    /// Runs what `f` returns to its end while no other caller has the isolate. V8's lock itself is taken whenever a script runs in it, and
    /// not while the future waits: a thread that waited with it would keep the isolate's own timers and responses out.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use hearth_embed::{DefaultOperations, Event, ExecutionContext, IsolatePool, Limits};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), hearth_embed::Error> {
    /// let pool = IsolatePool::new(10, Limits::default())?;
    /// let isolate = pool.acquire("reports").await?;
    /// let text = isolate
    ///     .with_lock_async(|mut isolate| async move {
    ///         let script = "export default { async fetch() { await null; return new Response('done') } }";
    ///         let mut context = ExecutionContext::new(&mut isolate, script, Arc::new(DefaultOperations)).await?;
    ///         context.exec(Event::get("http://reports/")).await?.text().await
    ///     })
    ///     .await?;
    /// assert_eq!(text, "done");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn with_lock_async<F: Future>(&self, f: impl FnOnce(SharedIsolate) -> F) -> F::Output {
        f((*self.lease).clone()).await
    }

    /// Memory that the isolate holds, as of the last update.
    pub fn memory(&self) -> ByteSize {
        self.lease.memory()
    }
}

pub(crate) fn refusal(error: AcquireError<Failure>) -> Failure {
    match error {
        AcquireError::Failed(failure) => failure,
        AcquireError::Panicked => Failure::Internal { message: "an isolate could not be made".into() },
        AcquireError::Retired => Failure::Capacity { reason: "this isolate is no longer kept" },
        AcquireError::Closed => Failure::Draining,
    }
}

impl Manager for Keeper {
    type Key = Arc<str>;
    type Item = SharedIsolate;
    type Error = Failure;

    async fn create(&self, _: &Arc<str>) -> Result<SharedIsolate, Failure> {
        Ok(SharedIsolate::in_engine(self.engine, self.heap))
    }

    fn health(&self, isolate: &SharedIsolate) -> ItemHealth {
        if isolate.is_spent() { ItemHealth::Retiring } else { ItemHealth::Ready }
    }

    fn load(&self, _: &SharedIsolate) -> Load {
        // The lease lasts as long as the work in it.
        Load::Idle
    }

    fn affinity(&self, _: &SharedIsolate) -> Affinity {
        Affinity::Elsewhere
    }

    fn weight(&self, isolate: &SharedIsolate) -> u64 {
        isolate.memory().bytes()
    }

    fn estimated_weight(&self) -> u64 {
        EMPTY_ISOLATE_SIZE.bytes()
    }

    fn destroy(&self, isolate: SharedIsolate, _: DestroyReason) {
        self.engine.turn_pools().dispose(move || drop(isolate));
    }
}
