//! The requests that a context is handling, and what each has under way.
//!
//! Phases of a request: `Handling -> Streaming -> Draining -> ended`, where a response without a stream skips the second
//! and one without pending `waitUntil` promises the third. A request is in the table until it has ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::{Failure, Headers, LimitKind, Limits, Method, RequestId, Response};
use hearth_jail::breadcrumbs::TurnPhase;
use tokio::sync::{Semaphore, oneshot};

use crate::bodies::BodyId;
use crate::sockets::SocketId;
use crate::watchdog::{Allowance, Budget, Deadline};

pub(crate) struct Requests {
    table: HashMap<RequestId, Box<RequestState>, ById>,
    /// The one that came last, if it is not over: most are before the next one comes, and never see the table.
    newest: Option<(RequestId, Box<RequestState>)>,
    /// For the next requests: a state is large, most requests are over within one turn, and moving it in and out of the table
    /// costs more than all else here.
    #[allow(clippy::vec_box)]
    used: Vec<Box<RequestState>>,
}

/// States that are kept for later.
const KEPT: usize = 32;

pub(crate) struct RequestState {
    pub(crate) head: Option<Head>,
    pub(crate) body: Option<BodyId>,
    /// The op that waits for more of `body`.
    pub(crate) reading: Option<u64>,
    pub(crate) reply: Reply,
    /// When it came; none for events that are not requests.
    pub(crate) arrived: Option<Instant>,
    pub(crate) phase: Phase,
    /// Promises given to `waitUntil` that are pending.
    pub(crate) waiting: u32,
    pub(crate) subrequests: u32,
    /// Lets only so many outgoing requests be open at once.
    pub(crate) gate: Option<Arc<Semaphore>>,
    /// Ends the draining phase when its time is up.
    pub(crate) alarm: Option<tokio::task::AbortHandle>,
    /// Where its response became a WebSocket.
    pub(crate) serving: Option<Serving>,
    /// It has listened to a WebSocket: what its listeners throw is their own affair.
    pub(crate) listens: bool,
    cpu: Duration,
    wall: Option<Instant>,
    pub(crate) left: Left,
}

/// A WebSocket between a client and the app.
pub(crate) struct Serving {
    /// The app's end, until the app has heard the last of it. None where the app only passed on what it got from elsewhere.
    pub(crate) app: Option<SocketId>,
    /// The client's end is in somebody's hands.
    pub(crate) connected: bool,
}

/// The request as the app may ask for it.
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Headers,
}

/// Who waits for the outcome.
pub(crate) enum Reply {
    Fetch(oneshot::Sender<Result<Response, Failure>>),
    /// The caller is on the stack and takes the answer when the turn is over.
    Kept(Option<Result<Response, Failure>>),
    Event(oneshot::Sender<Result<crate::worker::EventResult, Failure>>),
    /// Already answered, or nobody to answer.
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Module evaluation.
    Loading,
    /// What module evaluation left running.
    Outside,
    Handling,
    Streaming,
    Draining,
}

impl Phase {
    /// What the breadcrumbs call it.
    pub(crate) fn doing(self) -> TurnPhase {
        match self {
            Self::Loading => TurnPhase::Loading,
            Self::Outside => TurnPhase::OutsideRequests,
            Self::Handling => TurnPhase::Handling,
            Self::Streaming => TurnPhase::Streaming,
            Self::Draining => TurnPhase::Draining,
        }
    }
}

/// What a request has under way.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) ops: Vec<u64>,
    pub(crate) timers: Vec<u64>,
    pub(crate) bodies: Vec<BodyId>,
    pub(crate) fetches: Vec<u64>,
    pub(crate) sockets: Vec<SocketId>,
    /// Its response was a stream.
    pub(crate) streamed: bool,
}

/// For tables by ids of ours. They count up: their low bits are as good a hash as any.
pub(crate) type ById = std::hash::BuildHasherDefault<IdHasher>;

#[derive(Default)]
pub(crate) struct IdHasher(u64);

// === impl Requests ===

impl Default for Requests {
    fn default() -> Self {
        let mut table = HashMap::default();
        table.insert(RequestId::OUTSIDE, Box::new(RequestState::new(Reply::Done, Phase::Outside, None)));
        Self { table, newest: None, used: Vec::new() }
    }
}

impl Requests {
    /// A new request is being handled.
    pub(crate) fn begin(&mut self, id: RequestId, reply: Reply, wall: Option<Instant>) -> &mut RequestState {
        let mut state =
            self.used.pop().unwrap_or_else(|| Box::new(RequestState::new(Reply::Done, Phase::Handling, None)));
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

    fn look(&self, id: RequestId) -> Option<&RequestState> {
        match &self.newest {
            Some((newest, state)) if *newest == id => Some(state),
            _ => self.table.get(&id).map(|state| &**state),
        }
    }

    pub(crate) fn contains(&self, id: RequestId) -> bool {
        self.look(id).is_some()
    }

    /// The text of its `x-request-id`.
    pub(crate) fn text_id(&self, id: RequestId) -> Option<&str> {
        let value = self.look(id)?.head.as_ref()?.headers.get("x-request-id")?;
        std::str::from_utf8(value).ok()
    }

    /// Takes a request out that is over, with what it leaves behind.
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

    /// Keeps a state that was removed for a later request.
    pub(crate) fn recycle(&mut self, mut state: Box<RequestState>) {
        if self.used.len() < KEPT {
            state.clear();
            self.used.push(state);
        }
    }

    /// Those that are being handled, without the one that stands for none.
    pub(crate) fn ids(&self) -> Vec<RequestId> {
        let newest = self.newest.iter().map(|(id, _)| *id);
        self.table.keys().copied().filter(|id| *id != RequestId::OUTSIDE).chain(newest).collect()
    }

    pub(crate) fn active(&self) -> usize {
        self.table.len() - 1 + usize::from(self.newest.is_some())
    }

    pub(crate) fn note_op(&mut self, id: RequestId, op: u64) {
        if let Some(state) = self.get(id) {
            state.left.ops.push(op);
        }
    }

    pub(crate) fn note_timer(&mut self, id: RequestId, timer: u64) {
        if let Some(state) = self.get(id) {
            state.left.timers.push(timer);
        }
    }

    pub(crate) fn note_body(&mut self, id: RequestId, body: BodyId) {
        if let Some(state) = self.get(id) {
            state.left.bodies.push(body);
        }
    }

    /// All of a body has been read: it is nothing that the request leaves behind.
    pub(crate) fn forget_read(&mut self, id: RequestId, body: BodyId) {
        if let Some(state) = self.get(id) {
            state.left.bodies.retain(|one| *one != body);
        }
    }

    /// `op` waits for more of `body`, which may be the request's own.
    pub(crate) fn note_read(&mut self, id: RequestId, body: BodyId, op: u64) {
        if let Some(state) = self.get(id).filter(|state| state.body == Some(body)) {
            state.reading = Some(op);
        }
    }

    pub(crate) fn note_fetch(&mut self, id: RequestId, fetch: u64) {
        if let Some(state) = self.get(id) {
            state.left.fetches.push(fetch);
        }
    }

    pub(crate) fn note_socket(&mut self, id: RequestId, socket: SocketId) {
        if let Some(state) = self.get(id) {
            state.left.sockets.push(socket);
        }
    }

    /// Not for those outside of any request: there it is the worker's own code that throws.
    pub(crate) fn note_listener(&mut self, id: RequestId) {
        match self.get(id) {
            Some(state) if id != RequestId::OUTSIDE => state.listens = true,
            _ => {}
        }
    }

    /// A socket that is over, or was handed on: it no longer ends with the request.
    pub(crate) fn forget_socket(&mut self, id: RequestId, socket: SocketId) {
        if let Some(state) = self.get(id) {
            state.left.sockets.retain(|one| *one != socket);
        }
    }

    /// The app's ends of sockets that clients are connected to.
    pub(crate) fn served_sockets(&self) -> Vec<SocketId> {
        let newest = self.newest.iter().map(|(_, state)| state);
        self.table.values().chain(newest).filter_map(|state| state.serving.as_ref()?.app).collect()
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
            serving: None,
            listens: false,
            cpu: Duration::ZERO,
            wall,
            left: Left::default(),
        }
    }

    /// As new, but for what `begin` sets. Nothing of the old request stays.
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
            serving,
            listens,
            cpu,
            wall,
            left,
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
        *serving = None;
        *listens = false;
        *cpu = Duration::ZERO;
        *wall = None;
        if !left.is_nothing() {
            *left = Left::default();
        }
    }

    /// The request's own body.
    pub(crate) fn set_body(&mut self, body: BodyId) {
        self.body = Some(body);
        self.left.bodies.push(body);
    }

    /// A body that was handed on: it no longer ends with the request.
    pub(crate) fn forget_body(&mut self, body: BodyId) {
        self.left.bodies.retain(|id| *id != body);
        // It may be all there, and no stream to anybody; JavaScript thinks of it as one that goes on.
        self.left.streamed = true;
    }

    /// What the next turn may use.
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
        self.left.streamed |= phase == Phase::Streaming;
        self.phase = phase;
        self.cpu = Duration::ZERO;
        self.wall = wall;
    }
}

// === impl Left ===

impl Left {
    /// There is nothing to cancel, and nothing that JavaScript still remembers.
    pub(crate) fn is_nothing(&self) -> bool {
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
