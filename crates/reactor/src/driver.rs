//! The tasks that serve the connections of a reactor, in three phases: [`read_ready`](Driver::read_ready),
//! [`poll_ready`](Driver::poll_ready), [`flush_writes`](Driver::flush_writes).

use std::future::{Future, poll_fn};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::event::{Timespec, epoll};
use tokio::task::unconstrained;

use crate::io_buffers::BufferCache;
use crate::poll_scope;
use crate::reactor::{Reactor, wake};
use crate::slab::{Connection, ConnectionId, DriverId, Park};

/// Events that one call of `epoll_wait` takes.
const MAX_EVENTS: usize = 128;
/// Connections that are polled before their answers are written.
const BATCH_SIZE: usize = 32;
/// Batches that a driver serves before it yields its thread to other tasks.
const BATCHES_PER_POLL: usize = 4;
/// After as many events at once it is worth while to ask epoll again at once.
const REPOLL_THRESHOLD: usize = 3;
/// Drivers that should be parked when one starts working: those that it may wake.
pub(crate) const MIN_IDLE_DRIVERS: usize = 2;
/// As many connections can be in a long turn of JavaScript at once before the others wait for them.
const MAX_DRIVERS: usize = 32;

struct Driver {
    reactor: Arc<Reactor>,
    id: DriverId,
    /// This driver was told of epoll events and has not taken them; no other driver will be told of them.
    events_pending: bool,
    /// Connections whose clients have just sent something.
    arrivals: Vec<(ConnectionId, Box<Connection>)>,
    /// Connections that have something to write.
    unflushed: Vec<(ConnectionId, Box<Connection>)>,
    buffers: BufferCache,
}

/// Adds a driver, unless there are enough or the reactor is stopped.
pub(crate) fn spawn_driver(reactor: &Arc<Reactor>) {
    let Some(id) = reactor.lock().add_driver(MAX_DRIVERS) else { return };
    let mut driver = Driver {
        reactor: reactor.clone(),
        id,
        events_pending: false,
        arrivals: Vec::new(),
        unflushed: Vec::new(),
        buffers: BufferCache::default(),
    };
    tokio::spawn(poll_fn(move |cx| driver.poll(cx)));
}

impl Driver {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let reactor = self.reactor.clone();
        let (deputy, parked) = reactor.lock().start_driver(self.id);
        if parked < MIN_IDLE_DRIVERS {
            spawn_driver(&reactor);
        }
        let watcher = deputy.as_ref().unwrap_or(cx.waker());
        self.events_pending |= reactor.watch(watcher);
        for _ in 0..BATCHES_PER_POLL {
            let events = if self.events_pending { self.read_ready() } else { 0 };
            self.poll_ready();
            self.flush_writes();
            // After many events there are probably more by now. Else this driver watches the epoll again; connections that
            // were woken before that are in the ready queue.
            self.events_pending = events >= REPOLL_THRESHOLD || reactor.watch(cx.waker());
            if self.events_pending {
                continue;
            }
            let park = reactor.lock().park_driver(self.id, cx.waker());
            match park {
                Park::Now => return Poll::Pending,
                Park::WorkPending => {}
                Park::Shutdown => {
                    // Drops the connections that drivers held when the reactor was stopped.
                    reactor.stop();
                    return Poll::Ready(());
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Takes events, and reads from the sockets that have something to read. Gives the number of events.
    fn read_ready(&mut self) -> usize {
        let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; MAX_EVENTS];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&self.reactor.epoll, &mut space[..], Some(&at_once)) else {
            // Interrupted: epoll is asked again.
            return REPOLL_THRESHOLD;
        };
        let mut slab = self.reactor.lock();
        for event in events.iter() {
            let id = ConnectionId::from_raw(event.data.u64());
            self.arrivals.extend(slab.mark_event(id, event.flags).map(|connection| (id, connection)));
        }
        drop(slab);
        for (_, connection) in &mut self.arrivals {
            connection.io.read_ahead.read(&connection.socket, &mut self.buffers);
        }
        let drivers = self.reactor.lock().enqueue(self.arrivals.drain(..));
        drivers.into_iter().for_each(wake);
        events.len()
    }

    /// Polls a batch of the connections in the ready queue.
    fn poll_ready(&mut self) {
        let mut polled = None;
        for _ in 0..BATCH_SIZE {
            let next = self.reactor.lock().finish_poll(polled.take()).pop_ready();
            let Some((id, connection)) = next else { return };
            polled = self.poll_connection(id, connection);
        }
        self.reactor.lock().finish_poll(polled);
    }

    /// Writes what connections have buffered, whichever driver polled them.
    fn flush_writes(&mut self) {
        self.reactor.lock().take_unflushed(&mut self.unflushed);
        if self.unflushed.is_empty() {
            return;
        }
        for (_, connection) in &mut self.unflushed {
            connection.io.flush(&connection.socket, &mut self.buffers);
        }
        let mut slab = self.reactor.lock();
        for (id, connection) in self.unflushed.drain(..) {
            slab.park_or_requeue(id, connection);
        }
    }

    /// Polls a connection; nothing is left of one that has ended.
    fn poll_connection(
        &mut self,
        id: ConnectionId,
        mut connection: Box<Connection>,
    ) -> Option<(ConnectionId, Box<Connection>)> {
        let Connection { future, waker, io, .. } = &mut *connection;
        let mut cx = Context::from_waker(waker);
        let result = poll_scope::enter(io, &mut self.buffers, || {
            // Polled without tokio's budget, which is that of the whole driver: connections have a budget of their own.
            catch_unwind(AssertUnwindSafe(|| Pin::new(&mut unconstrained(future.as_mut())).poll(&mut cx)))
        });
        if let Ok(Poll::Pending) = result {
            return Some((id, connection));
        }
        // A panic has been reported by its hook. Dropping what is left may wake other connections, so no lock is held.
        drop(connection);
        self.reactor.lock().remove(id);
        None
    }
}
