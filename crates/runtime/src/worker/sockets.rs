//! A worker's WebSockets: each message is delivered in a turn of its own, and a request whose response
//! became a WebSocket lasts as long as the connection.
//!
//! Such a request is in its streaming phase until the connection has ended and the app was told; then it
//! drains as any other does.

use hearth_core::websocket::{Close, SocketEvent, SocketFault};
use hearth_core::{LimitExceeded, LimitKind, RequestId};

use super::WorkerRef;
use super::event::Event;
use super::inner::{LiveState, WorkerFailure};
use super::respond::start_draining;
use crate::console::Level;
use crate::isolate::LockedIsolate;
use crate::op_error::OpError;
use crate::ops::event_arguments;
use crate::request_table::Phase;
use crate::socket_table::SocketId;

/// Messages of one socket before other events have their turn.
const MAX_MESSAGES_PER_EVENT: usize = 16;

/// Held by the connection's end of a socket: its drop tells the worker that the connection has ended.
pub(super) struct SocketGuard {
    pub(super) worker: WorkerRef,
    pub(super) request: RequestId,
}

impl Drop for SocketGuard {
    fn drop(&mut self) {
        self.worker.post_later(Event::SocketGone { request: self.request });
    }
}

impl WorkerRef {
    /// A socket has something to read. Called on any thread.
    pub(crate) fn notify_socket(&self, socket: SocketId) {
        self.post_later(Event::Socket { socket });
    }
}

impl LiveState {
    /// Delivers to JavaScript what a socket has to read.
    pub(super) fn socket(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        socket: SocketId,
    ) -> Result<(), Box<WorkerFailure>> {
        for _ in 0..MAX_MESSAGES_PER_EVENT {
            let (request, event) = {
                let mut sockets = self.state.sockets.borrow_mut();
                let Some(request) = sockets.request(socket) else { return Ok(()) };
                // What comes next notifies again.
                let Some(event) = sockets.next(socket) else { return Ok(()) };
                (request, event)
            };
            let fault = match &event {
                SocketEvent::Message(_) => {
                    self.deliver(isolate, request, socket, event)?;
                    self.after_turn(isolate, request)?;
                    continue;
                }
                SocketEvent::Close(_) => None,
                SocketEvent::Failed(fault) => Some(*fault),
            };
            self.deliver(isolate, request, socket, event)?;
            self.state.sockets.borrow_mut().remove(socket);
            self.state.requests.borrow_mut().forget_socket(request, socket);
            return self.socket_over(isolate, request, socket, fault);
        }
        self.state.worker.notify_socket(socket);
        Ok(())
    }

    fn deliver(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        socket: SocketId,
        event: SocketEvent,
    ) -> Result<(), Box<WorkerFailure>> {
        self.turn(isolate, request, |scope, state| -> Result<(), OpError> {
            let deliver = v8::Local::new(scope, &state.entry_points().deliver_socket);
            let undefined = v8::undefined(scope).into();
            let id = v8::Number::new(scope, socket as f64).into();
            let [kind, data, reason] = event_arguments(scope, event)?;
            deliver.call(scope, undefined, &[id, kind, data, reason]);
            Ok(())
        })?
        .unwrap_or_default();
        Ok(())
    }

    /// The app was told of the end of a socket: its request may have waited for that.
    fn socket_over(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        socket: SocketId,
        fault: Option<SocketFault>,
    ) -> Result<(), Box<WorkerFailure>> {
        let was_served = match self.state.requests.borrow_mut().get(request).and_then(|entry| entry.socket.as_mut()) {
            Some(serving) if serving.app == Some(socket) => {
                serving.app = None;
                true
            }
            _ => false,
        };
        if let (true, Some(fault)) = (was_served, fault) {
            if let SocketFault::Silent { limit } = fault {
                let exceeded = LimitExceeded::time(LimitKind::StreamSilence, limit, limit);
                self.state.log(request, Level::Warn, &exceeded.to_string());
            }
            self.abort(isolate, request, &fault.to_string())?;
        }
        self.check_serving(request);
        self.after_turn(isolate, request)
    }

    /// The connection that a response became has ended.
    pub(super) fn socket_gone(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
    ) -> Result<(), Box<WorkerFailure>> {
        {
            let mut requests = self.state.requests.borrow_mut();
            let Some(serving) = requests.get(request).and_then(|entry| entry.socket.as_mut()) else { return Ok(()) };
            serving.connected = false;
            // An app that does not listen need not be told.
            serving.app = serving.app.filter(|app| self.state.sockets.borrow().is_listening(*app));
        }
        self.check_serving(request);
        self.after_turn(isolate, request)
    }

    fn check_serving(&mut self, request: RequestId) {
        let mut requests = self.state.requests.borrow_mut();
        let Some(entry) = requests.get(request) else { return };
        let over = entry.socket.as_ref().is_some_and(|serving| !serving.connected && serving.app.is_none());
        if over && entry.phase == Phase::Streaming {
            start_draining(&self.state, entry);
        }
    }

    /// Closes the sockets of a worker that is being replaced: its clients reconnect to the successor.
    pub(super) fn close_sockets_if_draining(&mut self) {
        if !self.state.worker.is_draining() {
            return;
        }
        let served = self.state.requests.borrow_mut().served_sockets();
        for socket in served {
            self.state.sockets.borrow().close(socket, Close::new(1001, "the app is being replaced"));
        }
    }
}
