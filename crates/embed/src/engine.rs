//! V8 and the threads that run JavaScript: one of each for the process, started once and never ended.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use hearth_cell::{AppPools, AppPoolsConfig, Budget, SharedServices};
use hearth_core::ByteSize;
use hearth_runtime::{JsThreads, Platform, Snapshot, SpareIsolate, TurnPools};
use tokio::task::JoinHandle;

use crate::error::Error;

pub(crate) struct Engine {
    platform: Platform,
    snapshot: Snapshot,
    threads: JsThreads,
    pub(crate) count: usize,
    commons: SharedServices,
}

static ENGINE: OnceLock<Engine> = OnceLock::new();

/// Starts V8 and the threads, as many as the machine has cores. The first call does; others find them running.
///
/// ```
/// hearth_embed::start()?;
/// hearth_embed::start()?;
/// # Ok::<(), hearth_embed::Error>(())
/// ```
pub fn start() -> Result<(), Error> {
    Engine::get().map(drop)
}

impl Engine {
    pub(crate) fn get() -> Result<&'static Self, Error> {
        static STARTING: Mutex<()> = Mutex::new(());
        let _one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = ENGINE.get() {
            return Ok(engine);
        }
        let platform = Platform::init()?;
        let commons = SharedServices::new()?;
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = JsThreads::start(count).map_err(Error::Threads)?;
        let snapshot = hearth_snapshot::snapshot();
        Ok(ENGINE.get_or_init(|| Self { platform, snapshot, threads, count, commons }))
    }

    pub(crate) fn commons() -> &'static SharedServices {
        &ENGINE.get().expect("apps are created by a started engine").commons
    }

    pub(crate) fn turn_pools(&self) -> TurnPools {
        self.threads.turn_pools()
    }

    /// A new isolate with its context.
    pub(crate) fn blank(&self, heap: ByteSize) -> SpareIsolate {
        SpareIsolate::new(self.platform, &self.snapshot, heap)
    }

    pub(crate) fn isolate(&self, heap: ByteSize) -> hearth_runtime::Isolate {
        hearth_runtime::Isolate::new(self.platform, &self.snapshot, heap)
    }

    /// A cell with at most `isolates` isolates, and `max_per_owner` of one owner.
    pub(crate) fn cell(&self, isolates: usize, max_per_owner: Option<usize>) -> AppPools {
        let config = AppPoolsConfig {
            threads: self.count,
            isolates,
            max_per_owner,
            spares: 2.min(isolates),
            budget: Budget::for_machine(self.count, 1, None),
            max_fresh: isolates,
            max_queued: None,
        };
        let _inside = self.threads.handle().enter();
        AppPools::start(self.platform, &self.snapshot, self.turn_pools(), config)
    }

    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let _inside = self.threads.handle().enter();
        f()
    }

    /// Runs `work` on the threads that run JavaScript. Dropping the result cancels it.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Running<T> {
        Running(self.threads.handle().spawn(work))
    }
}

/// Work on other threads, cancelled by the drop.
pub(crate) struct Running<T>(JoinHandle<T>);

impl<T> Future for Running<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_err(|_| Error::Panicked)
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
