//! The requests that a context is handling, and the pending work of each.
//!
//! Phases of a request: `Handling -> Streaming -> Draining -> ended`, where a response without a stream skips the second
//! and one without pending `waitUntil` promises the third. A request is in the table until it has ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::{Failure, Headers, LimitKind, Limits, Method, RequestId, Response};
use hearth_crash::breadcrumbs::TurnPhase;
use tokio::sync::{Semaphore, oneshot};

use crate::body_table::BodyId;
use crate::socket_table::SocketId;
use crate::watchdog::{Allowance, Budget, Deadline};

pub(crate) struct RequestTable {
    table: HashMap<RequestId, Box<RequestState>, ById>,
    /// The request that came last, if it has not ended. Most end before the next one comes and are never in
    /// the table.
    newest: Option<(RequestId, Box<RequestState>)>,
    /// Boxes for the next requests: a state is large, most requests end within one turn, and moving it in and
    /// out of the table costs more than everything else here.
    #[allow(clippy::vec_box)]
    recycled: Vec<Box<RequestState>>,
}

/// States that are kept for the next requests.
const MAX_RECYCLED: usize = 32;

pub(crate) struct RequestState {
    pub(crate) head: Option<Head>,
    pub(crate) body: Option<BodyId>,
    /// The op that waits for more of `body`.
    pub(crate) reading: Option<u64>,
    pub(crate) reply: Reply,
    /// None for events that are not counted as requests.
    pub(crate) arrived: Option<Instant>,
    pub(crate) phase: Phase,
    /// Promises given to `waitUntil` that are pending.
    pub(crate) waiting: u32,
    pub(crate) subrequests: u32,
    /// Limits the outgoing requests that are open at once.
    pub(crate) gate: Option<Arc<Semaphore>>,
    /// Ends the draining phase at its time limit.
    pub(crate) alarm: Option<tokio::task::AbortHandle>,
    /// Set when the response became a WebSocket.
    pub(crate) socket: Option<ActiveSocket>,
    /// It has listened to a WebSocket: what its listeners throw does not retire the worker.
    pub(crate) has_listener: bool,
    cpu: Duration,
    wall: Option<Instant>,
    pub(crate) pending: PendingWork,
}

/// A WebSocket between a client and the app.
pub(crate) struct ActiveSocket {
    /// The app's end, until the app was told of the end. None where the app passed on a socket that it got
    /// from elsewhere.
    pub(crate) app: Option<SocketId>,
    /// The connection to the client is open.
    pub(crate) connected: bool,
}

/// The request's head, which the app reads on demand.
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Headers,
}

/// Where the reply goes.
pub(crate) enum Reply {
    Fetch(oneshot::Sender<Result<Response, Failure>>),
    /// To the caller on the stack, which takes it when the turn is over (`ContextState::take_inline_reply`).
    Inline,
    Event(oneshot::Sender<Result<crate::worker::EventResult, Failure>>),
    /// The reply was sent, or there is no receiver.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Module evaluation.
    Loading,
    /// Code that module evaluation left running.
    Outside,
    Handling,
    Streaming,
    Draining,
}

impl Reply {
    /// Whether a receiver still waits.
    pub(crate) fn is_expected(&self) -> bool {
        !matches!(self, Self::Done)
    }
}

impl Phase {
    /// The phase in the breadcrumbs.
    pub(crate) fn turn_phase(self) -> TurnPhase {
        match self {
            Self::Loading => TurnPhase::Loading,
            Self::Outside => TurnPhase::OutsideRequests,
            Self::Handling => TurnPhase::Handling,
            Self::Streaming => TurnPhase::Streaming,
            Self::Draining => TurnPhase::Draining,
        }
    }
}

/// What a request has under way, to be cancelled when it ends.
#[derive(Default)]
pub(crate) struct PendingWork {
    pub(crate) ops: Vec<u64>,
    pub(crate) timers: Vec<u64>,
    pub(crate) bodies: Vec<BodyId>,
    pub(crate) fetches: Vec<u64>,
    pub(crate) sockets: Vec<SocketId>,
    /// Its response was a stream.
    pub(crate) streamed: bool,
}

/// For tables by Hearth's ids, which count up: their low bits are a good hash.
pub(crate) type ById = std::hash::BuildHasherDefault<IdHasher>;

#[derive(Default)]
pub(crate) struct IdHasher(u64);

// === impl Requests ===

impl Default for RequestTable {
    fn default() -> Self {
        let mut table = HashMap::default();
        table.insert(RequestId::OUTSIDE, Box::new(RequestState::new(Reply::Done, Phase::Outside, None)));
        Self { table, newest: None, recycled: Vec::new() }
    }
}

impl RequestTable {
    /// Adds a request that is being handled.
    pub(crate) fn begin(&mut self, id: RequestId, reply: Reply, wall: Option<Instant>) -> &mut RequestState {
        let mut state =
            self.recycled.pop().unwrap_or_else(|| Box::new(RequestState::new(Reply::Done, Phase::Handling, None)));
        state.reply = reply;
        state.wall = wall;
        if let Some((earlier, state)) = self.newest.take() {
            self.table.insert(earlier, state);
        }
        &mut self.newest.insert((id, state)).1
    }

    pub(crate) fn get(&mut self, id: RequestId) -> Option<&mut RequestState> {
        match &mut self.newest {
            Some((newest, state)) if *newest == id => Some(state),
            _ => self.table.get_mut(&id).map(|state| &mut **state),
        }
    }

    fn find(&self, id: RequestId) -> Option<&RequestState> {
        match &self.newest {
            Some((newest, state)) if *newest == id => Some(state),
            _ => self.table.get(&id).map(|state| &**state),
        }
    }

    pub(crate) fn contains(&self, id: RequestId) -> bool {
        self.find(id).is_some()
    }

    /// The text of its `x-request-id`.
    pub(crate) fn text_id(&self, id: RequestId) -> Option<&str> {
        let value = self.find(id)?.head.as_ref()?.headers.get("x-request-id")?;
        std::str::from_utf8(value).ok()
    }

    /// Takes out a request that ends, with its pending work.
    pub(crate) fn remove(&mut self, id: RequestId) -> Option<Box<RequestState>> {
        let mut state = match self.newest.take_if(|(newest, _)| *newest == id) {
            Some((_, state)) => state,
            None => self.table.remove(&id)?,
        };
        if let Some(alarm) = state.alarm.take() {
            alarm.abort();
        }
        Some(state)
    }

    /// Keeps a removed state for a later request.
    pub(crate) fn recycle(&mut self, mut state: Box<RequestState>) {
        if self.recycled.len() < MAX_RECYCLED {
            state.clear();
            self.recycled.push(state);
        }
    }

    /// The requests that are being handled, without `RequestId::OUTSIDE`.
    pub(crate) fn ids(&self) -> Vec<RequestId> {
        let newest = self.newest.iter().map(|(id, _)| *id);
        self.table.keys().copied().filter(|id| *id != RequestId::OUTSIDE).chain(newest).collect()
    }

    pub(crate) fn active(&self) -> usize {
        self.table.len() - 1 + usize::from(self.newest.is_some())
    }

    pub(crate) fn add_op(&mut self, id: RequestId, op: u64) {
        if let Some(state) = self.get(id) {
            state.pending.ops.push(op);
        }
    }

    pub(crate) fn add_timer(&mut self, id: RequestId, timer: u64) {
        if let Some(state) = self.get(id) {
            state.pending.timers.push(timer);
        }
    }

    pub(crate) fn add_body(&mut self, id: RequestId, body: BodyId) {
        if let Some(state) = self.get(id) {
            state.pending.bodies.push(body);
        }
    }

    /// All of a body was read: it needs no cancelling.
    pub(crate) fn remove_body(&mut self, id: RequestId, body: BodyId) {
        if let Some(state) = self.get(id) {
            state.pending.bodies.retain(|one| *one != body);
        }
    }

    /// `op` waits for more of `body`, which may be the request's own.
    pub(crate) fn set_read(&mut self, id: RequestId, body: BodyId, op: u64) {
        if let Some(state) = self.get(id).filter(|state| state.body == Some(body)) {
            state.reading = Some(op);
        }
    }

    pub(crate) fn add_fetch(&mut self, id: RequestId, fetch: u64) {
        if let Some(state) = self.get(id) {
            state.pending.fetches.push(fetch);
        }
    }

    pub(crate) fn add_socket(&mut self, id: RequestId, socket: SocketId) {
        if let Some(state) = self.get(id) {
            state.pending.sockets.push(socket);
        }
    }

    /// Has no effect outside of a request: what is thrown there is an uncaught error of the worker.
    pub(crate) fn set_listener(&mut self, id: RequestId) {
        match self.get(id) {
            Some(state) if id != RequestId::OUTSIDE => state.has_listener = true,
            _ => {}
        }
    }

    /// A socket that has ended or was passed on: it no longer ends with the request.
    pub(crate) fn forget_socket(&mut self, id: RequestId, socket: SocketId) {
        if let Some(state) = self.get(id) {
            state.pending.sockets.retain(|one| *one != socket);
        }
    }

    /// The app's ends of sockets that clients are connected to.
    pub(crate) fn served_sockets(&self) -> Vec<SocketId> {
        let newest = self.newest.iter().map(|(_, state)| state);
        self.table.values().chain(newest).filter_map(|state| state.socket.as_ref()?.app).collect()
    }
}

// === impl RequestState ===

impl RequestState {
    pub(crate) fn new(reply: Reply, phase: Phase, wall: Option<Instant>) -> Self {
        Self {
            head: None,
            body: None,
            reading: None,
            reply,
            arrived: None,
            phase,
            waiting: 0,
            subrequests: 0,
            gate: None,
            alarm: None,
            socket: None,
            has_listener: false,
            cpu: Duration::ZERO,
            wall,
            pending: PendingWork::default(),
        }
    }

    /// Resets everything but what `begin` sets. Nothing of the old request stays.
    fn clear(&mut self) {
        let Self {
            head,
            body,
            reading,
            reply,
            arrived,
            phase,
            waiting,
            subrequests,
            gate,
            alarm,
            socket,
            has_listener,
            cpu,
            wall,
            pending,
        } = self;
        *reply = Reply::Done;
        *arrived = None;
        *head = None;
        *body = None;
        *reading = None;
        *phase = Phase::Handling;
        *waiting = 0;
        *subrequests = 0;
        *gate = None;
        *alarm = None;
        *socket = None;
        *has_listener = false;
        *cpu = Duration::ZERO;
        *wall = None;
        if !pending.is_empty() {
            *pending = PendingWork::default();
        }
    }

    /// The request's own body.
    pub(crate) fn set_body(&mut self, body: BodyId) {
        self.body = Some(body);
        self.pending.bodies.push(body);
    }

    /// A body that was passed on: it no longer ends with the request.
    pub(crate) fn forget_body(&mut self, body: BodyId) {
        self.pending.bodies.retain(|id| *id != body);
        // The body may be complete; JavaScript treats it as a stream that goes on.
        self.pending.streamed = true;
    }

    /// The budget of the next turn.
    pub(crate) fn budget(&self, limits: &Limits) -> Budget {
        let cpu = |kind, limit: Duration, used| (!limit.is_zero()).then_some(Allowance { kind, limit, used });
        match self.phase {
            Phase::Loading => Budget {
                cpu: cpu(LimitKind::ModuleCpu, limits.module_cpu, self.cpu),
                wall: self.wall.map(|at| Deadline { kind: LimitKind::ModuleWall, limit: limits.module_wall, at }),
            },
            Phase::Outside => Budget { cpu: cpu(LimitKind::ModuleCpu, limits.module_cpu, Duration::ZERO), wall: None },
            Phase::Handling => Budget {
                cpu: cpu(LimitKind::Cpu, limits.cpu, self.cpu),
                wall: self.wall.map(|at| Deadline { kind: LimitKind::Wall, limit: limits.wall, at }),
            },
            // Each chunk has the whole budget.
            Phase::Streaming => Budget { cpu: cpu(LimitKind::Cpu, limits.cpu, Duration::ZERO), wall: None },
            Phase::Draining => Budget {
                cpu: cpu(LimitKind::WaitUntilCpu, limits.wait_until_cpu, self.cpu),
                wall: self.wall.map(|at| Deadline {
                    kind: LimitKind::WaitUntilWall,
                    limit: limits.wait_until_wall,
                    at,
                }),
            },
        }
    }

    pub(crate) fn charge(&mut self, cpu: Duration) {
        self.cpu += cpu;
    }

    /// Enters a phase with fresh budgets.
    pub(crate) fn enter(&mut self, phase: Phase, wall: Option<Instant>) {
        self.pending.streamed |= phase == Phase::Streaming;
        self.phase = phase;
        self.cpu = Duration::ZERO;
        self.wall = wall;
    }
}

// === impl Left ===

impl PendingWork {
    /// There is nothing to cancel, and JavaScript knows nothing of the request.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { ops, timers, bodies, fetches, sockets, streamed } = self;
        let cancelled = ops.is_empty() && timers.is_empty() && bodies.is_empty();
        cancelled && fetches.is_empty() && sockets.is_empty() && !streamed
    }
}

// === impl IdHasher ===

impl std::hash::Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, id: u64) {
        // The table takes its control bits from the top of the hash.
        self.0 = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
