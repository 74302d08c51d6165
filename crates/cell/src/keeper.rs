//! How workers are made, judged and destroyed, for the pool that keeps them warm.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use hearth_core::{Failure, Owner};
use hearth_pool::{Affinity, DestroyReason, ItemHealth, Load, Manager};
use hearth_runtime::{App, EMPTY_ISOLATE_SIZE, Locking, ThreadPolicy, TurnPools, Worker};

use crate::endings::Endings;
use crate::modes::warm::Warmth;
use crate::pinned::{Pinned, PinnedThreads};
use crate::spares::Blanks;
use crate::timings::Timings;

/// An app in one state of its code, and where its workers live. Two are the same when they are the same value.
#[derive(Clone)]
pub(crate) struct Version(Arc<VersionParts>);

struct VersionParts {
    number: u64,
    app: Arc<App>,
    home: Home,
    timings: Arc<Timings>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// On any thread, under V8's own lock or without it.
    Anywhere(Locking),
    Pinned,
}

/// A worker in the pool.
#[derive(Clone)]
pub(crate) struct Kept {
    worker: Worker,
    /// Its place on a thread of its own.
    _pinned: Option<Arc<Pinned>>,
}

pub(crate) struct Keeper {
    pub(crate) blanks: Arc<Blanks>,
    pub(crate) lane: TurnPools,
    pub(crate) pinned: PinnedThreads,
    pub(crate) endings: Endings,
}

// === impl Version ===

impl Version {
    pub(crate) fn new(app: Arc<App>, home: Home, timings: Arc<Timings>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(Arc::new(VersionParts { number: NEXT.fetch_add(1, Ordering::Relaxed), app, home, timings }))
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.0.app
    }

    pub(crate) fn home(&self) -> Home {
        self.0.home
    }

    /// A line for each event: only where the log has such lines.
    #[cold]
    pub(crate) fn log_warmth(&self, warmth: Warmth) {
        let app = self.0.app.name.as_str();
        match warmth {
            Warmth::Warm => tracing::debug!(target: "hearth::pool", app, "Hit"),
            Warmth::Cold => tracing::debug!(target: "hearth::pool", app, "Miss"),
        }
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

// === impl Kept ===

impl Deref for Kept {
    type Target = Worker;

    fn deref(&self) -> &Worker {
        &self.worker
    }
}

impl AsRef<Worker> for Kept {
    fn as_ref(&self) -> &Worker {
        &self.worker
    }
}

// === impl Keeper ===

impl Keeper {
    async fn start_pinned(&self, app: Arc<App>) -> Result<Kept, Failure> {
        let no_thread = |error| Failure::Internal { message: format!("no thread for a pinned worker: {error}") };
        let pinned = self.pinned.settle().await.map_err(no_thread)?;
        let (blank, place) = (self.blanks.take(app.limits.heap), pinned.place(self.lane.clone()));
        let started = pinned.handle().spawn(async move { Worker::start_from(blank, app, place).await });
        let worker = started.await.map_err(|_| Failure::Internal { message: "a pinned thread has ended".into() })??;
        Ok(Kept { worker, _pinned: Some(Arc::new(pinned)) })
    }
}

impl Manager for Keeper {
    type Key = Version;
    type Item = Kept;
    type Error = Failure;

    async fn create(&self, version: &Version) -> Result<Kept, Failure> {
        let began = Instant::now();
        let app = version.app().clone();
        let kept = match version.0.home {
            Home::Pinned => self.start_pinned(app).await?,
            Home::Anywhere(locking) => {
                let blank = self.blanks.take(app.limits.heap).with_locking(locking);
                let worker = Worker::start_from(blank, app, ThreadPolicy::ByLatency(self.lane.clone())).await?;
                Kept { worker, _pinned: None }
            }
        };
        let took = began.elapsed();
        version.0.timings.cold_start.record(took);
        tracing::debug!(target: "hearth::pool", worker = ?version, ?took, "Worker started");
        Ok(kept)
    }

    fn group(&self, version: &Version) -> Option<Arc<str>> {
        Some(version.owner().as_str().into())
    }

    fn health(&self, kept: &Kept) -> ItemHealth {
        match kept.health() {
            hearth_runtime::Health::Ready => ItemHealth::Ready,
            hearth_runtime::Health::Worn => ItemHealth::Worn,
            hearth_runtime::Health::Retiring => ItemHealth::Retiring,
            hearth_runtime::Health::Gone => ItemHealth::Gone,
        }
    }

    fn load(&self, kept: &Kept) -> Load {
        if kept.is_busy() {
            Load::Busy
        } else if kept.active() > 0 {
            Load::Working
        } else {
            Load::Idle
        }
    }

    fn affinity(&self, kept: &Kept) -> Affinity {
        if kept.last_ran_here() { Affinity::Here } else { Affinity::Elsewhere }
    }

    fn weight(&self, kept: &Kept) -> u64 {
        kept.memory().bytes()
    }

    fn estimated_weight(&self) -> u64 {
        EMPTY_ISOLATE_SIZE.bytes()
    }

    fn on_idle(&self, kept: &Kept) {
        self.endings.idle(kept);
    }

    fn on_draining(&self, kept: &Kept) {
        kept.start_draining();
    }

    fn destroy(&self, kept: Kept, why: DestroyReason) {
        let app = &kept.app().name;
        match why {
            DestroyReason::Evicted => tracing::info!(target: "hearth::pool", app = app.as_str(), "Worker evicted"),
            why => tracing::debug!(target: "hearth::pool", app = app.as_str(), reason = ?why, "Worker destroyed"),
        }
        let lane = self.lane.clone();
        // Disposal takes a third of a millisecond, which nobody should wait for.
        self.endings.end(kept, why, move |kept| lane.dispose(move || drop(kept)));
    }
}
