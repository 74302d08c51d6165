//! The connections of a reactor and the queues that they wait in: plain state, under the reactor's lock.
//!
//! States of an entry: `Free -> Ready -> Running -> Idle | Ready | Free`, `Idle -> Ready | Running`; a running connection is with
//! a driver.
//! Invariants: a connection is in the ready queue if and only if it is `Ready`. A connection that is woken, in whatever state, is
//! polled after that. A parked driver is woken when a connection is queued.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use rustix::event::epoll::EventFlags;

use crate::ConnectionFuture;
use crate::io_buffers::IoBuffers;
use crate::socket::EpollSocket;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionId(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriverId(usize);

/// A connection. Boxed wherever it is kept: it moves four times for each request.
pub(crate) struct Connection {
    pub(crate) future: ConnectionFuture,
    /// Queues the connection.
    pub(crate) waker: Waker,
    pub(crate) socket: Arc<EpollSocket>,
    pub(crate) io: IoBuffers,
}

#[derive(Default)]
pub(crate) struct ConnectionSlab {
    entries: Vec<Option<Entry>>,
    free: Vec<ConnectionId>,
    ready: VecDeque<ConnectionId>,
    /// Their entries say `Running`.
    unflushed: Vec<(ConnectionId, Box<Connection>)>,
    drivers: usize,
    parked: Vec<(DriverId, Waker)>,
    closed: bool,
}

struct Entry {
    /// None until the connection is inserted.
    socket: Option<Arc<EpollSocket>>,
    state: State,
}

enum State {
    Idle(Box<Connection>),
    Ready(Box<Connection>),
    Running { woken: bool },
}

/// Whether a driver may park.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Park {
    Now,
    WorkPending,
    Shutdown,
}

/// A connection on its way to or from a driver.
type Claimed = (ConnectionId, Box<Connection>);

impl ConnectionId {
    pub(crate) fn raw(self) -> u64 {
        self.0 as u64
    }

    pub(crate) fn from_raw(raw: u64) -> Self {
        Self(raw as usize)
    }
}

impl State {
    const RUNNING: Self = Self::Running { woken: false };
}

// === impl ConnectionSlab: connections ===

impl ConnectionSlab {
    /// An entry for a connection that is about to be inserted.
    pub(crate) fn reserve(&mut self) -> ConnectionId {
        let empty = Some(Entry { socket: None, state: State::RUNNING });
        if let Some(id) = self.free.pop() {
            self.entries[id.0] = empty;
            return id;
        }
        self.entries.push(empty);
        ConnectionId(self.entries.len() - 1)
    }

    /// Fills a reserved entry, and queues the connection. Gives the driver to wake for it.
    pub(crate) fn insert(
        &mut self,
        id: ConnectionId,
        socket: Arc<EpollSocket>,
        connection: Box<Connection>,
    ) -> Option<Waker> {
        self.entries[id.0] = Some(Entry { socket: Some(socket), state: State::Ready(connection) });
        self.ready.push_back(id);
        self.wake_one()
    }

    /// Frees an entry.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        self.entries[id.0] = None;
        self.free.push(id);
    }

    /// The connection is to be polled. Gives the driver to wake for it.
    pub(crate) fn wake_connection(&mut self, id: ConnectionId) -> Option<Waker> {
        let entry = self.entries.get_mut(id.0)?.as_mut()?;
        match std::mem::replace(&mut entry.state, State::Running { woken: true }) {
            State::Idle(connection) => {
                entry.state = State::Ready(connection);
                self.ready.push_back(id);
                self.wake_one()
            }
            ready @ State::Ready(_) => {
                entry.state = ready;
                None
            }
            State::Running { .. } => None,
        }
    }

    /// Epoll has reported an event. Gives the connection out if it is idle; it is to be [queued](Self::enqueue).
    pub(crate) fn mark_event(&mut self, id: ConnectionId, flags: EventFlags) -> Option<Box<Connection>> {
        let entry = self.entries.get_mut(id.0)?.as_mut()?;
        entry.socket.as_ref()?.mark(flags);
        match std::mem::replace(&mut entry.state, State::RUNNING) {
            State::Idle(connection) => Some(connection),
            ready @ State::Ready(_) => {
                entry.state = ready;
                None
            }
            State::Running { .. } => {
                entry.state = State::Running { woken: true };
                None
            }
        }
    }

    /// Queues connections that had events. Gives the drivers to wake: two where more than one connection is ready.
    pub(crate) fn enqueue(&mut self, connections: impl Iterator<Item = Claimed>) -> [Option<Waker>; 2] {
        for (id, connection) in connections {
            self.set(id, State::Ready(connection));
            self.ready.push_back(id);
        }
        if self.ready.len() > 1 { [self.wake_one(), self.wake_one()] } else { [None, None] }
    }

    /// Takes back a connection that was polled, if there is one: it is to be flushed if it has buffered something, else it is
    /// queued or idle.
    pub(crate) fn finish_poll(&mut self, polled: Option<Claimed>) -> &mut Self {
        if let Some((id, connection)) = polled {
            if connection.io.unsent.is_empty() {
                self.park_or_requeue(id, connection);
            } else {
                self.unflushed.push((id, connection));
            }
        }
        self
    }

    /// Takes back a connection that has nothing to flush, or whose socket has no room for it: the event that there is room
    /// wakes it. It is queued if it was woken meanwhile or has failed, else idle.
    pub(crate) fn park_or_requeue(&mut self, id: ConnectionId, connection: Box<Connection>) {
        match &self.entries[id.0] {
            Some(Entry { state: State::Running { woken: false }, .. }) if !connection.io.has_failed() => {
                self.set(id, State::Idle(connection));
            }
            _ => {
                self.set(id, State::Ready(connection));
                self.ready.push_back(id);
            }
        }
    }

    /// The next connection to poll. It is running until its poll is [finished](Self::finish_poll), or it is removed.
    pub(crate) fn pop_ready(&mut self) -> Option<Claimed> {
        let id = self.ready.pop_front()?;
        Some((id, self.take_running(id)))
    }

    /// The connections that are to be flushed, in exchange for an empty list. They are running until each is
    /// [given back](Self::park_or_requeue).
    pub(crate) fn take_unflushed(&mut self, list: &mut Vec<Claimed>) {
        std::mem::swap(&mut self.unflushed, list);
    }

    fn take_running(&mut self, id: ConnectionId) -> Box<Connection> {
        let entry = self.entries[id.0].as_mut().expect("a queued connection has an entry");
        match std::mem::replace(&mut entry.state, State::RUNNING) {
            State::Ready(connection) => connection,
            _ => unreachable!("a queued connection is ready"),
        }
    }

    fn set(&mut self, id: ConnectionId, state: State) {
        self.entries[id.0].as_mut().expect("a running connection has an entry").state = state;
    }
}

// === impl ConnectionSlab: drivers ===

impl ConnectionSlab {
    /// Registers one more driver, unless there are `max` or the slab is closed.
    pub(crate) fn add_driver(&mut self, max: usize) -> Option<DriverId> {
        if self.drivers >= max || self.closed {
            return None;
        }
        self.drivers += 1;
        Some(DriverId(self.drivers))
    }

    /// A driver starts working. Gives a parked driver to watch the epoll meanwhile, and how many are parked.
    pub(crate) fn start_driver(&mut self, driver: DriverId) -> (Option<Waker>, usize) {
        self.parked.retain(|(id, _)| *id != driver);
        (self.parked.last().map(|(_, waker)| waker.clone()), self.parked.len())
    }

    pub(crate) fn park_driver(&mut self, driver: DriverId, waker: &Waker) -> Park {
        if self.closed {
            return Park::Shutdown;
        }
        if !self.ready.is_empty() || !self.unflushed.is_empty() {
            return Park::WorkPending;
        }
        self.parked.push((driver, waker.clone()));
        Park::Now
    }

    fn wake_one(&mut self) -> Option<Waker> {
        self.parked.pop().map(|(_, waker)| waker)
    }

    /// Closes the slab. Gives all connections that no driver holds and all parked drivers, to be dropped and woken without the
    /// lock.
    #[expect(clippy::vec_box, reason = "they are in boxes already")]
    pub(crate) fn close(&mut self) -> (Vec<Box<Connection>>, Vec<Waker>) {
        self.closed = true;
        self.ready.clear();
        let mut connections: Vec<Box<Connection>> =
            self.unflushed.drain(..).map(|(_, connection)| connection).collect();
        for (index, entry) in self.entries.iter_mut().enumerate() {
            match entry.take() {
                Some(Entry { state: State::Idle(connection) | State::Ready(connection), .. }) => {
                    connections.push(connection);
                    self.free.push(ConnectionId(index));
                }
                other => *entry = other,
            }
        }
        (connections, self.parked.drain(..).map(|(_, waker)| waker).collect())
    }
}

#[cfg(test)]
mod tests;
