//! Open calls and their receivers. Answers are delivered under one lock; delivering never waits.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_sandbox_agent::{AgentCallId, AgentReply};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::error::SandboxError;

/// Why the connection to an agent is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// The sandbox is being destroyed.
    Destroyed,
    Lost(String),
    /// The next program goes on with it.
    Moved,
}

/// Receives the answers of one call. Must not wait.
pub(crate) trait Receive: Send + 'static {
    fn receive(&mut self, answer: AgentReply);

    /// No more answers come.
    fn lost(&mut self, _reason: &Closed) {}
}

pub(crate) struct Calls {
    state: Mutex<State>,
    /// The connection closed.
    closing: Notify,
    /// The heartbeat was answered, or the connection closed.
    heartbeat_answered: Notify,
}

struct State {
    next: u64,
    open: HashMap<AgentCallId, PendingCall>,
    heartbeat: Option<(AgentCallId, Instant)>,
    closed: Option<Closed>,
}

struct PendingCall {
    sink: Box<dyn Receive>,
    /// Bytes of output that may still come. The agent keeps to the limit by itself; an agent that
    /// does not is compromised.
    budget: u64,
}

pub(crate) enum Heartbeat {
    /// Send a ping with this id.
    Ask(AgentCallId),
    /// One was sent at that time and is not answered.
    Waiting(Instant),
}

/// The agent broke the protocol.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProtocolViolation;

impl Calls {
    pub(super) fn new() -> Self {
        let state = State { next: 1, open: HashMap::new(), heartbeat: None, closed: None };
        Self { state: Mutex::new(state), closing: Notify::new(), heartbeat_answered: Notify::new() }
    }

    /// For the stream of the previous program: ids continue at `next`, and `calls` are under way.
    pub(super) fn import(next: u64, calls: Vec<(AgentCallId, Box<dyn Receive>)>) -> Self {
        let open = calls.into_iter().map(|(id, sink)| (id, PendingCall { sink, budget: u64::MAX })).collect();
        let state = State { next, open, heartbeat: None, closed: None };
        Self { state: Mutex::new(state), closing: Notify::new(), heartbeat_answered: Notify::new() }
    }

    /// The next call's id.
    pub(super) fn next(&self) -> u64 {
        self.lock().next
    }

    /// The open calls except these.
    pub(super) fn others(&self, except: &[AgentCallId]) -> Vec<AgentCallId> {
        self.lock().open.keys().filter(|id| !except.contains(id)).copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new call.
    pub(super) fn open(&self, sink: Box<dyn Receive>, budget: u64) -> Result<AgentCallId, SandboxError> {
        let mut state = self.lock();
        if let Some(reason) = &state.closed {
            return Err(reason.clone().into());
        }
        let id = state.take_id();
        state.open.insert(id, PendingCall { sink, budget });
        Ok(id)
    }

    /// Removes a call; its late answers are discarded.
    pub(super) fn remove(&self, id: AgentCallId) {
        let waiting = self.lock().open.remove(&id);
        // Dropping the receiver may call back; not under the lock.
        drop(waiting);
    }

    /// Delivers an answer to its call, if the call is still open.
    pub(super) fn deliver(&self, answer: AgentReply) -> Result<(), ProtocolViolation> {
        let Some(id) = answer.id() else { return Err(ProtocolViolation) };
        let mut state = self.lock();
        if state.heartbeat.is_some_and(|(beat, _)| beat == id) {
            if !matches!(answer, AgentReply::Pong { .. }) {
                return Err(ProtocolViolation);
            }
            state.heartbeat = None;
            drop(state);
            self.heartbeat_answered.notify_waiters();
            return Ok(());
        }
        let Some(waiting) = state.open.get_mut(&id) else { return Ok(()) };
        if let AgentReply::Output { bytes, .. } = &answer {
            waiting.budget = waiting.budget.checked_sub(bytes.0.len() as u64).ok_or(ProtocolViolation)?;
        }
        let last = is_last(&answer);
        waiting.sink.receive(answer);
        let ended = if last { state.open.remove(&id) } else { None };
        drop(state);
        drop(ended);
        Ok(())
    }

    pub(super) fn heartbeat(&self, now: Instant) -> Heartbeat {
        let mut state = self.lock();
        match state.heartbeat {
            Some((_, since)) => Heartbeat::Waiting(since),
            None => {
                let id = state.take_id();
                state.heartbeat = Some((id, now));
                Heartbeat::Ask(id)
            }
        }
    }

    /// Resolves when no heartbeat is unanswered.
    pub(super) async fn until_answered(&self) -> Result<(), Closed> {
        loop {
            let mut heartbeat_answered = std::pin::pin!(self.heartbeat_answered.notified());
            // Registered before the check: the event may come in between.
            heartbeat_answered.as_mut().enable();
            if let Some(reason) = self.closed() {
                return Err(reason);
            }
            if self.lock().heartbeat.is_none() {
                return Ok(());
            }
            heartbeat_answered.await;
        }
    }

    /// Closes the connection. The first reason is kept.
    pub(super) fn close(&self, reason: Closed) {
        let mut state = self.lock();
        let reason = state.closed.get_or_insert(reason).clone();
        let open = std::mem::take(&mut state.open);
        drop(state);
        for mut waiting in open.into_values() {
            waiting.sink.lost(&reason);
        }
        self.closing.notify_waiters();
        self.heartbeat_answered.notify_waiters();
    }

    pub(super) fn closed(&self) -> Option<Closed> {
        self.lock().closed.clone()
    }

    /// The reason to give to a call without an answer.
    pub(super) fn reason(&self) -> Closed {
        self.closed().unwrap_or_else(|| Closed::Lost("the call was removed".to_owned()))
    }

    pub(super) async fn until_closed(&self) -> Closed {
        loop {
            let mut changed = std::pin::pin!(self.closing.notified());
            // Registered before the check: the event may come in between.
            changed.as_mut().enable();
            match self.closed() {
                Some(reason) => return reason,
                None => changed.await,
            }
        }
    }
}

impl State {
    fn take_id(&mut self) -> AgentCallId {
        let id = AgentCallId(self.next);
        self.next += 1;
        id
    }
}

/// Whether nothing follows this answer.
pub(super) fn is_last(answer: &AgentReply) -> bool {
    !matches!(
        answer,
        AgentReply::Output { .. }
            | AgentReply::Taken { .. }
            | AgentReply::Omitted { .. }
            | AgentReply::SessionLost { .. }
    )
}

impl Receive for mpsc::UnboundedSender<AgentReply> {
    fn receive(&mut self, answer: AgentReply) {
        // The receiver may just have been dropped.
        let _unwanted = self.send(answer);
    }
}

impl From<Closed> for SandboxError {
    fn from(reason: Closed) -> Self {
        match reason {
            Closed::Destroyed => Self::Destroyed,
            Closed::Lost(reason) => Self::AgentLost { reason },
            Closed::Moved => Self::ShuttingDown,
        }
    }
}
