//! The thread that waits for events and timers, and the handle of its owner.
//!
//! It is a thread, since it blocks in the kernel and on disks. It ends when its owner drops the
//! other end of `stop`.
//!
//! States: idle (`since: None`), or with an unreported change. A change is reported when the files
//! have been quiet for a while or when it has waited long enough.

use std::fmt::Display;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use super::inotify::{Drained, Watches, drain};
use super::scan::{Scan, Scope, Verdict};

/// The divisor of the time that polling may take.
const SHARE: u32 = 10;

/// Reports changes as long as it lives.
pub struct Watch {
    changes: watch::Receiver<()>,
    poll: Duration,
    /// Closing it ends the thread.
    _stop: Option<UnixStream>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchRules {
    /// The quiet time after which a change is reported.
    pub quiet: Duration,
    /// The maximum delay of a change.
    pub at_most: Duration,
    /// The interval for comparing roots, and files if there are no events.
    pub poll: Duration,
    /// The interval for comparing all folders even with events.
    pub safety: Duration,
    pub means: Means,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// Events if available, else polling.
    Events,
    Polling,
}

// === impl WatchRules ===

impl Default for WatchRules {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            at_most: Duration::from_millis(500),
            poll: Duration::from_millis(500),
            safety: Duration::from_secs(3),
            means: Means::Events,
        }
    }
}

// === impl Watch ===

impl Watch {
    /// Every change after this has returned is reported. Roots need not exist yet.
    pub async fn start(roots: Vec<PathBuf>, rules: WatchRules) -> Self {
        let (told, changes) = watch::channel(());
        let (begun, first) = oneshot::channel();
        let started = UnixStream::pair().and_then(|(stop, stopped)| {
            let run = move || {
                let mut watcher = Watcher::new(roots, rules, stopped, told);
                // Fails if the receiver is gone; `stopped` reports that too.
                let _ = begun.send(());
                watcher.run();
            };
            thread::Builder::new().name("watch".into()).spawn(run).map(|_| stop)
        });
        let stop = started.inspect_err(|error| tracing::warn!(%error, "The served folders cannot be watched")).ok();
        // Fails if there is no thread, which `changed` handles.
        let _ = first.await;
        Self { changes, poll: rules.poll, _stop: stop }
    }

    /// Returns when a change happened since it last returned. Cancel safe: no change is lost.
    pub async fn changed(&mut self) {
        if self.changes.changed().await.is_err() {
            // Without a thread the caller has to compare by itself, periodically.
            sleep(self.poll).await;
        }
    }
}

struct Watcher {
    rules: WatchRules,
    queue: Option<Arc<OwnedFd>>,
    stopped: UnixStream,
    scan: Scan,
    /// When the unreported change began, and its last event.
    since: Option<(Instant, Instant)>,
    next_poll: Instant,
    next_safety: Instant,
    told: watch::Sender<()>,
}

/// Why the thread woke up.
enum Wake {
    Stop,
    Events,
    Time,
}

// === impl Watcher ===

impl Watcher {
    fn new(roots: Vec<PathBuf>, rules: WatchRules, stopped: UnixStream, told: watch::Sender<()>) -> Self {
        let watches = match rules.means {
            Means::Polling => None,
            Means::Events => Watches::new().inspect_err(|error| warn(error)).ok(),
        };
        let queue = watches.as_ref().map(Watches::queue);
        let mut scan = Scan::new(roots, watches);
        scan.scan(Scope::All);
        let now = Instant::now();
        let (next_poll, next_safety) = (now + rules.poll, now + rules.safety);
        Self { rules, queue, stopped, scan, since: None, next_poll, next_safety, told }
    }

    fn run(&mut self) {
        loop {
            match self.wait() {
                Wake::Stop => return,
                Wake::Events => self.read(),
                Wake::Time => {}
            }
            let now = Instant::now();
            if self.due().is_some_and(|due| due <= now) {
                self.since = None;
                // New folders are watched first, then the change is reported.
                self.scan.scan(Scope::All);
                self.told.send_replace(());
            } else if self.next_poll <= now {
                self.compare(now);
            }
        }
    }

    /// When the present change is to be reported.
    fn due(&self) -> Option<Instant> {
        self.since.map(|(first, last)| (last + self.rules.quiet).min(first + self.rules.at_most))
    }

    fn wait(&self) -> Wake {
        let until = self.due().map_or(self.next_poll, |due| due.min(self.next_poll));
        let time = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        let mut files = vec![PollFd::new(&self.stopped, PollFlags::IN)];
        files.extend(self.queue.as_ref().map(|queue| PollFd::new(queue, PollFlags::IN)));
        match poll(&mut files, time.as_ref()) {
            Ok(_) if !files[0].revents().is_empty() => Wake::Stop,
            Ok(_) if files.get(1).is_some_and(|queue| !queue.revents().is_empty()) => Wake::Events,
            Ok(_) | Err(Errno::INTR) => Wake::Time,
            Err(error) => {
                // Only out of memory; the timers still advance.
                tracing::warn!(%error, "Waiting for changes failed");
                thread::sleep(self.rules.poll);
                Wake::Time
            }
        }
    }

    fn read(&mut self) {
        let Some(queue) = &self.queue else { return };
        match drain(queue) {
            Ok(Drained::Nothing) => {}
            Ok(Drained::Change | Drained::More) => self.record_change(),
            Err(error) => {
                warn(&error);
                self.queue = None;
                self.scan.without_events();
                self.record_change();
            }
        }
    }

    fn compare(&mut self, now: Instant) {
        let scope = if self.next_safety <= now { Scope::All } else { Scope::Doubtful };
        if self.scan.scan(scope) == Verdict::Changed {
            self.record_change();
        }
        let rest = now.elapsed() * (SHARE - 1);
        let end = Instant::now();
        self.next_poll = end + self.rules.poll.max(rest);
        if scope == Scope::All {
            self.next_safety = end + self.rules.safety.max(rest);
        }
    }

    fn record_change(&mut self) {
        let now = Instant::now();
        self.since = Some(self.since.map_or((now, now), |(first, _)| (first, now)));
    }
}

fn warn(error: &dyn Display) {
    tracing::warn!(%error, "The served folders are polled; see fs.inotify.max_user_instances");
}
