//! A reserve: workers of a runtime that rest inside a task that blocks, until they are called up to work in the place of one
//! that is held up. Such a worker takes over what waits behind it, connections and the I/O driver included.
//!
//! Invariant: of the runtime's workers as many rest, or are about to, as there are in the reserve, less one for each that was
//! called up and not yet told to stand down.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::{Handle, Runtime};

/// Long turns on workers' own threads that can be made up for at once. Most long turns are in the lane.
pub(crate) const RESERVE: usize = 8;
const NAPS: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_millis(2),
    Duration::from_millis(4),
    Duration::from_millis(8),
    Duration::from_millis(16),
];

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

// === impl Reserve ===

impl Default for Reserve {
    fn default() -> Self {
        Self { ranks: Mutex::default(), call: Condvar::new(), runtime: Mutex::new(None) }
    }
}

impl Reserve {
    /// Has as many workers of the runtime rest, which must have that many to spare and nothing else to do yet.
    pub(crate) fn take_up(self: &Arc<Self>, runtime: &Runtime) {
        *lock(&self.runtime) = Some(runtime.handle().clone());
        for resting in 1..=RESERVE {
            let sleeper = self.clone();
            // Nothing else is there yet that could yield: no naps.
            runtime.spawn(async move { sleeper.sleep() });
            // One by one: a worker that takes two at once rests in the first, and who could take the second from it may be asleep.
            // And isolates that are made while workers are still finding their places would not stay at home.
            while lock(&self.ranks).resting < resting {
                std::thread::yield_now();
            }
        }
    }

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

    pub(crate) fn dismiss(&self) {
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
    use std::sync::mpsc;

    use tokio::runtime::Builder;

    use super::*;

    /// A runtime of one worker, and what stands behind it.
    fn one_worker() -> (Runtime, Arc<Reserve>) {
        let runtime = Builder::new_multi_thread().worker_threads(1 + RESERVE).build().unwrap();
        let reserve = Arc::new(Reserve::default());
        reserve.take_up(&runtime);
        (runtime, reserve)
    }

    /// So that the runtime's workers can end, however the test does.
    struct Dismissing(Arc<Reserve>);

    impl Drop for Dismissing {
        fn drop(&mut self) {
            self.0.dismiss();
        }
    }

    /// Tasks that yield on a worker which then rests are not lost.
    #[test]
    fn who_yields_beside_a_rest_goes_on() {
        let (runtime, reserve) = one_worker();
        let _dismissing = Dismissing(reserve.clone());
        let (say, said) = mpsc::channel();
        for _ in 0..50 {
            let (say, reserve) = (say.clone(), reserve.clone());
            runtime.spawn(async move {
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
        let (runtime, reserve) = one_worker();
        let _dismissing = Dismissing(reserve.clone());
        let (release, held) = mpsc::channel::<()>();
        let (say, said) = mpsc::channel();
        // All but one worker rest before the turn begins, so that nobody else could take what waits behind it.
        let resting = || lock(&reserve.ranks).resting == RESERVE;
        while !resting() {
            std::thread::yield_now();
        }
        let started = say.clone();
        runtime.spawn(async move {
            started.send("long turn").unwrap();
            held.recv().unwrap();
        });
        assert_eq!(said.recv().unwrap(), "long turn");
        let next = say.clone();
        assert!(reserve.call_up());
        runtime.spawn(async move { next.send("next").unwrap() });
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
