//! What Rust keeps for one context: its requests and everything that belongs to them. Natives reach it
//! through the isolate while a turn runs; between turns only its worker has it.
//!
//! Invariant: every op, timer and body names a request in `requests` (or `RequestId::OUTSIDE`), and goes with it.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use hearth_core::log_limit::Admitted;
use hearth_core::{Body, Failure, RequestId, Response};

use crate::app::App;
use crate::body_table::{BodyId, BodyTable};
use crate::console::{Console, Level, Line};
use crate::js_entry_points::JsEntryPoints;
use crate::modules::ModuleMap;
use crate::net_table::NetTable;
use crate::op_error::OpError;
use crate::operations::LogLine;
use crate::rejections::Rejections;
use crate::request_table::{ById, PendingWork, RequestTable};
use crate::socket_table::SocketTable;
use crate::timers::Timers;
use crate::worker::{ResponseClass, WorkerRef};

/// The isolate's data slot for the running context's state.
const SLOT: u32 = 0;

pub(crate) struct ContextState {
    pub(crate) app: Arc<App>,
    pub(crate) worker: WorkerRef,
    pub(crate) requests: RefCell<RequestTable>,
    pub(crate) timers: RefCell<Timers>,
    pub(crate) bodies: RefCell<BodyTable>,
    pub(crate) modules: RefCell<ModuleMap>,
    pub(crate) rejections: RefCell<Rejections>,
    console: Console,
    pub(crate) decoders: RefCell<HashMap<u64, crate::ops::Decoder, ById>>,
    pub(crate) fetches: RefCell<HashMap<u64, crate::ops::FetchState, ById>>,
    pub(crate) sockets: RefCell<SocketTable>,
    pub(crate) net: RefCell<NetTable>,
    ops: RefCell<HashMap<u64, PendingOp, ById>>,
    /// The request whose turn runs.
    running: Cell<RequestId>,
    /// Requests that made progress in another one's turn, by a promise that the two share.
    others: RefCell<Vec<RequestId>>,
    /// Arrival times of the requests that were replied to in this turn. Their durations are known when the turn
    /// is over.
    answered: RefCell<Vec<Instant>>,
    /// The reply of a request whose caller is on the stack ([`Reply::Inline`](crate::request_table::Reply)).
    inline_reply: Cell<Option<Result<Response, Failure>>>,
    next: Cell<u64>,
    entry_points: OnceCell<JsEntryPoints>,
    started: Instant,
    origin: SystemTime,
    poisoned: Cell<bool>,
}

/// A promise that JavaScript waits for.
struct PendingOp {
    request: RequestId,
    ends: OpEnd,
    resolver: v8::Global<v8::PromiseResolver>,
    task: tokio::task::AbortHandle,
}

/// When an op is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpEnd {
    /// With its request.
    Request,
    /// With the worker. Its result is for the request that used the socket last.
    Worker { socket: Option<u64> },
}

/// The result of an op's task.
#[derive(Debug)]
pub(crate) enum OpValue {
    Bool(bool),
    Text(Bytes),
    Bytes(Bytes),
    /// A piece of a body, and the rest, which goes back to the table.
    Chunk {
        body: BodyId,
        rest: Body,
        chunk: Option<Bytes>,
    },
    FetchHead(Box<crate::ops::Head>),
    Socket(Box<crate::ops::Opened>),
    Crypto(Box<crate::ops::Computed>),
    Net(Box<crate::ops::NetOutcome>),
}

/// Whether JavaScript still has state of a cancelled request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelOutcome {
    Unknown,
    KnownToJs,
}

pub(crate) type OpOutcome = Result<OpValue, OpError>;

impl ContextState {
    pub(crate) fn new(app: Arc<App>, worker: WorkerRef) -> Rc<Self> {
        let console = Console::new(app.clone());
        Rc::new(Self {
            app,
            worker,
            requests: RefCell::default(),
            timers: RefCell::default(),
            bodies: RefCell::default(),
            modules: RefCell::default(),
            rejections: RefCell::default(),
            console,
            decoders: RefCell::default(),
            fetches: RefCell::default(),
            sockets: RefCell::default(),
            net: RefCell::default(),
            ops: RefCell::default(),
            running: Cell::new(RequestId::OUTSIDE),
            others: RefCell::default(),
            answered: RefCell::default(),
            inline_reply: Cell::new(None),
            next: Cell::new(1),
            entry_points: OnceCell::new(),
            started: Instant::now(),
            origin: SystemTime::now(),
            poisoned: Cell::new(false),
        })
    }

    /// The state of the running context.
    pub(crate) fn current(isolate: &v8::Isolate) -> Rc<Self> {
        Self::try_current(isolate).expect("natives are called from a turn, and a turn sets the state")
    }

    /// Whether a turn is running.
    pub(crate) fn is_in_turn(isolate: &v8::Isolate) -> bool {
        !isolate.get_data(SLOT).is_null()
    }

    pub(crate) fn try_current(isolate: &v8::Isolate) -> Option<Rc<Self>> {
        let pointer = isolate.get_data(SLOT).cast::<ContextState>().cast_const();
        if pointer.is_null() {
            return None;
        }
        // SAFETY: `enter` put the pointer there from an Rc that outlives the turn, on this thread, and `leave` removes it.
        unsafe {
            Rc::increment_strong_count(pointer);
            Some(Rc::from_raw(pointer))
        }
    }

    /// Makes this the running context's state until `leave`.
    pub(crate) fn enter(self: &Rc<Self>, isolate: &mut v8::Isolate) {
        isolate.set_data(SLOT, Rc::as_ptr(self).cast_mut().cast());
    }

    pub(crate) fn leave(isolate: &mut v8::Isolate) {
        isolate.set_data(SLOT, std::ptr::null_mut());
    }

    pub(crate) fn entry_points(&self) -> &JsEntryPoints {
        self.entry_points.get().expect("the entry points are set when the context is made")
    }

    pub(crate) fn set_entry_points(&self, entry_points: JsEntryPoints) {
        assert!(self.entry_points.set(entry_points).is_ok(), "the entry points are set once");
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

    /// A native panicked: the worker must end.
    pub(crate) fn poison(&self) {
        self.poisoned.set(true);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.get()
    }

    /// Writes to the app's log, within its rate.
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

    /// A request made progress. If the turn is another request's, `after_other_turns` checks it when the turn is
    /// over.
    pub(crate) fn record_progress(&self, request: RequestId) {
        if request != self.running.get() {
            self.others.borrow_mut().push(request);
        }
    }

    /// A request that came at `arrived` has its reply.
    pub(crate) fn record_response(&self, arrived: Option<Instant>, class: ResponseClass) {
        if let Some(arrived) = arrived {
            self.worker.counters().record_response(class);
            self.answered.borrow_mut().push(arrived);
        }
    }

    /// The turn of the replies ended at `now`.
    pub(crate) fn record_durations(&self, now: Instant) {
        let mut answered = self.answered.borrow_mut();
        if answered.is_empty() {
            return;
        }
        for arrived in answered.drain(..) {
            self.worker.counters().record_duration(now.saturating_duration_since(arrived));
        }
    }

    /// Keeps a reply for the caller on the stack.
    pub(crate) fn set_inline_reply(&self, result: Result<Response, Failure>) {
        self.inline_reply.set(Some(result));
    }

    pub(crate) fn take_inline_reply(&self) -> Option<Result<Response, Failure>> {
        self.inline_reply.take()
    }

    /// One of the requests that made progress in another one's turn.
    pub(crate) fn take_other(&self) -> Option<RequestId> {
        self.others.borrow_mut().pop()
    }

    // ---- asynchronous ops

    /// Runs `work` outside of the isolate for `request` and returns the promise of its result.
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
            // The request has ended: the promise stays pending.
            return Ok((op, promise));
        }
        let task = self.worker.spawn_op(op, work);
        let resolver = v8::Global::new(scope, resolver);
        self.ops.borrow_mut().insert(op, PendingOp { request, ends: OpEnd::Request, resolver, task });
        self.requests.borrow_mut().add_op(request, op);
        Ok((op, promise))
    }

    /// The same for work that outlives the request. Its result is handled under the limits of the request, or of the one that used
    /// the socket last, where that has not ended, and else in a turn of no request.
    pub(crate) fn start_worker_op<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        request: RequestId,
        socket: Option<u64>,
        work: impl Future<Output = OpOutcome> + Send + 'static,
    ) -> Result<v8::Local<'s, v8::Promise>, OpError> {
        let resolver = v8::PromiseResolver::new(scope).ok_or(OpError::Pending)?;
        let promise = resolver.get_promise(scope);
        let op = self.next_id();
        let task = self.worker.spawn_op(op, work);
        let resolver = v8::Global::new(scope, resolver);
        self.ops.borrow_mut().insert(op, PendingOp { request, ends: OpEnd::Worker { socket }, resolver, task });
        Ok(promise)
    }

    /// V8 handles that are the runtime's and not the app's.
    pub(crate) fn own_handles(&self) -> usize {
        self.ops.borrow().len() + self.modules.borrow().handles()
    }

    /// The request that waits for an op; none when it was cancelled.
    pub(crate) fn op_request(&self, op: u64) -> Option<RequestId> {
        let ops = self.ops.borrow();
        let PendingOp { request, ends, .. } = ops.get(&op)?;
        let OpEnd::Worker { socket } = ends else { return Some(*request) };
        let user = socket.and_then(|socket| self.net.borrow().user(socket)).unwrap_or(*request);
        Some(if self.requests.borrow().contains(user) { user } else { RequestId::OUTSIDE })
    }

    /// Settles an op's promise. The outcome of a cancelled op is dropped.
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

    /// No more of a request's body will come: a pending read fails.
    pub(crate) fn fail_read(&self, scope: &mut v8::PinScope<'_, '_>, request: RequestId, message: &str) {
        let Some(op) = self.requests.borrow_mut().get(request).and_then(|entry| entry.reading.take()) else { return };
        if let Some(pending) = self.ops.borrow().get(&op) {
            pending.task.abort();
        }
        self.settle_op(scope, op, Err(OpError::Dom { name: "AbortError", message: message.to_owned() }));
    }

    /// An op's result as a JavaScript value.
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
            OpValue::Crypto(computed) => computed.into_value(scope, self, request)?,
            OpValue::Net(outcome) => outcome.into_value(scope, self, request)?,
        })
    }

    /// Cancels the pending work of a request: ops, timers, bodies. No late result reaches JavaScript after this.
    pub(crate) fn cancel(&self, pending: PendingWork) -> CancelOutcome {
        let mut ops = self.ops.borrow_mut();
        for op in pending.ops {
            if let Some(pending) = ops.remove(&op) {
                pending.task.abort();
            }
        }
        let mut timers = self.timers.borrow_mut();
        let outcome = if pending.timers.is_empty()
            && pending.bodies.is_empty()
            && pending.sockets.is_empty()
            && !pending.streamed
        {
            CancelOutcome::Unknown
        } else {
            CancelOutcome::KnownToJs
        };
        for timer in pending.timers {
            timers.cancel(timer);
        }
        let mut bodies = self.bodies.borrow_mut();
        for body in pending.bodies {
            bodies.remove(body);
        }
        let mut fetches = self.fetches.borrow_mut();
        for fetch in pending.fetches {
            fetches.remove(&fetch);
        }
        let mut sockets = self.sockets.borrow_mut();
        for socket in pending.sockets {
            sockets.remove(socket);
        }
        outcome
    }

    pub(crate) fn cancel_op(&self, op: u64) {
        if let Some(pending) = self.ops.borrow_mut().remove(&op) {
            pending.task.abort();
        }
    }
}
