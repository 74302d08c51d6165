//! A turn on the side of its thread, and what the watchdog does with it.
//!
//! States: `Running -> Terminated -> Stuck`; disarming leaves any of them.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hearth_core::{LimitExceeded, RequestId};
use hearth_crash::breadcrumbs::{AppRef, BreadcrumbWriter, TurnPhase};

use super::budget::Budget;
use super::loan_cell::{LoanCell, LoanOwner};
use super::{SHORT_TICK, ScanResult, Stuck, TICK, watchdog};
use crate::app::App;
use crate::scheduler::{DeferredReplies, HandoffGuard, LatencyClass, ThreadBackup};
use crate::worker::WorkerId;

/// The most that a turn is charged for the time before the first reading of its thread's clock. Wall
/// time is CPU time only while the thread runs, and a machine that stalls must not cost an app its
/// worker.
const MAX_UNSAMPLED: Duration = Duration::from_millis(10);
/// CPU time that a turn may use after its replies before the watchdog sends them: less than a tick, so
/// that the next scan does.
const REPLY_HOLD_LIMIT: Duration = Duration::from_millis(3);

/// What turns are watched for: made once per worker.
pub(crate) struct WatchTarget {
    worker: WorkerId,
    pub(crate) app: Arc<App>,
    pub(crate) handle: v8::IsolateHandle,
    /// Replies that wait for the end of a turn.
    replies: Arc<DeferredReplies>,
}

/// A running turn; disarms when finished or dropped.
pub(crate) struct Turn(());

/// How a turn ended.
pub(crate) struct Finished {
    /// CPU time: measured for long turns, the wall time that passed for short ones.
    pub(crate) cpu: Duration,
    /// Set when the watchdog terminated the turn.
    pub(crate) exceeded: Option<LimitExceeded>,
}

/// A thread that runs JavaScript, as the watchdog sees it.
pub(super) struct WatchedThread {
    clock: libc::clockid_t,
    /// What takes over when a turn blocks the thread.
    backup: Option<ThreadBackup>,
    /// The running turn, while there is one.
    pub(super) turn: Arc<LoanCell<ArmedTurn>>,
    pub(super) last_turn: LastTurn,
}

/// The last turn of a thread, finished or not. Hints: the two values may be of different turns.
#[derive(Default)]
pub(super) struct LastTurn {
    /// 0: there was none.
    pub(super) worker: AtomicU64,
    /// Nanoseconds after the watchdog's start.
    pub(super) began: AtomicU64,
}

pub(super) struct ArmedTurn {
    pub(super) target: TargetPtr,
    pub(super) request: RequestId,
    budget: Budget,
    started: Instant,
    sample: Option<CpuSample>,
    phase: Phase,
    handoff: Option<HandoffGuard>,
}

/// The target of a turn while the turn is armed: a handle of its own would cost two locked instructions.
#[derive(Clone, Copy)]
pub(super) struct TargetPtr(NonNull<WatchTarget>);

// SAFETY: demands that other threads may use the target: it is `Sync`.
unsafe impl Send for TargetPtr {}

/// The first reading of a thread's CPU clock during a turn.
struct CpuSample {
    clock: Duration,
    /// How long the turn had run by then.
    before: Duration,
    /// What the turn had used when replies were first seen to wait for its end.
    replied_at: Option<Duration>,
}

enum Phase {
    Running,
    Terminated { exceeded: LimitExceeded, cpu: Duration },
    Stuck { exceeded: LimitExceeded },
}

/// This thread's side.
struct ThreadSlot {
    watched: Arc<WatchedThread>,
    turn: LoanOwner<ArmedTurn>,
    breadcrumb: Option<BreadcrumbWriter>,
}

thread_local! {
    static THREAD_SLOT: RefCell<Option<ThreadSlot>> = const { RefCell::new(None) };
}

// === impl WatchTarget ===

impl WatchTarget {
    pub(crate) fn new(
        worker: WorkerId,
        app: Arc<App>,
        handle: v8::IsolateHandle,
        replies: Arc<DeferredReplies>,
    ) -> Self {
        Self { worker, app, handle, replies }
    }

    fn app_ref(&self) -> AppRef<'_> {
        let App { name, version, owner, .. } = &*self.app;
        AppRef { app: name.as_str(), version: version.as_str(), owner: owner.as_str() }
    }
}

// === impl TargetPtr ===

impl std::ops::Deref for TargetPtr {
    type Target = WatchTarget;

    fn deref(&self) -> &WatchTarget {
        // SAFETY: demands a live target: the caller of `Turn::arm` keeps it until the turn is disarmed, and only armed
        // turns are dereferenced, by their own thread and by the watchdog, which disarming waits for.
        unsafe { self.0.as_ref() }
    }
}

// === impl Turn ===

impl Turn {
    /// Starts watching this thread's turn.
    ///
    /// # Safety
    /// The target lives until the turn is finished or dropped.
    pub(crate) unsafe fn arm(
        target: &WatchTarget,
        request: RequestId,
        phase: TurnPhase,
        budget: Budget,
        now: Instant,
    ) -> Self {
        let dog = watchdog();
        THREAD_SLOT.with_borrow_mut(|slot| {
            let ThreadSlot { watched, turn, breadcrumb } = slot.get_or_insert_with(ThreadSlot::claim);
            if let Some(breadcrumb) = breadcrumb {
                breadcrumb.set(target.worker.raw(), || target.app_ref(), request.raw(), phase);
            }
            watched.last_turn.worker.store(target.worker.raw(), Ordering::Relaxed);
            watched.last_turn.began.store(dog.nanoseconds(now), Ordering::Relaxed);
            turn.publish(ArmedTurn {
                target: TargetPtr(NonNull::from(target)),
                request,
                budget,
                started: now,
                sample: None,
                phase: Phase::Running,
                handoff: None,
            });
        });
        dog.wake_if_asleep();
        Self(())
    }

    pub(crate) fn finish(self) -> Finished {
        let finished = disarm();
        std::mem::forget(self);
        finished.expect("a turn that was armed is disarmed once")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        disarm();
    }
}

fn disarm() -> Option<Finished> {
    THREAD_SLOT.with_borrow_mut(|slot| {
        let ThreadSlot { watched, turn, breadcrumb } = slot.as_mut()?;
        let armed = turn.reclaim()?;
        if let Some(breadcrumb) = breadcrumb {
            breadcrumb.clear();
        }
        let cpu = match armed.sample {
            // No scan has seen the turn.
            None => armed.started.elapsed().min(MAX_UNSAMPLED),
            Some(CpuSample { clock, before, .. }) => {
                before + cpu_time(watched.clock).unwrap_or(clock).saturating_sub(clock)
            }
        };
        armed.handoff = None;
        let exceeded = match armed.phase {
            Phase::Running => None,
            Phase::Terminated { exceeded, .. } => Some(exceeded),
            Phase::Stuck { exceeded } => {
                watchdog().notify_stuck(&armed.target.app, armed.request, Stuck::Ends);
                Some(exceeded)
            }
        };
        Some(Finished { cpu, exceeded })
    })
}

// === impl ThreadSlot ===

impl ThreadSlot {
    /// This thread's slot, watched from now on.
    fn claim() -> Self {
        let turn = LoanOwner::new();
        let (clock, backup, last_turn) = (thread_clock(), ThreadBackup::current(), LastTurn::default());
        let watched = Arc::new(WatchedThread { clock, backup, turn: turn.shared(), last_turn });
        let breadcrumb = watchdog().add_thread(watched.clone());
        Self { watched, turn, breadcrumb }
    }
}

/// The app and the request of a turn that does not end.
type StuckRequest = (Arc<App>, RequestId);

// === impl WatchedThread ===

impl WatchedThread {
    /// Checks the running turn. Returns what the scan has to know of it, and app and request if the turn
    /// was found stuck just now.
    pub(super) fn scan(&self, grace: Duration) -> Option<(ScanResult, Option<StuckRequest>)> {
        self.turn.inspect(|armed| {
            let result = armed.hand_off(self.backup.as_ref());
            let is_stuck = armed.check_limits(self.clock, grace);
            (result, is_stuck.then(|| (armed.target.app.clone(), armed.request)))
        })
    }
}

// === impl ArmedTurn ===

impl ArmedTurn {
    /// Starts a handoff when the turn is long. What waits for the thread goes on elsewhere; the thread may
    /// even be the one that waits for I/O for the whole runtime, and tokio does not notice that it is blocked.
    fn hand_off(&mut self, backup: Option<&ThreadBackup>) -> ScanResult {
        let (None, Some(backup)) = (&self.handoff, backup) else { return ScanResult::Turns };
        let is_urgent = backup.has_standby() && self.target.app.latency.class() == LatencyClass::Unproven;
        if self.started.elapsed() < if is_urgent { SHORT_TICK } else { TICK } {
            return if is_urgent { ScanResult::Unproven } else { ScanResult::Turns };
        }
        self.handoff = backup.activate();
        ScanResult::Turns
    }

    /// Terminates the turn when it exceeds its budget; says whether it was found stuck just now.
    fn check_limits(&mut self, clock: libc::clockid_t, grace: Duration) -> bool {
        let passed = self.started.elapsed().min(MAX_UNSAMPLED);
        // The thread may end between two scans; then there is nothing to measure.
        let Some(now) = cpu_time(clock) else { return false };
        let sample = self.sample.get_or_insert(CpuSample { clock: now, before: passed, replied_at: None });
        let cpu = sample.before + now.saturating_sub(sample.clock);
        // CPU time, not wall time: a thread that waits for a core does not make its app slow.
        self.target.app.latency.record_running(cpu);
        sample.release_replies(&self.target.replies, cpu);
        match self.phase {
            Phase::Running => {
                if let Some(exceeded) = self.budget.exceeded(cpu, Instant::now()) {
                    self.target.handle.terminate_execution();
                    self.phase = Phase::Terminated { exceeded, cpu };
                }
                false
            }
            Phase::Terminated { exceeded, cpu: at } if cpu.saturating_sub(at) >= grace => {
                self.phase = Phase::Stuck { exceeded };
                true
            }
            // Code that runs between two of V8's checks can swallow a termination: it is requested again.
            Phase::Terminated { .. } | Phase::Stuck { .. } => {
                self.target.handle.terminate_execution();
                false
            }
        }
    }
}

// === impl CpuSample ===

impl CpuSample {
    /// Sends the replies of a turn that goes on after them. CPU time counts here, too: a turn that waits for
    /// a core may be about to end.
    fn release_replies(&mut self, replies: &DeferredReplies, cpu: Duration) {
        if replies.is_empty() {
            return;
        }
        let replied_at = *self.replied_at.get_or_insert(cpu);
        if cpu.saturating_sub(replied_at) >= REPLY_HOLD_LIMIT {
            replies.take().send();
        }
    }
}

/// The clock of this thread's CPU time, readable by other threads.
pub(crate) fn thread_clock() -> libc::clockid_t {
    let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
    // SAFETY: demands a live thread and room for the id: this thread, and a local.
    unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
    clock
}

pub(crate) fn cpu_time(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: demands room for the result; an id of a thread that has ended is an error, not a fault.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then(|| Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threads_cpu_clock_can_be_read() {
        assert!(cpu_time(thread_clock()).is_some());
    }
}
