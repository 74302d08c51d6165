//! Connections that wait for their next request.
//! Invariants: none waits longer than [`FRESH`] after its last request began; while any waits, one task watches the clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Waker};

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::FRESH;
use crate::wire::{READ, Wire};

/// More than this are closed: whoever needs as many at once can afford to make some.
const MOST: usize = 256;

#[derive(Default)]
pub struct Idle {
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    waiting: Vec<Waiting>,
    watch: Watch,
}

struct Waiting {
    wire: Wire,
    /// When its last request began to be sent: it cannot have been answered before that.
    sent: Instant,
}

/// Whether the task that closes old connections runs.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Watch {
    #[default]
    Off,
    On,
}

/// Where a connection goes when its answer is complete.
pub struct WayBack {
    idle: Arc<Idle>,
    sent: Instant,
}

// === impl Idle ===

impl Idle {
    /// The connection that waited least, if it can still be used.
    pub fn take(&self) -> Option<Wire> {
        loop {
            let Waiting { mut wire, sent } = self.lock().waiting.pop()?;
            // Whatever comes unasked is the end.
            let is_silent = wire.poll_fill(&mut Context::from_waker(Waker::noop()), READ).is_pending();
            if is_silent && sent.elapsed() < FRESH {
                return Some(wire);
            }
        }
    }

    pub fn way_back(self: &Arc<Self>, sent: Instant) -> WayBack {
        WayBack { idle: self.clone(), sent }
    }

    /// Closes what waited too long.
    fn expire(&self) -> Watch {
        let mut inside = self.lock();
        let all = std::mem::take(&mut inside.waiting).into_iter();
        let (fresh, expired): (Vec<_>, Vec<_>) = all.partition(|waiting| waiting.sent.elapsed() < FRESH);
        inside.waiting = fresh;
        if inside.waiting.is_empty() {
            inside.watch = Watch::Off;
        }
        let watch = inside.watch;
        // Closed after the lock: that is nobody else's business.
        drop(inside);
        drop(expired);
        watch
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        // Nothing that can panic runs under this lock.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn watch_the_clock(idle: Weak<Idle>) {
    loop {
        sleep(FRESH).await;
        let Some(idle) = idle.upgrade() else { return };
        if idle.expire() == Watch::Off {
            return;
        }
    }
}

// === impl WayBack ===

impl WayBack {
    pub fn go(self, mut wire: Wire) {
        // Without a runtime nobody would close it in time.
        let Ok(runtime) = Handle::try_current() else { return };
        if self.sent.elapsed() >= FRESH {
            return;
        }
        wire.trim();
        let mut inside = self.idle.lock();
        if inside.waiting.len() >= MOST {
            return;
        }
        inside.waiting.push(Waiting { wire, sent: self.sent });
        let watch = std::mem::replace(&mut inside.watch, Watch::On);
        drop(inside);
        if watch == Watch::Off {
            runtime.spawn(watch_the_clock(Arc::downgrade(&self.idle)));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tokio::net::UnixStream;

    use super::*;
    use crate::stream::Stream;

    /// A connection that begins to wait, and its other end.
    fn put(idle: &Arc<Idle>) -> UnixStream {
        let (here, there) = UnixStream::pair().unwrap();
        idle.way_back(Instant::now()).go(Wire::new(Stream::Unix(here), Duration::ZERO));
        there
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_used_again_while_it_is_fresh() {
        let idle = Arc::<Idle>::default();
        let _other = put(&idle);
        assert!(idle.take().is_some());
        assert!(idle.take().is_none());
        let other = put(&idle);
        sleep(FRESH * 2).await;
        assert!(idle.lock().waiting.is_empty(), "it was closed without being asked for");
        assert!(other.try_write(b"x").is_err());
        assert!(idle.lock().watch == Watch::Off);
        let _other = put(&idle);
        assert!(idle.take().is_some());
        let late = Instant::now();
        sleep(FRESH).await;
        let (here, _there) = UnixStream::pair().unwrap();
        idle.way_back(late).go(Wire::new(Stream::Unix(here), Duration::ZERO));
        assert!(idle.take().is_none(), "its request was sent too long ago");
    }

    #[tokio::test]
    async fn what_was_closed_or_speaks_unasked_is_not_used() {
        let idle = Arc::<Idle>::default();
        drop(put(&idle));
        let other = put(&idle);
        other.writable().await.unwrap();
        assert_eq!(other.try_write(b"HTTP/1.1 408").unwrap(), 12);
        // Until the runtime has looked, it does not know: then it is the writing that fails.
        sleep(Duration::from_millis(1)).await;
        assert!(idle.take().is_none());
    }
}
