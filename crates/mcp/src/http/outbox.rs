//! What the server says in one session, on its way to whoever waits for it: the answer to a request and its progress go to
//! that request, everything else to the session's listener (`GET`), if it has one.
//!
//! Invariants: a request's id belongs to one request until its answer came, also when its client went away meanwhile; that of
//! one that was cancelled is not taken again, since its answer may still be on its way. So no answer ever reaches another
//! request. Nobody who reads slowly holds up anybody: progress and notices that find no room are dropped; an answer always
//! finds room. Streams of events that have ended are kept for who did not read them to their end, the newest, up to a size.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_core::ByteSize;
use rmcp::model::{
    GetMeta, JsonRpcRequest, ProgressToken, RequestId, RequestMetaObject, ServerJsonRpcMessage, ServerNotification,
};
use serde::{Deserialize, Serialize};

use super::track::{EventId, Reader, Since, Track};

/// Requests that were cancelled and are remembered: their answers come soon or never.
const CANCELLED: usize = 1024;
/// Streams that have ended and can still be read, and the answers in them together.
const KEPT: usize = 64;
const KEPT_BYTES: ByteSize = ByteSize::mb(8);
/// The listener's stream; requests' are numbered from here.
const LISTENER: u64 = 0;

#[derive(Default)]
pub(super) struct Outbox {
    routes: Mutex<Routes>,
}

struct Routes {
    waiting: HashMap<RequestId, Waiting>,
    tokens: HashMap<ProgressToken, RequestId>,
    /// The oldest first.
    cancelled: VecDeque<RequestId>,
    /// The oldest first, each with the size of its answer.
    ended: VecDeque<(Arc<Track>, u64)>,
    listener: Arc<Track>,
    last_stream: u64,
}

/// What events of a session were called so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Names {
    last_stream: u64,
    next_heard: u64,
}

struct Waiting {
    track: Arc<Track>,
    token: Option<ProgressToken>,
}

/// A request with this id is still being worked on, or was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken;

impl Outbox {
    /// What will be said to this request: progress, then its answer, then nothing more.
    pub(super) fn expect<R: GetMeta<Metadata = RequestMetaObject>>(
        &self,
        request: &JsonRpcRequest<R>,
    ) -> Result<Reader, Taken> {
        let token = request.request.get_meta().get_progress_token();
        let mut routes = self.lock();
        if routes.cancelled.contains(&request.id) {
            return Err(Taken);
        }
        let stream = routes.last_stream + 1;
        let track = Track::new(stream);
        let reader = track.read(Since::Now).expect("every stream has a now");
        match routes.waiting.entry(request.id.clone()) {
            Entry::Occupied(_) => return Err(Taken),
            Entry::Vacant(free) => free.insert(Waiting { track, token: token.clone() }),
        };
        routes.last_stream = stream;
        if let Some(token) = token {
            routes.tokens.insert(token, request.id.clone());
        }
        Ok(reader)
    }

    /// Nobody wants the answer any more.
    pub(super) fn cancel(&self, id: &RequestId) {
        let mut routes = self.lock();
        if let Some(waiting) = routes.finish(id) {
            waiting.track.end();
            if routes.cancelled.len() == CANCELLED {
                routes.cancelled.pop_front();
            }
            routes.cancelled.push_back(id.clone());
        }
    }

    /// What is said to nobody in particular from now on. The newest listener is the one who hears it.
    pub(super) fn listen(&self) -> Reader {
        self.lock().listener.read(Since::Now).expect("every stream has a now")
    }

    /// Ends the listener's stream. Who comes back hears what is said from then on.
    pub(super) fn hang_up(&self) {
        let mut routes = self.lock();
        let next = Track::of_events_from(LISTENER, routes.listener.next());
        std::mem::replace(&mut routes.listener, next).end();
    }

    /// What no event of the next program may be called.
    pub(super) fn names(&self) -> Names {
        let routes = self.lock();
        Names { last_stream: routes.last_stream, next_heard: routes.listener.next() }
    }

    /// Of a session of the program before.
    pub(super) fn after(names: Names) -> Self {
        let listener = Track::of_events_from(LISTENER, names.next_heard);
        let routes = Routes { listener, last_stream: names.last_stream, ..Routes::default() };
        Self { routes: Mutex::new(routes) }
    }

    /// What was said after this event on its stream, and what will be. `None` where nothing of that is kept.
    pub(super) fn resume(&self, last: EventId) -> Option<Reader> {
        let routes = self.lock();
        let waiting = routes.waiting.values().map(|waiting| &waiting.track);
        let all = waiting.chain(routes.ended.iter().map(|(track, _)| track)).chain([&routes.listener]);
        let mut named = all.filter(|track| track.stream == last.stream && track.is_events());
        named.next()?.read(Since::After(last.number))
    }

    pub(super) fn deliver(&self, message: ServerJsonRpcMessage) {
        let mut routes = self.lock();
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = answered {
            if let Some(Waiting { track, .. }) = routes.finish(&id) {
                routes.keep(&track, &message);
                track.push(message);
                track.end();
            }
            return;
        }
        match &message {
            ServerJsonRpcMessage::Notification(notification) => routes.of_progress(&notification.notification),
            _ => &routes.listener,
        }
        .push(message);
    }

    /// Ends everything that waits.
    pub(super) fn close(&self) {
        let routes = std::mem::take(&mut *self.lock());
        routes.waiting.values().for_each(|waiting| waiting.track.end());
        routes.listener.end();
    }

    fn lock(&self) -> MutexGuard<'_, Routes> {
        // No code that can panic runs under this lock.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Routes {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            tokens: HashMap::new(),
            cancelled: VecDeque::new(),
            ended: VecDeque::new(),
            listener: Track::of_events(LISTENER),
            last_stream: LISTENER,
        }
    }
}

impl Routes {
    fn finish(&mut self, id: &RequestId) -> Option<Waiting> {
        let waiting = self.waiting.remove(id)?;
        if let Some(token) = &waiting.token {
            self.tokens.remove(token);
        }
        Some(waiting)
    }

    /// For who may ask for its end again. Before it ends: a reader who takes the answer as it is leaves nothing to keep.
    fn keep(&mut self, track: &Arc<Track>, answer: &ServerJsonRpcMessage) {
        self.ended.retain(|(track, _)| !track.is_over());
        let size = if track.is_events() { length(answer) } else { 0 };
        self.ended.push_back((track.clone(), size));
        while self.ended.len() > KEPT || self.ended.iter().map(|(_, size)| size).sum::<u64>() > KEPT_BYTES.bytes() {
            self.ended.pop_front();
        }
    }

    fn of_progress(&self, notification: &ServerNotification) -> &Arc<Track> {
        let ServerNotification::ProgressNotification(progress) = notification else { return &self.listener };
        let id = self.tokens.get(&progress.params.progress_token);
        id.and_then(|id| self.waiting.get(id)).map_or(&self.listener, |waiting| &waiting.track)
    }
}

/// Of a message as text.
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
    // What cannot be written has no length.
    serde_json::to_writer(&mut count, message).map_or(0, |()| count.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "outbox/tests.rs"]
mod tests;
