//! Routes the messages that the server sends in one session: the answer to a request and its progress go to that request's
//! stream, all others to the session's listener stream (`GET`).
//!
//! Invariants:
//! - A request's id belongs to one request until it is answered, also if its client disconnected meanwhile. The id of a
//!   cancelled request is not accepted again, since its answer may still come. So no answer ever reaches another request.
//! - A slow reader delays no other: when a stream is full the oldest progress and notices are dropped, never the answer.
//! - The newest streams that have ended are kept, up to a number and a size, for clients that did not read them to the end.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_core::ByteSize;
use rmcp::model::{
    GetMeta, JsonRpcRequest, ProgressToken, RequestId, RequestMetaObject, ServerJsonRpcMessage, ServerNotification,
};
use serde::{Deserialize, Serialize};

use super::event_stream::{EventId, EventStream, ReadFrom, StreamReader};

/// Ids of cancelled requests that are remembered: their answers come soon or never.
const MAX_CANCELLED: usize = 1024;
/// Ended streams that can still be read, and the total size of the answers in them.
const MAX_ENDED_STREAMS: usize = 64;
const MAX_ENDED_BYTES: ByteSize = ByteSize::mb(8);
/// The number of the listener's stream; requests' streams have the numbers after it.
const LISTENER_STREAM: u64 = 0;

#[derive(Default)]
pub(super) struct MessageRouter {
    routes: Mutex<Routes>,
}

struct Routes {
    waiting: HashMap<RequestId, PendingRequest>,
    tokens: HashMap<ProgressToken, RequestId>,
    /// The oldest first.
    cancelled: VecDeque<RequestId>,
    /// The oldest first, each with the size of its answer.
    ended: VecDeque<(Arc<EventStream>, u64)>,
    listener: Arc<EventStream>,
    /// The number before the first message that no listener has been offered; none once a listener has come. A client may call
    /// a tool before it listens, and what the tool asks of it must not be lost.
    unheard_after: Option<u64>,
    last_stream: u64,
}

/// Which event ids a session has used: the next program must not reuse them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EventNumbers {
    last_stream: u64,
    next_heard: u64,
}

struct PendingRequest {
    stream: Arc<EventStream>,
    token: Option<ProgressToken>,
}

/// A request with this id is in progress, or was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdInUse;

impl MessageRouter {
    /// The stream of this request: progress, then its answer, then the end.
    pub(super) fn register<R: GetMeta<Metadata = RequestMetaObject>>(
        &self,
        request: &JsonRpcRequest<R>,
    ) -> Result<StreamReader, IdInUse> {
        let token = request.request.get_meta().get_progress_token();
        let mut routes = self.lock();
        if routes.cancelled.contains(&request.id) {
            return Err(IdInUse);
        }
        let number = routes.last_stream + 1;
        let stream = EventStream::new(number);
        let reader = stream.read(ReadFrom::Now).expect("every stream has a now");
        match routes.waiting.entry(request.id.clone()) {
            Entry::Occupied(_) => return Err(IdInUse),
            Entry::Vacant(free) => free.insert(PendingRequest { stream, token: token.clone() }),
        };
        routes.last_stream = number;
        if let Some(token) = token {
            routes.tokens.insert(token, request.id.clone());
        }
        Ok(reader)
    }

    /// Ends the request's stream; an answer that still comes is dropped.
    pub(super) fn cancel(&self, id: &RequestId) {
        let mut routes = self.lock();
        if let Some(waiting) = routes.finish(id) {
            waiting.stream.end();
            if routes.cancelled.len() == MAX_CANCELLED {
                routes.cancelled.pop_front();
            }
            routes.cancelled.push_back(id.clone());
        }
    }

    /// Messages that belong to no request: for the first listener all of them, for others those from now on. They go to the
    /// newest listener.
    pub(super) fn listen(&self) -> StreamReader {
        let mut routes = self.lock();
        let from = routes.unheard_after.take().map_or(ReadFrom::Now, ReadFrom::After);
        routes.listener.read(from).expect("the stream has a now, and its first number is below its next")
    }

    /// Ends the listener's stream. A client that reopens it receives what is sent from then on.
    pub(super) fn end_listener(&self) {
        let mut routes = self.lock();
        let next = EventStream::events_from(LISTENER_STREAM, routes.listener.next());
        routes.unheard_after = None;
        std::mem::replace(&mut routes.listener, next).end();
    }

    /// The event ids that the next program must not use.
    pub(super) fn event_numbers(&self) -> EventNumbers {
        let routes = self.lock();
        EventNumbers { last_stream: routes.last_stream, next_heard: routes.listener.next() }
    }

    /// For a session of the previous program.
    pub(super) fn with_event_numbers(names: EventNumbers) -> Self {
        let listener = EventStream::events_from(LISTENER_STREAM, names.next_heard);
        let unheard_after = Some(listener.next() - 1);
        let routes = Routes { listener, unheard_after, last_stream: names.last_stream, ..Routes::default() };
        Self { routes: Mutex::new(routes) }
    }

    /// The messages after this event on its stream, sent and to come. `None` if the stream is no longer kept.
    pub(super) fn resume(&self, last: EventId) -> Option<StreamReader> {
        let routes = self.lock();
        let waiting = routes.waiting.values().map(|waiting| &waiting.stream);
        let all = waiting.chain(routes.ended.iter().map(|(stream, _)| stream)).chain([&routes.listener]);
        let mut named = all.filter(|stream| stream.stream == last.stream && stream.is_event_stream());
        named.next()?.read(ReadFrom::After(last.number))
    }

    pub(super) fn deliver(&self, message: ServerJsonRpcMessage) {
        let mut routes = self.lock();
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = answered {
            if let Some(PendingRequest { stream, .. }) = routes.finish(&id) {
                routes.keep(&stream, &message);
                stream.push(message);
                stream.end();
            }
            return;
        }
        match &message {
            ServerJsonRpcMessage::Notification(notification) => routes.progress_stream(&notification.notification),
            _ => &routes.listener,
        }
        .push(message);
    }

    /// Ends all streams.
    pub(super) fn close(&self) {
        let routes = std::mem::take(&mut *self.lock());
        routes.waiting.values().for_each(|waiting| waiting.stream.end());
        routes.listener.end();
    }

    fn lock(&self) -> MutexGuard<'_, Routes> {
        // No code that can panic runs under this lock.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Routes {
    fn default() -> Self {
        let listener = EventStream::events(LISTENER_STREAM);
        Self {
            waiting: HashMap::new(),
            tokens: HashMap::new(),
            cancelled: VecDeque::new(),
            ended: VecDeque::new(),
            unheard_after: Some(listener.next() - 1),
            listener,
            last_stream: LISTENER_STREAM,
        }
    }
}

impl Routes {
    fn finish(&mut self, id: &RequestId) -> Option<PendingRequest> {
        let waiting = self.waiting.remove(id)?;
        if let Some(token) = &waiting.token {
            self.tokens.remove(token);
        }
        Some(waiting)
    }

    /// Keeps the stream for clients that resume it. Called before the stream ends: a reader that takes the answer as JSON
    /// leaves nothing to keep.
    fn keep(&mut self, stream: &Arc<EventStream>, answer: &ServerJsonRpcMessage) {
        self.ended.retain(|(stream, _)| !stream.is_abandoned());
        let size = if stream.is_event_stream() { length(answer) } else { 0 };
        self.ended.push_back((stream.clone(), size));
        while self.ended.len() > MAX_ENDED_STREAMS
            || self.ended.iter().map(|(_, size)| size).sum::<u64>() > MAX_ENDED_BYTES.bytes()
        {
            self.ended.pop_front();
        }
    }

    fn progress_stream(&self, notification: &ServerNotification) -> &Arc<EventStream> {
        let ServerNotification::ProgressNotification(progress) = notification else { return &self.listener };
        let id = self.tokens.get(&progress.params.progress_token);
        id.and_then(|id| self.waiting.get(id)).map_or(&self.listener, |waiting| &waiting.stream)
    }
}

/// The length of a message as JSON.
fn length(message: &ServerJsonRpcMessage) -> u64 {
    struct Count(u64);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A message that cannot be serialized counts as 0: it is never sent either.
    serde_json::to_writer(&mut count, message).map_or(0, |()| count.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "message_router/tests.rs"]
mod tests;
