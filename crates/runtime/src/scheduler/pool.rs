//! Threads for turns that must not delay the turns of fast apps. Both pools start their threads on
//! demand and end them when idle.
//!
//! - The low-priority pool runs the turns of slow apps, and work that no request waits for.
//! - The probation pool runs the turns of apps whose latency is unproven, with ordinary priority: most
//!   apps are fast, and a first request at low priority would wait for everything that is slow.
//!
//! One thread disposes of what is no longer needed: disposing of an isolate takes a third of a
//! millisecond. The heap of a stopped worker may take a quarter of a second and is dropped in the
//! low-priority pool.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use hearth_sys::sched_tick::SchedulerTicker;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use super::handoff::ThreadBackup;
use crate::platform::THREAD_STACK;

/// Concurrent turns of slow apps; further turns wait.
pub(super) const MAX_LOW_PRIORITY_THREADS: usize = 64;
/// Concurrent turns of unproven apps. Further turns run where fast ones do: apps that fill these
/// threads do not keep other apps from their start.
const MAX_PROBATION_THREADS: usize = 32;
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(30);
/// A tenth of the ordinary weight where all cores are busy. With a third, one in a thousand wake-ups
/// of ordinary threads came while the kernel owed time to a low-priority thread, and waited for the
/// next tick of the kernel's clock.
const LOW_PRIORITY_NICE: libc::c_int = 10;

/// The pools beside the runtime's workers. Clones share their threads.
#[derive(Clone)]
pub struct TurnPools {
    low_priority: ThreadPool,
    probation: ThreadPool,
    disposal: mpsc::Sender<DisposalJob>,
}

/// The pool that a job goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priority {
    /// The probation pool.
    Ordinary,
    /// The low-priority pool.
    Low,
}

/// Threads of one priority. Clones share them.
#[derive(Clone)]
struct ThreadPool {
    threads: Handle,
    shared: Arc<PoolShared>,
}

struct PoolShared {
    max_threads: usize,
    /// Jobs that run or are queued.
    jobs: AtomicUsize,
    /// Counts running jobs as busy.
    ticker: Option<Arc<SchedulerTicker>>,
}

/// A job that runs or is queued.
struct JobGuard(Arc<PoolShared>);

type DisposalJob = Box<dyn FnOnce() + Send>;

thread_local! {
    /// Whether requests may wait for what this thread does next.
    static SERVES_REQUESTS: Cell<bool> = const { Cell::new(true) };
}

// === impl TurnPools ===

impl TurnPools {
    /// Starts the pools. Their threads end with the runtimes that are returned.
    pub(super) fn start(ticker: Arc<SchedulerTicker>) -> io::Result<(Self, [Runtime; 2])> {
        let backup = ThreadBackup { standby: None, ticker: Arc::downgrade(&ticker) };
        let (low, low_priority) = ThreadPool::start("hearth-lane", MAX_LOW_PRIORITY_THREADS, Some(ticker), || {
            lower_priority();
            SERVES_REQUESTS.set(false);
        })?;
        let (ordinary, probation) =
            ThreadPool::start("hearth-trial", MAX_PROBATION_THREADS, None, move || backup.install_here())?;
        let pools = Self { low_priority, probation, disposal: start_disposal()? };
        Ok((pools, [low, ordinary]))
    }

    /// Runs `job` on a thread of that priority.
    pub(super) fn run(&self, priority: Priority, job: impl FnOnce() + Send + 'static) {
        self.pool(priority).spawn(job);
    }

    /// Whether a job of that priority would have to wait for a thread.
    pub(super) fn is_full(&self, priority: Priority) -> bool {
        self.pool(priority).is_full()
    }

    fn pool(&self, priority: Priority) -> &ThreadPool {
        match priority {
            Priority::Ordinary => &self.probation,
            Priority::Low => &self.low_priority,
        }
    }

    /// Calls `dispose`, which destroys something, on the disposal thread.
    pub fn dispose(&self, dispose: impl FnOnce() + Send + 'static) {
        // The thread lives as long as this sender does.
        let _ = self.disposal.send(Box::new(dispose));
    }

    /// Drops something large on a thread that no request waits for: on this one, if it is such a thread.
    pub(crate) fn drop_off_thread(&self, thing: impl Send + 'static) {
        if SERVES_REQUESTS.get() {
            self.run(Priority::Low, move || drop(thing));
        } else {
            drop(thing);
        }
    }

    /// Runs `work` on a thread of low priority and waits for its result. `None` when it panicked or the
    /// threads are ending.
    pub async fn spawn_blocking<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
        self.low_priority.spawn(work).await.ok()
    }
}

// === impl ThreadPool ===

impl ThreadPool {
    fn start(
        name: &str,
        max_threads: usize,
        ticker: Option<Arc<SchedulerTicker>>,
        on_thread_start: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<(Runtime, Self)> {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(max_threads)
            .thread_keep_alive(THREAD_KEEP_ALIVE)
            .thread_stack_size(THREAD_STACK)
            .thread_name(name)
            .on_thread_start(on_thread_start)
            .build()?;
        let shared = Arc::new(PoolShared { max_threads, jobs: AtomicUsize::new(0), ticker });
        let pool = Self { threads: runtime.handle().clone(), shared };
        Ok((runtime, pool))
    }

    fn is_full(&self) -> bool {
        self.shared.jobs.load(Ordering::Relaxed) >= self.shared.max_threads
    }

    fn spawn<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
        self.shared.jobs.fetch_add(1, Ordering::Relaxed);
        let job = JobGuard(self.shared.clone());
        self.threads.spawn_blocking(move || {
            let job = job;
            let _busy = job.0.ticker.as_ref().map(|ticker| ticker.begin_work());
            work()
        })
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.0.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Gives the calling thread the priority of slow apps. Linux has priorities per thread. Where the
/// kernel refuses, the thread works at ordinary priority.
pub(crate) fn lower_priority() {
    // SAFETY: demands nothing of memory; 0 names the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOW_PRIORITY_NICE) };
}

/// Starts the disposal thread, which ends with the last sender.
fn start_disposal() -> io::Result<mpsc::Sender<DisposalJob>> {
    let (sender, jobs) = mpsc::channel::<DisposalJob>();
    std::thread::Builder::new().name("hearth-disposal".into()).stack_size(THREAD_STACK).spawn(move || {
        SERVES_REQUESTS.set(false);
        for job in jobs {
            // The panic hook has reported a panic; the next job does not depend on this one.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    })?;
    Ok(sender)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_full_while_all_its_threads_run_jobs() {
        const THREADS: usize = 32;
        let (runtime, pool) = ThreadPool::start("test", THREADS, None, || {}).unwrap();
        let (started_sender, started) = mpsc::channel();
        let releases: Vec<mpsc::Sender<()>> = (0..THREADS)
            .map(|_| {
                assert!(!pool.is_full());
                let (release, held) = mpsc::channel();
                let started = started_sender.clone();
                pool.spawn(move || {
                    started.send(()).unwrap();
                    // The error is the drop of the other end, which the job waits for.
                    let _ = held.recv();
                });
                release
            })
            .collect();
        assert!(pool.is_full());
        for _ in 0..THREADS {
            started.recv_timeout(Duration::from_secs(60)).expect("all jobs run at the same time");
        }
        drop(releases);
        while pool.shared.jobs.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        runtime.shutdown_background();
    }
}
