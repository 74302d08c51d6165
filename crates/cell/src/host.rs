//! An app as it is served: admitted by its owner's gate, run in its execution mode.
//!
//! ```text
//! request -> gate: enters, is queued, or is rejected -> worker: warm, spare, new, or queued for -> response
//! ```
//! A warm request takes its owner's gate and its version's bucket, and nothing that another app can hold. One that cannot go on
//! at once becomes a [`PendingRequest`], which continues from where the first attempt stopped.

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::{Dispatch, DispatchResult, Failure, MaybeReady, Request};
use hearth_pool::{AdmissionError, GateEntry, ItemLifetime, KeyedPool, OwnedLease, OwnedPermit};
use hearth_runtime::{EventResult, ResponseFuture, Scheduled, Task, TimedReply, Worker};

use crate::admission::AppQuota;
use crate::modes::oneshot::{OneshotStarter, OneshotWorker};
use crate::modes::pooled;
use crate::modes::shared::{ContextLease, IsolateManager};
use crate::modes::tally::AppTally;
use crate::timings::Timings;
use crate::worker_manager::{Version, WorkerManager};
use hearth_core::execution::Execution;

/// How an app is served.
#[derive(Clone, Debug)]
pub struct AppRules {
    pub execution: Execution,
    /// Workers at once. Each has an isolate and a module state of its own; in `oneshot` and `shared` each serves one event.
    pub workers: usize,
    /// Requests of the owner that may wait.
    pub queue: usize,
    /// How long they may wait.
    pub queue_timeout: Duration,
    /// The owner's share where owners compete, against the others' weights.
    pub weight: u32,
    /// How long a worker is kept.
    pub lifetime: ItemLifetime,
    /// Where waits and starts are counted.
    pub timings: Arc<Timings>,
}

/// Clones serve the same app.
#[derive(Clone)]
pub struct AppHost {
    pub(crate) version: Version,
    pub(crate) quota: Arc<AppQuota>,
    pub(crate) mode: Mode,
    pub(crate) queue_timeout: Duration,
    pub(crate) timings: Arc<Timings>,
}

#[derive(Clone)]
pub(crate) enum Mode {
    /// `auto`, `pooled` and `pinned`.
    Pooled(KeyedPool<WorkerManager>),
    Oneshot(Arc<OneshotStarter>, AppTally),
    Shared(KeyedPool<IsolateManager>, AppTally),
}

/// A worker for one event. Dropping it releases the worker and the owner's permit.
enum WorkerGuard {
    Pooled(OwnedLease<WorkerManager>, OwnedPermit),
    Oneshot(OneshotWorker),
    Shared(ContextLease),
}

/// A request that was not answered by the first attempt.
pub(crate) enum PendingRequest {
    /// A pooled worker runs its handler.
    Running { response: ResponseFuture, lease: OwnedLease<WorkerManager>, permit: OwnedPermit },
    /// It waits for a worker and, unless it has a permit, for admission.
    Waiting { host: AppHost, request: Request, permit: Option<OwnedPermit> },
}

// === impl AppHost ===

impl AppHost {
    /// Starts the first worker, so that the first request finds it warm.
    pub async fn warm(&self) -> Result<(), Failure> {
        match &self.mode {
            Mode::Pooled(workers) => pooled::acquire(workers, self.queue_timeout).await.map(drop),
            // The worker serves no later request, but its start shows whether the app loads.
            Mode::Oneshot(..) | Mode::Shared(..) => self.acquire(self.enter().await?, || {}).await.map(drop),
        }
    }

    /// Serves a request; `on_warm_hit` is called when its worker existed before it.
    pub async fn fetch(&self, request: Request, on_warm_hit: impl FnOnce() + Send) -> DispatchResult {
        self.acquire(self.enter().await?, on_warm_hit).await?.fetch(request).await
    }

    /// The same for a scheduled event.
    pub async fn scheduled(&self, event: Scheduled, on_warm_hit: impl FnOnce() + Send) -> Result<EventResult, Failure> {
        self.acquire(self.enter().await?, on_warm_hit).await?.scheduled(event).await
    }

    /// The same for a task.
    pub async fn task(&self, event: Task, on_warm_hit: impl FnOnce() + Send) -> Result<EventResult, Failure> {
        self.acquire(self.enter().await?, on_warm_hit).await?.task(event).await
    }

    /// Serves a request by a warm worker if it can have one `now`, and waits for nothing. A response comes with the time at
    /// which it was there: a clock reading costs as much as the rest.
    pub(crate) fn serve(&self, request: Request, now: Instant) -> MaybeReady<TimedReply, PendingRequest> {
        let Mode::Pooled(workers) = &self.mode else { return self.wait_for_worker(request, None) };
        let Some(permit) = self.quota.queue.try_enter() else { return self.wait_for_worker(request, None) };
        let Some(lease) = workers.try_acquire() else {
            return self.wait_for_worker(request, Some(permit.into_owned()));
        };
        self.log_start(false);
        match lease.handle(request, now) {
            MaybeReady::Ready((Ok(response), now)) if pooled::is_streaming(&response) => {
                MaybeReady::Ready((Ok(pooled::hold_lease(response, lease.into_owned(), permit.into_owned())), now))
            }
            MaybeReady::Ready((result, now)) => {
                lease.release_at(now.into());
                MaybeReady::Ready((result, now))
            }
            MaybeReady::Pending(response) => MaybeReady::Pending(PendingRequest::Running {
                response,
                lease: lease.into_owned(),
                permit: permit.into_owned(),
            }),
        }
    }

    #[cold]
    fn wait_for_worker<T>(&self, request: Request, permit: Option<OwnedPermit>) -> MaybeReady<T, PendingRequest> {
        MaybeReady::Pending(PendingRequest::Waiting { host: self.clone(), request, permit })
    }

    /// Waits for admission by the owner's gate.
    async fn enter(&self) -> Result<OwnedPermit, Failure> {
        match self.quota.queue.enter_or_queue().map_err(rejection)? {
            GateEntry::Entered(permit) => Ok(permit),
            GateEntry::Queued(queued) => {
                let since = Instant::now();
                let permit = queued.permit().await.map_err(rejection)?;
                self.timings.queue_wait.record(since.elapsed());
                Ok(permit)
            }
        }
    }

    /// Waits for a worker for one admitted event.
    async fn acquire(&self, permit: OwnedPermit, on_warm_hit: impl FnOnce() + Send) -> Result<WorkerGuard, Failure> {
        let app = || self.version.app().clone();
        match &self.mode {
            Mode::Pooled(workers) => {
                let (lease, cold_start) = pooled::acquire(workers, self.queue_timeout).await?;
                self.log_start(cold_start);
                if !cold_start {
                    on_warm_hit();
                }
                Ok(WorkerGuard::Pooled(lease, permit))
            }
            Mode::Oneshot(starter, tally) => {
                self.log_start(true);
                starter.start(app(), permit, tally).await.map(WorkerGuard::Oneshot)
            }
            Mode::Shared(isolates, tally) => {
                self.log_start(true);
                let context = ContextLease::start(isolates, app(), permit, self.queue_timeout, tally);
                context.await.map(WorkerGuard::Shared)
            }
        }
    }

    fn log_start(&self, cold_start: bool) {
        if tracing::enabled!(target: "hearth::pool", tracing::Level::DEBUG) {
            self.version.log_start(cold_start);
        }
    }

    /// The version is no longer served: its workers finish their requests and are destroyed.
    pub fn retire(&self) {
        if let Mode::Pooled(workers) = &self.mode {
            workers.retire();
        }
    }
}

impl Dispatch for AppHost {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        self.serve(request, Instant::now()).map(|(result, _)| result).map_pending(PendingRequest::finish)
    }
}

fn rejection(error: AdmissionError) -> Failure {
    match error {
        AdmissionError::QueueFull { .. } => Failure::Capacity { reason: "the app's queue is full" },
        AdmissionError::Overloaded { .. } => {
            Failure::Capacity { reason: "the server has as much to do as it may (--max-queued)" }
        }
        AdmissionError::TimedOut { .. } => Failure::Capacity { reason: "waited too long in the app's queue" },
        AdmissionError::Draining => Failure::Draining,
        AdmissionError::Blocked => Failure::Stuck,
    }
}

// === impl WorkerGuard ===

impl WorkerGuard {
    async fn fetch(self, request: Request) -> DispatchResult {
        match self {
            Self::Pooled(lease, permit) => Ok(pooled::hold_lease(lease.fetch(request).await?, lease, permit)),
            worker => Worker::fetch(&worker, request).await,
        }
    }
}

impl Deref for WorkerGuard {
    type Target = Worker;

    fn deref(&self) -> &Worker {
        match self {
            Self::Pooled(lease, _) => lease,
            Self::Oneshot(oneshot) => oneshot.worker(),
            Self::Shared(context) => context.worker(),
        }
    }
}

// === impl PendingRequest ===

impl PendingRequest {
    /// Waits for what the first attempt did not find, and for the response.
    pub(crate) async fn finish(self) -> DispatchResult {
        match self {
            Self::Running { response, lease, permit } => Ok(pooled::hold_lease(response.await?, lease, permit)),
            Self::Waiting { host, request, permit } => {
                let permit = match permit {
                    Some(permit) => permit,
                    None => host.enter().await?,
                };
                host.acquire(permit, || {}).await?.fetch(request).await
            }
        }
    }
}
