//! The inside of a worker: what happens to each event, by whoever holds it.

use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hearth_core::failure::LoadFailure;
use hearth_core::{Body, Failure, Headers, LimitExceeded, Request, RequestId, Response};
use tokio::sync::oneshot;

use super::event::{Event, EventResult, Scheduled, Task};
use super::life::{answer, drain, respond};
use super::turn::{Killed, describe, describe_at};
use super::{Link, Shared};
use crate::app::App;
use crate::code_cache::CodeCache;
use crate::entry::Entry;
use crate::isolate::LockedIsolate;
use crate::modules::{Uncached, start_entry};
use crate::op_error::OpError;
use crate::ops::text_value;
use crate::requests::{Head, Phase, Reply, RequestState};
use crate::shared_isolate::SharedIsolate;
use crate::state::{LeftBehind, State};
use crate::watchdog::Subject;

pub(super) struct Core {
    life: Life,
}

enum Life {
    Live(Box<Live>),
    Gone(Failure),
}

pub(super) struct Live {
    pub(super) isolate: SharedIsolate,
    // These hold handles of V8's, and so are dropped by hand, with the isolate locked.
    pub(super) state: ManuallyDrop<Rc<State>>,
    pub(super) context: ManuallyDrop<v8::Global<v8::Context>>,
    pub(super) subject: Arc<Subject>,
    loading: Option<Loading>,
    handlers: Handlers,
    /// The answer of a request that was handled past the inbox and has ended already.
    kept: Option<Result<Response, Failure>>,
    /// Requests that have ended, for things that are done now and then.
    served: u64,
}

/// Module evaluation under way.
struct Loading {
    promise: v8::Global<v8::Promise>,
    module: Option<v8::Global<v8::Module>>,
    reply: oneshot::Sender<Result<(), Failure>>,
}

/// Which events the app has handlers for: the bits that `setHandlers` of `main.js` returns.
#[derive(Clone, Copy, Default)]
struct Handlers(u32);

// SAFETY: what is not Send in here are handles of V8's and Rc's that only this worker has; they are used by whoever holds
// the worker's lock, with the isolate locked and entered, and dropped the same way (`Live::drop`).
unsafe impl Send for Core {}

impl Core {
    pub(super) fn new(isolate: SharedIsolate, app: Arc<App>, link: Link) -> Self {
        let state = State::new(app, link);
        let subject = Arc::new(Subject { app: state.app.name.clone(), handle: isolate.handle() });
        let context = isolate.with_lock(|isolate| {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Context::new(scope, v8::ContextOptions::default());
            let scope = &mut v8::ContextScope::new(scope, context);
            state.enter(scope);
            state.set_entry(Entry::take(scope));
            set_environment(scope, &state);
            State::leave(scope);
            v8::Global::new(scope, context)
        });
        Self {
            life: Life::Live(Box::new(Live {
                isolate,
                state: ManuallyDrop::new(state),
                context: ManuallyDrop::new(context),
                subject,
                loading: None,
                handlers: Handlers::default(),
                kept: None,
                served: 0,
            })),
        }
    }

    /// Handles what is in the inbox, up to `most` events.
    pub(super) fn drain(&mut self, shared: &Arc<Shared>, most: usize) {
        let mut killed = None;
        match &mut self.life {
            Life::Gone(failure) => {
                while let Some(event) = shared.pop() {
                    event.refuse(failure);
                }
                return;
            }
            Life::Live(live) => {
                let isolate = live.isolate.clone();
                isolate.with_lock(|isolate| {
                    for _ in 0..most {
                        let Some(event) = shared.pop() else { break };
                        if let Err(death) = live.handle(isolate, event) {
                            killed = Some(death);
                            return;
                        }
                    }
                });
                if killed.is_none() {
                    shared.timer.set(shared, live.state.timers.borrow().next());
                }
            }
        }
        if let Some(Death { request, failure, others }) = killed {
            self.condemn(shared, request, failure, others);
        }
    }

    /// Handles a request now, past the inbox. `Err` gives it back: the worker is gone.
    pub(super) fn fetch_now(
        &mut self,
        shared: &Arc<Shared>,
        request: Request,
        deadline: Option<Instant>,
    ) -> Result<Answer, (Request, Failure)> {
        let Life::Live(live) = &mut self.life else {
            let Life::Gone(failure) = &self.life else { unreachable!("a life is live or gone") };
            return Err((request, failure.clone()));
        };
        let id = request.id;
        let isolate = live.isolate.clone();
        let handled = isolate.with_lock(|isolate| {
            let handled = live.fetch(isolate, request, deadline, Reply::Kept(None));
            handled.map(|()| live.take_answer(id))
        });
        Ok(match handled {
            Ok(answer) => {
                shared.timer.set(shared, live.state.timers.borrow().next());
                answer
            }
            Err(Death { request, failure, others }) => {
                self.condemn(shared, request, failure.clone(), others.clone());
                Answer::Now(Err(if request == id { failure } else { others }))
            }
        })
    }

    /// Ends the worker: `culprit` fails with `failure`, all others with `others`.
    fn condemn(&mut self, shared: &Arc<Shared>, culprit: RequestId, failure: Failure, others: Failure) {
        shared.gone.store(true, Ordering::Relaxed);
        let Life::Live(mut live) = std::mem::replace(&mut self.life, Life::Gone(others.clone())) else { return };
        let app = live.state.app.name.clone();
        tracing::info!(target: "hearth::worker", app = app.as_str(), request = culprit.raw(), error = %failure, "Worker destroyed");
        if let Some(loading) = live.loading.take() {
            drop(loading.reply.send(Err(failure.clone())));
        }
        let ids = live.state.requests.borrow().ids();
        for id in ids {
            let removed = live.state.requests.borrow_mut().remove(id);
            if let Some((reply, left)) = removed {
                live.state.cancel(left);
                drop(answer(reply, if id == culprit { failure.clone() } else { others.clone() }));
            }
        }
        shared.active.store(0, Ordering::Relaxed);
        drop(live);
        while let Some(event) = shared.pop() {
            event.refuse(&others);
        }
    }

    pub(super) fn condemn_after_panic(&mut self, shared: &Arc<Shared>) {
        let failure = Failure::Internal { message: "the runtime panicked".into() };
        self.condemn(shared, RequestId::OUTSIDE, failure.clone(), failure);
    }
}

/// What a request that was handled at once comes to.
pub(super) enum Answer {
    Now(Result<Response, Failure>),
    Later(oneshot::Receiver<Result<Response, Failure>>),
}

/// Why a worker ends.
pub(super) struct Death {
    request: RequestId,
    failure: Failure,
    others: Failure,
}

impl From<Killed> for Death {
    fn from(killed: Killed) -> Self {
        let Killed { request, exceeded } = killed;
        match exceeded {
            Some(exceeded) => Self { request, failure: exceeded.into(), others: Failure::Collateral(exceeded) },
            None => {
                let failure = Failure::Internal { message: "the isolate was terminated".into() };
                Self { request, failure: failure.clone(), others: failure }
            }
        }
    }
}

impl Live {
    fn handle(&mut self, isolate: &mut LockedIsolate<'_>, event: Event) -> Result<(), Death> {
        match event {
            Event::Load { deadline, reply } => return self.load(isolate, deadline, reply),
            Event::Fetch { request, deadline, reply } => {
                self.fetch(isolate, *request, deadline, Reply::Fetch(reply))?;
            }
            Event::Scheduled { id, event, deadline, reply } => self.scheduled(isolate, id, event, deadline, reply)?,
            Event::Task { id, event, deadline, reply } => self.task(isolate, id, event, deadline, reply)?,
            Event::Settled { op, outcome } => {
                let Some(request) = self.state.op_request(op) else { return Ok(()) };
                self.turn(isolate, request, |scope, state| state.settle_op(scope, op, outcome))?;
                self.after(isolate, request)?;
            }
            Event::TimersDue => self.fire_timers(isolate)?,
            Event::Expired { request, exceeded } => self.expire(isolate, request, exceeded)?,
            Event::Disconnected { request } => self.disconnect(isolate, request)?,
            Event::StreamDone { request } => {
                if let Some(entry) = self.state.requests.borrow_mut().get(request)
                    && entry.phase == Phase::Streaming
                {
                    drain(&self.state, entry);
                }
                self.after(isolate, request)?;
            }
        }
        if self.loading.is_some() {
            self.check_loading(isolate)?;
        }
        Ok(())
    }

    // ---- loading

    fn load(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<(), Failure>>,
    ) -> Result<(), Death> {
        if let Some(entry) = self.state.requests.borrow_mut().get(RequestId::OUTSIDE) {
            entry.enter(Phase::Loading, deadline);
        }
        let started = self.turn(isolate, RequestId::OUTSIDE, |scope, state| {
            v8::tc_scope!(let scope, scope);
            match start_entry(scope, state) {
                Err(failure) => Err(failure),
                Ok(Some((value, module))) => Ok((promise_of(scope, value), module.map(|m| v8::Global::new(scope, m)))),
                Ok(None) => {
                    let (exception, found) = (scope.exception(), scope.message());
                    let message = match exception {
                        Some(exception) => describe_at(scope, state, exception, found),
                        None => "the module could not be evaluated".to_owned(),
                    };
                    scope.reset();
                    Err(LoadFailure::Threw { message })
                }
            }
        });
        match started {
            Err(killed) => {
                let death = Death::from(killed);
                drop(reply.send(Err(death.failure.clone())));
                Err(death)
            }
            Ok(Err(failure)) => {
                let failure = Failure::Load(failure);
                drop(reply.send(Err(failure.clone())));
                Err(Death { request: RequestId::OUTSIDE, failure: failure.clone(), others: failure })
            }
            Ok(Ok((promise, module))) => {
                self.loading = Some(Loading { promise, module, reply });
                self.check_loading(isolate)
            }
        }
    }

    /// Looks whether module evaluation has come to its end.
    fn check_loading(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Death> {
        let Some(loading) = &self.loading else { return Ok(()) };
        let promise = loading.promise.clone();
        let module = loading.module.clone();
        let settled = self.turn(isolate, RequestId::OUTSIDE, |scope, state| {
            let promise = v8::Local::new(scope, &promise);
            match promise.state() {
                v8::PromiseState::Pending => None,
                v8::PromiseState::Rejected => {
                    let reason = promise.result(scope);
                    Some(Err(LoadFailure::Threw { message: describe(scope, state, reason) }))
                }
                v8::PromiseState::Fulfilled => Some(Ok(set_handlers(scope, state, module.as_ref()))),
            }
        })?;
        let Some(settled) = settled else { return Ok(()) };
        let reply = self.loading.take().map(|loading| loading.reply);
        let reply = |result| {
            if let Some(reply) = reply {
                drop(reply.send(result));
            }
        };
        if let Some(entry) = self.state.requests.borrow_mut().get(RequestId::OUTSIDE) {
            entry.enter(Phase::Outside, None);
        }
        match settled {
            Ok(handlers) => {
                self.handlers = handlers;
                reply(Ok(()));
                Ok(())
            }
            Err(failure) => {
                let failure = Failure::Load(failure);
                reply(Err(failure.clone()));
                Err(Death { request: RequestId::OUTSIDE, failure: failure.clone(), others: failure })
            }
        }
    }

    // ---- events

    fn fetch(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: Request,
        deadline: Option<Instant>,
        reply: Reply,
    ) -> Result<(), Death> {
        if !self.handlers.has(Handlers::FETCH) {
            self.kept = answer(reply, Failure::NoHandler { event: "fetch" });
            return Ok(());
        }
        let Request { id, method, url, headers, body } = request;
        let mut entry = RequestState::new(reply, Phase::Handling, deadline);
        entry.head = Some(Head { method, url, headers });
        if !body.is_empty() {
            let body_id = self.state.next_id();
            self.state.bodies.borrow_mut().insert(body_id, id, body);
            entry.set_body(body_id);
        }
        self.state.requests.borrow_mut().insert(id, entry);
        let text = self.turn(isolate, id, |scope, state| {
            let dispatch = v8::Local::new(scope, &state.entry().dispatch_fetch);
            let undefined = v8::undefined(scope).into();
            let id = v8::Number::new(scope, id.raw() as f64).into();
            let result = dispatch.call(scope, undefined, &[id])?;
            let text = v8::Local::<v8::String>::try_from(result).ok()?;
            Some(crate::ops::string_bytes(scope, text))
        })?;
        if let Some(text) = text {
            let mut headers = Headers::with_capacity(1, 40);
            headers.push(b"content-type", b"text/plain;charset=UTF-8");
            let response = Response { status: 200, reason: None, headers, body: Body::from(bytes::Bytes::from(text)) };
            respond(&self.state, id, response);
        }
        self.after(isolate, id)
    }

    /// What came of a request that was handled past the inbox: its answer, or where to wait for it.
    fn take_answer(&mut self, id: RequestId) -> Answer {
        if let Some(answer) = self.kept.take() {
            return Answer::Now(answer);
        }
        let mut requests = self.state.requests.borrow_mut();
        if let Some(entry) = requests.get(id) {
            match std::mem::replace(&mut entry.reply, Reply::Done) {
                // Its stream or waitUntil goes on.
                Reply::Kept(Some(answer)) => return Answer::Now(answer),
                Reply::Kept(None) => {
                    let (reply, later) = oneshot::channel();
                    entry.reply = Reply::Fetch(reply);
                    return Answer::Later(later);
                }
                _ => {}
            }
        }
        Answer::Now(Err(Failure::Internal { message: "the request was dropped".into() }))
    }

    fn scheduled(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        event: Scheduled,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<EventResult, Failure>>,
    ) -> Result<(), Death> {
        if !self.handlers.has(Handlers::SCHEDULED) {
            drop(reply.send(Err(Failure::NoHandler { event: "scheduled" })));
            return Ok(());
        }
        let entry = RequestState::new(Reply::Event(reply), Phase::Handling, deadline);
        self.state.requests.borrow_mut().insert(id, entry);
        self.turn(isolate, id, |scope, state| -> Result<(), OpError> {
            let dispatch = v8::Local::new(scope, &state.entry().dispatch_scheduled);
            let undefined = v8::undefined(scope).into();
            let arguments = [
                v8::Number::new(scope, id.raw() as f64).into(),
                v8::Number::new(scope, event.scheduled_time).into(),
                text_value(scope, &event.cron)?.into(),
            ];
            dispatch.call(scope, undefined, &arguments);
            Ok(())
        })?
        .unwrap_or_default();
        self.after(isolate, id)
    }

    fn task(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        id: RequestId,
        event: Task,
        deadline: Option<Instant>,
        reply: oneshot::Sender<Result<EventResult, Failure>>,
    ) -> Result<(), Death> {
        if !self.handlers.has(Handlers::TASK) {
            drop(reply.send(Err(Failure::NoHandler { event: "task" })));
            return Ok(());
        }
        let entry = RequestState::new(Reply::Event(reply), Phase::Handling, deadline);
        self.state.requests.borrow_mut().insert(id, entry);
        self.turn(isolate, id, |scope, state| -> Result<(), OpError> {
            let dispatch = v8::Local::new(scope, &state.entry().dispatch_task);
            let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
            let payload = match &event.payload {
                Some(json) => text_value(scope, json)?.into(),
                None => undefined,
            };
            let time = match event.scheduled_time {
                Some(time) => v8::Number::new(scope, time).into(),
                None => undefined,
            };
            let arguments = [
                v8::Number::new(scope, id.raw() as f64).into(),
                text_value(scope, &event.id)?.into(),
                payload,
                v8::Number::new(scope, f64::from(event.attempt)).into(),
                time,
            ];
            dispatch.call(scope, undefined, &arguments);
            Ok(())
        })?
        .unwrap_or_default();
        self.after(isolate, id)
    }

    fn fire_timers(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Death> {
        let now = Instant::now();
        loop {
            let due = self.state.timers.borrow_mut().pop(now);
            let Some((timer, request)) = due else { return Ok(()) };
            self.turn(isolate, request, |scope, state| {
                let fire = v8::Local::new(scope, &state.entry().fire_timer);
                let undefined = v8::undefined(scope).into();
                let id = v8::Number::new(scope, timer as f64).into();
                v8::tc_scope!(let scope, scope);
                if fire.call(scope, undefined, &[id]).is_none()
                    && let Some(error) = scope.exception()
                    && !scope.has_terminated()
                {
                    let message = describe(scope, state, error);
                    super::uncaught(state, request, &message);
                }
            })?;
            self.after(isolate, request)?;
        }
    }

    // ---- ends

    /// A request's time is up: tell its code, answer for it, and cancel what it has under way.
    fn expire(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        exceeded: LimitExceeded,
    ) -> Result<(), Death> {
        if !self.state.requests.borrow().contains(request) {
            return Ok(());
        }
        let app = self.state.app.name.as_str();
        tracing::info!(target: "hearth::worker", app, request = request.raw(), error = %exceeded, "Request timed out");
        self.abort(isolate, request, &exceeded.to_string())?;
        self.end(isolate, request, Some(exceeded.into()))
    }

    fn disconnect(&mut self, isolate: &mut LockedIsolate<'_>, request: RequestId) -> Result<(), Death> {
        let streaming = {
            let mut requests = self.state.requests.borrow_mut();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if entry.phase == Phase::Draining {
                // The client has all it wanted; waitUntil goes on.
                return Ok(());
            }
            entry.phase == Phase::Streaming
        };
        self.abort(isolate, request, "the client went away")?;
        // What waitUntil was given goes on after a disconnect, within its own limits.
        let waiting = {
            let mut requests = self.state.requests.borrow_mut();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            entry.reply = Reply::Done;
            drain(&self.state, entry);
            entry.waiting > 0
        };
        if waiting || streaming {
            // The stream's cancellation runs as microtasks of the abort's turn; what is left is looked at now.
            return self.after(isolate, request);
        }
        self.end(isolate, request, None)
    }

    /// Aborts `request.signal`.
    fn abort(&mut self, isolate: &mut LockedIsolate<'_>, request: RequestId, message: &str) -> Result<(), Death> {
        self.turn(isolate, request, |scope, state| -> Result<(), OpError> {
            let abort = v8::Local::new(scope, &state.entry().abort_request);
            let undefined = v8::undefined(scope).into();
            let id = v8::Number::new(scope, request.raw() as f64).into();
            let message = text_value(scope, message)?.into();
            abort.call(scope, undefined, &[id, message]);
            Ok(())
        })?
        .unwrap_or_default();
        Ok(())
    }

    /// After a turn of a request: ends it if nothing is left to wait for, and arms the alarm of its last phase.
    fn after(&mut self, isolate: &mut LockedIsolate<'_>, request: RequestId) -> Result<(), Death> {
        if request == RequestId::OUTSIDE {
            return Ok(());
        }
        {
            let mut requests = self.state.requests.borrow_mut();
            let active = requests.active();
            let Some(entry) = requests.get(request) else { return Ok(()) };
            if entry.phase != Phase::Draining {
                self.state.link.set_active(active);
                return Ok(());
            }
            if entry.waiting > 0 {
                if entry.alarm.is_none() && !self.state.app.limits.wait_until_wall.is_zero() {
                    let limit = self.state.app.limits.wait_until_wall;
                    let exceeded = LimitExceeded::time(hearth_core::LimitKind::WaitUntilWall, limit, limit);
                    let event = Event::Expired { request, exceeded };
                    entry.alarm = Some(self.state.link.post_at(Instant::now() + limit, event));
                }
                self.state.link.set_active(active);
                return Ok(());
            }
        }
        self.end(isolate, request, None)
    }

    /// The request is over: what it left behind is cancelled.
    fn end(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        failure: Option<Failure>,
    ) -> Result<(), Death> {
        let removed = self.state.requests.borrow_mut().remove(request);
        let Some((reply, left)) = removed else { return Ok(()) };
        match (reply, failure) {
            (Reply::Kept(Some(answer)), _) => self.kept = Some(answer),
            (reply, Some(failure)) => self.kept = answer(reply, failure),
            (_, None) => {}
        }
        if self.state.cancel(left) == LeftBehind::Something {
            self.turn(isolate, RequestId::OUTSIDE, |scope, state| {
                let forget = v8::Local::new(scope, &state.entry().drop_request);
                let undefined = v8::undefined(scope).into();
                let id = v8::Number::new(scope, request.raw() as f64).into();
                forget.call(scope, undefined, &[id]);
            })?;
        }
        self.served += 1;
        self.state.link.set_active(self.state.requests.borrow().active());
        if self.served == 1 {
            self.fill_code_cache(isolate)?;
        }
        Ok(())
    }

    /// After the first request: functions that it compiled lazily are in the cached code too.
    fn fill_code_cache(&mut self, isolate: &mut LockedIsolate<'_>) -> Result<(), Death> {
        let uncached = self.state.modules.borrow_mut().take_uncached();
        if uncached.is_empty() {
            return Ok(());
        }
        let cache = self.state.app.code_cache.clone();
        self.turn(isolate, RequestId::OUTSIDE, |scope, _| {
            for code in uncached {
                keep(scope, &cache, code);
            }
        })?;
        Ok(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let isolate = self.isolate.clone();
        isolate.with_lock(|_| {
            self.loading = None;
            // SAFETY: `drop` demands that the values are not used again: this is the end of their owner.
            unsafe {
                ManuallyDrop::drop(&mut self.context);
                ManuallyDrop::drop(&mut self.state);
            }
        });
    }
}

impl Handlers {
    const FETCH: u32 = 1;
    const SCHEDULED: u32 = 2;
    const TASK: u32 = 4;

    fn has(self, handler: u32) -> bool {
        self.0 & handler != 0
    }
}

fn keep(scope: &mut v8::PinScope<'_, '_>, cache: &CodeCache, code: Uncached) {
    let (key, made) = match code {
        Uncached::Module(key, module) => {
            let module = v8::Local::new(scope, &module);
            (key, module.get_unbound_module_script(scope).create_code_cache())
        }
        Uncached::Script(key, script) => (key, v8::Local::new(scope, &script).create_code_cache()),
        Uncached::Function(key, function) => (key, v8::Local::new(scope, &function).create_code_cache()),
    };
    if let Some(made) = made {
        cache.put(key, &made);
    }
}

fn promise_of(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<v8::Value>) -> v8::Global<v8::Promise> {
    if let Ok(promise) = v8::Local::<v8::Promise>::try_from(value) {
        // Its rejection is looked at by `check_loading`: it is not an uncaught one.
        if let Some(ignore) = v8::Function::new(scope, ignore) {
            promise.catch(scope, ignore);
        }
        return v8::Global::new(scope, promise);
    }
    // A script's value is no promise: one that is fulfilled stands for it.
    let resolver = v8::PromiseResolver::new(scope).expect("a promise can be made outside of termination");
    let undefined = v8::undefined(scope).into();
    resolver.resolve(scope, undefined);
    let promise = resolver.get_promise(scope);
    v8::Global::new(scope, promise)
}

fn ignore<'s>(_: &mut v8::PinScope<'s, '_>, _: v8::FunctionCallbackArguments<'s>, _: v8::ReturnValue<'s>) {}

fn set_handlers(scope: &mut v8::PinScope<'_, '_>, state: &State, module: Option<&v8::Global<v8::Module>>) -> Handlers {
    let set = v8::Local::new(scope, &state.entry().set_handlers);
    let undefined: v8::Local<v8::Value> = v8::undefined(scope).into();
    let namespace = match module {
        Some(module) => v8::Local::new(scope, module).get_module_namespace(),
        None => undefined,
    };
    let bits = set.call(scope, undefined, &[namespace]).and_then(|bits| bits.uint32_value(scope));
    Handlers(bits.unwrap_or(0))
}

fn set_environment(scope: &mut v8::PinScope<'_, '_>, state: &State) {
    let set = v8::Local::new(scope, &state.entry().set_environment);
    let mut items: Vec<v8::Local<v8::Value>> = Vec::with_capacity(state.app.env.len() * 2);
    for (name, value) in &state.app.env {
        let (Ok(name), Ok(value)) = (text_value(scope, name), text_value(scope, value)) else { continue };
        items.extend([v8::Local::<v8::Value>::from(name), value.into()]);
    }
    let list = v8::Array::new_with_elements(scope, &items);
    let undefined = v8::undefined(scope).into();
    set.call(scope, undefined, &[list.into()]);
}
