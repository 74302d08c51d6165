//! The mailbox of a thread that has workers pinned to it: other threads push the workers here that
//! have something in their inboxes.
//!
//! Where both sides sleep, a call and its reply cost two wake-ups, several times the work between them.
//! Each side therefore spins for a moment before it sleeps: the thread for its next job, the caller for
//! its reply. Spinning keeps a core from others, so a side that has spun in vain too often does it
//! rarely ([`AdaptiveSpin`]).
//!
//! States of the thread: `awake -> asleep -> awake`. It sets `is_asleep` before it checks for jobs a
//! last time, and a caller reads the flag after it has pushed a job: no job is left lying.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::pool::TurnPools;
use crate::locker::release_all_here;
use crate::worker::{LiveWorker, WorkerShared};

/// About the time that it takes to fall asleep and to be woken.
const SPIN_TIME: Duration = Duration::from_micros(10);
const POLLS_PER_CLOCK_READ: usize = 16;
/// After so many failed spins in a row ...
const MAX_FAILED_SPINS: u32 = 8;
/// ... a side spins only every so many times, until one succeeds.
const RETRY_EVERY: u32 = 64;
/// How long jobs run before the thread's other tasks have their turn.
const MAX_UNINTERRUPTED: Duration = Duration::from_micros(50);

pub struct Mailbox {
    /// `None`: the thread has ended.
    jobs: Mutex<Option<VecDeque<Job>>>,
    /// The length of `jobs`, readable without the lock.
    length: AtomicUsize,
    is_asleep: AtomicBool,
    wakeup: Notify,
    job_spin: AdaptiveSpin,
    reply_spin: AdaptiveSpin,
}

enum Job {
    /// Handle the worker's inbox.
    Drain(Arc<WorkerShared>),
    /// The worker has ended: release its isolate's lock, which this thread keeps, and drop the rest in
    /// the pools.
    Dispose(Box<LiveWorker>, TurnPools),
}

/// Spins as long as it pays.
#[derive(Default)]
struct AdaptiveSpin {
    /// Failed spins in a row.
    failed: AtomicU32,
}

// === impl Mailbox ===

impl Mailbox {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            jobs: Mutex::new(Some(VecDeque::new())),
            length: AtomicUsize::new(0),
            is_asleep: AtomicBool::new(false),
            wakeup: Notify::new(),
            job_spin: AdaptiveSpin::default(),
            reply_spin: AdaptiveSpin::default(),
        })
    }

    /// Runs jobs until it is dropped. For a task of the mailbox's own thread.
    pub async fn serve(&self) {
        let mut begun = Instant::now();
        loop {
            if let Some(job) = self.job_spin.spin(|| self.pop()) {
                job.run();
                if begun.elapsed() >= MAX_UNINTERRUPTED {
                    tokio::task::yield_now().await;
                    begun = Instant::now();
                }
                continue;
            }
            self.is_asleep.store(true, Ordering::SeqCst);
            if self.has_jobs() {
                self.is_asleep.store(false, Ordering::SeqCst);
                continue;
            }
            self.wakeup.notified().await;
            begun = Instant::now();
        }
    }

    /// For the mailbox's own thread before it ends: forgets the jobs and releases the locks that the
    /// thread keeps.
    pub fn close(&self) {
        let jobs = {
            let mut jobs = self.lock();
            // A thread that finds the mailbox closed finds isolates without their thread's lock.
            release_all_here();
            jobs.take()
        };
        // Workers are dropped outside of the lock.
        for job in jobs.into_iter().flatten() {
            match job {
                Job::Drain(worker) => drop(worker),
                dispose @ Job::Dispose(..) => dispose.run(),
            }
        }
    }

    pub(super) fn schedule(&self, worker: Arc<WorkerShared>) {
        // A thread that has ended has nothing more to do with its workers.
        drop(self.push(Job::Drain(worker)));
    }

    /// Drops a worker that has ended, after its thread has released the isolate's lock.
    pub(super) fn dispose(&self, ended: Box<LiveWorker>, pools: TurnPools) {
        if let Err(job) = self.push(Job::Dispose(ended, pools)) {
            job.run();
        }
    }

    /// Gives the job back if the thread has ended.
    fn push(&self, job: Job) -> Result<(), Job> {
        {
            let mut jobs = self.lock();
            let Some(jobs) = &mut *jobs else { return Err(job) };
            jobs.push_back(job);
            self.length.fetch_add(1, Ordering::SeqCst);
        }
        if self.is_asleep.swap(false, Ordering::SeqCst) {
            self.wakeup.notify_one();
        }
        Ok(())
    }

    /// Spins for the reply to a job.
    pub(super) fn spin_for<T>(&self, poll: impl FnMut() -> Option<T>) -> Option<T> {
        self.reply_spin.spin(poll)
    }

    fn has_jobs(&self) -> bool {
        self.length.load(Ordering::SeqCst) > 0
    }

    fn pop(&self) -> Option<Job> {
        if !self.has_jobs() {
            return None;
        }
        let job = self.lock().as_mut()?.pop_front()?;
        self.length.fetch_sub(1, Ordering::SeqCst);
        Some(job)
    }

    fn lock(&self) -> MutexGuard<'_, Option<VecDeque<Job>>> {
        // Nothing that can panic runs under this lock.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Job ===

impl Job {
    fn run(self) {
        match self {
            Self::Drain(worker) => worker.on_scheduled(),
            Self::Dispose(mut ended, pools) => {
                ended.release_locker();
                pools.drop_off_thread(ended);
            }
        }
    }
}

// === impl AdaptiveSpin ===

impl AdaptiveSpin {
    /// Polls at least once.
    fn spin<T>(&self, mut poll: impl FnMut() -> Option<T>) -> Option<T> {
        if let Some(found) = poll() {
            return Some(found);
        }
        // Several threads may spin at once; a count that is off by some does no harm.
        let failed = self.failed.load(Ordering::Relaxed);
        if failed >= MAX_FAILED_SPINS && !failed.is_multiple_of(RETRY_EVERY) {
            self.failed.store(failed.wrapping_add(1), Ordering::Relaxed);
            return None;
        }
        let begun = Instant::now();
        while begun.elapsed() < SPIN_TIME {
            for _ in 0..POLLS_PER_CLOCK_READ {
                if let Some(found) = poll() {
                    self.failed.store(0, Ordering::Relaxed);
                    return Some(found);
                }
                std::hint::spin_loop();
            }
        }
        self.failed.store(failed.wrapping_add(1), Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_spins_become_rare_until_one_succeeds() {
        let spin = AdaptiveSpin::default();
        let polls = |spin: &AdaptiveSpin| {
            let mut count = 0;
            spin.spin(|| {
                count += 1;
                None::<()>
            });
            count
        };
        for _ in 0..MAX_FAILED_SPINS {
            assert!(polls(&spin) > 1);
        }
        let spins = (0..2 * RETRY_EVERY).filter(|_| polls(&spin) > 1).count();
        assert_eq!(spins, 2, "one in RETRY_EVERY");
        let mut left = 3;
        let found = (0..=RETRY_EVERY).find_map(|_| {
            left = 3;
            spin.spin(|| {
                left -= 1;
                (left == 0).then_some(())
            })
        });
        assert!(found.is_some());
        assert!(polls(&spin) > 1, "the last one succeeded");
    }
}
