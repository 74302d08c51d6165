//! The part of a worker behind its lock: the context, its isolate, and what happens to each event.

use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hearth_core::websocket::Close;
use hearth_core::{Failure, MaybeReady, Request, RequestId, Response};
use tokio::sync::oneshot;

use super::background::BackgroundGuard;
use super::event::Event;
use super::loading::Loading;
use super::respond::{reply_failure, start_draining};
use super::turn::Terminated;
use super::{RequestTiming, TimedReply, WorkerId, WorkerRef, WorkerShared};
use crate::app::App;
use crate::context_state::ContextState;
use crate::isolate::LockedIsolate;
use crate::memory_accounting::IsolateUsage;
use crate::ops::text_value;
use crate::request_table::{Phase, Reply, RequestState};
use crate::scheduler::PendingReply;
use crate::shared_isolate::IsolateOwnership;
use crate::spare_isolate::{ContextHandles, SpareIsolate};
use crate::watchdog::WatchTarget;

/// States: `Live -> Gone`.
pub(super) struct WorkerInner {
    state: WorkerState,
}

enum WorkerState {
    Live(Box<LiveWorker>),
    /// With the failure of all later requests.
    Gone(Failure),
}

/// A worker's context and the isolate that it lives in.
pub(crate) struct LiveWorker {
    isolate: IsolateOwnership,
    live: LiveState,
    /// Dropped with this.
    background: Option<BackgroundGuard>,
}

pub(super) struct LiveState {
    // These two hold V8 handles and are dropped by hand, with the isolate locked.
    pub(super) state: ManuallyDrop<Rc<ContextState>>,
    pub(super) context: ManuallyDrop<v8::Global<v8::Context>>,
    pub(super) target: Arc<WatchTarget>,
    pub(super) loading: Option<Loading>,
    pub(super) handlers: Handlers,
    /// The time, where the clock was read right before the next turn.
    pub(super) clock_hint: Option<Instant>,
    pub(super) turn_ended: Instant,
    /// The time that the timer driver was given.
    alarm: Option<Instant>,
    pub(super) turns: u32,
    /// V8 may have tasks to run.
    pub(super) tasks_due: bool,
    /// Heap size at which an app with a small footprint releases unused memory.
    pub(super) shrink_at: usize,
    /// Heap fill above which another worker should take this one's place, where loading the app filled
    /// much of the heap.
    pub(super) worn_at: u64,
    /// The turn is the runtime's own work and does not count for the app's latency class.
    pub(super) housekeeping: bool,
    /// Requests that have ended.
    pub(super) served: u64,
}

/// Which events the app has handlers for: the bits that `setHandlers` of `main.js` returns.
#[derive(Clone, Copy, Default)]
pub(super) struct Handlers(pub(super) u32);

/// The reply of a request that did not reply within its first turn.
pub(super) type InlineReply = oneshot::Receiver<Result<Response, Failure>>;

/// Why a worker ends: `request` fails with `failure`, all others with `others`.
pub(super) struct WorkerFailure {
    pub(super) request: RequestId,
    pub(super) failure: Failure,
    pub(super) others: Failure,
}

/// Receivers that wait for a worker that ends.
struct Abandoned {
    loading: Option<oneshot::Sender<Result<(), Failure>>>,
    replies: Vec<(RequestId, Reply)>,
}

// SAFETY: what is not Send in here are V8 handles and Rcs that only this worker has; they are used by the thread that
// has the value to itself, with the isolate locked and entered, and dropped the same way (`LiveWorker::drop`).
unsafe impl Send for LiveWorker {}

// === impl WorkerInner ===

impl WorkerInner {
    pub(super) fn new(
        spare: SpareIsolate,
        app: Arc<App>,
        worker: WorkerRef,
        id: WorkerId,
    ) -> (Self, Arc<IsolateUsage>) {
        let (mut isolate, handles) = spare.into_parts();
        let target = Arc::new(WatchTarget::new(id, app.clone(), isolate.handle(), worker.replies().clone()));
        let state = ContextState::new(app, worker);
        let ContextHandles { context, entry_points } = ManuallyDrop::into_inner(handles);
        state.set_entry_points(entry_points);
        let memory = isolate.usage();
        memory.assign(&target.app);
        isolate.with_lock(|isolate| {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Local::new(scope, &context);
            let scope = &mut v8::ContextScope::new(scope, context);
            state.enter(scope);
            set_environment(scope, &state, id);
            ContextState::leave(scope);
        });
        let live = LiveState {
            state: ManuallyDrop::new(state),
            context: ManuallyDrop::new(context),
            target,
            loading: None,
            handlers: Handlers::default(),
            clock_hint: None,
            turn_ended: Instant::now(),
            alarm: None,
            turns: 0,
            tasks_due: false,
            shrink_at: 0,
            worn_at: 0,
            housekeeping: false,
            served: 0,
        };
        (Self { state: WorkerState::Live(Box::new(LiveWorker { isolate, live, background: None })) }, memory)
    }

    /// Handles what is in the inbox, up to `max` events.
    pub(super) fn drain(&mut self, shared: &Arc<WorkerShared>, max: usize) {
        let mut failed = None;
        match &mut self.state {
            WorkerState::Gone(failure) => {
                while let Some(event) = shared.pop() {
                    event.refuse(failure);
                }
                return;
            }
            WorkerState::Live(worker) => {
                let LiveWorker { isolate, live, .. } = &mut **worker;
                isolate.with_lock(|isolate| {
                    shared.status.set_last_thread(isolate.last_thread());
                    for _ in 0..max {
                        let Some(event) = shared.pop() else { break };
                        // A client that has the previous reply and sends the next request finds the worker
                        // busy, as it is.
                        shared.status.replies.take().send();
                        if let Err(failure) = live.handle(isolate, event) {
                            failed = Some(failure);
                            return;
                        }
                        if !shared.can_run_here() {
                            return;
                        }
                    }
                });
                if failed.is_none() {
                    live.set_alarm(shared);
                }
            }
        }
        if let Some(failed) = failed {
            self.condemn(shared, *failed);
        }
    }

    /// Handles a request within the call, past the inbox.
    pub(super) fn handle_inline(
        &mut self,
        shared: &Arc<WorkerShared>,
        request: Request,
        timing: RequestTiming,
    ) -> MaybeReady<TimedReply, InlineReply> {
        let LiveWorker { isolate, live, .. } = match &mut self.state {
            WorkerState::Live(worker) => &mut **worker,
            WorkerState::Gone(failure) => return MaybeReady::Ready((Err(failure.clone()), timing.now)),
        };
        let id = request.id;
        let handled = isolate.with_lock(|isolate| {
            shared.status.set_last_thread(isolate.last_thread());
            live.clock_hint = Some(timing.now);
            let handled = live.fetch(isolate, request, timing, Reply::Inline);
            live.clock_hint = None;
            handled.map(|()| live.take_inline_reply(id))
        });
        match handled {
            Ok(reply) => {
                live.set_alarm(shared);
                let now = live.turn_ended.max(timing.now);
                reply.map(|result| (result, now))
            }
            Err(failed) => {
                let result = Err(if failed.request == id { failed.failure.clone() } else { failed.others.clone() });
                self.condemn(shared, *failed);
                MaybeReady::Ready((result, Instant::now()))
            }
        }
    }

    /// Does short work of the runtime that is not an event.
    pub(super) fn run_housekeeping(
        &mut self,
        shared: &Arc<WorkerShared>,
        work: impl FnOnce(&mut LiveState, &mut LockedIsolate<'_>) -> Result<(), Box<WorkerFailure>>,
    ) {
        let WorkerState::Live(worker) = &mut self.state else { return };
        let LiveWorker { isolate, live, .. } = &mut **worker;
        let done = isolate.with_lock(|isolate| {
            shared.status.set_last_thread(isolate.last_thread());
            work(live, isolate)
        });
        if let Err(failed) = done {
            self.condemn(shared, *failed);
        }
    }

    /// Takes the live part out, unless it is gone; later requests get `failure`.
    pub(super) fn end(&mut self, failure: Failure) -> Option<Box<LiveWorker>> {
        match std::mem::replace(&mut self.state, WorkerState::Gone(failure)) {
            WorkerState::Live(worker) => Some(worker),
            WorkerState::Gone(_) => None,
        }
    }

    /// Ends the worker.
    fn condemn(&mut self, shared: &Arc<WorkerShared>, failed: WorkerFailure) {
        let WorkerFailure { request: culprit, failure, others } = failed;
        shared.status.gone.store(true, Ordering::Relaxed);
        let Some(mut ended) = self.end(others.clone()) else { return };
        // Starts before any receiver learns of the end.
        let disposal = BackgroundGuard::start(&shared.status);
        shared.status.replies.take().fail(&failure);
        let (app, version) = (shared.app.name.as_str(), shared.app.version.as_str());
        let request = (culprit != RequestId::OUTSIDE).then(|| culprit.raw());
        match &failure {
            // No request of the app can be answered.
            Failure::Load(error) => {
                tracing::error!(target: "hearth::worker", app, version, request, %error, "App failed to load")
            }
            _ => tracing::info!(target: "hearth::worker", app, version, request, error = %failure, "Worker destroyed"),
        }
        // Receivers are notified outside of the isolate's lock: they may do anything.
        ended.live.state.sockets.borrow().abandon_all(&Close::new(1011, "the app was stopped"));
        let Abandoned { loading, replies } = ended.abandon();
        if let Some(reply) = loading {
            drop(reply.send(Err(failure.clone())));
        }
        for (id, reply) in replies {
            let failure = if id == culprit { failure.clone() } else { others.clone() };
            drop(reply_failure(reply, failure, PendingReply::send));
        }
        while let Some(event) = shared.pop() {
            event.refuse(&others);
        }
        shared.status.set_active(0);
        shared.dispatch.dispose(ended, Some(disposal));
    }

    pub(super) fn condemn_after_panic(&mut self, shared: &Arc<WorkerShared>) {
        let failure = Failure::Internal { message: "the runtime panicked".into() };
        self.condemn(shared, WorkerFailure { request: RequestId::OUTSIDE, failure: failure.clone(), others: failure });
    }
}

impl From<Terminated> for Box<WorkerFailure> {
    fn from(terminated: Terminated) -> Self {
        let Terminated { request, exceeded } = terminated;
        Box::new(match exceeded {
            Some(exceeded) => {
                WorkerFailure { request, failure: exceeded.into(), others: Failure::Collateral(exceeded) }
            }
            None => {
                let failure = Failure::Internal { message: "the isolate was terminated".into() };
                WorkerFailure { request, failure: failure.clone(), others: failure }
            }
        })
    }
}

// === impl LiveState ===

impl LiveState {
    /// Schedules the worker for the time when its next timer is due.
    fn set_alarm(&mut self, shared: &Arc<WorkerShared>) {
        let next = self.state.timers.borrow().next();
        // Most requests set no timer, and the driver needs no change.
        if next.is_some() || self.alarm.is_some() {
            shared.timer.set(shared, next);
            self.alarm = next;
        }
    }

    fn handle(&mut self, isolate: &mut LockedIsolate<'_>, event: Event) -> Result<(), Box<WorkerFailure>> {
        match event {
            Event::Load { deadline, reply } => return self.load(isolate, deadline, reply),
            Event::Fetch { request, timing, reply } => {
                self.fetch(isolate, *request, timing, Reply::Fetch(reply))?;
            }
            Event::Scheduled { id, event, deadline, reply } => self.scheduled(isolate, id, event, deadline, reply)?,
            Event::Task { id, event, deadline, reply } => self.task(isolate, id, event, deadline, reply)?,
            Event::Hook { id, hook, deadline, reply } => self.hook(isolate, id, hook, deadline, reply)?,
            Event::HookTimedOut { id, hook, cancelled } => self.cancel_hook(isolate, id, hook, cancelled)?,
            Event::OpDone { op, outcome } => {
                let Some(request) = self.state.op_request(op) else { return Ok(()) };
                self.turn(isolate, request, |scope, state| state.settle_op(scope, op, outcome))?;
                self.after_turn(isolate, request)?;
            }
            Event::TimersDue => self.fire_timers(isolate)?,
            Event::Expired { request, exceeded } => self.expire(isolate, request, exceeded)?,
            Event::Disconnected { request } => self.disconnect(isolate, request)?,
            Event::Socket { socket } => self.socket(isolate, socket)?,
            Event::SocketGone { request } => self.socket_gone(isolate, request)?,
            // The sockets are closed by `after_other_turns` below.
            Event::StartDraining => {}
            Event::StreamDone { request } => {
                if let Some(entry) = self.state.requests.borrow_mut().get(request)
                    && entry.phase == Phase::Streaming
                {
                    start_draining(&self.state, entry);
                }
                self.after_turn(isolate, request)?;
            }
        }
        if self.loading.is_some() {
            self.check_loading(isolate)?;
        }
        self.after_other_turns(isolate)?;
        Ok(self.run_tasks(isolate)?)
    }
}

// === impl LiveWorker ===

impl LiveWorker {
    /// Cancels all requests. With the isolate locked: they have V8 handles, and other workers may use
    /// the isolate.
    fn abandon(&mut self) -> Abandoned {
        let Self { isolate, live, .. } = self;
        isolate.with_lock(|_| {
            let loading = live.loading.take().map(|loading| loading.reply);
            let ids = live.state.requests.borrow().ids();
            let mut replies = Vec::with_capacity(ids.len());
            for id in ids {
                let removed = live.state.requests.borrow_mut().remove(id);
                if let Some(RequestState { reply, pending, .. }) = removed.map(|state| *state) {
                    live.state.cancel(pending);
                    replies.push((id, reply));
                }
            }
            Abandoned { loading, replies }
        })
    }

    pub(crate) fn release_locker(&mut self) {
        self.isolate.release_locker();
    }

    /// Keeps `background` until this is dropped.
    pub(crate) fn set_background(&mut self, background: Option<BackgroundGuard>) {
        self.background = background;
    }
}

impl Drop for LiveWorker {
    fn drop(&mut self) {
        let Self { isolate, live, .. } = self;
        isolate.with_lock(|_| {
            live.loading = None;
            // SAFETY: `drop` demands that the values are not used again: this is the end of their owner.
            unsafe {
                ManuallyDrop::drop(&mut live.context);
                ManuallyDrop::drop(&mut live.state);
            }
        });
    }
}

// === impl Handlers ===

impl Handlers {
    pub(super) const FETCH: u32 = 1;
    pub(super) const SCHEDULED: u32 = 2;
    pub(super) const TASK: u32 = 4;

    pub(super) fn has(self, handler: u32) -> bool {
        self.0 & handler != 0
    }
}

fn set_environment(scope: &mut v8::PinScope<'_, '_>, state: &ContextState, id: WorkerId) {
    let set = v8::Local::new(scope, &state.entry_points().set_environment);
    let mut items: Vec<v8::Local<v8::Value>> = Vec::with_capacity(state.app.env.len() * 2);
    for (name, value) in &state.app.env {
        let (Ok(name), Ok(value)) = (text_value(scope, name), text_value(scope, value)) else { continue };
        items.extend([v8::Local::<v8::Value>::from(name), value.into()]);
    }
    let list = v8::Array::new_with_elements(scope, &items);
    let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
    let App { name, version, .. } = &*state.app;
    let about = [name.as_str(), version.as_str(), &id.to_string()];
    let about = about.map(|text| text_value(scope, text).map_or(undefined, Into::into));
    let bindings = bindings_value(scope, state).unwrap_or(undefined);
    let assets = assets_value(scope, state).unwrap_or(undefined);
    set.call(scope, undefined, &[list.into(), about[0], about[1], about[2], bindings, assets]);
}

/// The names of assets bindings.
fn assets_value<'s>(scope: &mut v8::PinScope<'s, '_>, state: &ContextState) -> Option<v8::Local<'s, v8::Value>> {
    let names = state.app.assets.as_ref()?.names.iter().map(|name| text_value(scope, name).map(Into::into));
    let names = names.collect::<Result<Vec<v8::Local<v8::Value>>, _>>().ok()?;
    Some(v8::Array::new_with_elements(scope, &names).into())
}

/// [name, methods, name, methods, ...]
fn bindings_value<'s>(scope: &mut v8::PinScope<'s, '_>, state: &ContextState) -> Option<v8::Local<'s, v8::Value>> {
    let bindings = state.app.operations.as_ref()?.bindings();
    let mut items: Vec<v8::Local<v8::Value>> = Vec::with_capacity(bindings.len() * 2);
    for binding in &bindings {
        let methods = binding.methods.iter().map(|method| text_value(scope, method).map(Into::into));
        let methods = methods.collect::<Result<Vec<v8::Local<v8::Value>>, _>>().ok()?;
        items.push(text_value(scope, &binding.name).ok()?.into());
        items.push(v8::Array::new_with_elements(scope, &methods).into());
    }
    Some(v8::Array::new_with_elements(scope, &items).into())
}
