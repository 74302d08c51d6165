//! A reactor: an epoll instance and the connections that it watches.
//! Lock order: the slab's lock is the only one, and no connection is polled or dropped and no task woken under it.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use rustix::event::epoll;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::ConnectionFuture;
use crate::driver::{self, MIN_IDLE_DRIVERS};
use crate::io_buffers::IoBuffers;
use crate::slab::{Connection, ConnectionId, ConnectionSlab};
use crate::socket::{EpollSocket, ReactorSocket};

pub(crate) struct Reactor {
    pub(crate) epoll: AsyncFd<OwnedFd>,
    slab: Mutex<ConnectionSlab>,
}

/// Wakes the connection of one entry. A late call may find another connection there, which is then polled in vain.
struct ConnectionWaker {
    reactor: Arc<Reactor>,
    id: ConnectionId,
}

// === impl Reactor ===

impl Reactor {
    /// Must be called on the runtime that is to run the drivers; ends with [`stop`](Self::stop).
    pub(crate) fn start() -> io::Result<Arc<Self>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe because of types that do not own their descriptor; this one does"
        )]
        let epoll = AsyncFd::with_interest(epoll, Interest::READABLE)?;
        let reactor = Arc::new(Self { epoll, slab: Mutex::default() });
        for _ in 0..=MIN_IDLE_DRIVERS {
            driver::spawn_driver(&reactor);
        }
        Ok(reactor)
    }

    pub(crate) fn add(
        self: &Arc<Self>,
        socket: TcpStream,
        make: impl FnOnce(ReactorSocket) -> ConnectionFuture,
    ) -> io::Result<()> {
        use epoll::EventFlags as Flags;
        let socket = Arc::new(EpollSocket::new(socket));
        let future = make(ReactorSocket::new(socket.clone()));
        let mut slab = self.lock();
        let id = slab.reserve();
        let flags = Flags::IN | Flags::OUT | Flags::RDHUP | Flags::ET;
        let added = epoll::add(&self.epoll, socket.as_ref(), epoll::EventData::new_u64(id.raw()), flags);
        if let Err(error) = added {
            slab.remove(id);
            drop(slab);
            return Err(error.into());
        }
        let waker = Waker::from(Arc::new(ConnectionWaker { reactor: self.clone(), id }));
        let connection = Connection { future, waker, socket: socket.clone(), io: IoBuffers::default() };
        let driver = slab.insert(id, socket, Box::new(connection));
        drop(slab);
        wake(driver);
        Ok(())
    }

    pub(crate) fn stop(&self) {
        let (connections, drivers) = self.lock().close();
        drivers.into_iter().for_each(Waker::wake);
        drop(connections);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ConnectionSlab> {
        // Nothing that can panic half-way runs under this lock.
        self.slab.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on events wake `waker`. Whether there are some already.
    pub(crate) fn watch(&self, waker: &Waker) -> bool {
        let mut events_pending = false;
        // Readiness is cleared before the events are taken: an event that comes later is reported again.
        while let Poll::Ready(Ok(mut ready)) = self.epoll.poll_read_ready(&mut Context::from_waker(waker)) {
            ready.clear_ready();
            events_pending = true;
        }
        events_pending
    }
}

// === impl ConnectionWaker ===

impl Wake for ConnectionWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let driver = self.reactor.lock().wake_connection(self.id);
        wake(driver);
    }
}

pub(crate) fn wake(driver: Option<Waker>) {
    if let Some(driver) = driver {
        driver.wake();
    }
}
