//! What is said on one stream of events, in order, and kept so that a client whose connection broke can go on where it was
//! (`Last-Event-ID`). A stream belongs to one request, or to the session's listener.
//!
//! ```text
//! Undecided: its reader waits for one answer     -> Events: it is written as events, and its end is kept
//!                                                -> Nobody: its reader went; nothing is kept
//! ```
//! Invariants: numbers of events only grow; there is one reader at a time, the newest, so that nothing is said twice; of what
//! nobody has read yet the oldest goes where there is no room, but never the answer, which is the last.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use rmcp::model::ServerJsonRpcMessage;

/// Events that are kept of one stream.
pub(super) const ROOM: usize = 64;

/// What a client calls an event: `STREAM-NUMBER`, which no other event of its session is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

pub(super) struct Track {
    pub(super) stream: u64,
    state: Mutex<State>,
}

struct State {
    form: Form,
    events: VecDeque<(u64, Arc<ServerJsonRpcMessage>)>,
    /// The number of the next event; the first is 1.
    next: u64,
    ended: bool,
    /// The newest reader.
    turn: u64,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Undecided,
    Events,
    Nobody,
}

/// Reads a stream from some event on.
pub(super) struct Reader {
    track: Arc<Track>,
    turn: u64,
    /// The number of the last event that was read.
    last: u64,
}

/// From where a stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    Now,
    After(u64),
}

// === impl Track ===

impl Track {
    /// For one request.
    pub(super) fn new(stream: u64) -> Arc<Self> {
        Self::with(stream, Form::Undecided, 1)
    }

    /// For what is said to no request: there is nothing else to be read on it than events.
    pub(super) fn of_events(stream: u64) -> Arc<Self> {
        Self::of_events_from(stream, 1)
    }

    /// The same, where the next event has this number: those before it are not kept.
    pub(super) fn of_events_from(stream: u64, next: u64) -> Arc<Self> {
        Self::with(stream, Form::Events, next)
    }

    fn with(stream: u64, form: Form, next: u64) -> Arc<Self> {
        let (events, waker) = (VecDeque::new(), None);
        Arc::new(Self { stream, state: Mutex::new(State { form, events, next, ended: false, turn: 0, waker }) })
    }

    /// The number of the next event.
    pub(super) fn next(&self) -> u64 {
        self.lock().next
    }

    /// Whoever read it before reads no more. `None` where there was no such event.
    pub(super) fn read(self: &Arc<Self>, from: Since) -> Option<Reader> {
        let mut state = self.lock();
        let last = match from {
            Since::Now => state.next - 1,
            Since::After(number) if number < state.next => number,
            Since::After(_) => return None,
        };
        state.turn += 1;
        let (turn, woken) = (state.turn, state.waker.take());
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        Some(Reader { track: self.clone(), turn, last })
    }

    pub(super) fn push(&self, message: ServerJsonRpcMessage) {
        let mut state = self.lock();
        if state.ended || state.form == Form::Nobody {
            return;
        }
        if state.events.len() == ROOM {
            state.events.pop_front();
        }
        let number = state.next;
        state.next += 1;
        state.events.push_back((number, Arc::new(message)));
        let woken = state.waker.take();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Nothing comes any more.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let woken = state.waker.take();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Somebody knows the names of its events.
    pub(super) fn is_events(&self) -> bool {
        self.lock().form == Form::Events
    }

    /// Nobody can ever ask for it again.
    pub(super) fn is_over(&self) -> bool {
        self.lock().form == Form::Nobody
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Reader ===

impl Reader {
    /// `None` when nothing comes any more, or somebody else reads on.
    pub(super) async fn recv(&mut self) -> Option<Arc<ServerJsonRpcMessage>> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Arc<ServerJsonRpcMessage>>> {
        let mut state = self.track.lock();
        if state.turn != self.turn {
            return Poll::Ready(None);
        }
        let next = state.events.iter().find(|(number, _)| *number > self.last).cloned();
        if let Some((number, message)) = next {
            self.last = number;
            return Poll::Ready(Some(message));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// What was read last is read again.
    pub(super) fn unread(&mut self) {
        self.last = self.last.saturating_sub(1);
    }

    /// From now on what is read is written as events.
    pub(super) fn write_events(&self) {
        self.track.lock().form = Form::Events;
    }

    /// What the event is called that was read last; what comes after it has not been read.
    pub(super) fn last(&self) -> EventId {
        EventId { stream: self.track.stream, number: self.last }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.track.lock();
        if state.form == Form::Undecided {
            state.form = Form::Nobody;
            state.events.clear();
        }
    }
}

// === impl EventId ===

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}

/// It is none of this server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoEventId;

impl FromStr for EventId {
    type Err = NoEventId;

    fn from_str(text: &str) -> Result<Self, NoEventId> {
        let (stream, number) = text.split_once('-').ok_or(NoEventId)?;
        let read = |text: &str| text.parse().map_err(|_| NoEventId);
        Ok(Self { stream: read(stream)?, number: read(number)? })
    }
}
