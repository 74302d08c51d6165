//! A worker: one running copy of an app, an isolate with a context in it, entered by whichever thread has something for it.
//!
//! Nobody waits for a worker. Whoever has an event (a request, a finished op, a due timer) puts it into the worker's inbox
//! and then tries to take the worker: who gets it handles all that is in the inbox, who does not can go, since the holder
//! looks again after letting go. So a request on an idle worker runs inline on the connection's own task, without a
//! hand-over, and a busy worker costs the others nothing but the push.
//!
//! Life: `Live -> Gone`; a worker that exceeded a limit, panicked or failed to load is gone for good, and says why to all
//! who ask. Its owner makes another.

mod account;
mod chore;
mod core;
mod desk;
mod ends;
mod event;
mod events;
mod hooks;
mod id;
mod keeping;
mod life;
mod loading;
mod outbox;
mod place;
mod response;
mod sockets;
mod timer;
mod turn;

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use hearth_core::failure::LoadFailure;
use hearth_core::{ByteSize, Failure, LimitExceeded, LimitKind, MaybeReady, Request, RequestId, Response};
use tokio::sync::{Notify, oneshot};

use self::account::Account;
use self::core::{Answer, Core};
use self::event::Event;
use self::place::Seat;
use self::timer::TimerDriver;
use crate::app::App;
use crate::blank::Blank;
use crate::isolate::{Locking, ThreadNumber, this_thread};
use crate::ledger;
use crate::modules::is_compiled;
use crate::platform::Platform;
use crate::shared_isolate::SharedIsolate;
use crate::snapshot::Snapshot;
use crate::state::OpOutcome;

pub use self::account::WorkerCounts;
pub use self::desk::Desk;
pub use self::event::{EventResult, Scheduled, Task};
pub use self::hooks::Hook;
pub use self::id::{WeakWorker, WorkerId};
pub use self::place::Place;
pub use self::response::ResponseFuture;

pub(crate) use self::account::Answered;
pub(crate) use self::life::{fail, finish_event, respond, uncaught};
pub(crate) use self::outbox::Outbox;

/// Events that one holder handles before it lets others have their turn.
const BATCH: usize = 128;

/// A handle; clones are the same worker. The isolate is destroyed after the last of them, where nobody waits for that.
#[derive(Clone)]
pub struct Worker {
    shared: Arc<Shared>,
}

/// How a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Takes requests.
    Ready,
    /// The same, but its heap stays so full that another should take its place soon.
    Worn,
    /// An error outside any handler was seen: should finish what it has and be replaced.
    Retiring,
    /// Destroyed.
    Gone,
}

pub(crate) struct Shared {
    id: WorkerId,
    born: Instant,
    app: Arc<App>,
    runtime: tokio::runtime::Handle,
    seat: Seat,
    inbox: Mutex<VecDeque<Event>>,
    /// How many are in the inbox, as far as can be told without its lock.
    waiting: AtomicUsize,
    core: Mutex<Core>,
    timer: Arc<TimerDriver>,
    vitals: Arc<Vitals>,
    memory: Arc<ledger::Entry>,
}

/// What others can see of a worker without taking it.
#[derive(Default)]
struct Vitals {
    active: AtomicU32,
    busy: AtomicBool,
    retiring: AtomicBool,
    worn: AtomicBool,
    /// Nothing more is given to it.
    leaving: AtomicBool,
    gone: AtomicBool,
    /// Which hooks the app has, as bits.
    hooks: AtomicU32,
    account: Account,
    /// The number of the thread that entered the isolate last; 0: none has.
    home: AtomicU64,
    /// What is under way besides requests, after which it may be at rest.
    chores: AtomicU32,
    /// Somebody waits for the worker to have nothing to do.
    awaited: AtomicBool,
    at_rest: Notify,
    outbox: Arc<Outbox>,
}

/// When a request came, and until when its response must begin.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    now: Instant,
    deadline: Option<Instant>,
}

/// What became of a request that was given to a worker.
pub enum Handled<F = ResponseFuture> {
    /// The handler has answered; and when that was, for whoever would look at the clock next.
    Answered(Result<Response, Failure>, Instant),
    Coming(F),
}

/// What came of trying to handle a request at once.
enum Entry {
    /// And when that was over.
    Handled(Answer, Instant),
    /// The worker is busy, or others were there before.
    Refused(Request),
}

/// The way back into a worker for what runs outside of it. Does not keep it alive.
#[derive(Clone)]
pub(crate) struct Link {
    shared: Weak<Shared>,
    vitals: Arc<Vitals>,
    runtime: tokio::runtime::Handle,
}

// === impl Worker ===

impl Worker {
    /// A worker of `app` in an isolate of its own, its modules evaluated. Runs on a tokio runtime with time enabled. Threads enter
    /// the isolate under V8's own lock.
    pub async fn start(platform: Platform, snapshot: &Snapshot, app: Arc<App>) -> Result<Self, Failure> {
        let blank = Blank::new(platform, snapshot, app.limits.heap);
        Self::start_from(blank, app, Place::Inline).await
    }

    /// The same out of a spare, which must have room for the app's memory limit.
    pub async fn start_from(mut blank: Blank, app: Arc<App>, place: Place) -> Result<Self, Failure> {
        blank.settle(app.limits.heap);
        Self::begin(blank, app, place).await
    }

    /// The same in a context of an isolate that others of the same owner use too.
    pub async fn start_in(isolate: SharedIsolate, app: Arc<App>) -> Result<Self, Failure> {
        Self::begin(Blank::in_isolate(isolate), app, Place::Inline).await
    }

    /// Compiles what `app` begins with and keeps the code for its workers, so that the first need not. Runs nothing of it, and
    /// says nothing about what does not compile: the first worker will. Takes a while; `blank` is used up.
    pub fn compile(mut blank: Blank, app: &App) {
        blank.settle(app.limits.heap);
        Self::make(blank, Arc::new(app.twin()), Place::Inline).shared.compile();
    }

    /// Whether there is nothing to compile.
    pub fn is_compiled(app: &App) -> bool {
        is_compiled(app)
    }

    async fn begin(blank: Blank, app: Arc<App>, place: Place) -> Result<Self, Failure> {
        let worker = Self::make(blank, app, place);
        let limit = worker.shared.app.limits.module_wall;
        let (reply, loaded) = oneshot::channel();
        let deadline = (!limit.is_zero()).then(|| Instant::now() + limit);
        worker.shared.post_alone(Event::Load { deadline, reply });
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

    fn make(blank: Blank, app: Arc<App>, place: Place) -> Self {
        let runtime = tokio::runtime::Handle::current();
        let blank = if let Place::Pinned(..) = place { blank.with_locking(Locking::HeldLocker) } else { blank };
        let shared = Arc::new_cyclic(|weak: &Weak<Shared>| {
            let vitals = Arc::<Vitals>::default();
            let link = Link { shared: weak.clone(), vitals: vitals.clone(), runtime: runtime.clone() };
            let id = WorkerId::next();
            let (core, memory) = Core::new(blank, app.clone(), link, id);
            Shared {
                id,
                born: Instant::now(),
                core: Mutex::new(core),
                app,
                runtime,
                seat: Seat::take(place),
                inbox: Mutex::default(),
                waiting: AtomicUsize::new(0),
                timer: TimerDriver::new(),
                vitals,
                memory,
            }
        });
        Self { shared }
    }

    /// Gives it a request, `now`. The handler runs at once if nobody has the worker, and may have answered already.
    pub fn handle(&self, request: Request, now: Instant) -> Handled {
        ResponseFuture::start(&self.shared, request, now)
    }

    /// The same, to be awaited; dropping the future cancels the request.
    pub fn fetch(&self, request: Request) -> impl Future<Output = Result<Response, Failure>> + Send + use<> {
        let dispatched = match self.handle(request, Instant::now()) {
            Handled::Answered(answer, _) => MaybeReady::Ready(answer),
            Handled::Coming(answer) => MaybeReady::Pending(answer),
        };
        dispatched.wait()
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
        self.shared.vitals.active.load(Ordering::Relaxed)
    }

    /// Whether a turn is running right now.
    pub fn is_busy(&self) -> bool {
        self.shared.vitals.busy.load(Ordering::Relaxed)
    }

    pub fn health(&self) -> Health {
        if self.shared.vitals.gone.load(Ordering::Relaxed) {
            Health::Gone
        } else if self.shared.vitals.retiring.load(Ordering::Relaxed) {
            Health::Retiring
        } else if self.shared.vitals.worn.load(Ordering::Relaxed) {
            Health::Worn
        } else {
            Health::Ready
        }
    }

    pub fn id(&self) -> WorkerId {
        self.shared.id
    }

    pub fn age(&self) -> Duration {
        self.shared.born.elapsed()
    }

    pub fn app(&self) -> &Arc<App> {
        &self.shared.app
    }

    /// What it has done so far.
    pub fn counts(&self) -> WorkerCounts {
        self.shared.vitals.account.counts()
    }

    /// Whether this thread was the last to enter it: then it need not move, and caches are warm.
    pub fn is_at_home(&self) -> bool {
        self.shared.vitals.home.load(Ordering::Relaxed) == this_thread().0
    }

    /// What its isolate holds.
    pub fn memory(&self) -> ByteSize {
        self.shared.memory.size()
    }

    /// No more requests should be given to it: it is replaced when it has finished what it has.
    pub fn retire(&self) {
        self.shared.vitals.retiring.store(true, Ordering::Relaxed);
        self.leave();
    }

    /// It will be given no more requests, whatever its health: its WebSockets, which could go on for ever, are closed (1001).
    pub fn leave(&self) {
        self.shared.vitals.leaving.store(true, Ordering::Relaxed);
        if self.active() > 0 {
            self.shared.post_later(Event::Leave);
        }
    }

    /// Ready when it has nothing to do, waitUntil included, or is gone and its memory given back.
    pub async fn at_rest(&self) {
        let vitals = &self.shared.vitals;
        loop {
            let mut rest = std::pin::pin!(vitals.at_rest.notified());
            rest.as_mut().enable();
            vitals.awaited.store(true, Ordering::SeqCst);
            if vitals.active.load(Ordering::SeqCst) == 0 && vitals.chores.load(Ordering::SeqCst) == 0 {
                return;
            }
            rest.await;
        }
    }

    pub fn is_same(&self, other: &Worker) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

// === impl Shared ===

impl Shared {
    /// Puts an event into the inbox and handles what is there, unless somebody else is at it.
    fn post(self: &Arc<Self>, event: Event) {
        self.push(event);
        self.look();
    }

    /// The same from a place that must not run JavaScript: a task does it.
    fn post_later(self: &Arc<Self>, event: Event) {
        self.push(event);
        self.call();
    }

    fn push(&self, event: Event) {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.push_back(event);
        // Who finds the worker taken after this may go, as whoever has it looks after letting go (`is_idle`): of these two
        // exchanges the later one sees what the other did before.
        self.waiting.swap(inbox.len(), Ordering::AcqRel);
    }

    fn pop(&self) -> Option<Event> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        let event = inbox.pop_front();
        self.waiting.store(inbox.len(), Ordering::Relaxed);
        event
    }

    /// Handles a request at once if nobody has the worker and nothing is waiting for it; otherwise gives it back.
    fn fetch_now(self: &Arc<Self>, request: Request, arrival: Arrival) -> Entry {
        if !self.may_enter() {
            return Entry::Refused(request);
        }
        let Ok(mut core) = self.core.try_lock() else { return Entry::Refused(request) };
        // Should somebody come at this very moment, it may be overtaken: it is seen to below.
        if self.waiting.load(Ordering::Relaxed) > 0 {
            return Entry::Refused(request);
        }
        self.vitals.busy.store(true, Ordering::Relaxed);
        let answer = catch_unwind(AssertUnwindSafe(|| core.fetch_now(self, request, arrival)));
        let (answer, over) = answer.unwrap_or_else(|_| {
            core.condemn_after_panic(self);
            (Answer::Now(Err(Failure::Internal { message: "the runtime panicked".into() })), Instant::now())
        });
        self.vitals.busy.store(false, Ordering::Relaxed);
        drop(core);
        // What came meanwhile found the worker taken.
        if !self.is_idle() {
            self.look();
        }
        Entry::Handled(answer, over)
    }

    /// Whether the inbox is empty, after letting go of the worker.
    fn is_idle(&self) -> bool {
        self.waiting.compare_exchange(0, 0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Handles what is in the inbox, here or where that may be done.
    fn look(self: &Arc<Self>) {
        if self.may_enter() {
            self.run();
        } else {
            self.call();
        }
    }

    fn run(self: &Arc<Self>) {
        for _ in 0..BATCH {
            let mut core = match self.core.try_lock() {
                Ok(core) => core,
                // The holder looks into the inbox again after it has let go.
                Err(TryLockError::WouldBlock) => return,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            };
            // Who was called for what somebody else has done meanwhile does not pass for busy.
            if self.waiting.load(Ordering::Relaxed) > 0 {
                self.vitals.busy.store(true, Ordering::Relaxed);
                // A panic in here is a fault of ours that must not spread: the worker goes, the process stays.
                if catch_unwind(AssertUnwindSafe(|| core.drain(self, BATCH))).is_err() {
                    core.condemn_after_panic(self);
                }
                self.vitals.busy.store(false, Ordering::Relaxed);
            }
            let answers = self.vitals.outbox.take();
            drop(core);
            answers.send();
            if self.is_idle() {
                return;
            }
            // A turn that was long may have changed where the next ones belong.
            if !self.may_enter() {
                break;
            }
        }
        self.call();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.timer.close();
        // Whoever had it last may have others to serve.
        let over = Failure::Internal { message: "nobody has the worker any more".into() };
        let core = self.core.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(alive) = core.end(over) {
            self.seat.clear_away(alive, None);
        }
    }
}

// === impl Link ===

impl Link {
    /// Runs an op's work outside the isolate; what it brings goes to the inbox.
    pub(crate) fn spawn_op(
        &self,
        op: u64,
        work: impl Future<Output = OpOutcome> + Send + 'static,
    ) -> tokio::task::AbortHandle {
        let shared = self.shared.clone();
        let task = self.runtime.spawn(async move {
            let outcome = work.await;
            if let Some(shared) = shared.upgrade() {
                shared.post(Event::Settled { op, outcome });
            }
        });
        task.abort_handle()
    }

    /// Posts `event` at a later time, unless the handle aborts it.
    fn post_at(&self, at: Instant, event: Event) -> tokio::task::AbortHandle {
        let shared = self.shared.clone();
        let task = self.runtime.spawn(async move {
            tokio::time::sleep_until(at.into()).await;
            if let Some(shared) = shared.upgrade() {
                shared.post(event);
            }
        });
        task.abort_handle()
    }

    /// Posts from a destructor or a poll: a task runs it.
    fn post_later(&self, event: Event) {
        if let Some(shared) = self.shared.upgrade() {
            shared.post_later(event);
        }
    }

    pub(crate) fn runtime(&self) -> &tokio::runtime::Handle {
        &self.runtime
    }

    pub(crate) fn account(&self) -> &Account {
        &self.vitals.account
    }

    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.vitals.outbox
    }

    fn set_hooks(&self, bits: u32) {
        self.vitals.hooks.store(bits, Ordering::Relaxed);
    }

    pub(crate) fn wear(&self) {
        self.vitals.worn.store(true, Ordering::Relaxed);
    }

    pub(crate) fn retire(&self) {
        self.vitals.retiring.store(true, Ordering::Relaxed);
    }

    fn is_leaving(&self) -> bool {
        self.vitals.leaving.load(Ordering::Relaxed) || self.vitals.retiring.load(Ordering::Relaxed)
    }

    fn set_active(&self, active: usize) {
        self.vitals.set_active(active);
    }
}

// === impl Vitals ===

impl Vitals {
    fn set_active(&self, active: usize) {
        let now = u32::try_from(active).unwrap_or(u32::MAX);
        // Only the worker's holder writes it, and most requests are over before it was ever anything but 0.
        if self.active.load(Ordering::Relaxed) == now {
            return;
        }
        self.active.store(now, Ordering::SeqCst);
        if active == 0 && self.awaited.load(Ordering::SeqCst) {
            self.at_rest.notify_waiters();
        }
    }

    fn set_home(&self, home: ThreadNumber) {
        self.home.store(home.0, Ordering::Relaxed);
    }
}
