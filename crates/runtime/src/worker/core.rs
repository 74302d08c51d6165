//! The inside of a worker: what happens to each event, by whoever holds it.

use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hearth_core::websocket::Close;
use hearth_core::{Failure, Request, RequestId, Response};
use tokio::sync::oneshot;

use super::chore::Chore;
use super::event::Event;
use super::life::{answer, drain};
use super::loading::Loading;
use super::outbox::Letter;
use super::turn::Killed;
use super::{Arrival, Link, Shared, WorkerId};
use crate::app::App;
use crate::blank::{Blank, Made};
use crate::isolate::LockedIsolate;
use crate::ledger;
use crate::ops::text_value;
use crate::requests::{Phase, Reply, RequestState};
use crate::shared_isolate::House;
use crate::state::State;
use crate::watchdog::Subject;

pub(super) struct Core {
    life: Life,
}

enum Life {
    Live(Box<Alive>),
    Gone(Failure),
}

/// A worker's context, and the isolate that it lives in.
pub(super) struct Alive {
    isolate: House,
    live: Live,
    /// What is over when it is dropped.
    chore: Option<Chore>,
}

pub(super) struct Live {
    // These hold handles of V8's, and so are dropped by hand, with the isolate locked.
    pub(super) state: ManuallyDrop<Rc<State>>,
    pub(super) context: ManuallyDrop<v8::Global<v8::Context>>,
    pub(super) subject: Arc<Subject>,
    pub(super) loading: Option<Loading>,
    pub(super) handlers: Handlers,
    /// The answer of a request that was handled past the inbox and has ended already.
    pub(super) kept: Option<Result<Response, Failure>>,
    /// The time, where somebody has looked right before the next turn.
    pub(super) just_now: Option<Instant>,
    /// When the last turn was over.
    pub(super) turn_ended: Instant,
    /// When the timer driver was told to wake us.
    alarm: Option<Instant>,
    pub(super) turns: u32,
    /// V8 may have tasks to run.
    pub(super) tasks_due: bool,
    /// The size of the heap at which an app that is to stay small gives back what it does not use.
    pub(super) tidy_at: usize,
    /// How full the heap may stay before another worker should take this one's place, where loading the app filled much of it.
    pub(super) worn_at: u64,
    /// The turn is for the runtime's own sake, and says nothing of how long the app's are.
    pub(super) housekeeping: bool,
    /// Requests that have ended, for things that are done now and then.
    pub(super) served: u64,
}

/// Which events the app has handlers for: the bits that `setHandlers` of `main.js` returns.
#[derive(Clone, Copy, Default)]
pub(super) struct Handlers(pub(super) u32);

// SAFETY: what is not Send in here are handles of V8's and Rc's that only this worker has; they are used by whoever has the
// value to itself, with the isolate locked and entered, and dropped the same way (`Alive::drop`).
unsafe impl Send for Alive {}

impl Core {
    pub(super) fn new(blank: Blank, app: Arc<App>, link: Link, id: WorkerId) -> (Self, Arc<ledger::Entry>) {
        let (mut isolate, made) = blank.into_parts();
        let subject = Arc::new(Subject::new(id, app.clone(), isolate.handle(), link.outbox().clone()));
        let state = State::new(app, link);
        let Made { context, entry } = ManuallyDrop::into_inner(made);
        state.set_entry(entry);
        let memory = isolate.ledger_entry();
        memory.settle(&subject.app);
        isolate.with_lock(|isolate| {
            v8::scope!(let scope, &mut **isolate);
            let context = v8::Local::new(scope, &context);
            let scope = &mut v8::ContextScope::new(scope, context);
            state.enter(scope);
            set_environment(scope, &state, id);
            State::leave(scope);
        });
        let core = Self {
            life: Life::Live(Box::new(Alive {
                isolate,
                live: Live {
                    state: ManuallyDrop::new(state),
                    context: ManuallyDrop::new(context),
                    subject,
                    loading: None,
                    handlers: Handlers::default(),
                    kept: None,
                    just_now: None,
                    turn_ended: Instant::now(),
                    alarm: None,
                    turns: 0,
                    tasks_due: false,
                    tidy_at: 0,
                    worn_at: 0,
                    housekeeping: false,
                    served: 0,
                },
                chore: None,
            })),
        };
        (core, memory)
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
            Life::Live(alive) => {
                let Alive { isolate, live, .. } = &mut **alive;
                isolate.with_lock(|isolate| {
                    shared.vitals.set_home(isolate.home());
                    for _ in 0..most {
                        let Some(event) = shared.pop() else { break };
                        // Who hears from the one before and comes again finds the worker at work, as it is.
                        shared.vitals.outbox.take().send();
                        if let Err(death) = live.handle(isolate, event) {
                            killed = Some(death);
                            return;
                        }
                        if !shared.may_enter() {
                            return;
                        }
                    }
                });
                if killed.is_none() {
                    live.set_alarm(shared);
                }
            }
        }
        if let Some(death) = killed {
            let Death { request, failure, others } = *death;
            self.condemn(shared, request, failure, others);
        }
    }

    /// Handles a request now, past the inbox. Says when that was over.
    pub(super) fn fetch_now(&mut self, shared: &Arc<Shared>, request: Request, arrival: Arrival) -> (Answer, Instant) {
        let Alive { isolate, live, .. } = match &mut self.life {
            Life::Live(alive) => &mut **alive,
            Life::Gone(failure) => return (Answer::Now(Err(failure.clone())), arrival.now),
        };
        let id = request.id;
        let handled = isolate.with_lock(|isolate| {
            shared.vitals.set_home(isolate.home());
            live.just_now = Some(arrival.now);
            let handled = live.fetch(isolate, request, arrival, Reply::Kept(None));
            live.just_now = None;
            handled.map(|()| live.take_answer(id))
        });
        match handled {
            Ok(answer) => {
                live.set_alarm(shared);
                (answer, live.turn_ended.max(arrival.now))
            }
            Err(death) => {
                let Death { request, failure, others } = *death;
                self.condemn(shared, request, failure.clone(), others.clone());
                (Answer::Now(Err(if request == id { failure } else { others })), Instant::now())
            }
        }
    }

    /// Does a moment's work of ours, which is no event.
    pub(super) fn step_in(
        &mut self,
        shared: &Arc<Shared>,
        work: impl FnOnce(&mut Live, &mut LockedIsolate<'_>) -> Result<(), Box<Death>>,
    ) {
        let Life::Live(alive) = &mut self.life else { return };
        let Alive { isolate, live, .. } = &mut **alive;
        let done = isolate.with_lock(|isolate| {
            shared.vitals.set_home(isolate.home());
            work(live, isolate)
        });
        if let Err(death) = done {
            let Death { request, failure, others } = *death;
            self.condemn(shared, request, failure, others);
        }
    }

    /// What was alive, unless it is gone already. Whoever comes from now on hears why.
    pub(super) fn end(&mut self, why: Failure) -> Option<Box<Alive>> {
        match std::mem::replace(&mut self.life, Life::Gone(why)) {
            Life::Live(alive) => Some(alive),
            Life::Gone(_) => None,
        }
    }

    /// Ends the worker: `culprit` fails with `failure`, all others with `others`.
    fn condemn(&mut self, shared: &Arc<Shared>, culprit: RequestId, failure: Failure, others: Failure) {
        shared.vitals.gone.store(true, Ordering::Relaxed);
        let Some(mut alive) = self.end(others.clone()) else { return };
        // Begun before anybody hears of the end.
        let clearing = Chore::begin(&shared.vitals);
        shared.vitals.outbox.take().fail(&failure);
        let (app, version) = (shared.app.name.as_str(), shared.app.version.as_str());
        let request = (culprit != RequestId::OUTSIDE).then(|| culprit.raw());
        match &failure {
            // No request of it can be answered.
            Failure::Load(why) => {
                tracing::error!(target: "hearth::worker", app, version, request, error = %why, "App failed to load")
            }
            _ => tracing::info!(target: "hearth::worker", app, version, request, error = %failure, "Worker destroyed"),
        }
        // Those who wait are told without the lock: they may do anything.
        alive.live.state.sockets.borrow().abandon_all(&Close::new(1011, "the app was stopped"));
        let Abandoned { loading, replies } = alive.abandon();
        if let Some(reply) = loading {
            drop(reply.send(Err(failure.clone())));
        }
        for (id, reply) in replies {
            drop(answer(reply, if id == culprit { failure.clone() } else { others.clone() }, Letter::send));
        }
        while let Some(event) = shared.pop() {
            event.refuse(&others);
        }
        shared.vitals.set_active(0);
        shared.seat.clear_away(alive, Some(clearing));
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
    pub(super) request: RequestId,
    pub(super) failure: Failure,
    pub(super) others: Failure,
}

impl From<Killed> for Box<Death> {
    fn from(killed: Killed) -> Self {
        let Killed { request, exceeded } = killed;
        Box::new(match exceeded {
            Some(exceeded) => Death { request, failure: exceeded.into(), others: Failure::Collateral(exceeded) },
            None => {
                let failure = Failure::Internal { message: "the isolate was terminated".into() };
                Death { request, failure: failure.clone(), others: failure }
            }
        })
    }
}

impl Live {
    /// Has the worker woken when its next timer is due.
    fn set_alarm(&mut self, shared: &Arc<Shared>) {
        let next = self.state.timers.borrow().next();
        // Most requests set no timer, and the driver has nothing to be told.
        if next.is_some() || self.alarm.is_some() {
            shared.timer.set(shared, next);
            self.alarm = next;
        }
    }

    fn handle(&mut self, isolate: &mut LockedIsolate<'_>, event: Event) -> Result<(), Box<Death>> {
        match event {
            Event::Load { deadline, reply } => return self.load(isolate, deadline, reply),
            Event::Fetch { request, arrival, reply } => {
                self.fetch(isolate, *request, arrival, Reply::Fetch(reply))?;
            }
            Event::Scheduled { id, event, deadline, reply } => self.scheduled(isolate, id, event, deadline, reply)?,
            Event::Task { id, event, deadline, reply } => self.task(isolate, id, event, deadline, reply)?,
            Event::Hook { id, hook, deadline, reply } => self.hook(isolate, id, hook, deadline, reply)?,
            Event::HookLate { id, hook, cut } => self.cut_hook(isolate, id, hook, cut)?,
            Event::Settled { op, outcome } => {
                let Some(request) = self.state.op_request(op) else { return Ok(()) };
                self.turn(isolate, request, |scope, state| state.settle_op(scope, op, outcome))?;
                self.after(isolate, request)?;
            }
            Event::TimersDue => self.fire_timers(isolate)?,
            Event::Expired { request, exceeded } => self.expire(isolate, request, exceeded)?,
            Event::Disconnected { request } => self.disconnect(isolate, request)?,
            Event::Socket { socket } => self.socket(isolate, socket)?,
            Event::SocketGone { request } => self.socket_gone(isolate, request)?,
            // What that means for its sockets is seen to after every event.
            Event::Leave => {}
            Event::StreamDone { request } => {
                if let Some(entry) = self.state.requests.borrow_mut().get(request) {
                    if entry.phase == Phase::Streaming {
                        drain(&self.state, entry);
                    }
                }
                self.after(isolate, request)?;
            }
        }
        if self.loading.is_some() {
            self.check_loading(isolate)?;
        }
        self.after_others(isolate)?;
        Ok(self.run_tasks(isolate)?)
    }
}

/// Those who wait for a worker that ends.
struct Abandoned {
    loading: Option<oneshot::Sender<Result<(), Failure>>>,
    replies: Vec<(RequestId, Reply)>,
}

impl Alive {
    /// Ends all that is under way. With the isolate locked, since it has handles of V8's, and the isolate may be others', too.
    fn abandon(&mut self) -> Abandoned {
        let Self { isolate, live, .. } = self;
        isolate.with_lock(|_| {
            let loading = live.loading.take().map(|loading| loading.reply);
            let ids = live.state.requests.borrow().ids();
            let mut replies = Vec::with_capacity(ids.len());
            for id in ids {
                let removed = live.state.requests.borrow_mut().remove(id);
                if let Some(RequestState { reply, left, .. }) = removed.map(|state| *state) {
                    live.state.cancel(left);
                    replies.push((id, reply));
                }
            }
            Abandoned { loading, replies }
        })
    }

    pub(super) fn release_locker(&mut self) {
        self.isolate.release_locker();
    }

    /// Keeps `chore` until this is dropped.
    pub(super) fn set_chore(&mut self, chore: Option<Chore>) {
        self.chore = chore;
    }
}

impl Drop for Alive {
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

impl Handlers {
    pub(super) const FETCH: u32 = 1;
    pub(super) const SCHEDULED: u32 = 2;
    pub(super) const TASK: u32 = 4;

    pub(super) fn has(self, handler: u32) -> bool {
        self.0 & handler != 0
    }
}

fn set_environment(scope: &mut v8::PinScope<'_, '_>, state: &State, id: WorkerId) {
    let set = v8::Local::new(scope, &state.entry().set_environment);
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
    set.call(scope, undefined, &[list.into(), about[0], about[1], about[2], bindings]);
}

/// Names and their methods in turn.
fn bindings_value<'s>(scope: &mut v8::PinScope<'s, '_>, state: &State) -> Option<v8::Local<'s, v8::Value>> {
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
