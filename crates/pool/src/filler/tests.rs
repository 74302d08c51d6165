//! One test per promise of the filler. Boots take one second of paused time unless the test plans otherwise.
#![allow(clippy::unwrap_used)]

mod schedule;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use tokio::time::Instant;

use super::*;
use crate::testing::{Held, settle};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const RULES: FillerRules = FillerRules {
    min: 3,
    boots: 2,
    interval: Duration::from_secs(600),
    backoff: BackoffRules { first: SECOND, most: Duration::from_secs(8) },
    max_age: None,
};

/// What a boot does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Boot(Duration),
    Fail(Duration),
    Panic,
}

/// Clones are the same plant.
#[derive(Clone, Default)]
pub(super) struct Plant(Arc<Books>);

#[derive(Default)]
pub(super) struct Books {
    plans: Mutex<VecDeque<Plan>>,
    begun: Mutex<Vec<Instant>>,
    running: AtomicUsize,
    most_running: AtomicUsize,
    unfit: Mutex<Vec<usize>>,
    /// What the next boot does first.
    hook: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// What is done while a spare is looked at for the first time.
    look: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    discarded: Mutex<Vec<usize>>,
    breath: Mutex<Duration>,
}

impl Plant {
    pub(super) fn plan(&self, plans: impl IntoIterator<Item = Plan>) {
        self.0.plans.lock().unwrap().extend(plans);
    }

    pub(super) fn begun(&self) -> usize {
        self.0.begun.lock().unwrap().len()
    }

    pub(super) fn spoil(&self, spare: usize) {
        self.0.unfit.lock().unwrap().push(spare);
    }

    pub(super) fn discarded(&self) -> Vec<usize> {
        self.0.discarded.lock().unwrap().clone()
    }
}

impl Boot for Plant {
    type Spare = usize;
    type Error = &'static str;

    async fn boot(&self) -> Result<usize, &'static str> {
        let number = self.begun();
        if let Some(hook) = self.0.hook.lock().unwrap().take() {
            hook();
        }
        self.0.begun.lock().unwrap().push(Instant::now());
        let plan = self.0.plans.lock().unwrap().pop_front().unwrap_or(Plan::Boot(SECOND));
        let running = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most_running.fetch_max(running, Ordering::SeqCst);
        let result = match plan {
            Plan::Boot(time) => {
                tokio::time::sleep(time).await;
                Ok(number)
            }
            Plan::Fail(time) => {
                tokio::time::sleep(time).await;
                Err("planned")
            }
            Plan::Panic => Err("panic"),
        };
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        assert!(result != Err("panic"), "planned");
        result
    }

    fn is_fit(&self, spare: &usize) -> Fitness {
        let look = self.0.look.lock().unwrap().take();
        if let Some(look) = look {
            look();
        }
        if self.0.unfit.lock().unwrap().contains(spare) { Fitness::Unfit } else { Fitness::Fit }
    }

    fn breath(&self) -> Duration {
        *self.0.breath.lock().unwrap()
    }

    fn discard(&self, spare: usize) {
        self.0.discarded.lock().unwrap().push(spare);
    }
}

pub(super) fn start(rules: FillerRules) -> (Filler<Plant>, Plant) {
    let plant = Plant::default();
    (Filler::start(plant.clone(), rules), plant)
}

/// Lets `time` pass, and all that is due happen.
pub(super) async fn pass(time: Duration) {
    settle().await;
    tokio::time::advance(time).await;
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn spares_are_booted_ahead_and_taken_oldest_first() {
    let (filler, plant) = start(RULES);
    assert_eq!(filler.take(), None, "nothing is there yet");
    filler.ready(3).await.unwrap();
    assert_eq!(plant.0.most_running.load(Ordering::SeqCst), 2, "no more boots at once than allowed");
    assert_eq!((filler.take(), filler.take(), filler.take(), filler.take()), (Some(0), Some(1), Some(2), None));
    let stats = filler.stats();
    assert_eq!((stats.taken, stats.missed, stats.hit_rate()), (3, 2, Some(0.6)));
}

#[tokio::test(start_paused = true)]
async fn the_boot_for_one_that_was_taken_begins_a_moment_later_but_no_later_than_that() {
    let (filler, plant) = start(RULES);
    filler.ready(3).await.unwrap();
    *plant.0.breath.lock().unwrap() = SECOND;
    filler.take().unwrap();
    pass(SECOND / 2).await;
    filler.take().unwrap();
    settle().await;
    assert_eq!(plant.begun(), 3, "not yet");
    pass(SECOND / 2).await;
    assert_eq!(plant.begun(), 5, "who comes meanwhile does not put it off");
    filler.ready(3).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_boot_per_demand() {
    let (filler, plant) = start(FillerRules { boots: 10, interval: Duration::from_millis(10), ..RULES });
    filler.ready(3).await.unwrap();
    assert_eq!(plant.begun(), 3);
    plant.plan([Plan::Boot(SECOND * 5)]);
    filler.take().unwrap();
    settle().await;
    assert_eq!(plant.begun(), 4, "at once");
    // Seconds go by, and the filler looks a hundred times a second.
    for _ in 0..40 {
        pass(SECOND / 10).await;
        let stats = filler.stats();
        assert!(stats.ready + stats.booting <= 3);
    }
    assert_eq!(plant.begun(), 4);
}

#[tokio::test(start_paused = true)]
async fn unfit_spares_are_passed_over_and_thrown_away() {
    let (filler, plant) = start(RULES);
    filler.ready(3).await.unwrap();
    plant.spoil(0);
    plant.spoil(1);
    assert_eq!(filler.take(), Some(2));
    assert_eq!(plant.discarded(), [0, 1]);
    filler.ready(3).await.unwrap();
    let stats = filler.stats();
    assert_eq!((stats.booted, stats.ready, stats.taken, stats.discarded), (6, 3, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn spares_that_spoil_unseen_are_found_and_replaced() {
    let (filler, plant) = start(FillerRules { interval: SECOND * 10, ..RULES });
    filler.ready(3).await.unwrap();
    plant.spoil(1);
    pass(SECOND * 10).await;
    assert_eq!(plant.discarded(), [1]);
    filler.ready(3).await.unwrap();
    assert_eq!((filler.take(), filler.take()), (Some(0), Some(2)), "the others keep their order");
}

#[tokio::test(start_paused = true)]
async fn who_counts_spares_while_one_is_looked_at_hears_that_it_is_back() {
    let (filler, plant) = start(FillerRules { interval: SECOND * 10, ..RULES });
    let filler = Arc::new(filler);
    filler.ready(3).await.unwrap();
    let (give, given) = std::sync::mpsc::channel();
    let counting = filler.clone();
    let look = move || {
        let mut ready: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move { counting.ready(3).await });
        let first = ready.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(first.is_pending(), "one is out");
        give.send(ready).unwrap();
    };
    *plant.0.look.lock().unwrap() = Some(Box::new(look));
    pass(SECOND * 10).await;
    let ready = given.try_recv().expect("spares are looked at by now");
    tokio::time::timeout(SECOND * 5, ready).await.expect("it is back").unwrap();
}

#[tokio::test(start_paused = true)]
async fn old_spares_are_replaced() {
    let (filler, plant) = start(FillerRules { min: 1, max_age: Some(SECOND * 60), interval: SECOND * 10, ..RULES });
    filler.ready(1).await.unwrap();
    for _ in 0..7 {
        pass(SECOND * 10).await;
    }
    assert_eq!(plant.discarded(), [0]);
    filler.ready(1).await.unwrap();
    assert_eq!(filler.take(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn backs_off_while_boots_fail_and_starts_anew_after_a_success() {
    let rules = FillerRules { min: 1, boots: 1, interval: SECOND / 10, ..RULES };
    let plant = Plant::default();
    plant.plan([Plan::Fail(Duration::ZERO); 6]);
    let filler = Filler::start(plant.clone(), rules);
    filler.ready(1).await.unwrap();
    let waits = |from: usize| -> Vec<u64> {
        let begun = plant.0.begun.lock().unwrap();
        begun[from..].windows(2).map(|pair| (pair[1] - pair[0]).as_millis() as u64 / 1000).collect()
    };
    assert_eq!(waits(0), [1, 2, 4, 8, 8, 8], "doubled, and no longer than most");
    plant.plan([Plan::Fail(Duration::ZERO)]);
    assert!(filler.take().is_some());
    assert!(filler.take().is_none(), "asking does not make it hurry");
    filler.ready(1).await.unwrap();
    assert_eq!(waits(7), [1]);
    assert_eq!(filler.stats().failed, 7);
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_panics_is_a_failed_boot() {
    let plant = Plant::default();
    plant.plan([Plan::Panic]);
    let filler = Filler::start(plant.clone(), FillerRules { min: 1, ..RULES });
    filler.ready(1).await.unwrap();
    let stats = filler.stats();
    assert_eq!((stats.failed, stats.booted, stats.booting), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn stop_starts_no_boot_and_waits_for_those_under_way() {
    let (filler, plant) = start(RULES);
    filler.ready(1).await.unwrap();
    settle().await;
    let spares = filler.stats().ready;
    let begun = plant.begun();
    assert_eq!(filler.stats().booting, 1);
    // A demand, and the stop comes right after it.
    assert!(filler.take().is_some());
    let mut waiting = Held::pending({
        let yard = filler.yard.clone();
        async move { yard.ready(3).await }
    });
    filler.stop().await;
    assert_eq!(plant.begun(), begun, "no boot begins any more");
    assert_eq!(plant.0.running.load(Ordering::SeqCst), 0, "none is under way");
    assert_eq!(plant.discarded().len(), (spares - 1) + 1, "what was ready, and what was under way");
    assert_eq!(waiting.poll(), Some(Err(Stopped)));
    assert_eq!((filler.take(), filler.ready(0).await), (None, Err(Stopped)));
    filler.stop().await;
    let stats = filler.stats();
    assert!(stats.adds_up());
    assert_eq!((stats.ready, stats.booting), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_first_boot_means_no_boot() {
    let (filler, plant) = start(RULES);
    filler.stop().await;
    assert_eq!(plant.begun(), 0);

    // Two boots are due at once, and the first of them stops the filler.
    let (filler, plant) = start(RULES);
    let yard = filler.yard.clone();
    *plant.0.hook.lock().unwrap() = Some(Box::new(move || yard.stop()));
    pass(SECOND).await;
    assert_eq!((plant.begun(), plant.discarded().len()), (1, 1));
    filler.stop().await;
    assert!(filler.stats().adds_up());
}

#[tokio::test(start_paused = true)]
async fn a_filler_that_is_dropped_stops() {
    let (filler, plant) = start(RULES);
    filler.ready(2).await.unwrap();
    drop(filler);
    pass(SECOND * 5).await;
    assert_eq!(plant.discarded().len(), plant.begun(), "nothing is left");
    assert_eq!(Arc::strong_count(&plant.0), 1);
}

#[tokio::test(start_paused = true)]
async fn resizing_boots_more_or_throws_away_the_oldest() {
    let (filler, plant) = start(RULES);
    filler.ready(3).await.unwrap();
    filler.resize(5);
    filler.ready(5).await.unwrap();
    filler.resize(1);
    settle().await;
    assert_eq!(plant.discarded(), [0, 1, 2, 3]);
    filler.resize(0);
    settle().await;
    assert_eq!((filler.take(), plant.begun()), (None, 5));
    assert!(filler.stats().adds_up());
}
