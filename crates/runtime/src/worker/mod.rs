//! A worker: one running copy of an app, an isolate with a context in it, entered by the thread that
//! has something for it.
//!
//! No thread waits for a worker. A thread that has an event (a request, a completed op, a due timer)
//! pushes it to the worker's inbox and then tries to lock the worker. The thread that gets the lock
//! handles everything in the inbox; a thread that does not get it can go on, since the holder checks
//! the inbox again after unlocking. So a request on an idle worker runs inline on the connection's own
//! task, without a hand-over, and a busy worker costs other threads one push.
//!
//! States: `Live -> Gone`. A worker that exceeded a limit, panicked or failed to load is gone for good,
//! and every later request gets the reason. Its owner makes another.
//!
//! | file | content |
//! |---|---|
//! | `shared.rs` | the inbox and the lock |
//! | `inner.rs` | what is behind the lock; dispatch of events |
//! | `handlers.rs`, `hooks.rs`, `loading.rs`, `sockets.rs` | events of one kind |
//! | `turn.rs` | one entry of JavaScript |
//! | `respond.rs`, `finish.rs` | replies, and the end of a request |
//! | `worker_ref.rs` | the way back into a worker for what runs outside of it |

mod background;
mod cache_code;
mod counters;
mod event;
mod finish;
mod handlers;
mod hooks;
mod id;
mod inner;
mod loading;
mod respond;
mod response;
mod shared;
mod sockets;
mod timer;
mod turn;
mod uncaught;
mod worker_ref;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hearth_core::failure::LoadFailure;
use hearth_core::{ByteSize, Failure, LimitExceeded, LimitKind, MaybeReady, Request, RequestId, Response};
use tokio::sync::oneshot;

use crate::app::App;
use crate::isolate::{Locking, this_thread};
use crate::modules::is_compiled;
use crate::platform::Platform;
use crate::scheduler::ThreadPolicy;
use crate::shared_isolate::SharedIsolate;
use crate::snapshot::Snapshot;
use crate::spare_isolate::SpareIsolate;

pub use self::counters::WorkerCounts;
pub use self::event::{EventResult, Scheduled, Task};
pub use self::hooks::Hook;
pub use self::id::{WeakWorker, WorkerId};
pub use self::response::ResponseFuture;

pub(crate) use self::background::BackgroundGuard;
pub(crate) use self::counters::ResponseClass;
pub(crate) use self::event::Event;
pub(crate) use self::inner::LiveWorker;
pub(crate) use self::respond::{fail, finish_event, on_uncaught_error, respond};
pub(crate) use self::shared::WorkerShared;
pub(crate) use self::worker_ref::WorkerRef;

/// A handle; clones are the same worker. The isolate is destroyed after the last of them, on a thread
/// that no request waits for.
#[derive(Clone)]
pub struct Worker {
    shared: Arc<WorkerShared>,
}

/// How a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Takes requests.
    Ready,
    /// The same, but its heap stays so full that another should take its place soon.
    Worn,
    /// An error outside of any handler was seen: it should finish its requests and be replaced.
    Retiring,
    /// Destroyed.
    Gone,
}

/// When a request came, and until when its response must begin.
#[derive(Clone, Copy)]
pub(crate) struct RequestTiming {
    now: Instant,
    deadline: Option<Instant>,
}

/// A handler's reply, and when it was complete, for a caller that would read the clock next.
pub type TimedReply = (Result<Response, Failure>, Instant);

impl Worker {
    /// A worker of `app` in an isolate of its own, with its modules evaluated. Needs a tokio runtime
    /// with time enabled. Threads enter the isolate under V8's own lock.
    pub async fn start(platform: Platform, snapshot: &Snapshot, app: Arc<App>) -> Result<Self, Failure> {
        let spare = SpareIsolate::new(platform, snapshot, app.limits.heap);
        Self::start_from(spare, app, ThreadPolicy::Inline).await
    }

    /// The same from a spare, which must have room for the app's memory limit.
    pub async fn start_from(mut spare: SpareIsolate, app: Arc<App>, policy: ThreadPolicy) -> Result<Self, Failure> {
        spare.adopt_limits(app.limits.heap);
        Self::load(spare, app, policy).await
    }

    /// The same in a context of an isolate that other workers of the same owner use, too.
    pub async fn start_in(isolate: SharedIsolate, app: Arc<App>) -> Result<Self, Failure> {
        Self::load(SpareIsolate::in_isolate(isolate), app, ThreadPolicy::Inline).await
    }

    /// Compiles the app's entry and its imports and caches the code for the app's workers, so that the
    /// first one need not compile. Runs nothing, and reports no code that does not compile: the first
    /// worker will. Takes a while; `spare` is used up.
    pub fn compile(mut spare: SpareIsolate, app: &App) {
        spare.adopt_limits(app.limits.heap);
        Self::new(spare, Arc::new(app.with_own_latency()), ThreadPolicy::Inline).shared.compile();
    }

    /// Whether there is nothing to compile.
    pub fn is_compiled(app: &App) -> bool {
        is_compiled(app)
    }

    async fn load(spare: SpareIsolate, app: Arc<App>, policy: ThreadPolicy) -> Result<Self, Failure> {
        let worker = Self::new(spare, app, policy);
        let limit = worker.shared.app.limits.module_wall;
        let (reply, loaded) = oneshot::channel();
        let deadline = (!limit.is_zero()).then(|| Instant::now() + limit);
        worker.shared.post_inline(Event::Load { deadline, reply });
        let loaded = match deadline {
            None => loaded.await,
            Some(at) => match tokio::time::timeout_at(at.into(), loaded).await {
                Ok(loaded) => loaded,
                Err(_) => return Err(LimitExceeded::time(LimitKind::ModuleWall, limit, limit).into()),
            },
        };
        loaded.unwrap_or(Err(Failure::Load(LoadFailure::NeverSettled)))?;
        Ok(worker)
    }

    fn new(spare: SpareIsolate, app: Arc<App>, policy: ThreadPolicy) -> Self {
        let spare = if let ThreadPolicy::Pinned(..) = policy { spare.with_locking(Locking::HeldLocker) } else { spare };
        Self { shared: WorkerShared::new(spare, app, policy) }
    }

    /// Gives the worker a request, `now`. The handler runs within the call if this thread may run the
    /// worker and no other has it, and its reply may be ready.
    pub fn handle(&self, request: Request, now: Instant) -> MaybeReady<TimedReply, ResponseFuture> {
        let (shared, id) = (&self.shared, request.id);
        let limit = shared.app.limits.wall;
        let timing = RequestTiming { now, deadline: (!limit.is_zero()).then(|| now + limit) };
        let reply = match shared.try_handle_inline(request, timing) {
            Ok(MaybeReady::Ready(reply)) => return MaybeReady::Ready(reply),
            Ok(MaybeReady::Pending(reply)) => reply,
            Err(request) => {
                let (sender, mut reply) = oneshot::channel();
                shared.post(Event::Fetch { request: Box::new(request), timing, reply: sender });
                if let Some(result) = shared.dispatch.spin_for(|| reply.try_recv().ok()) {
                    return MaybeReady::Ready((result, Instant::now()));
                }
                reply
            }
        };
        MaybeReady::Pending(ResponseFuture::new(shared.clone(), id, reply, timing.deadline))
    }

    /// The same, to be awaited; dropping the future cancels the request.
    pub fn fetch(&self, request: Request) -> impl Future<Output = Result<Response, Failure>> + Send + use<> {
        let reply = self.handle(request, Instant::now());
        async move {
            match reply {
                MaybeReady::Ready((result, _)) => result,
                MaybeReady::Pending(response) => response.await,
            }
        }
    }

    /// Handles a scheduled event.
    pub fn scheduled(&self, event: Scheduled) -> impl Future<Output = Result<EventResult, Failure>> + Send {
        self.event(move |id, deadline, reply| Event::Scheduled { id, event, deadline, reply })
    }

    /// Handles a task.
    pub fn task(&self, event: Task) -> impl Future<Output = Result<EventResult, Failure>> + Send {
        self.event(move |id, deadline, reply| Event::Task { id, event, deadline, reply })
    }

    fn event(
        &self,
        make: impl FnOnce(RequestId, Option<Instant>, oneshot::Sender<Result<EventResult, Failure>>) -> Event + Send,
    ) -> impl Future<Output = Result<EventResult, Failure>> + Send {
        let id = RequestId::next();
        let limit = self.shared.app.limits.wall;
        let deadline = (!limit.is_zero()).then(|| Instant::now() + limit);
        let (reply, done) = oneshot::channel();
        let shared = self.shared.clone();
        async move {
            shared.post(make(id, deadline, reply));
            let done = match deadline {
                None => done.await,
                Some(at) => match tokio::time::timeout_at(at.into(), done).await {
                    Ok(done) => done,
                    Err(_) => {
                        let exceeded = LimitExceeded::time(LimitKind::Wall, limit, limit);
                        shared.post(Event::Expired { request: id, exceeded });
                        return Err(exceeded.into());
                    }
                },
            };
            done.unwrap_or_else(|_| Err(Failure::Internal { message: "the event was dropped".into() }))
        }
    }

    /// Requests that it is handling, `waitUntil` included.
    pub fn active(&self) -> u32 {
        self.shared.status.active.load(Ordering::Relaxed)
    }

    /// Whether a turn is running right now.
    pub fn is_busy(&self) -> bool {
        self.shared.status.busy.load(Ordering::Relaxed)
    }

    pub fn health(&self) -> Health {
        let status = &self.shared.status;
        if status.gone.load(Ordering::Relaxed) {
            Health::Gone
        } else if status.retiring.load(Ordering::Relaxed) {
            Health::Retiring
        } else if status.worn.load(Ordering::Relaxed) {
            Health::Worn
        } else {
            Health::Ready
        }
    }

    pub fn id(&self) -> WorkerId {
        self.shared.id
    }

    pub fn age(&self) -> Duration {
        self.shared.created.elapsed()
    }

    pub fn app(&self) -> &Arc<App> {
        &self.shared.app
    }

    /// What the worker has done so far.
    pub fn counts(&self) -> WorkerCounts {
        self.shared.status.counters.counts()
    }

    /// Whether this thread was the last to enter the isolate: then it need not migrate, and caches are warm.
    pub fn last_ran_here(&self) -> bool {
        self.shared.status.last_thread.load(Ordering::Relaxed) == this_thread().0
    }

    /// Memory that its isolate holds.
    pub fn memory(&self) -> ByteSize {
        self.shared.memory.size()
    }

    /// Marks it for replacement: its owner should give it no more requests.
    pub fn retire(&self) {
        self.shared.status.retiring.store(true, Ordering::Relaxed);
        self.start_draining();
    }

    /// The worker gets no more requests, whatever its health: its WebSockets, which could go on for
    /// ever, are closed (1001).
    pub fn start_draining(&self) {
        self.shared.status.draining.store(true, Ordering::Relaxed);
        if self.active() > 0 {
            self.shared.post_later(Event::StartDraining);
        }
    }

    /// Waits until it has nothing to do, `waitUntil` included, or is gone and its memory released.
    pub async fn wait_until_idle(&self) {
        let status = &self.shared.status;
        loop {
            let mut idle = std::pin::pin!(status.became_idle.notified());
            idle.as_mut().enable();
            status.has_idle_waiters.store(true, Ordering::SeqCst);
            if status.active.load(Ordering::SeqCst) == 0 && status.background_tasks.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }

    pub fn is_same(&self, other: &Worker) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}
