//! The watchdog: one thread that scans all running turns of JavaScript, terminates those that exceed
//! their limits, and reports those that go on regardless.
//!
//! Each thread that runs JavaScript has a slot, where it publishes its turn to the watchdog
//! (`watchdog/loan_cell.rs`). Arming a turn at its start and disarming it at its end cost one locked
//! instruction and a clock reading. Everything slow (the thread's CPU clock, 0.7 µs) is read by the
//! watchdog, and only for turns that outlive one of its ticks. Termination happens while the watchdog
//! inspects a turn, and disarming waits for that, so it never hits the turn after the one that was meant.
//!
//! A turn that outlives a tick is handed off to a standby thread until its end (`scheduler/handoff.rs`);
//! a turn of an unproven app earlier.
//!
//! Slots remember the last turns of their threads, for the question whether another worker runs
//! ([`is_another_worker_running`]).

mod budget;
mod loan_cell;
mod turn;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use hearth_core::{AppName, Owner, RequestId};
use hearth_crash::breadcrumbs::{BreadcrumbWriter, Breadcrumbs};

use self::turn::WatchedThread;
use crate::app::App;
use crate::worker::WorkerId;

pub(crate) use self::budget::{Allowance, Budget, Deadline};
pub(crate) use self::turn::{Turn, WatchTarget, cpu_time, thread_clock};

/// The interval of scans.
const TICK: Duration = Duration::from_millis(5);
/// The interval while a turn of an unproven app runs on a thread that other tasks may come to wait for.
const SHORT_TICK: Duration = Duration::from_millis(1);
/// A worker counts as running for so long after the beginning of its last turn.
const RECENT: Duration = Duration::from_millis(5);
/// After so many scans without a turn the watchdog sleeps until a turn starts.
const IDLE_TICKS: u32 = 20;
/// CPU time that a turn may use after its termination before it is stuck, unless
/// [`Platform::set_stuck_grace`](crate::Platform::set_stuck_grace) says otherwise.
pub const STUCK_GRACE: Duration = Duration::from_millis(100);

/// A turn that ignores termination: its beginning, or its end after all.
#[derive(Clone, Copy, Debug)]
pub struct StuckTurn<'a> {
    pub owner: &'a Owner,
    pub app: &'a AppName,
    pub request: RequestId,
    pub state: Stuck,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    Begins,
    Ends,
}

/// Is called for turns that ignore termination.
pub type StuckObserver = Arc<dyn Fn(StuckTurn<'_>) + Send + Sync>;

struct Watchdog {
    started: Instant,
    threads: Mutex<Vec<Arc<WatchedThread>>>,
    is_asleep: AtomicBool,
    thread: OnceLock<Thread>,
    breadcrumbs: Mutex<Option<Arc<Breadcrumbs>>>,
    observer: Mutex<Option<StuckObserver>>,
    grace: OnceLock<Duration>,
}

/// What a scan has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ScanResult {
    Nothing,
    Turns,
    /// A turn of an unproven app, on a thread that other tasks may wait for.
    Unproven,
}

pub(crate) fn set_breadcrumbs(page: Arc<Breadcrumbs>) {
    *lock(&watchdog().breadcrumbs) = Some(page);
}

pub(crate) fn set_stuck_grace(grace: Duration) {
    let _ = watchdog().grace.set(grace);
}

pub(crate) fn set_stuck_observer(observer: StuckObserver) {
    *lock(&watchdog().observer) = Some(observer);
}

/// Whether a worker other than this one is in a turn, or was a moment ago.
pub(crate) fn is_another_worker_running(worker: WorkerId) -> bool {
    let dog = watchdog();
    let since = Instant::now().checked_sub(RECENT).map_or(0, |since| dog.nanoseconds(since));
    lock(&dog.threads).iter().any(|thread| {
        let other = thread.last_turn.worker.load(Ordering::Relaxed);
        let is_recent = || thread.last_turn.began.load(Ordering::Relaxed) >= since;
        other != 0 && other != worker.raw() && (thread.turn.is_published() || is_recent())
    })
}

fn watchdog() -> &'static Watchdog {
    static WATCHDOG: OnceLock<Watchdog> = OnceLock::new();
    let dog = WATCHDOG.get_or_init(|| Watchdog {
        started: Instant::now(),
        threads: Mutex::default(),
        is_asleep: AtomicBool::new(false),
        thread: OnceLock::new(),
        breadcrumbs: Mutex::default(),
        observer: Mutex::default(),
        grace: OnceLock::new(),
    });
    dog.thread.get_or_init(|| {
        let thread = std::thread::Builder::new().name("hearth-watchdog".into()).spawn(|| watchdog().run());
        thread.expect("the process can start one more thread").thread().clone()
    });
    dog
}

// === impl Watchdog ===

impl Watchdog {
    /// Watches one more thread; returns its place in the breadcrumbs.
    fn add_thread(&self, thread: Arc<WatchedThread>) -> Option<BreadcrumbWriter> {
        lock(&self.threads).push(thread);
        lock(&self.breadcrumbs).as_ref().and_then(Breadcrumbs::claim)
    }

    /// Since the watchdog's start.
    fn nanoseconds(&self, then: Instant) -> u64 {
        let since = then.saturating_duration_since(self.started);
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    #[inline]
    fn wake_if_asleep(&self) {
        if self.is_asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    fn wake(&self) {
        if !self.is_asleep.swap(false, Ordering::AcqRel) {
            return;
        }
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn run(&self) {
        let (mut idle, mut result) = (0, ScanResult::Nothing);
        loop {
            if idle < IDLE_TICKS {
                std::thread::sleep(if result == ScanResult::Unproven { SHORT_TICK } else { TICK });
            } else {
                self.is_asleep.store(true, Ordering::Release);
                // A turn that started before it could see the flag is found a little later, not never.
                std::thread::park_timeout(Duration::from_millis(200));
                self.is_asleep.store(false, Ordering::Release);
            }
            result = self.scan();
            idle = if result == ScanResult::Nothing { idle.saturating_add(1) } else { 0 };
        }
    }

    fn scan(&self) -> ScanResult {
        let mut threads = lock(&self.threads);
        // A thread that only this list holds has ended.
        threads.retain(|thread| Arc::strong_count(thread) > 1);
        let mut result = ScanResult::Nothing;
        let grace = *self.grace.get().unwrap_or(&STUCK_GRACE);
        for thread in threads.iter() {
            let Some((found, stuck)) = thread.scan(grace) else { continue };
            result = result.max(found);
            if let Some((app, request)) = stuck {
                self.notify_stuck(&app, request, Stuck::Begins);
            }
        }
        result
    }

    fn notify_stuck(&self, app: &App, request: RequestId, state: Stuck) {
        // Called outside of the lock: the observer may do anything.
        let observer = lock(&self.observer).clone();
        if let Some(observer) = observer {
            observer(StuckTurn { owner: &app.owner, app: &app.name, request, state });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is valid after every single store; a panic elsewhere leaves nothing half-written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
