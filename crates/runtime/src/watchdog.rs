//! The watchdog: one thread that looks at every running turn of JavaScript, terminates those that are over their limits,
//! and reports those that go on regardless.
//!
//! Each thread that runs JavaScript has a slot, where it lends its turn to the watchdog (`watchdog/lent.rs`). Arming it at a
//! turn's start and disarming it at its end cost one locked instruction and a clock reading; everything slow (the thread's
//! CPU clock, 0.7 µs) is read by the watchdog, and only for turns that outlive one of its ticks. Because termination
//! happens while the watchdog looks, and a turn is not over before that, it can never hit the turn after the one that was meant.
//!
//! States of a turn: `Running -> Terminated -> Stuck`; disarming leaves any of them. A turn that outlives a tick is covered
//! by a thread from the reserve (`cover.rs`) until its end; one of an app that nobody knows, sooner.
//!
//! Slots remember their latest turns, so that one can ask whether anybody else is at work ([`are_others_at_work`]).

mod lent;

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use hearth_core::{AppName, Gait, LimitExceeded, LimitKind, Owner, RequestId};
use hearth_jail::breadcrumbs::{AppRef, BreadcrumbWriter, Breadcrumbs, TurnPhase};

use self::lent::{Lent, Own};
use crate::app::App;
use crate::cover::{Backing, Cover};
use crate::worker::{Outbox, WorkerId};

/// How often running turns are looked at.
const TICK: Duration = Duration::from_millis(5);
/// The same while a turn of an app that nobody knows runs where others may come to wait behind it.
const SHORT_TICK: Duration = Duration::from_millis(1);
/// Whose latest turn began before that is not at work any more.
const LATELY: Duration = Duration::from_millis(5);
/// What a turn is charged for the time before anybody looked at its thread's clock, at most. Time that passes is CPU time
/// only as long as the thread runs, and a machine that stalls must not cost an app its worker.
const UNSEEN: Duration = Duration::from_millis(10);
/// What a turn may use after its answers before they leave without it: less than a tick, so that it is the next look.
const AFTERMATH: Duration = Duration::from_millis(3);
/// After this much of nothing to watch the watchdog sleeps until a turn starts.
const IDLE_TICKS: u32 = 20;
/// A turn that uses this much CPU time after its termination is stuck, where nobody says otherwise.
pub const STUCK_GRACE: Duration = Duration::from_millis(100);

/// What a turn may use, and of which limit that is a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) cpu: Option<Allowance>,
    pub(crate) wall: Option<Deadline>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) kind: LimitKind,
    /// The whole limit, and how much of it went to earlier turns.
    pub(crate) limit: Duration,
    pub(crate) used: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) kind: LimitKind,
    pub(crate) limit: Duration,
    pub(crate) at: Instant,
}

/// How a turn ended, for its charge.
pub(crate) struct Finished {
    /// CPU time, as far as it is known: exact for long turns, the time that passed for short ones.
    pub(crate) cpu: Duration,
    /// Set when the watchdog terminated it.
    pub(crate) exceeded: Option<LimitExceeded>,
}

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

/// Told of turns that ignore termination.
pub type StuckObserver = Arc<dyn Fn(StuckTurn<'_>) + Send + Sync>;

/// Whose turns they are: made once per worker.
pub(crate) struct Subject {
    worker: WorkerId,
    pub(crate) app: Arc<App>,
    pub(crate) handle: v8::IsolateHandle,
    /// Where answers wait for the end of a turn.
    outbox: Arc<Outbox>,
}

/// A running turn; disarms when finished or dropped.
pub(crate) struct Turn(());

struct Watchdog {
    born: Instant,
    slots: Mutex<Vec<Arc<Slot>>>,
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
    crumbs: Mutex<Option<Arc<Breadcrumbs>>>,
    observer: Mutex<Option<StuckObserver>>,
    grace: OnceLock<Duration>,
}

struct Slot {
    clock: libc::clockid_t,
    /// What takes over when the thread is held up.
    backing: Option<Backing>,
    /// What the thread runs, while it runs something.
    turn: Arc<Lent<Armed>>,
    latest: Latest,
}

/// The latest turn of a thread, be it over or not. Hints: the two may be of different turns.
#[derive(Default)]
struct Latest {
    /// 0: there was none.
    worker: AtomicU64,
    /// Nanoseconds after the watchdog began.
    began: AtomicU64,
}

struct Armed {
    subject: Whose,
    request: RequestId,
    budget: Budget,
    started: Instant,
    sample: Option<Sample>,
    phase: Phase,
    cover: Option<Cover>,
}

/// The subject of a turn, for as long as the turn is armed: a handle of its own would cost two locked instructions.
#[derive(Clone, Copy)]
struct Whose(NonNull<Subject>);

// SAFETY: demands that other threads may use the subject: it can be shared between them.
unsafe impl Send for Whose {}

/// The first look at a thread's CPU clock during a turn.
struct Sample {
    clock: Duration,
    /// How long the turn had run by then.
    before: Duration,
    /// What it had used when answers were first seen to wait for its end.
    answered: Option<Duration>,
}

/// What a look at all turns has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Nothing,
    Turns,
    /// One that nobody can tell the length of, on a thread that has other things to do.
    Uncovered,
}

enum Phase {
    Running,
    Terminated { exceeded: LimitExceeded, cpu: Duration },
    Stuck { exceeded: LimitExceeded },
}

struct Seat {
    slot: Arc<Slot>,
    turn: Own<Armed>,
    crumb: Option<BreadcrumbWriter>,
}

thread_local! {
    static SEAT: RefCell<Option<Seat>> = const { RefCell::new(None) };
}

/// Puts the breadcrumbs into `page`, which outlives this process. Threads that already run JavaScript keep theirs.
pub fn set_breadcrumbs(page: Arc<Breadcrumbs>) {
    *lock(&watchdog().crumbs) = Some(page);
}

/// How much CPU time a turn has after its termination before it is stuck. The first call counts.
pub fn set_stuck_grace(grace: Duration) {
    let _ = watchdog().grace.set(grace);
}

/// Calls `observer` at the beginning of each stuck turn, from the watchdog's thread, and at its end, from its own.
pub fn set_stuck_observer(observer: StuckObserver) {
    *lock(&watchdog().observer) = Some(observer);
}

/// Whether a worker other than this one is in a turn, or was a moment ago.
pub(crate) fn are_others_at_work(worker: WorkerId) -> bool {
    let dog = watchdog();
    let since = Instant::now().checked_sub(LATELY).map_or(0, |since| dog.nanoseconds(since));
    lock(&dog.slots).iter().any(|slot| {
        let other = slot.latest.worker.load(Ordering::Relaxed);
        let is_late = || slot.latest.began.load(Ordering::Relaxed) >= since;
        other != 0 && other != worker.raw() && (slot.turn.is_there() || is_late())
    })
}

// === impl Subject ===

impl Subject {
    pub(crate) fn new(worker: WorkerId, app: Arc<App>, handle: v8::IsolateHandle, outbox: Arc<Outbox>) -> Self {
        Self { worker, app, handle, outbox }
    }

    fn who(&self) -> AppRef<'_> {
        let App { name, version, owner, .. } = &*self.app;
        AppRef { app: name.as_str(), version: version.as_str(), owner: owner.as_str() }
    }
}

// === impl Whose ===

impl std::ops::Deref for Whose {
    type Target = Subject;

    fn deref(&self) -> &Subject {
        // SAFETY: demands a live subject: whoever armed the turn keeps it until the turn is disarmed (`Turn::arm`), and armed
        // turns alone are looked at, by their own thread and by the watchdog, which disarming waits for.
        unsafe { self.0.as_ref() }
    }
}

// === impl Turn ===

impl Turn {
    /// Starts watching this thread's turn.
    ///
    /// # Safety
    /// The subject lives until the turn was finished or dropped.
    pub(crate) unsafe fn arm(
        subject: &Subject,
        request: RequestId,
        doing: TurnPhase,
        budget: Budget,
        now: Instant,
    ) -> Self {
        let dog = watchdog();
        SEAT.with_borrow_mut(|seat| {
            let Seat { slot, turn, crumb } = seat.get_or_insert_with(|| dog.seat());
            if let Some(crumb) = crumb {
                crumb.set(subject.worker.raw(), || subject.who(), request.raw(), doing);
            }
            slot.latest.worker.store(subject.worker.raw(), Ordering::Relaxed);
            slot.latest.began.store(dog.nanoseconds(now), Ordering::Relaxed);
            turn.lend(Armed {
                subject: Whose(NonNull::from(subject)),
                request,
                budget,
                started: now,
                sample: None,
                phase: Phase::Running,
                cover: None,
            });
        });
        if dog.asleep.load(Ordering::Relaxed) {
            dog.wake();
        }
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
    SEAT.with_borrow_mut(|seat| {
        let Seat { slot, turn, crumb } = seat.as_mut()?;
        let armed = turn.take_back()?;
        if let Some(crumb) = crumb {
            crumb.clear();
        }
        let cpu = match armed.sample {
            // The watchdog has not looked at it even once.
            None => armed.started.elapsed().min(UNSEEN),
            Some(Sample { clock, before, .. }) => before + cpu_time(slot.clock).unwrap_or(clock).saturating_sub(clock),
        };
        armed.cover = None;
        let exceeded = match armed.phase {
            Phase::Running => None,
            Phase::Terminated { exceeded, .. } => Some(exceeded),
            Phase::Stuck { exceeded } => {
                watchdog().tell(&armed.subject.app, armed.request, Stuck::Ends);
                Some(exceeded)
            }
        };
        Some(Finished { cpu, exceeded })
    })
}

fn watchdog() -> &'static Watchdog {
    static WATCHDOG: OnceLock<Watchdog> = OnceLock::new();
    let dog = WATCHDOG.get_or_init(|| Watchdog {
        born: Instant::now(),
        slots: Mutex::default(),
        asleep: AtomicBool::new(false),
        thread: OnceLock::new(),
        crumbs: Mutex::default(),
        observer: Mutex::default(),
        grace: OnceLock::new(),
    });
    dog.thread.get_or_init(|| {
        let thread = std::thread::Builder::new().name("hearth-watchdog".into()).spawn(|| watchdog().watch());
        thread.expect("the process can start one more thread").thread().clone()
    });
    dog
}

// === impl Watchdog ===

impl Watchdog {
    /// This thread's slot, from now on watched.
    fn seat(&self) -> Seat {
        let turn = Own::new();
        let (clock, backing, latest) = (thread_clock(), Backing::here(), Latest::default());
        let slot = Arc::new(Slot { clock, backing, turn: turn.shared(), latest });
        lock(&self.slots).push(slot.clone());
        let crumb = lock(&self.crumbs).as_ref().and_then(Breadcrumbs::claim);
        Seat { slot, turn, crumb }
    }

    /// From its beginning to then.
    fn nanoseconds(&self, then: Instant) -> u64 {
        let since = then.saturating_duration_since(self.born);
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    fn wake(&self) {
        if !self.asleep.swap(false, Ordering::AcqRel) {
            return;
        }
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn watch(&self) {
        let (mut idle, mut seen) = (0, Seen::Nothing);
        loop {
            if idle < IDLE_TICKS {
                std::thread::sleep(if seen == Seen::Uncovered { SHORT_TICK } else { TICK });
            } else {
                self.asleep.store(true, Ordering::Release);
                // A turn that started before it could see the flag is caught a little later, not never.
                std::thread::park_timeout(Duration::from_millis(200));
                self.asleep.store(false, Ordering::Release);
            }
            seen = self.look();
            idle = if seen == Seen::Nothing { idle.saturating_add(1) } else { 0 };
        }
    }

    /// Looks at every slot.
    fn look(&self) -> Seen {
        let mut slots = lock(&self.slots);
        // A slot that only this list holds belongs to a thread that has ended.
        slots.retain(|slot| Arc::strong_count(slot) > 1);
        let mut seen = Seen::Nothing;
        let grace = *self.grace.get().unwrap_or(&STUCK_GRACE);
        for slot in slots.iter() {
            let stuck = slot.turn.look(|armed| {
                seen = seen.max(armed.call_cover(slot));
                armed.look(slot.clock, grace).then(|| (armed.subject.app.clone(), armed.request))
            });
            if let Some((app, request)) = stuck.flatten() {
                self.tell(&app, request, Stuck::Begins);
            }
        }
        seen
    }

    fn tell(&self, app: &App, request: RequestId, state: Stuck) {
        // Taken out of the lock: the observer may do what it likes.
        let observer = lock(&self.observer).clone();
        if let Some(observer) = observer {
            observer(StuckTurn { owner: &app.owner, app: &app.name, request, state });
        }
    }
}

// === impl Armed ===

impl Armed {
    /// What waits behind a long turn goes on elsewhere. The thread may even be the one that waits for I/O on behalf of all,
    /// and tokio does not notice that it is gone.
    fn call_cover(&mut self, slot: &Slot) -> Seen {
        let (None, Some(backing)) = (&self.cover, &slot.backing) else { return Seen::Turns };
        let soon = backing.has_reserve() && self.subject.app.pace.gait() == Gait::Unknown;
        if self.started.elapsed() < if soon { SHORT_TICK } else { TICK } {
            return if soon { Seen::Uncovered } else { Seen::Turns };
        }
        self.cover = backing.cover();
        Seen::Turns
    }

    /// Terminates the turn when it is due; says whether it was found stuck just now.
    fn look(&mut self, clock: libc::clockid_t, grace: Duration) -> bool {
        let passed = self.started.elapsed().min(UNSEEN);
        // The thread may end between two looks; then there is nothing to measure, and nothing left to watch.
        let Some(now) = cpu_time(clock) else { return false };
        let sample = self.sample.get_or_insert(Sample { clock: now, before: passed, answered: None });
        let cpu = sample.before + now.saturating_sub(sample.clock);
        // By what it used, not by what passed: a thread that the machine keeps waiting is no slow app's.
        self.subject.app.pace.note_running(cpu);
        sample.let_answers_go(&self.subject.outbox, cpu);
        match self.phase {
            Phase::Running => {
                if let Some(exceeded) = self.budget.exceeded(cpu, Instant::now()) {
                    self.subject.handle.terminate_execution();
                    self.phase = Phase::Terminated { exceeded, cpu };
                }
                false
            }
            Phase::Terminated { exceeded, cpu: at } if cpu.saturating_sub(at) >= grace => {
                self.phase = Phase::Stuck { exceeded };
                true
            }
            // Termination can be swallowed by code that runs between two checks: ask again.
            Phase::Terminated { .. } | Phase::Stuck { .. } => {
                self.subject.handle.terminate_execution();
                false
            }
        }
    }
}

// === impl Sample ===

impl Sample {
    /// A turn that goes on after its answers does not keep them. Here, too, what it used counts: one that waits for a core may
    /// be as good as over.
    fn let_answers_go(&mut self, outbox: &Outbox, cpu: Duration) {
        if outbox.is_empty() {
            return;
        }
        let seen = *self.answered.get_or_insert(cpu);
        if cpu.saturating_sub(seen) >= AFTERMATH {
            outbox.take().send();
        }
    }
}

// === impl Budget ===

impl Budget {
    fn exceeded(&self, cpu: Duration, now: Instant) -> Option<LimitExceeded> {
        let over = self.cpu.filter(|allowance| allowance.used + cpu > allowance.limit);
        if let Some(Allowance { kind, limit, used }) = over {
            return Some(LimitExceeded::time(kind, used + cpu, limit));
        }
        let Deadline { kind, limit, at } = self.wall?;
        (now >= at).then(|| LimitExceeded::time(kind, limit + (now - at), limit))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is valid after every single store; a panic elsewhere leaves nothing half-written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The clock of this thread's CPU time, readable by others.
fn thread_clock() -> libc::clockid_t {
    let mut clock = libc::CLOCK_THREAD_CPUTIME_ID;
    // SAFETY: demands a live thread and room for the id: this thread, and a local.
    unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
    clock
}

fn cpu_time(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: demands room for the result; an id of a thread that has ended is an error, not a fault.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then(|| Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_names_the_limit_that_is_exceeded_and_cpu_comes_first() {
        let now = Instant::now();
        let budget = Budget {
            cpu: Some(Allowance {
                kind: LimitKind::Cpu,
                limit: Duration::from_millis(100),
                used: Duration::from_millis(60),
            }),
            wall: Some(Deadline { kind: LimitKind::Wall, limit: Duration::from_secs(1), at: now }),
        };
        assert_eq!(budget.exceeded(Duration::from_millis(41), now).map(|e| e.kind), Some(LimitKind::Cpu));
        assert_eq!(budget.exceeded(Duration::from_millis(39), now).map(|e| e.kind), Some(LimitKind::Wall));
        let early = now - Duration::from_millis(1);
        assert_eq!(budget.exceeded(Duration::from_millis(39), early), None);
    }

    #[test]
    fn a_threads_cpu_clock_can_be_read() {
        assert!(cpu_time(thread_clock()).is_some());
    }
}
