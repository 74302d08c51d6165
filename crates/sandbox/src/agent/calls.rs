//! Who waits for what the agent says. One lock, under which answers are handed to their calls; handing over never waits.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_agent::{Answer, CallId};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::error::SandboxError;

/// Why an agent can no longer be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// By us: the sandbox is being destroyed.
    Destroyed,
    Lost(String),
    /// Another program goes on with it.
    Moved,
}

/// Where a call's answers go. Must not wait.
pub(crate) trait Receive: Send + 'static {
    fn receive(&mut self, answer: Answer);

    /// No more answers come.
    fn lost(&mut self, _reason: &Closed) {}
}

pub(crate) struct Calls {
    state: Mutex<State>,
    /// It closed.
    changed: Notify,
    /// The heartbeat was answered, or it closed.
    beaten: Notify,
}

struct State {
    next: u64,
    open: HashMap<CallId, Waiting>,
    heartbeat: Option<(CallId, Instant)>,
    closed: Option<Closed>,
}

struct Waiting {
    sink: Box<dyn Receive>,
    /// Bytes of output that may still come. The agent keeps to the limit by itself; one that does not is not ours any more.
    budget: u64,
}

pub(crate) enum Heartbeat {
    /// Send a ping with this id.
    Ask(CallId),
    /// One is on its way since then.
    Waiting(Instant),
}

/// What the agent said makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overrun;

impl Calls {
    pub(super) fn new() -> Self {
        let state = State { next: 1, open: HashMap::new(), heartbeat: None, closed: None };
        Self { state: Mutex::new(state), changed: Notify::new(), beaten: Notify::new() }
    }

    /// Of a stream that goes on: ids are given out from `next`, and some calls are under way.
    pub(super) fn resume(next: u64, calls: Vec<(CallId, Box<dyn Receive>)>) -> Self {
        let open = calls.into_iter().map(|(id, sink)| (id, Waiting { sink, budget: u64::MAX })).collect();
        let state = State { next, open, heartbeat: None, closed: None };
        Self { state: Mutex::new(state), changed: Notify::new(), beaten: Notify::new() }
    }

    /// The id that is given out next.
    pub(super) fn next(&self) -> u64 {
        self.lock().next
    }

    /// All that are under way but for these.
    pub(super) fn others(&self, kept: &[CallId]) -> Vec<CallId> {
        self.lock().open.keys().filter(|id| !kept.contains(id)).copied().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new call.
    pub(super) fn open(&self, sink: Box<dyn Receive>, budget: u64) -> Result<CallId, SandboxError> {
        let mut state = self.lock();
        if let Some(reason) = &state.closed {
            return Err(reason.clone().into());
        }
        let id = state.take_id();
        state.open.insert(id, Waiting { sink, budget });
        Ok(id)
    }

    /// Nobody waits for it any more.
    pub(super) fn forget(&self, id: CallId) {
        let waiting = self.lock().open.remove(&id);
        // Its owner may be told things when it goes; not under the lock.
        drop(waiting);
    }

    /// Hands an answer to who waits for it, if somebody does.
    pub(super) fn deliver(&self, answer: Answer) -> Result<(), Overrun> {
        let Some(id) = answer.id() else { return Err(Overrun) };
        let mut state = self.lock();
        if state.heartbeat.is_some_and(|(beat, _)| beat == id) {
            if !matches!(answer, Answer::Pong { .. }) {
                return Err(Overrun);
            }
            state.heartbeat = None;
            drop(state);
            self.beaten.notify_waiters();
            return Ok(());
        }
        let Some(waiting) = state.open.get_mut(&id) else { return Ok(()) };
        if let Answer::Output { bytes, .. } = &answer {
            waiting.budget = waiting.budget.checked_sub(bytes.0.len() as u64).ok_or(Overrun)?;
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

    /// Resolves when no heartbeat waits for its answer.
    pub(super) async fn until_answered(&self) -> Result<(), Closed> {
        loop {
            let mut beaten = std::pin::pin!(self.beaten.notified());
            // Listen first, look then: it may be answered in between.
            beaten.as_mut().enable();
            if let Some(reason) = self.closed() {
                return Err(reason);
            }
            if self.lock().heartbeat.is_none() {
                return Ok(());
            }
            beaten.await;
        }
    }

    /// The first reason counts.
    pub(super) fn close(&self, reason: Closed) {
        let mut state = self.lock();
        let reason = state.closed.get_or_insert(reason).clone();
        let open = std::mem::take(&mut state.open);
        drop(state);
        for mut waiting in open.into_values() {
            waiting.sink.lost(&reason);
        }
        self.changed.notify_waiters();
        self.beaten.notify_waiters();
    }

    pub(super) fn closed(&self) -> Option<Closed> {
        self.lock().closed.clone()
    }

    /// Why a call got no answer.
    pub(super) fn reason(&self) -> Closed {
        self.closed().unwrap_or_else(|| Closed::Lost("the call was forgotten".to_owned()))
    }

    pub(super) async fn until_closed(&self) -> Closed {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Listen first, look then: it may close in between.
            changed.as_mut().enable();
            match self.closed() {
                Some(reason) => return reason,
                None => changed.await,
            }
        }
    }
}

impl State {
    fn take_id(&mut self) -> CallId {
        let id = CallId(self.next);
        self.next += 1;
        id
    }
}

/// Whether nothing follows this answer.
pub(super) fn is_last(answer: &Answer) -> bool {
    !matches!(
        answer,
        Answer::Output { .. } | Answer::Taken { .. } | Answer::Omitted { .. } | Answer::SessionLost { .. }
    )
}

impl Receive for mpsc::UnboundedSender<Answer> {
    fn receive(&mut self, answer: Answer) {
        // Who has just gone away needs no answer.
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
