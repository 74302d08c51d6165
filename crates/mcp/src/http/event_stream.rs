//! The messages of one stream, in order, buffered so that a client whose connection broke can resume after the last event that
//! it received (`Last-Event-ID`). A stream belongs to one request, or to the session's listener.
//!
//! ```text
//! Undecided: the reader waits for one answer -> Events: messages are sent as events, and the end is kept for resumption
//!                                            -> Abandoned: the reader was dropped; nothing is kept
//! ```
//! Invariants: event numbers only grow; only the newest reader receives messages, so that none is sent twice; when the buffer is
//! full the oldest message is dropped, never the answer, which is the last.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use rmcp::model::ServerJsonRpcMessage;

/// Limit of buffered events of one stream.
pub(super) const REPLAY_LIMIT: usize = 64;

/// An event's id, unique within its session: `STREAM-NUMBER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) number: u64,
}

pub(super) struct EventStream {
    pub(super) stream: u64,
    state: Mutex<State>,
}

struct State {
    delivery: Delivery,
    events: VecDeque<(u64, Arc<ServerJsonRpcMessage>)>,
    /// The number of the next event; the first is 1.
    next: u64,
    ended: bool,
    /// Counts readers: the newest has this number, and only it receives messages.
    generation: u64,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Undecided,
    Events,
    Abandoned,
}

/// Reads a stream from a given event on.
pub(super) struct StreamReader {
    stream: Arc<EventStream>,
    generation: u64,
    /// The number of the last event that was read.
    last: u64,
}

/// Where a reader starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadFrom {
    Now,
    After(u64),
}

// === impl EventStream ===

impl EventStream {
    /// The stream of one request.
    pub(super) fn new(stream: u64) -> Arc<Self> {
        Self::with(stream, Delivery::Undecided, 1)
    }

    /// The stream of messages that belong to no request: it is always sent as events.
    pub(super) fn events(stream: u64) -> Arc<Self> {
        Self::events_from(stream, 1)
    }

    /// The same, with the number of the next event; earlier ones are not kept.
    pub(super) fn events_from(stream: u64, next: u64) -> Arc<Self> {
        Self::with(stream, Delivery::Events, next)
    }

    fn with(stream: u64, delivery: Delivery, next: u64) -> Arc<Self> {
        let (events, waker) = (VecDeque::new(), None);
        Arc::new(Self {
            stream,
            state: Mutex::new(State { delivery, events, next, ended: false, generation: 0, waker }),
        })
    }

    /// The number of the next event.
    pub(super) fn next(&self) -> u64 {
        self.lock().next
    }

    /// A new reader; the previous one ends. `None` if there was no such event.
    pub(super) fn read(self: &Arc<Self>, from: ReadFrom) -> Option<StreamReader> {
        let mut state = self.lock();
        let last = match from {
            ReadFrom::Now => state.next - 1,
            ReadFrom::After(number) if number < state.next => number,
            ReadFrom::After(_) => return None,
        };
        state.generation += 1;
        let (generation, woken) = (state.generation, state.waker.take());
        drop(state);
        woken.into_iter().for_each(Waker::wake);
        Some(StreamReader { stream: self.clone(), generation, last })
    }

    pub(super) fn push(&self, message: ServerJsonRpcMessage) {
        let mut state = self.lock();
        if state.ended || state.delivery == Delivery::Abandoned {
            return;
        }
        if state.events.len() == REPLAY_LIMIT {
            state.events.pop_front();
        }
        let number = state.next;
        state.next += 1;
        state.events.push_back((number, Arc::new(message)));
        let woken = state.waker.take();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// No more messages follow.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        let woken = state.waker.take();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Whether a client has received event ids of this stream.
    pub(super) fn is_event_stream(&self) -> bool {
        self.lock().delivery == Delivery::Events
    }

    /// Whether no client can resume this stream.
    pub(super) fn is_abandoned(&self) -> bool {
        self.lock().delivery == Delivery::Abandoned
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl StreamReader ===

impl StreamReader {
    /// `None` when the stream has ended, or a newer reader exists.
    pub(super) async fn recv(&mut self) -> Option<Arc<ServerJsonRpcMessage>> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Arc<ServerJsonRpcMessage>>> {
        let mut state = self.stream.lock();
        if state.generation != self.generation {
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

    /// The last message is read again.
    pub(super) fn unread(&mut self) {
        self.last = self.last.saturating_sub(1);
    }

    /// Messages are sent as events from now on.
    pub(super) fn write_events(&self) {
        self.stream.lock().delivery = Delivery::Events;
    }

    /// The id of the event that was read last.
    pub(super) fn last(&self) -> EventId {
        EventId { stream: self.stream.stream, number: self.last }
    }
}

impl Drop for StreamReader {
    fn drop(&mut self) {
        let mut state = self.stream.lock();
        if state.delivery == Delivery::Undecided {
            state.delivery = Delivery::Abandoned;
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

/// The text is no event id of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InvalidEventId;

impl FromStr for EventId {
    type Err = InvalidEventId;

    fn from_str(text: &str) -> Result<Self, InvalidEventId> {
        let (stream, number) = text.split_once('-').ok_or(InvalidEventId)?;
        let read = |text: &str| text.parse().map_err(|_| InvalidEventId);
        Ok(Self { stream: read(stream)?, number: read(number)? })
    }
}
