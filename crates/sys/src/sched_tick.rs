//! Scheduler ticker: one thread per core that wakes up and sleeps again every 300 µs, which makes the kernel reschedule
//! that core. It runs while work is marked as busy that other threads must not wait for.
//!
//! Why: when a thread with little to do wakes up on a core where another one computes, the kernel (EEVDF) gives it the core
//! unless it has just had more than its share, be it by a microsecond. In that case the computing thread goes on, and the
//! kernel decides anew at its next clock tick: 4 ms later at 250 Hz, for an answer that takes 30 µs. The kernel also decides
//! anew whenever a thread on that core goes to sleep, which is all that the ticker's threads do. Measured beside slow apps
//! that queue microtasks without end: p99 of a quick app is 0.4 to 1 ms with a ticker and 1.3 to 3 ms without. For the first
//! output of a program in a sandbox, which the agent forwards while the program computes: p99 1.7 to 1.8 ms, without 2.4 to
//! 3.3 ms.
//!
//! Invariants: the threads tick only while the [`Trigger`]'s condition holds, and sleep otherwise. Each is pinned to its own
//! core. They end when the [`SchedulerTicker`] is dropped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::sched::{ChildSlice, set_short_slice};

/// Time between two ticks: the longest that a quick thread may have to wait. A tick costs some 4 µs.
const TICK_INTERVAL: Duration = Duration::from_micros(300);
const STACK_BYTES: usize = 64 << 10;
/// [`Trigger::AnyBusy`] is off on machines with more cores: there, one is usually free for a thread that wakes up.
const MAX_CORES: usize = 8;
/// How long work counts as busy for [`Trigger::AnyBusy`], from its beginning.
const FIRST_OUTPUT_TIME: Duration = Duration::from_millis(5);

/// Counts the work that is marked as busy, and ticks while the trigger's condition holds.
pub struct SchedulerTicker(Arc<Shared>);

/// Marks one piece of work as busy until it is dropped.
pub struct BusyGuard(Arc<Shared>);

/// How much work has to be busy for a ticker to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// As much as there are cores, less one. There is no ticker where that is more than `max_cores`, the most work that can
    /// ever be busy at once.
    AllCoresBusy { max_cores: usize },
    /// One piece, for a few milliseconds from its beginning, on machines with few cores.
    AnyBusy,
}

struct Shared {
    busy: AtomicUsize,
    /// The ticker runs while at least so much work is busy.
    threshold: usize,
    count_for: CountFor,
    state: Mutex<State>,
    change: Condvar,
}

/// For how long a piece of work counts as busy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountFor {
    WholeWork,
    FirstMillis,
}

struct State {
    ended: Ended,
    /// When the latest piece of work began.
    latest: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    No,
    Yes,
}

impl SchedulerTicker {
    /// Starts the threads. Must be called by a thread of normal priority, which they inherit. A core whose thread cannot be
    /// started goes without.
    pub fn start(trigger: Trigger) -> Self {
        let cores = cores();
        let (threshold, count_for, is_enabled) = match trigger {
            Trigger::AllCoresBusy { max_cores } => {
                let threshold = (cores.len() - 1).max(1);
                (threshold, CountFor::WholeWork, threshold <= max_cores)
            }
            Trigger::AnyBusy => (1, CountFor::FirstMillis, cores.len() <= MAX_CORES),
        };
        let shared = Shared::new(threshold, count_for);
        if is_enabled {
            for core in cores {
                let shared = shared.clone();
                let tick = move || {
                    pin_to_core(core);
                    set_short_slice(ChildSlice::Inherit);
                    shared.run();
                };
                let _ = std::thread::Builder::new().name("hearth-tick".into()).stack_size(STACK_BYTES).spawn(tick);
            }
        }
        Self(shared)
    }

    /// Counts one more piece of work as busy until the guard is dropped.
    pub fn begin_work(&self) -> BusyGuard {
        let shared = &self.0;
        let before = shared.busy.fetch_add(1, Ordering::Relaxed);
        if before + 1 == shared.threshold || shared.count_for == CountFor::FirstMillis {
            // Under the lock: a thread that has just found too little busy work is waiting on the condition by then.
            let mut state = shared.lock();
            if shared.count_for == CountFor::FirstMillis {
                state.latest = Instant::now();
            }
            shared.change.notify_all();
        }
        BusyGuard(shared.clone())
    }
}

impl Drop for SchedulerTicker {
    fn drop(&mut self) {
        self.0.lock().ended = Ended::Yes;
        self.0.change.notify_all();
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn new(threshold: usize, count_for: CountFor) -> Arc<Self> {
        let state = Mutex::new(State { ended: Ended::No, latest: Instant::now() });
        Arc::new(Self { busy: AtomicUsize::new(0), threshold, count_for, state, change: Condvar::new() })
    }

    fn is_triggered_in(&self, state: &State) -> bool {
        let lasts = self.count_for == CountFor::WholeWork || state.latest.elapsed() < FIRST_OUTPUT_TIME;
        lasts && self.busy.load(Ordering::Relaxed) >= self.threshold
    }

    fn is_triggered(&self) -> bool {
        self.is_triggered_in(&self.lock())
    }

    fn run(&self) {
        while self.wait_for_trigger() == Ended::No {
            while self.is_triggered() {
                std::thread::sleep(TICK_INTERVAL);
            }
        }
    }

    fn wait_for_trigger(&self) -> Ended {
        let idle = |state: &mut State| state.ended == Ended::No && !self.is_triggered_in(state);
        self.change.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner).ended
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cores that this process may use.
fn cores() -> Vec<usize> {
    // SAFETY: all zeroes is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: demands room for the size that is given, which is the set's own; 0 names the calling thread.
    let got = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    let known = if got == 0 { libc::CPU_SETSIZE as usize } else { 0 };
    // SAFETY: demands a core below the set's size, which bounds them.
    let cores: Vec<usize> = (0..known).filter(|core| unsafe { libc::CPU_ISSET(*core, &set) }).collect();
    // A machine with more cores than a set can name: more than any pool of threads fills.
    if cores.is_empty() { (0..libc::CPU_SETSIZE as usize).collect() } else { cores }
}

/// Pins the calling thread. If the kernel refuses, the thread ticks on whatever core it is, which helps less.
fn pin_to_core(core: usize) {
    // SAFETY: all zeroes is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: demands a core below the set's size; it was found in a set.
    unsafe { libc::CPU_SET(core, &mut set) };
    // SAFETY: demands a set of the size that is given; 0 names the calling thread.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(threshold: usize) -> Arc<Shared> {
        Shared::new(threshold, CountFor::WholeWork)
    }

    #[test]
    fn any_busy_work_triggers_for_its_first_milliseconds() {
        let ticker = SchedulerTicker(Shared::new(1, CountFor::FirstMillis));
        let work = ticker.begin_work();
        ticker.0.lock().latest = Instant::now() + FIRST_OUTPUT_TIME;
        assert!(ticker.0.is_triggered());
        let Some(earlier) = Instant::now().checked_sub(FIRST_OUTPUT_TIME) else { return };
        ticker.0.lock().latest = earlier;
        assert!(!ticker.0.is_triggered(), "the first milliseconds are over");
        let next = ticker.begin_work();
        ticker.0.lock().latest = Instant::now() + FIRST_OUTPUT_TIME;
        drop(work);
        assert!(ticker.0.is_triggered());
        drop(next);
        assert!(!ticker.0.is_triggered(), "no work is busy");
    }

    #[test]
    fn it_ticks_while_enough_work_is_busy_and_sleeps_otherwise() {
        let ticker = SchedulerTicker(shared(2));
        let first = ticker.begin_work();
        assert!(!ticker.0.is_triggered());
        let second = ticker.begin_work();
        assert!(ticker.0.is_triggered());
        assert!(ticker.0.wait_for_trigger() == Ended::No);
        drop(first);
        assert!(!ticker.0.is_triggered());
        drop(second);
        assert_eq!(ticker.0.busy.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_sleeping_thread_is_woken_by_busy_work_and_by_the_end() {
        let ticker = SchedulerTicker(shared(1));
        let there = ticker.0.clone();
        let woken = std::thread::spawn(move || there.wait_for_trigger());
        let work = ticker.begin_work();
        assert!(woken.join().is_ok_and(|ended| ended == Ended::No));
        drop(work);
        let there = ticker.0.clone();
        let ended = std::thread::spawn(move || there.run());
        drop(ticker);
        assert!(ended.join().is_ok());
    }

    #[test]
    fn each_thread_stays_on_a_core_of_this_process() {
        let core = *cores().last().expect("there is a core");
        let found = std::thread::spawn(move || {
            pin_to_core(core);
            cores()
        });
        assert_eq!(found.join().ok(), Some(vec![core]));
    }
}
