//! What a worker does for its WebSockets: hands on what comes, each message in a turn of its own, and sees to it that a request
//! whose response became a WebSocket goes on for as long as that does.
//!
//! Such a request is in its streaming phase until the connection is over and the app has heard so; then it drains as any
//! other does.

use hearth_core::websocket::{Close, SocketEvent, SocketFault};
use hearth_core::{LimitExceeded, LimitKind, RequestId};

use super::Link;
use super::core::{Death, Live};
use super::event::Event;
use super::life::drain;
use crate::console::Level;
use crate::isolate::LockedIsolate;
use crate::op_error::OpError;
use crate::ops::event_arguments;
use crate::requests::Phase;
use crate::sockets::SocketId;

/// Messages of one socket before others have their turn.
const AT_ONCE: usize = 16;

/// Goes with the connection's end of a socket, and tells the worker when that is over.
pub(super) struct Watch {
    pub(super) link: Link,
    pub(super) request: RequestId,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.link.post_later(Event::SocketGone { request: self.request });
    }
}

impl Link {
    /// A socket has something for its worker. Called from wherever that came from.
    pub(crate) fn ring(&self, socket: SocketId) {
        self.post_later(Event::Socket { socket });
    }
}

impl Live {
    /// Gives JavaScript what has come for a socket.
    pub(super) fn socket(&mut self, isolate: &mut LockedIsolate<'_>, socket: SocketId) -> Result<(), Box<Death>> {
        for _ in 0..AT_ONCE {
            let (request, event) = {
                let mut sockets = self.state.sockets.borrow_mut();
                let Some(request) = sockets.request(socket) else { return Ok(()) };
                // Whatever comes next rings again.
                let Some(event) = sockets.next(socket) else { return Ok(()) };
                (request, event)
            };
            let fault = match &event {
                SocketEvent::Message(_) => {
                    self.deliver(isolate, request, socket, event)?;
                    self.after(isolate, request)?;
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
        self.state.link.ring(socket);
        Ok(())
    }

    fn deliver(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        socket: SocketId,
        event: SocketEvent,
    ) -> Result<(), Box<Death>> {
        self.turn(isolate, request, |scope, state| -> Result<(), OpError> {
            let deliver = v8::Local::new(scope, &state.entry().deliver_socket);
            let undefined = v8::undefined(scope).into();
            let id = v8::Number::new(scope, socket as f64).into();
            let [kind, data, reason] = event_arguments(scope, event)?;
            deliver.call(scope, undefined, &[id, kind, data, reason]);
            Ok(())
        })?
        .unwrap_or_default();
        Ok(())
    }

    /// The app has heard the last of a socket: its request may have waited for that.
    fn socket_over(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
        socket: SocketId,
        fault: Option<SocketFault>,
    ) -> Result<(), Box<Death>> {
        let was_served = match self.state.requests.borrow_mut().get(request).and_then(|entry| entry.serving.as_mut()) {
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
        self.after(isolate, request)
    }

    /// The connection that a response became is over.
    pub(super) fn socket_gone(
        &mut self,
        isolate: &mut LockedIsolate<'_>,
        request: RequestId,
    ) -> Result<(), Box<Death>> {
        {
            let mut requests = self.state.requests.borrow_mut();
            let Some(serving) = requests.get(request).and_then(|entry| entry.serving.as_mut()) else { return Ok(()) };
            serving.connected = false;
            // Nobody listens, and nobody need be told.
            serving.app = serving.app.filter(|app| self.state.sockets.borrow().is_listening(*app));
        }
        self.check_serving(request);
        self.after(isolate, request)
    }

    fn check_serving(&mut self, request: RequestId) {
        let mut requests = self.state.requests.borrow_mut();
        let Some(entry) = requests.get(request) else { return };
        let over = entry.serving.as_ref().is_some_and(|serving| !serving.connected && serving.app.is_none());
        if over && entry.phase == Phase::Streaming {
            drain(&self.state, entry);
        }
    }

    /// A worker that is being replaced sends its clients away: they find its successor.
    pub(super) fn leave_sockets(&mut self) {
        if !self.state.link.is_leaving() {
            return;
        }
        let served = self.state.requests.borrow_mut().served_sockets();
        for socket in served {
            self.state.sockets.borrow().close(socket, Close::new(1001, "the app is being replaced"));
        }
    }
}
