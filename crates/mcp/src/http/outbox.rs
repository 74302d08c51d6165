//! What the server says in one session, on its way to whoever waits for it: the answer to a request and its progress go to
//! that request, everything else to the session's listener (`GET`), if it has one.
//!
//! Invariants: a request's id belongs to one request until its answer came, also when its client went away meanwhile; that of
//! one that was cancelled is not taken again, since its answer may still be on its way. So no answer ever reaches another
//! request. Nobody who reads slowly holds up anybody: progress and
//! notices that find no room are dropped; an answer always finds room.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{GetMeta, JsonRpcRequest, ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Messages of one request or listener that wait to be written.
const ROOM: usize = 64;
/// Requests that were cancelled and are remembered: their answers come soon or never.
const CANCELLED: usize = 1024;

#[derive(Default)]
pub(super) struct Outbox {
    routes: Mutex<Routes>,
}

#[derive(Default)]
struct Routes {
    waiting: HashMap<RequestId, Waiting>,
    tokens: HashMap<ProgressToken, RequestId>,
    /// The oldest first.
    cancelled: VecDeque<RequestId>,
    listener: Option<Sender<ServerJsonRpcMessage>>,
}

struct Waiting {
    sender: Sender<ServerJsonRpcMessage>,
    token: Option<ProgressToken>,
}

/// A request with this id is still being worked on, or was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken;

impl Outbox {
    /// What will be said to this request: progress, then its answer, then nothing more.
    pub(super) fn expect<R: GetMeta>(
        &self,
        request: &JsonRpcRequest<R>,
    ) -> Result<Receiver<ServerJsonRpcMessage>, Taken> {
        let token = request.request.get_meta().get_progress_token();
        let (sender, receiver) = channel(ROOM);
        let mut routes = self.lock();
        if routes.cancelled.contains(&request.id) {
            return Err(Taken);
        }
        match routes.waiting.entry(request.id.clone()) {
            Entry::Occupied(_) => return Err(Taken),
            Entry::Vacant(free) => free.insert(Waiting { sender, token: token.clone() }),
        };
        if let Some(token) = token {
            routes.tokens.insert(token, request.id.clone());
        }
        Ok(receiver)
    }

    /// Nobody wants the answer any more.
    pub(super) fn cancel(&self, id: &RequestId) {
        let mut routes = self.lock();
        if routes.finish(id).is_some() {
            if routes.cancelled.len() == CANCELLED {
                routes.cancelled.pop_front();
            }
            routes.cancelled.push_back(id.clone());
        }
    }

    /// What is said to nobody in particular. The newest listener is the one who hears it.
    pub(super) fn listen(&self) -> Receiver<ServerJsonRpcMessage> {
        let (sender, receiver) = channel(ROOM);
        self.lock().listener = Some(sender);
        receiver
    }

    pub(super) fn deliver(&self, message: ServerJsonRpcMessage) {
        let mut routes = self.lock();
        let answered = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = answered {
            if let Some(waiting) = routes.finish(&id) {
                // Its client may have gone.
                let _ = waiting.sender.try_send(message);
            }
            return;
        }
        let sender = match &message {
            ServerJsonRpcMessage::Notification(notification) => routes.of_progress(&notification.notification),
            _ => None,
        };
        if let Some(sender) = sender.or(routes.listener.as_ref()) {
            // The last place is the answer's.
            if sender.capacity() > 1 {
                let _ = sender.try_send(message);
            }
        }
    }

    /// Ends everything that waits.
    pub(super) fn close(&self) {
        *self.lock() = Routes::default();
    }

    fn lock(&self) -> MutexGuard<'_, Routes> {
        // No code that can panic runs under this lock.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn of_progress(&self, notification: &ServerNotification) -> Option<&Sender<ServerJsonRpcMessage>> {
        let ServerNotification::ProgressNotification(progress) = notification else { return None };
        let id = self.tokens.get(&progress.params.progress_token)?;
        self.waiting.get(id).map(|waiting| &waiting.sender)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rmcp::model::{
        ClientRequest, EmptyResult, NumberOrString, ProgressNotification, ProgressNotificationParam, ServerResult,
    };

    use super::*;

    fn request(id: i64, token: Option<i64>) -> JsonRpcRequest<ClientRequest> {
        let meta = token.map_or(serde_json::json!({}), |token| serde_json::json!({ "progressToken": token }));
        let text = serde_json::json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "a", "_meta": meta }
        });
        serde_json::from_value(text).unwrap()
    }

    fn answer(id: i64) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyResult {}), NumberOrString::Number(id))
    }

    fn progress(token: i64) -> ServerJsonRpcMessage {
        let token = ProgressToken(NumberOrString::Number(token));
        let notification = ProgressNotification::new(ProgressNotificationParam::new(token, 1.0));
        ServerJsonRpcMessage::notification(ServerNotification::ProgressNotification(notification))
    }

    #[test]
    fn answers_and_progress_go_to_their_own_request() {
        let outbox = Outbox::default();
        let mut one = outbox.expect(&request(1, Some(7))).unwrap();
        let mut two = outbox.expect(&request(2, None)).unwrap();
        outbox.deliver(progress(7));
        outbox.deliver(answer(2));
        outbox.deliver(answer(1));
        assert!(matches!(one.try_recv().unwrap(), ServerJsonRpcMessage::Notification(_)));
        assert!(matches!(one.try_recv().unwrap(), ServerJsonRpcMessage::Response(_)));
        assert!(matches!(two.try_recv().unwrap(), ServerJsonRpcMessage::Response(_)));
        assert!(one.try_recv().is_err() && two.try_recv().is_err());
    }

    #[test]
    fn an_id_is_taken_until_its_answer_came_even_if_its_client_went() {
        let outbox = Outbox::default();
        drop(outbox.expect(&request(1, None)).unwrap());
        assert_eq!(outbox.expect(&request(1, None)).map(drop), Err(Taken));
        outbox.deliver(answer(1));
        let mut again = outbox.expect(&request(1, None)).unwrap();
        assert!(again.try_recv().is_err(), "the late answer was not for this one");
        outbox.cancel(&NumberOrString::Number(1));
        assert_eq!(outbox.expect(&request(1, None)).map(drop), Err(Taken), "its answer may be on its way");
        assert!(outbox.expect(&request(2, None)).is_ok());
    }

    #[test]
    fn who_reads_slowly_misses_progress_but_never_the_answer() {
        let outbox = Outbox::default();
        let mut slow = outbox.expect(&request(1, Some(1))).unwrap();
        for _ in 0..10 * ROOM {
            outbox.deliver(progress(1));
        }
        outbox.deliver(answer(1));
        let mut last = None;
        while let Ok(message) = slow.try_recv() {
            last = Some(message);
        }
        assert!(matches!(last, Some(ServerJsonRpcMessage::Response(_))));
    }

    #[test]
    fn the_newest_listener_hears_what_belongs_to_no_request() {
        let outbox = Outbox::default();
        outbox.deliver(progress(9));
        let mut old = outbox.listen();
        let mut new = outbox.listen();
        outbox.deliver(progress(9));
        assert!(old.try_recv().is_err());
        assert!(new.try_recv().is_ok());
        outbox.close();
        assert!(new.blocking_recv().is_none());
    }
}
