//! What Rust keeps for one context: its requests and everything that belongs to them. Natives reach it through the
//! isolate while a turn runs; between turns it lies still with its worker.
//!
//! Invariant: every op, timer and body names a request in `requests` (or `RequestId::OUTSIDE`), and goes with it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hearth_core::rate::Admitted;
use hearth_core::{Body, RequestId};

use crate::app::App;
use crate::bodies::{Bodies, BodyId};
use crate::console::{Console, Level, Line};
use crate::entry::Entry;
use crate::modules::ModuleMap;
use crate::op_error::OpError;
use crate::operations::LogLine;
use crate::rejections::Rejections;
use crate::requests::{ById, Requests};
use crate::sockets::Sockets;
use crate::timers::Timers;
use crate::worker::{Answered, Link};

/// The isolate's data slot that holds the running context's state.
const SLOT: u32 = 0;

pub(crate) struct State {
    pub(crate) app: Arc<App>,
    pub(crate) link: Link,
    pub(crate) requests: RefCell<Requests>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) bodies: RefCell<Bodies>,
    pub(crate) modules: RefCell<ModuleMap>,
    pub(crate) rejections: RefCell<Rejections>,
    console: Console,
    pub(crate) decoders: RefCell<HashMap<u64, crate::ops::Decoder, ById>>,
    pub(crate) fetches: RefCell<HashMap<u64, crate::ops::FetchState, ById>>,
    pub(crate) sockets: RefCell<Sockets>,
    ops: RefCell<HashMap<u64, PendingOp, ById>>,
    /// Whose turn it is.
    running: Cell<RequestId>,
    /// Requests that got further in another one's turn, by a promise that the two share.
    others: RefCell<Vec<RequestId>>,
    /// When the requests came that were answered in this turn. How long they took is known when the turn is over.
    answered: RefCell<Vec<Instant>>,
    next: Cell<u64>,
    entry: OnceCell<Entry>,
    started: Instant,
    origin: SystemTime,
    poisoned: Cell<bool>,
}

/// A promise that JavaScript waits for.
struct PendingOp {
    request: RequestId,
    resolver: v8::Global<v8::PromiseResolver>,
    task: tokio::task::AbortHandle,
}

/// What an op's task brings back.
#[derive(Debug)]
pub(crate) enum OpValue {
    Bool(bool),
    Text(Bytes),
    Bytes(Bytes),
    /// The body that was read goes back to its place.
    Chunk {
        body: BodyId,
        rest: Body,
        chunk: Option<Bytes>,
    },
    FetchHead(Box<crate::ops::Head>),
    Socket(Box<crate::ops::Opened>),
}

/// What of a cancelled request JavaScript still remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeftBehind {
    Nothing,
    Something,
}

pub(crate) type OpOutcome = Result<OpValue, OpError>;

impl State {
    pub(crate) fn new(app: Arc<App>, link: Link) -> Rc<Self> {
        let console = Console::new(app.clone());
        Rc::new(Self {
            app,
            link,
            requests: RefCell::default(),
            timers: RefCell::default(),
            bodies: RefCell::default(),
            modules: RefCell::default(),
            rejections: RefCell::default(),
            console,
            decoders: RefCell::default(),
            fetches: RefCell::default(),
            sockets: RefCell::default(),
            ops: RefCell::default(),
            running: Cell::new(RequestId::OUTSIDE),
            others: RefCell::default(),
            answered: RefCell::default(),
            next: Cell::new(1),
            entry: OnceCell::new(),
            started: Instant::now(),
            origin: SystemTime::now(),
            poisoned: Cell::new(false),
        })
    }

    /// The state of the context that is running.
    pub(crate) fn current(isolate: &v8::Isolate) -> Rc<Self> {
        Self::try_current(isolate).expect("natives are called from a turn, and a turn sets the state")
    }

    /// Whether a turn is running.
    pub(crate) fn is_there(isolate: &v8::Isolate) -> bool {
        !isolate.get_data(SLOT).is_null()
    }

    pub(crate) fn try_current(isolate: &v8::Isolate) -> Option<Rc<Self>> {
        let pointer = isolate.get_data(SLOT).cast::<State>().cast_const();
        if pointer.is_null() {
            return None;
        }
        // SAFETY: `enter` put the pointer there from an Rc that outlives the turn, on this thread, and `leave` removes it.
        unsafe {
            Rc::increment_strong_count(pointer);
            Some(Rc::from_raw(pointer))
        }
    }

    /// Makes this the running context's state, until `leave`.
    pub(crate) fn enter(self: &Rc<Self>, isolate: &mut v8::Isolate) {
        isolate.set_data(SLOT, Rc::as_ptr(self).cast_mut().cast());
    }

    pub(crate) fn leave(isolate: &mut v8::Isolate) {
        isolate.set_data(SLOT, std::ptr::null_mut());
    }

    pub(crate) fn entry(&self) -> &Entry {
        self.entry.get().expect("the entry points are set when the context is made")
    }

    pub(crate) fn set_entry(&self, entry: Entry) {
        assert!(self.entry.set(entry).is_ok(), "the entry points are set once");
    }

    /// An id for an op, body, fetch or decoder: unique within the context, exact as a JavaScript number.
    pub(crate) fn next_id(&self) -> u64 {
        let id = self.next.get();
        self.next.set(id + 1);
        id
    }

    /// Milliseconds since this context began.
    pub(crate) fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1e3
    }

    pub(crate) fn origin(&self) -> f64 {
        self.origin.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1e3)
    }

    /// A native panicked: the worker must go.
    pub(crate) fn poison(&self) {
        self.poisoned.set(true);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.get()
    }

    /// Writes to the app's log, as far as its rate allows.
    pub(crate) fn log(&self, request: RequestId, level: Level, message: &str) {
        if let Admitted::Yes { .. } = self.console.admit() {
            if let Some(operations) = &self.app.operations {
                return operations.log(&LogLine::new(&self.app, request, level, message));
            }
            let requests = self.requests.borrow();
            self.console.write(&Line { request, id: requests.text_id(request), level, message });
        }
    }

    pub(crate) fn set_running(&self, request: RequestId) {
        self.running.set(request);
    }

    pub(crate) fn running(&self) -> RequestId {
        self.running.get()
    }

    /// A request got further. If it is not its own turn, somebody has to look after it when the turn is over.
    pub(crate) fn note_progress(&self, request: RequestId) {
        if request != self.running.get() {
            self.others.borrow_mut().push(request);
        }
    }

    /// A request that came at `arrived` has its answer.
    pub(crate) fn note_answer(&self, arrived: Option<Instant>, how: Answered) {
        if let Some(arrived) = arrived {
            self.link.account().answer(how);
            self.answered.borrow_mut().push(arrived);
        }
    }

    /// The turn that the answers came from is over, since `now`.
    pub(crate) fn settle_answers(&self, now: Instant) {
        let mut answered = self.answered.borrow_mut();
        if answered.is_empty() {
            return;
        }
        for arrived in answered.drain(..) {
            self.link.account().took(now.saturating_duration_since(arrived));
        }
    }

    /// One of those that `note_progress` was told of.
    pub(crate) fn take_other(&self) -> Option<RequestId> {
        self.others.borrow_mut().pop()
    }

    // ---- asynchronous ops

    /// Runs `work` outside the isolate for `request`, and returns the promise of what it brings.
    pub(crate) fn start_op<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        request: RequestId,
        work: impl Future<Output = OpOutcome> + Send + 'static,
    ) -> Result<(u64, v8::Local<'s, v8::Promise>), OpError> {
        let resolver = v8::PromiseResolver::new(scope).ok_or(OpError::Pending)?;
        let promise = resolver.get_promise(scope);
        let op = self.next_id();
        if !self.requests.borrow().contains(request) {
            // Its request is over: nobody will be told.
            return Ok((op, promise));
        }
        let task = self.link.spawn_op(op, work);
        let resolver = v8::Global::new(scope, resolver);
        self.ops.borrow_mut().insert(op, PendingOp { request, resolver, task });
        self.requests.borrow_mut().note_op(request, op);
        Ok((op, promise))
    }

    /// Handles of V8's that are the runtime's and not the app's.
    pub(crate) fn own_handles(&self) -> usize {
        self.ops.borrow().len() + self.modules.borrow().handles()
    }

    /// The request that waits for an op; none when it was cancelled.
    pub(crate) fn op_request(&self, op: u64) -> Option<RequestId> {
        self.ops.borrow().get(&op).map(|pending| pending.request)
    }

    /// Settles an op's promise. What comes for an op that was cancelled is dropped.
    pub(crate) fn settle_op(&self, scope: &mut v8::PinScope<'_, '_>, op: u64, outcome: OpOutcome) {
        let Some(pending) = self.ops.borrow_mut().remove(&op) else { return };
        let resolver = v8::Local::new(scope, &pending.resolver);
        match outcome.and_then(|value| self.op_value(scope, pending.request, value)) {
            Ok(value) => {
                resolver.resolve(scope, value);
            }
            Err(error) => {
                if let Some(value) = error.to_value(scope) {
                    resolver.reject(scope, value);
                }
            }
        }
    }

    /// Nothing more will come of a request's body: whoever waits for it is told.
    pub(crate) fn fail_read(&self, scope: &mut v8::PinScope<'_, '_>, request: RequestId, message: &str) {
        let Some(op) = self.requests.borrow_mut().get(request).and_then(|entry| entry.reading.take()) else { return };
        if let Some(pending) = self.ops.borrow().get(&op) {
            pending.task.abort();
        }
        self.settle_op(scope, op, Err(OpError::Dom { name: "AbortError", message: message.to_owned() }));
    }

    /// What an op brings, as JavaScript sees it.
    pub(crate) fn op_value<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        request: RequestId,
        value: OpValue,
    ) -> Result<v8::Local<'s, v8::Value>, OpError> {
        Ok(match value {
            OpValue::Bool(value) => v8::Boolean::new(scope, value).into(),
            OpValue::Text(bytes) => crate::ops::decode_text(scope, &bytes)?.into(),
            OpValue::Bytes(bytes) => crate::ops::bytes_value(scope, &bytes)?.into(),
            OpValue::Chunk { body, rest, chunk } => {
                self.bodies.borrow_mut().put_back(body, rest);
                match chunk {
                    Some(bytes) => crate::ops::bytes_value(scope, &bytes)?.into(),
                    None => v8::undefined(scope).into(),
                }
            }
            OpValue::FetchHead(head) => head.into_value(scope, self, request)?.into(),
            OpValue::Socket(opened) => opened.into_value(scope, self, request)?.into(),
        })
    }

    /// Cancels what a request left behind: ops, timers, bodies. Nothing late can reach anyone after this.
    pub(crate) fn cancel(&self, left: crate::requests::Left) -> LeftBehind {
        let mut ops = self.ops.borrow_mut();
        for op in left.ops {
            if let Some(pending) = ops.remove(&op) {
                pending.task.abort();
            }
        }
        let mut timers = self.timers.borrow_mut();
        let behind = if left.timers.is_empty() && left.bodies.is_empty() && left.sockets.is_empty() && !left.streamed {
            LeftBehind::Nothing
        } else {
            LeftBehind::Something
        };
        for timer in left.timers {
            timers.cancel(timer);
        }
        let mut bodies = self.bodies.borrow_mut();
        for body in left.bodies {
            bodies.remove(body);
        }
        let mut fetches = self.fetches.borrow_mut();
        for fetch in left.fetches {
            fetches.remove(&fetch);
        }
        let mut sockets = self.sockets.borrow_mut();
        for socket in left.sockets {
            sockets.remove(socket);
        }
        behind
    }

    pub(crate) fn cancel_op(&self, op: u64) {
        if let Some(pending) = self.ops.borrow_mut().remove(&op) {
            pending.task.abort();
        }
    }
}
