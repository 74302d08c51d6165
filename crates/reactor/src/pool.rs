//! The reactors of a server. Where there are many cores there are several, so that not all drivers contend for one lock.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::ConnectionFuture;
use crate::reactor::Reactor;
use crate::socket::ReactorSocket;

/// Cores that share a reactor.
const CORES_PER_REACTOR: usize = 4;

/// Spreads connections over its reactors, which are started with the first connection.
#[derive(Default)]
pub struct ReactorPool {
    reactors: Mutex<Vec<Arc<Reactor>>>,
    next: AtomicUsize,
}

impl ReactorPool {
    /// Adds a connection to the next reactor. `make` makes the connection's future around its socket, and must not block.
    /// Must be called on the tokio runtime that is to serve the connections.
    pub fn add(&self, socket: TcpStream, make: impl FnOnce(ReactorSocket) -> ConnectionFuture) -> io::Result<()> {
        let mut reactors = self.lock();
        if reactors.is_empty() {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            *reactors = (0..cores.div_ceil(CORES_PER_REACTOR)).map(|_| Reactor::start()).collect::<io::Result<_>>()?;
        }
        let reactor = reactors[self.next.fetch_add(1, Ordering::Relaxed) % reactors.len()].clone();
        drop(reactors);
        reactor.add(socket, make)
    }

    /// Ends all drivers, and with them the connections that are still open.
    pub fn stop(&self) {
        let reactors = std::mem::take(&mut *self.lock());
        reactors.iter().for_each(|reactor| reactor.stop());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Reactor>>> {
        self.reactors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
