//! An app as it is served: admitted by its owner's gate, run in its way.
//!
//! ```text
//! request -> gate: enters, waits in line, or is refused -> worker: warm, spare, new, or waits -> response
//! ```
//! A warm request takes its owner's gate and its version's shelf, and nothing that another app can hold.

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::{Dispatch, DispatchResult, Failure, MaybeReady, Request, Response};
use hearth_pool::{AdmissionError, ItemLifetime, KeyedPool, OwnedLease, OwnedPermit};
use hearth_runtime::{EventResult, ResponseFuture, Scheduled, Task, TimedReply, Worker};

use crate::execution::Execution;
use crate::keeper::{Keeper, Version};
use crate::modes::fresh::{Oneshot, Oneshots};
use crate::modes::shared::{Guest, IsolateKeeper};
use crate::modes::tally::AppTally;
use crate::modes::warm::{self, Warmth};
use crate::owners::Share;
use crate::timings::Timings;

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
    pub life: ItemLifetime,
    /// Where waits and starts are counted.
    pub timings: Arc<Timings>,
}

/// Clones serve the same app.
#[derive(Clone)]
pub struct AppHost {
    pub(crate) version: Version,
    pub(crate) share: Arc<Share>,
    pub(crate) mode: Mode,
    pub(crate) patience: Duration,
    pub(crate) timings: Arc<Timings>,
}

#[derive(Clone)]
pub(crate) enum Mode {
    Warm(KeyedPool<Keeper>),
    Oneshot(Arc<Oneshots>, AppTally),
    Shared(KeyedPool<IsolateKeeper>, AppTally),
}

/// A worker for one event. What it takes from others is given back when it is dropped.
enum Found {
    Warm(OwnedLease<Keeper>, OwnedPermit),
    Oneshot(Oneshot),
    Guest(Guest),
}

impl Deref for Found {
    type Target = Worker;

    fn deref(&self) -> &Worker {
        match self {
            Found::Warm(lease, _) => lease,
            Found::Oneshot(oneshot) => oneshot.worker(),
            Found::Guest(guest) => guest.worker(),
        }
    }
}

impl AppHost {
    /// Starts the first worker, so that the first request finds it warm.
    pub async fn warm(&self) -> Result<(), Failure> {
        match &self.mode {
            Mode::Warm(shelf) => warm::lease(shelf, self.patience).await.map(drop),
            // There is nothing that the next request could use; but whether the app loads is worth knowing.
            Mode::Oneshot(..) | Mode::Shared(..) => self.find(|| {}).await.map(drop),
        }
    }

    /// Serves a request; `on_warm_hit` is called when its worker was there before it.
    pub async fn fetch(&self, request: Request, on_warm_hit: impl FnOnce() + Send) -> Result<Response, Failure> {
        match self.find(on_warm_hit).await? {
            Found::Warm(lease, permit) => Ok(warm::hold(lease.fetch(request).await?, lease, permit)),
            found => found.fetch(request).await,
        }
    }

    /// The same for a scheduled event.
    pub async fn scheduled(&self, event: Scheduled, on_warm_hit: impl FnOnce() + Send) -> Result<EventResult, Failure> {
        self.find(on_warm_hit).await?.scheduled(event).await
    }

    /// The same for a task.
    pub async fn task(&self, event: Task, on_warm_hit: impl FnOnce() + Send) -> Result<EventResult, Failure> {
        self.find(on_warm_hit).await?.task(event).await
    }

    /// A worker for one event, as soon as the owner's gate and the way of running have one.
    async fn find(&self, on_warm_hit: impl FnOnce() + Send) -> Result<Found, Failure> {
        let permit = self.enter().await?;
        let app = || self.version.app().clone();
        match &self.mode {
            Mode::Warm(shelf) => {
                let (lease, warmth) = warm::lease(shelf, self.patience).await?;
                self.log_warmth(warmth);
                if warmth == Warmth::Warm {
                    on_warm_hit();
                }
                Ok(Found::Warm(lease, permit))
            }
            Mode::Oneshot(all, tally) => {
                self.log_warmth(Warmth::Cold);
                all.start(app(), permit, tally).await.map(Found::Oneshot)
            }
            Mode::Shared(shelf, tally) => {
                self.log_warmth(Warmth::Cold);
                Guest::start(shelf, app(), permit, self.patience, tally).await.map(Found::Guest)
            }
        }
    }

    fn log_warmth(&self, warmth: Warmth) {
        if tracing::enabled!(target: "hearth::pool", tracing::Level::DEBUG) {
            self.version.log_warmth(warmth);
        }
    }

    /// The version is no longer served: its workers finish what they have and go.
    pub fn retire(&self) {
        if let Mode::Warm(shelf) = &self.mode {
            shelf.retire();
        }
    }

    async fn enter(&self) -> Result<OwnedPermit, Failure> {
        match self.share.gate.try_enter_owned() {
            Some(permit) => Ok(permit),
            None => {
                let came = Instant::now();
                let permit = self.share.gate.enter().await.map_err(refusal)?;
                self.timings.queue_wait.record(came.elapsed());
                Ok(permit)
            }
        }
    }
}

fn refusal(refused: AdmissionError) -> Failure {
    match refused {
        AdmissionError::QueueFull { .. } => Failure::Capacity { reason: "the app's queue is full" },
        AdmissionError::Overloaded { .. } => {
            Failure::Capacity { reason: "the server has as much to do as it may (--max-queued)" }
        }
        AdmissionError::TimedOut { .. } => Failure::Capacity { reason: "waited too long in the app's queue" },
        AdmissionError::Draining => Failure::Draining,
        AdmissionError::Blocked => Failure::Stuck,
    }
}

/// What is left to do for a request.
pub(crate) enum Rest {
    /// A worker has it.
    Coming(Coming),
    /// All: it has to wait, for a place or for a worker.
    All(Request),
}

/// A request that a worker has.
pub(crate) struct Coming {
    response: ResponseFuture,
    lease: OwnedLease<Keeper>,
    permit: OwnedPermit,
}

impl AppHost {
    /// Gives a request to a worker, if it can have one `now`. Waits for nothing.
    pub(crate) fn handle(&self, request: Request, now: Instant) -> MaybeReady<TimedReply, Rest> {
        let Mode::Warm(shelf) = &self.mode else { return MaybeReady::Pending(Rest::All(request)) };
        let Some(permit) = self.share.gate.try_enter() else { return MaybeReady::Pending(Rest::All(request)) };
        let Some(lease) = shelf.try_acquire() else { return MaybeReady::Pending(Rest::All(request)) };
        self.log_warmth(Warmth::Warm);
        match lease.handle(request, now) {
            MaybeReady::Ready((Ok(response), now)) if warm::goes_on(&response) => {
                MaybeReady::Ready((Ok(warm::hold(response, lease.into_owned(), permit.into_owned())), now))
            }
            MaybeReady::Ready((answer, now)) => {
                lease.release_at(now.into());
                MaybeReady::Ready((answer, now))
            }
            MaybeReady::Pending(response) => MaybeReady::Pending(Rest::Coming(Coming {
                response,
                lease: lease.into_owned(),
                permit: permit.into_owned(),
            })),
        }
    }
}

impl Coming {
    pub(crate) async fn response(self) -> Result<Response, Failure> {
        let Self { response, lease, permit } = self;
        Ok(warm::hold(response.await?, lease, permit))
    }
}

impl Dispatch for AppHost {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        match self.handle(request, Instant::now()) {
            MaybeReady::Ready((answer, _)) => MaybeReady::Ready(answer),
            MaybeReady::Pending(rest) => MaybeReady::Pending(async move {
                match rest {
                    Rest::Coming(coming) => coming.response().await,
                    Rest::All(request) => self.fetch(request, || {}).await,
                }
            }),
        }
    }
}
