//! The WebSockets that JavaScript knows by an id: ends of pairs, and outgoing connections. An end
//! that JavaScript listens to notifies its worker directly; no task waits for it.
//!
//! States of an end: `Held -> Listening -> ended` (removed when JavaScript was told of the end), or
//! `Held -> handed over` (removed: the gateway has it, for example).

use std::collections::HashMap;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use hearth_core::websocket::{CAPACITY, Close, Message, Sent, SocketEvent, SocketFault};
use hearth_core::{RequestId, SocketEnd};

use crate::worker::WorkerRef;

/// Unique within its context; never 0.
pub(crate) type SocketId = u64;

#[derive(Default)]
pub(crate) struct SocketTable {
    table: HashMap<SocketId, Socket>,
}

struct Socket {
    request: RequestId,
    end: Box<SocketEnd>,
    /// The other end, where it was created in this context.
    peer: Option<SocketId>,
    /// Wakes the worker; none before JavaScript listens.
    waker: Option<Waker>,
    /// Hearth has given up the connection, and JavaScript will be told why.
    fault: Option<SocketFault>,
}

/// An end that leaves the table.
pub(crate) struct DetachedSocket {
    pub(crate) end: Box<SocketEnd>,
    pub(crate) peer: Option<SocketId>,
}

/// Notifies a socket's worker.
struct SocketWaker {
    worker: WorkerRef,
    socket: SocketId,
}

// === impl Sockets ===

impl SocketTable {
    pub(crate) fn insert(&mut self, id: SocketId, request: RequestId, end: Box<SocketEnd>, peer: Option<SocketId>) {
        self.table.insert(id, Socket { request, end, peer, waker: None, fault: None });
    }

    pub(crate) fn request(&self, id: SocketId) -> Option<RequestId> {
        self.table.get(&id).map(|socket| socket.request)
    }

    /// Notifies the worker from now on of what the socket has to read, and once at once.
    pub(crate) fn listen(&mut self, id: SocketId, worker: WorkerRef) {
        if let Some(socket) = self.table.get_mut(&id) {
            let waker = Waker::from(Arc::new(SocketWaker { worker, socket: id }));
            waker.wake_by_ref();
            socket.waker = Some(waker);
        }
    }

    pub(crate) fn is_listening(&self, id: SocketId) -> bool {
        self.table.get(&id).is_some_and(|socket| socket.waker.is_some())
    }

    /// The next event. A close message is answered here, in the order of what was sent.
    pub(crate) fn next(&mut self, id: SocketId) -> Option<SocketEvent> {
        let socket = self.table.get_mut(&id)?;
        if let Some(fault) = socket.fault.take() {
            return Some(SocketEvent::Failed(fault));
        }
        let waker = socket.waker.as_ref()?;
        let Poll::Ready(event) = socket.end.receiver.poll_next(&mut Context::from_waker(waker)) else { return None };
        if let Some(SocketEvent::Close(close)) = &event {
            socket.end.sender.close(close.clone());
        }
        event
    }

    /// A peer that reads too slowly is given up.
    pub(crate) fn send(&mut self, id: SocketId, message: Message) -> Sent {
        let Some(socket) = self.table.get_mut(&id) else { return Sent::Closed };
        let sent = socket.end.sender.send(message);
        if sent == Sent::Full {
            socket.end.sender.abandon(Close::new(1008, "messages are not read fast enough"));
            socket.fault = Some(SocketFault::TooSlow { limit: CAPACITY });
            if let Some(waker) = &socket.waker {
                waker.wake_by_ref();
            }
        }
        sent
    }

    /// Bytes that wait to be sent.
    pub(crate) fn waiting(&self, id: SocketId) -> usize {
        self.table.get(&id).map_or(0, |socket| socket.end.sender.waiting())
    }

    pub(crate) fn close(&self, id: SocketId, close: Close) {
        if let Some(socket) = self.table.get(&id) {
            socket.end.sender.close(close);
        }
    }

    /// Closes all: the worker is being destroyed.
    pub(crate) fn abandon_all(&self, close: &Close) {
        self.table.values().for_each(|socket| socket.end.sender.abandon(close.clone()));
    }

    /// Takes an end out, to hand it over.
    pub(crate) fn take(&mut self, id: SocketId) -> Option<DetachedSocket> {
        let Socket { end, peer, .. } = self.table.remove(&id)?;
        Some(DetachedSocket { end, peer })
    }

    /// The request has ended, or JavaScript was told of the socket's end.
    pub(crate) fn remove(&mut self, id: SocketId) {
        if let Some(socket) = self.table.remove(&id) {
            socket.end.sender.close(Close::new(1001, "the request is over"));
        }
    }
}

// === impl SocketWaker ===

impl Wake for SocketWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.worker.notify_socket(self.socket);
    }
}
