//! Standby workers: workers of a tokio runtime that are parked inside a blocking task until another
//! worker is blocked by a long turn. An activated worker takes over what waits for the blocked one,
//! connections and the I/O driver included.
//!
//! States of a worker: `parked -> activated -> running -> parked`. Invariant: parked workers, and
//! those about to park, are as many as the standby workers minus the activations that were not
//! released yet.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};

/// Long turns on runtime workers that can be made up for at once. Most long turns are in the
/// low-priority pool.
pub(crate) const STANDBY_WORKERS: usize = 8;
/// How long a released worker parks before its first look at deferred tasks; twice as long each time.
const MIN_PARK: Duration = Duration::from_millis(1);
/// No worker that was released parks for longer without that look.
const MAX_PARK: Duration = Duration::from_secs(1);

pub(crate) struct StandbyWorkers {
    state: Mutex<StandbyState>,
    wakeup: Condvar,
    runtime: Mutex<Option<Handle>>,
    /// The first and the longest pause of a released worker.
    pauses: (Duration, Duration),
}

#[derive(Default)]
struct StandbyState {
    parked: usize,
    /// Parked workers that are to wake up.
    activated: usize,
    is_shut_down: bool,
}

// === impl StandbyWorkers ===

impl Default for StandbyWorkers {
    fn default() -> Self {
        Self::with_pauses(MIN_PARK, MAX_PARK)
    }
}

impl StandbyWorkers {
    fn with_pauses(min: Duration, max: Duration) -> Self {
        Self { state: Mutex::default(), wakeup: Condvar::new(), runtime: Mutex::new(None), pauses: (min, max) }
    }

    /// Parks the standby workers of a runtime that has them beside its others and runs nothing yet.
    pub(crate) fn park_initial(self: &Arc<Self>, runtime: &Runtime) {
        *lock(&self.runtime) = Some(runtime.handle().clone());
        for parked in 1..=STANDBY_WORKERS {
            let standby = self.clone();
            // No other task exists that could be deferred: this parks until the activation.
            runtime.spawn(async move { standby.park_until_activated() });
            // One by one: a worker that takes two of these tasks parks in the first, and the worker that
            // could steal the second may be asleep. Isolates that are created before all workers have
            // their tasks would migrate, too.
            while lock(&self.state).parked < parked {
                std::thread::yield_now();
            }
        }
    }

    /// Wakes a parked worker; says whether there was one.
    pub(crate) fn activate(&self) -> bool {
        let mut state = lock(&self.state);
        let is_available = state.parked > state.activated;
        if is_available {
            state.activated += 1;
            self.wakeup.notify_one();
        }
        is_available
    }

    /// One running worker more than there should be: the worker that takes the task parks.
    pub(crate) fn release(self: &Arc<Self>) {
        let Some(runtime) = lock(&self.runtime).clone() else { return };
        let standby = self.clone();
        runtime.spawn(async move { standby.park().await });
    }

    /// Blocks the worker that polls it, so that the worker takes no other task.
    ///
    /// Tasks in the worker's queue can be stolen. Tasks that have yielded on this worker (tokio *defers*
    /// them) are known to it alone until it is through with its queue, and one may do so right before
    /// this task is polled. So the worker never parks for good: after each pause the task yields, too,
    /// which wakes all deferred tasks. The pauses become longer, since each time another worker may
    /// come to park instead of this one, and isolates migrate.
    async fn park(&self) {
        let (mut pause, max_pause) = self.pauses;
        loop {
            tokio::task::yield_now().await;
            if self.park_for(pause) {
                return;
            }
            pause = (pause * 2).min(max_pause);
        }
    }

    /// Blocks for that long; says whether the worker was activated.
    fn park_for(&self, pause: Duration) -> bool {
        let mut state = lock(&self.state);
        state.parked += 1;
        let (mut state, timeout) = self
            .wakeup
            .wait_timeout_while(state, pause, |state| state.is_waiting())
            .unwrap_or_else(PoisonError::into_inner);
        let is_activated = !timeout.timed_out();
        if is_activated {
            state.unpark();
        } else {
            state.parked -= 1;
        }
        is_activated
    }

    fn park_until_activated(&self) {
        let mut state = lock(&self.state);
        state.parked += 1;
        while state.is_waiting() {
            state = self.wakeup.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.unpark();
    }

    /// Ends the parking of all workers, so that their runtime can be shut down.
    pub(crate) fn shutdown(&self) {
        lock(&self.state).is_shut_down = true;
        self.wakeup.notify_all();
    }
}

// === impl StandbyState ===

impl StandbyState {
    fn is_waiting(&self) -> bool {
        self.activated == 0 && !self.is_shut_down
    }

    fn unpark(&mut self) {
        self.activated = self.activated.saturating_sub(1);
        self.parked -= 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Counts are whole after every single store.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;
    use std::time::Instant;

    use tokio::runtime::Builder;

    use super::*;

    /// A runtime of one worker and its standby workers.
    fn one_worker(standby: StandbyWorkers) -> (Runtime, Arc<StandbyWorkers>) {
        let runtime = Builder::new_multi_thread().worker_threads(1 + STANDBY_WORKERS).build().unwrap();
        let standby = Arc::new(standby);
        standby.park_initial(&runtime);
        (runtime, standby)
    }

    /// Lets the runtime's workers end, however the test ends.
    struct ShutdownOnDrop(Arc<StandbyWorkers>);

    impl Drop for ShutdownOnDrop {
        fn drop(&mut self) {
            self.0.shutdown();
        }
    }

    /// Tasks that yield on a worker which then parks are not lost.
    #[test]
    fn tasks_that_yield_beside_parking_workers_end() {
        let (runtime, standby) = one_worker(StandbyWorkers::default());
        let _shutdown = ShutdownOnDrop(standby.clone());
        let (done_sender, done) = mpsc::channel();
        for _ in 0..50 {
            let (done, standby) = (done_sender.clone(), standby.clone());
            runtime.spawn(async move {
                for _ in 0..20 {
                    if standby.activate() {
                        // As at the end of a long turn: parking is this worker's next task.
                        standby.release();
                    }
                    tokio::task::yield_now().await;
                }
                done.send(()).unwrap();
            });
        }
        for _ in 0..50 {
            done.recv_timeout(Duration::from_secs(60)).expect("no task is lost");
        }
    }

    /// Stress for the moment between the last yield of a parking task and its blocking. If released workers
    /// parked for good after some pauses, tasks that yield on them in that moment would make no progress
    /// until the next activation, which comes only after all have made some.
    #[test]
    fn tasks_that_yield_in_the_last_moment_make_progress() {
        const TASKS: usize = 8;
        let (runtime, standby) =
            one_worker(StandbyWorkers::with_pauses(Duration::from_micros(10), Duration::from_millis(1)));
        let _shutdown = ShutdownOnDrop(standby.clone());
        let progress: Arc<[AtomicU64; TASKS]> = Arc::default();
        for task in 0..TASKS {
            let progress = progress.clone();
            runtime.spawn(async move {
                loop {
                    progress[task].fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            });
        }
        for _ in 0..30 {
            while !standby.activate() {
                std::thread::yield_now();
            }
            standby.release();
            let before: Vec<u64> = progress.iter().map(|count| count.load(Ordering::Relaxed)).collect();
            let began = Instant::now();
            while progress.iter().zip(&before).any(|(count, before)| count.load(Ordering::Relaxed) < before + 2_000) {
                assert!(began.elapsed() < Duration::from_secs(60), "a task is lost");
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_standby_worker_takes_over_from_a_blocked_one() {
        let (runtime, standby) = one_worker(StandbyWorkers::default());
        let _shutdown = ShutdownOnDrop(standby.clone());
        let (release, held) = mpsc::channel::<()>();
        let (sender, messages) = mpsc::channel();
        // All but one worker are parked before the turn begins: no other could take what waits for it.
        let all_parked = || lock(&standby.state).parked == STANDBY_WORKERS;
        while !all_parked() {
            std::thread::yield_now();
        }
        let started = sender.clone();
        runtime.spawn(async move {
            started.send("long turn").unwrap();
            held.recv().unwrap();
        });
        assert_eq!(messages.recv().unwrap(), "long turn");
        let next = sender.clone();
        assert!(standby.activate());
        runtime.spawn(async move { next.send("next").unwrap() });
        assert_eq!(messages.recv().unwrap(), "next");
        release.send(()).unwrap();
        standby.release();
        while !all_parked() {
            std::thread::yield_now();
        }
        for _ in 0..STANDBY_WORKERS {
            // A released worker that looks at deferred tasks is not parked for a moment.
            while !standby.activate() {
                std::thread::yield_now();
            }
        }
        assert!(!standby.activate(), "no more are left");
    }
}
