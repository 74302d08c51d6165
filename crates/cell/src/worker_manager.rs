//! How workers are made, described and destroyed, for the pool that keeps them warm.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use hearth_core::{Failure, Owner};
use hearth_pool::{Affinity, DestroyReason, ItemHealth, Load, Manager};
use hearth_runtime::{App, EMPTY_ISOLATE_SIZE, Locking, ThreadPolicy, TurnPools, Worker};

use crate::lifecycle_hooks::LifecycleHooks;
use crate::pinned::{PinnedThreads, ThreadAssignment};
use crate::spares::SpareIsolates;
use crate::timings::Timings;

/// An app in one state of its code, and where its workers run. Clones are equal; two versions made separately never are.
#[derive(Clone)]
pub(crate) struct Version(Arc<VersionParts>);

struct VersionParts {
    number: u64,
    app: Arc<App>,
    placement: ThreadPlacement,
    timings: Arc<Timings>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadPlacement {
    /// On any thread, under V8's own lock or without it.
    AnyThread(Locking),
    Pinned,
}

/// A worker in the pool.
#[derive(Clone)]
pub(crate) struct PooledWorker {
    worker: Worker,
    /// For a pinned worker.
    _thread: Option<Arc<ThreadAssignment>>,
}

pub(crate) struct WorkerManager {
    pub(crate) spares: Arc<SpareIsolates>,
    pub(crate) turn_pools: TurnPools,
    pub(crate) pinned: PinnedThreads,
    pub(crate) hooks: LifecycleHooks,
}

// === impl Version ===

impl Version {
    pub(crate) fn new(app: Arc<App>, placement: ThreadPlacement, timings: Arc<Timings>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(Arc::new(VersionParts { number: NEXT.fetch_add(1, Ordering::Relaxed), app, placement, timings }))
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.0.app
    }

    pub(crate) fn placement(&self) -> ThreadPlacement {
        self.0.placement
    }

    /// Called only where the log has this level: once for each event.
    #[cold]
    pub(crate) fn log_start(&self, cold_start: bool) {
        let app = self.0.app.name.as_str();
        let message = if cold_start { "pool miss" } else { "pool hit" };
        tracing::debug!(target: "hearth::pool", app, "{message}");
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.0.app.owner
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for Version {}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.0.app.name, self.0.number)
    }
}

// === impl PooledWorker ===

impl Deref for PooledWorker {
    type Target = Worker;

    fn deref(&self) -> &Worker {
        &self.worker
    }
}

impl AsRef<Worker> for PooledWorker {
    fn as_ref(&self) -> &Worker {
        &self.worker
    }
}

// === impl WorkerManager ===

impl WorkerManager {
    async fn start_pinned(&self, app: Arc<App>) -> Result<PooledWorker, Failure> {
        let no_thread = |error| Failure::Internal { message: format!("no thread for a pinned worker: {error}") };
        let thread = self.pinned.assign().await.map_err(no_thread)?;
        let (blank, place) = (self.spares.take(app.limits.heap), thread.place(self.turn_pools.clone()));
        let started = thread.handle().spawn(async move { Worker::start_from(blank, app, place).await });
        let worker = started.await.map_err(|_| Failure::Internal { message: "a pinned thread has ended".into() })??;
        Ok(PooledWorker { worker, _thread: Some(Arc::new(thread)) })
    }
}

impl Manager for WorkerManager {
    type Key = Version;
    type Item = PooledWorker;
    type Error = Failure;

    async fn create(&self, version: &Version) -> Result<PooledWorker, Failure> {
        let began = Instant::now();
        let app = version.app().clone();
        let pooled = match version.0.placement {
            ThreadPlacement::Pinned => self.start_pinned(app).await?,
            ThreadPlacement::AnyThread(locking) => {
                let blank = self.spares.take(app.limits.heap).with_locking(locking);
                let worker = Worker::start_from(blank, app, ThreadPolicy::ByLatency(self.turn_pools.clone())).await?;
                PooledWorker { worker, _thread: None }
            }
        };
        let took = began.elapsed();
        version.0.timings.cold_start.record(took);
        tracing::debug!(target: "hearth::pool", worker = ?version, ?took, "worker started");
        Ok(pooled)
    }

    fn group(&self, version: &Version) -> Option<Arc<str>> {
        Some(version.owner().as_str().into())
    }

    fn health(&self, pooled: &PooledWorker) -> ItemHealth {
        match pooled.health() {
            hearth_runtime::Health::Ready => ItemHealth::Ready,
            hearth_runtime::Health::Worn => ItemHealth::Worn,
            hearth_runtime::Health::Retiring => ItemHealth::Retiring,
            hearth_runtime::Health::Gone => ItemHealth::Gone,
        }
    }

    fn load(&self, pooled: &PooledWorker) -> Load {
        if pooled.is_busy() {
            Load::Busy
        } else if pooled.active() > 0 {
            Load::Working
        } else {
            Load::Idle
        }
    }

    fn affinity(&self, pooled: &PooledWorker) -> Affinity {
        if pooled.last_ran_here() { Affinity::Here } else { Affinity::Elsewhere }
    }

    fn weight(&self, pooled: &PooledWorker) -> u64 {
        pooled.memory().bytes()
    }

    fn estimated_weight(&self) -> u64 {
        EMPTY_ISOLATE_SIZE.bytes()
    }

    fn on_idle(&self, pooled: &PooledWorker) {
        self.hooks.on_idle(pooled);
    }

    fn on_draining(&self, pooled: &PooledWorker) {
        pooled.start_draining();
    }

    fn destroy(&self, pooled: PooledWorker, why: DestroyReason) {
        let app = &pooled.app().name;
        match why {
            DestroyReason::Evicted => tracing::info!(target: "hearth::pool", app = app.as_str(), "worker evicted"),
            why => tracing::debug!(target: "hearth::pool", app = app.as_str(), reason = ?why, "worker destroyed"),
        }
        let turn_pools = self.turn_pools.clone();
        // Disposal takes a third of a millisecond: it runs on a low-priority thread, where no request waits for it.
        self.hooks.terminate(pooled, why, move |pooled| turn_pools.dispose(move || drop(pooled)));
    }
}
