//! The threads that JavaScript runs on, so that no turn holds up more than its own thread:
//!
//! - the workers of a work-stealing tokio runtime, as many as the operator wants to be busy at once;
//! - a reserve: more workers of the same runtime, which rest. When a turn is long the watchdog calls one up: it takes over
//!   what waits behind the turn, connections included, and rests again when the turn is over (see [`crate::reserve`]);
//! - the lane: threads of low priority, made when needed, for the turns of apps that are known to be slow;
//! - threads like the first, made when needed, for the turns of apps that are not known at all (see [`crate::trial`]);
//! - a pulse beside the lane and beside long turns, for the kernel's sake (see [`hearth_jail::sched_tick`]);
//! - one thread that destroys what is no longer needed: disposing of an isolate takes a third of a millisecond. What a worker
//!   leaves behind that was stopped may take a quarter of a second, and is cleared away in the lane.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hearth_jail::sched::{ChildSlice, set_short_slice};
use hearth_jail::sched_tick::{SchedulerTicker, Trigger};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::cover::Backing;
use crate::platform::THREAD_STACK;
use crate::reserve::{RESERVE, Reserve};
use crate::trial::Trial;

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
    pulse: Arc<SchedulerTicker>,
}

/// Where turns run that are apart from quick apps': those of slow apps, and those of apps that are not known yet.
#[derive(Clone)]
pub struct Lane {
    threads: Handle,
    trial: Trial,
    leftovers: mpsc::Sender<Leftover>,
    pulse: Arc<SchedulerTicker>,
}

type Leftover = Box<dyn FnOnce() + Send>;

thread_local! {
    static DUTY_HERE: Cell<Duty> = const { Cell::new(Duty::ToOthers) };
}

/// Whether anybody may wait for what a thread does next.
#[derive(Clone, Copy)]
enum Duty {
    ToOthers,
    ToNobody,
}

// === impl Threads ===

impl Threads {
    /// `count` threads that work, and what stands behind them.
    pub fn start(count: usize) -> io::Result<Self> {
        let reserve = Arc::new(Reserve::default());
        let pulse = Arc::new(SchedulerTicker::start(Trigger::AllCoresBusy { max_cores: LANE }));
        let backing = Backing { reserve: Some(reserve.clone()), pulse: Arc::downgrade(&pulse) };
        let mut main = Builder::new_multi_thread();
        main.worker_threads(count.max(1) + RESERVE)
            .thread_stack_size(THREAD_STACK)
            .thread_name("hearth-worker")
            .on_thread_start(move || {
                backing.settle_here();
                set_short_slice(ChildSlice::Inherit);
            })
            .enable_all();
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
        let (trials, trial) = Trial::start(Backing { reserve: None, pulse: Arc::downgrade(&pulse) })?;
        // The last that can fail: a runtime whose workers rest in the reserve waits for them when it is dropped.
        let main = main.build()?;
        reserve.take_up(&main);
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
            let _at_work = pulse.begin_work();
            work()
        })
    }
}

/// Linux has priorities per thread. Should it be refused, the lane works all the same, less politely.
pub(crate) fn lower_priority() {
    // SAFETY: demands nothing of memory; 0 names the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LANE_NICE) };
}
