//! The threads that JavaScript runs on, so that no turn holds up more than its own thread:
//!
//! - the workers of a work-stealing tokio runtime, as many as the operator wants to be busy at once;
//! - a reserve: more workers of the same runtime, which rest inside a task that blocks. When a turn is long the watchdog
//!   calls one up: it takes over what waits behind the turn, connections included, and rests again when the turn is over;
//! - the lane: threads of low priority, made when needed, for the turns of apps that are known to be slow;
//! - threads like the first, made when needed, for the turns of apps that are not known at all (see [`crate::trial`]);
//! - a pulse beside the lane, for the kernel's sake (see [`hearth_jail::pulse`]);
//! - one thread that destroys what is no longer needed: disposing of an isolate takes a third of a millisecond. What a worker
//!   leaves behind that was stopped may take a quarter of a second, and is cleared away in the lane.

use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_jail::pulse::{Crowd, Pulse};
use hearth_jail::slices::{Heirs, ask_for_short_slices};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::platform::THREAD_STACK;
use crate::trial::Trial;

/// Long turns on workers' own threads that can be made up for at once. Most long turns are in the lane.
const RESERVE: usize = 8;
const NAPS: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(16),
];
/// Turns of slow apps at once; more of them wait.
const LANE: usize = 64;
const LANE_KEEP: Duration = Duration::from_secs(30);
/// Of the lane's threads: a tenth of the others' weight where all cores are busy. With a third of it, one in a thousand of the
/// others' wake-ups came at a moment when the kernel owed the lane some time, and then waited for its clock to tick.
const LANE_NICE: libc::c_int = 10;

/// All of them. Dropping it ends them, as soon as what they run lets them.
pub struct Threads {
    main: Option<Runtime>,
    lane: Option<Runtime>,
    /// The threads of the trial.
    trials: Option<Runtime>,
    trial: Trial,
    leftovers: mpsc::Sender<Leftover>,
    reserve: Arc<Reserve>,
    pulse: Arc<Pulse>,
}

/// Where turns run that are apart from quick apps': those of slow apps, and those of apps that are not known yet.
#[derive(Clone)]
pub struct Lane {
    threads: Handle,
    trial: Trial,
    leftovers: mpsc::Sender<Leftover>,
    pulse: Arc<Pulse>,
}

type Leftover = Box<dyn FnOnce() + Send>;

/// Workers that rest until they are called up.
pub(crate) struct Reserve {
    ranks: Mutex<Ranks>,
    call: Condvar,
    runtime: Mutex<Option<Handle>>,
}

#[derive(Default)]
struct Ranks {
    resting: usize,
    called: usize,
    dismissed: bool,
}

thread_local! {
    static RESERVE_HERE: RefCell<Option<Arc<Reserve>>> = const { RefCell::new(None) };
    static DUTY_HERE: Cell<Duty> = const { Cell::new(Duty::ToOthers) };
}

/// Whether anybody may wait for what a thread does next.
#[derive(Clone, Copy)]
enum Duty {
    ToOthers,
    ToNobody,
}

/// The reserve of the runtime that this thread works for.
pub(crate) fn reserve_here() -> Option<Arc<Reserve>> {
    RESERVE_HERE.with_borrow(Clone::clone)
}

// === impl Threads ===

impl Threads {
    /// `count` threads that work, and what stands behind them.
    pub fn start(count: usize) -> io::Result<Self> {
        let reserve = Arc::new(Reserve::default());
        let here = reserve.clone();
        let main = Builder::new_multi_thread()
            .worker_threads(count.max(1) + RESERVE)
            .thread_stack_size(THREAD_STACK)
            .thread_name("hearth-worker")
            .on_thread_start(move || {
                RESERVE_HERE.set(Some(here.clone()));
                ask_for_short_slices(Heirs::Alike);
            })
            .enable_all()
            .build()?;
        *lock(&reserve.runtime) = Some(main.handle().clone());
        for resting in 1..=RESERVE {
            let sleeper = reserve.clone();
            // Nothing else is there yet that could yield: no naps.
            main.spawn(async move { sleeper.sleep() });
            // One by one: a worker that takes two at once rests in the first, and who could take the second from it may be asleep.
            // And isolates that are made while workers are still finding their places would not stay at home.
            while lock(&reserve.ranks).resting < resting {
                std::thread::yield_now();
            }
        }
        let lane = Builder::new_current_thread()
            .max_blocking_threads(LANE)
            .thread_keep_alive(LANE_KEEP)
            .thread_stack_size(THREAD_STACK)
            .thread_name("hearth-lane")
            .on_thread_start(|| {
                lower_priority();
                DUTY_HERE.set(Duty::ToNobody);
            })
            .build()?;
        let (leftovers, to_destroy) = mpsc::channel::<Leftover>();
        std::thread::Builder::new().name("hearth-disposal".into()).stack_size(THREAD_STACK).spawn(move || {
            DUTY_HERE.set(Duty::ToNobody);
            for destroy in to_destroy {
                // A panic in there has been reported; the next one is no worse for it.
                let _ = catch_unwind(AssertUnwindSafe(destroy));
            }
        })?;
        let pulse = Arc::new(Pulse::start(Crowd::Cores { most: LANE }));
        let (trials, trial) = Trial::start()?;
        Ok(Self { main: Some(main), lane: Some(lane), trials: Some(trials), trial, leftovers, reserve, pulse })
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.main().block_on(future)
    }

    pub fn handle(&self) -> Handle {
        self.main().handle().clone()
    }

    pub fn lane(&self) -> Lane {
        let threads = self.lane.as_ref().expect("the lane is there until the drop").handle().clone();
        Lane { threads, trial: self.trial.clone(), leftovers: self.leftovers.clone(), pulse: self.pulse.clone() }
    }

    fn main(&self) -> &Runtime {
        self.main.as_ref().expect("the runtime is there until the drop")
    }

    /// Ends them; what still runs after `patience` is left behind.
    pub fn shut_down(mut self, patience: Duration) {
        self.reserve.dismiss();
        if let Some(main) = self.main.take() {
            main.shutdown_timeout(patience);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.reserve.dismiss();
        for apart in [self.lane.take(), self.trials.take()].into_iter().flatten() {
            // A stuck turn must not keep whoever drops this.
            apart.shutdown_background();
        }
    }
}

// === impl Lane ===

impl Lane {
    pub(crate) fn run(&self, work: impl FnOnce() + Send + 'static) {
        self.start(work);
    }

    /// Where those run that are not known.
    pub(crate) fn trial(&self) -> &Trial {
        &self.trial
    }

    /// Destroys something that nobody should wait for, by calling `destroy` elsewhere.
    pub fn dispose(&self, destroy: impl FnOnce() + Send + 'static) {
        // The thread is there for as long as this sender is.
        let _ = self.leftovers.send(Box::new(destroy));
    }

    /// Drops something large where nobody waits for it: here, if this is such a thread.
    pub(crate) fn clear_away(&self, thing: impl Send + 'static) {
        match DUTY_HERE.get() {
            Duty::ToNobody => drop(thing),
            Duty::ToOthers => self.run(move || drop(thing)),
        }
    }

    /// Runs `work` on a thread of low priority, and waits for what it brings. `None` when it panicked or all is ending.
    pub async fn make<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
        self.start(work).await.ok()
    }

    fn start<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
        let pulse = self.pulse.clone();
        self.threads.spawn_blocking(move || {
            let _at_work = pulse.at_work();
            work()
        })
    }
}

/// Linux has priorities per thread. Should it be refused, the lane works all the same, less politely.
pub(crate) fn lower_priority() {
    // SAFETY: demands nothing of memory; 0 names the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LANE_NICE) };
}

// === impl Reserve ===

impl Default for Reserve {
    fn default() -> Self {
        Self { ranks: Mutex::default(), call: Condvar::new(), runtime: Mutex::new(None) }
    }
}

impl Reserve {
    /// Calls one up; says whether there was one.
    pub(crate) fn call_up(&self) -> bool {
        let mut ranks = lock(&self.ranks);
        let there = ranks.resting > ranks.called;
        if there {
            ranks.called += 1;
            self.call.notify_one();
        }
        there
    }

    /// One worker too many: whichever takes the task rests.
    pub(crate) fn stand_down(self: &Arc<Self>) {
        let Some(runtime) = lock(&self.runtime).clone() else { return };
        let reserve = self.clone();
        runtime.spawn(async move { reserve.rest().await });
    }

    /// Blocks the worker that it runs on, which is the point: a worker that runs a task takes no other. What waits in the
    /// worker's queue can be stolen; but tasks that have just yielded to tokio are known to their worker alone, until it is
    /// through with its queue. So it yields itself between some naps, which wakes them, before it falls asleep. It does not
    /// nap for ever: each time another worker may come to take its place, and isolates would lose their homes. What is left is
    /// a task that yields on this very worker between the last nap and the sleep, a few microseconds: it would wait until
    /// the worker is called up.
    async fn rest(&self) {
        for nap in NAPS {
            tokio::task::yield_now().await;
            let mut ranks = lock(&self.ranks);
            ranks.resting += 1;
            let there = |ranks: &mut Ranks| ranks.called == 0 && !ranks.dismissed;
            let (mut ranks, nap) =
                self.call.wait_timeout_while(ranks, nap, there).unwrap_or_else(PoisonError::into_inner);
            if !nap.timed_out() {
                return ranks.leave();
            }
            ranks.resting -= 1;
        }
        tokio::task::yield_now().await;
        self.sleep();
    }

    /// Blocks until it is called.
    fn sleep(&self) {
        let mut ranks = lock(&self.ranks);
        ranks.resting += 1;
        while ranks.called == 0 && !ranks.dismissed {
            ranks = self.call.wait(ranks).unwrap_or_else(PoisonError::into_inner);
        }
        ranks.leave();
    }

    fn dismiss(&self) {
        lock(&self.ranks).dismissed = true;
        self.call.notify_all();
    }
}

impl Ranks {
    fn leave(&mut self) {
        self.called = self.called.saturating_sub(1);
        self.resting -= 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts are whole after every single store.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Tasks that yield on a worker which then rests are not lost.
    #[test]
    fn who_yields_beside_a_rest_goes_on() {
        let threads = Threads::start(1).unwrap();
        let (say, said) = mpsc::channel();
        for _ in 0..50 {
            let (say, reserve) = (say.clone(), threads.reserve.clone());
            threads.handle().spawn(async move {
                for _ in 0..20 {
                    if reserve.call_up() {
                        // As a long turn does at its end: the rest is this worker's next task.
                        reserve.stand_down();
                    }
                    tokio::task::yield_now().await;
                }
                say.send(()).unwrap();
            });
        }
        for _ in 0..50 {
            said.recv_timeout(Duration::from_secs(60)).expect("nobody is lost");
        }
    }

    #[test]
    fn a_reserve_takes_over_from_a_thread_that_does_not_come_back() {
        let threads = Threads::start(1).unwrap();
        let (release, held) = mpsc::channel::<()>();
        let (say, said) = mpsc::channel();
        let reserve = threads.reserve.clone();
        // All but one worker rest before the turn begins, so that nobody else could take what waits behind it.
        let resting = || lock(&reserve.ranks).resting == RESERVE;
        while !resting() {
            std::thread::yield_now();
        }
        let started = say.clone();
        threads.handle().spawn(async move {
            started.send("long turn").unwrap();
            held.recv().unwrap();
        });
        assert_eq!(said.recv().unwrap(), "long turn");
        let next = say.clone();
        assert!(reserve.call_up());
        threads.handle().spawn(async move { next.send("next").unwrap() });
        assert_eq!(said.recv().unwrap(), "next");
        release.send(()).unwrap();
        reserve.stand_down();
        while !resting() {
            std::thread::yield_now();
        }
        for _ in 0..RESERVE {
            assert!(reserve.call_up());
        }
        assert!(!reserve.call_up(), "there are only so many");
    }
}
