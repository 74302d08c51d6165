//! Idle connections to another process.
//! Invariants: none is idle for longer than [`REUSE_WINDOW`] after its last request began; while there are any, one task closes
//! those that are too old.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::REUSE_WINDOW;
use crate::buffered_stream::{BufferedStream, READ_SIZE};

/// More idle connections than this are closed.
const MAX_IDLE: usize = 256;

#[derive(Default)]
pub struct ConnectionPool {
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    idle: Vec<IdleConnection>,
    expiry_task: ExpiryTask,
}

struct IdleConnection {
    stream: BufferedStream,
    /// When its last request began to be sent: a lower bound for the time of its response.
    sent: Instant,
}

/// Whether the task that closes old connections runs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ExpiryTask {
    #[default]
    Off,
    On,
}

/// Returns a connection to the pool when its response is complete.
pub struct ReturnToPool {
    idle: Arc<ConnectionPool>,
    sent: Instant,
}

// === impl ConnectionPool ===

impl ConnectionPool {
    /// The connection that was used last, if it can still be used.
    pub fn take(&self) -> Option<BufferedStream> {
        loop {
            let IdleConnection { mut stream, sent } = self.lock().idle.pop()?;
            // Data or an end without a request means that the connection is of no use.
            let is_silent = stream.poll_fill(&mut Context::from_waker(Waker::noop()), READ_SIZE).is_pending();
            if is_silent && sent.elapsed() < REUSE_WINDOW {
                return Some(stream);
            }
        }
    }

    pub fn return_to_pool(self: &Arc<Self>, sent: Instant) -> ReturnToPool {
        ReturnToPool { idle: self.clone(), sent }
    }

    /// Closes connections that have been idle for too long.
    fn expire(&self) -> ExpiryTask {
        let mut state = self.lock();
        let all = std::mem::take(&mut state.idle).into_iter();
        let (fresh, expired): (Vec<_>, Vec<_>) = all.partition(|connection| connection.sent.elapsed() < REUSE_WINDOW);
        state.idle = fresh;
        if state.idle.is_empty() {
            state.expiry_task = ExpiryTask::Off;
        }
        let watch = state.expiry_task;
        // Closed without the lock.
        drop(state);
        drop(expired);
        watch
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        // Nothing that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn close_expired(idle: Weak<ConnectionPool>) {
    loop {
        sleep(REUSE_WINDOW).await;
        let Some(idle) = idle.upgrade() else { return };
        if idle.expire() == ExpiryTask::Off {
            return;
        }
    }
}

// === impl ReturnToPool ===

impl ReturnToPool {
    pub fn put(self, mut stream: BufferedStream) {
        // Without a runtime there is no task to close it in time.
        let Ok(runtime) = Handle::try_current() else { return };
        if self.sent.elapsed() >= REUSE_WINDOW {
            return;
        }
        stream.trim();
        let mut state = self.idle.lock();
        if state.idle.len() >= MAX_IDLE {
            return;
        }
        state.idle.push(IdleConnection { stream, sent: self.sent });
        let watch = std::mem::replace(&mut state.expiry_task, ExpiryTask::On);
        drop(state);
        if watch == ExpiryTask::Off {
            runtime.spawn(close_expired(Arc::downgrade(&self.idle)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::net::UnixStream;

    use super::*;
    use crate::stream::ClientStream;

    /// Puts a connection into the pool; gives its other end.
    fn put(idle: &Arc<ConnectionPool>) -> UnixStream {
        let (here, there) = UnixStream::pair().unwrap();
        idle.return_to_pool(Instant::now()).put(BufferedStream::new(ClientStream::Unix(here), Duration::ZERO));
        there
    }

    #[tokio::test(start_paused = true)]
    async fn connections_are_reused_within_the_window() {
        let idle = Arc::<ConnectionPool>::default();
        let _other = put(&idle);
        assert!(idle.take().is_some());
        assert!(idle.take().is_none());
        let other = put(&idle);
        sleep(REUSE_WINDOW * 2).await;
        assert!(idle.lock().idle.is_empty(), "it was closed without being asked for");
        assert!(other.try_write(b"x").is_err());
        assert!(idle.lock().expiry_task == ExpiryTask::Off);
        let _other = put(&idle);
        assert!(idle.take().is_some());
        let late = Instant::now();
        sleep(REUSE_WINDOW).await;
        let (here, _there) = UnixStream::pair().unwrap();
        idle.return_to_pool(late).put(BufferedStream::new(ClientStream::Unix(here), Duration::ZERO));
        assert!(idle.take().is_none(), "its request was sent too long ago");
    }

    #[tokio::test]
    async fn closed_and_unexpectedly_readable_connections_are_not_reused() {
        let idle = Arc::<ConnectionPool>::default();
        drop(put(&idle));
        let other = put(&idle);
        other.writable().await.unwrap();
        assert_eq!(other.try_write(b"HTTP/1.1 408").unwrap(), 12);
        // The runtime must have polled the socket to know; without that the write fails.
        sleep(Duration::from_millis(1)).await;
        assert!(idle.take().is_none());
    }
}
