//! One test per promise of the spare pool. Creations take one second of paused time unless the test plans otherwise.
#![allow(clippy::unwrap_used)]

mod schedule;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use tokio::time::Instant;

use super::*;
use crate::testing::{Polled, run_ready_tasks};

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const CONFIG: SparePoolConfig = SparePoolConfig {
    target: 3,
    concurrency: 2,
    interval: Duration::from_secs(600),
    backoff: BackoffConfig { initial: SECOND, max: Duration::from_secs(8) },
    max_age: None,
};

/// What a creation does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Create(Duration),
    Fail(Duration),
    Panic,
}

/// Clones share the same records.
#[derive(Clone, Default)]
pub(super) struct TestFactory(Arc<Records>);

#[derive(Default)]
pub(super) struct Records {
    plans: Mutex<VecDeque<Plan>>,
    begun: Mutex<Vec<Instant>>,
    running: AtomicUsize,
    max_running: AtomicUsize,
    unusable: Mutex<Vec<usize>>,
    /// What the next creation does first.
    hook: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// What is done while a spare is checked for the first time.
    on_check: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    discarded: Mutex<Vec<usize>>,
    refill_delay: Mutex<Duration>,
}

impl TestFactory {
    pub(super) fn plan(&self, plans: impl IntoIterator<Item = Plan>) {
        self.0.plans.lock().unwrap().extend(plans);
    }

    pub(super) fn begun(&self) -> usize {
        self.0.begun.lock().unwrap().len()
    }

    pub(super) fn spoil(&self, spare: usize) {
        self.0.unusable.lock().unwrap().push(spare);
    }

    pub(super) fn discarded(&self) -> Vec<usize> {
        self.0.discarded.lock().unwrap().clone()
    }
}

impl SpareFactory for TestFactory {
    type Spare = usize;
    type Error = &'static str;

    async fn create(&self) -> Result<usize, &'static str> {
        let number = self.begun();
        if let Some(hook) = self.0.hook.lock().unwrap().take() {
            hook();
        }
        self.0.begun.lock().unwrap().push(Instant::now());
        let plan = self.0.plans.lock().unwrap().pop_front().unwrap_or(Plan::Create(SECOND));
        let running = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.max_running.fetch_max(running, Ordering::SeqCst);
        let result = match plan {
            Plan::Create(time) => {
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

    fn is_usable(&self, spare: &usize) -> bool {
        let on_check = self.0.on_check.lock().unwrap().take();
        if let Some(on_check) = on_check {
            on_check();
        }
        !self.0.unusable.lock().unwrap().contains(spare)
    }

    fn refill_delay(&self) -> Duration {
        *self.0.refill_delay.lock().unwrap()
    }

    fn discard(&self, spare: usize) {
        self.0.discarded.lock().unwrap().push(spare);
    }
}

pub(super) fn start(config: SparePoolConfig) -> (SparePool<TestFactory>, TestFactory) {
    let factory = TestFactory::default();
    (SparePool::start(factory.clone(), config), factory)
}

/// Lets `time` pass, and runs all tasks that are due.
pub(super) async fn advance(time: Duration) {
    run_ready_tasks().await;
    tokio::time::advance(time).await;
    run_ready_tasks().await;
}

#[tokio::test(start_paused = true)]
async fn spares_are_created_ahead_and_taken_oldest_first() {
    let (pool, factory) = start(CONFIG);
    assert_eq!(pool.take(), None, "there is no item yet");
    pool.ready(3).await.unwrap();
    assert_eq!(factory.0.max_running.load(Ordering::SeqCst), 2, "no more creations at once than allowed");
    assert_eq!((pool.take(), pool.take(), pool.take(), pool.take()), (Some(0), Some(1), Some(2), None));
    let stats = pool.stats();
    assert_eq!((stats.taken, stats.missed, stats.hit_rate()), (3, 2, Some(0.6)));
}

#[tokio::test(start_paused = true)]
async fn a_taken_spare_is_replaced_after_the_refill_delay_and_no_later() {
    let (pool, factory) = start(CONFIG);
    pool.ready(3).await.unwrap();
    *factory.0.refill_delay.lock().unwrap() = SECOND;
    pool.take().unwrap();
    advance(SECOND / 2).await;
    pool.take().unwrap();
    run_ready_tasks().await;
    assert_eq!(factory.begun(), 3, "not yet");
    advance(SECOND / 2).await;
    assert_eq!(factory.begun(), 5, "another take does not extend the delay");
    pool.ready(3).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_creation_per_taken_spare() {
    let (pool, factory) = start(SparePoolConfig { concurrency: 10, interval: Duration::from_millis(10), ..CONFIG });
    pool.ready(3).await.unwrap();
    assert_eq!(factory.begun(), 3);
    factory.plan([Plan::Create(SECOND * 5)]);
    pool.take().unwrap();
    run_ready_tasks().await;
    assert_eq!(factory.begun(), 4, "at once");
    // Seconds pass, and the pool checks its spares a hundred times a second.
    for _ in 0..40 {
        advance(SECOND / 10).await;
        let stats = pool.stats();
        assert!(stats.ready + stats.creating <= 3);
    }
    assert_eq!(factory.begun(), 4);
}

#[tokio::test(start_paused = true)]
async fn unusable_spares_are_skipped_and_thrown_away() {
    let (pool, factory) = start(CONFIG);
    pool.ready(3).await.unwrap();
    factory.spoil(0);
    factory.spoil(1);
    assert_eq!(pool.take(), Some(2));
    assert_eq!(factory.discarded(), [0, 1]);
    pool.ready(3).await.unwrap();
    let stats = pool.stats();
    assert_eq!((stats.created, stats.ready, stats.taken, stats.discarded), (6, 3, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn spares_that_become_unusable_are_found_and_replaced() {
    let (pool, factory) = start(SparePoolConfig { interval: SECOND * 10, ..CONFIG });
    pool.ready(3).await.unwrap();
    factory.spoil(1);
    advance(SECOND * 10).await;
    assert_eq!(factory.discarded(), [1]);
    pool.ready(3).await.unwrap();
    assert_eq!((pool.take(), pool.take()), (Some(0), Some(2)), "the others keep their order");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_counts_spares_while_one_is_checked_is_notified_when_it_is_back() {
    let (pool, factory) = start(SparePoolConfig { interval: SECOND * 10, ..CONFIG });
    let pool = Arc::new(pool);
    pool.ready(3).await.unwrap();
    let (give, given) = std::sync::mpsc::channel();
    let counting = pool.clone();
    let on_check = move || {
        let mut ready: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move { counting.ready(3).await });
        let first = ready.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(first.is_pending(), "one spare is being checked");
        give.send(ready).unwrap();
    };
    *factory.0.on_check.lock().unwrap() = Some(Box::new(on_check));
    advance(SECOND * 10).await;
    let ready = given.try_recv().expect("spares were checked by now");
    tokio::time::timeout(SECOND * 5, ready).await.expect("the spare is back").unwrap();
}

#[tokio::test(start_paused = true)]
async fn old_spares_are_replaced() {
    let (pool, factory) =
        start(SparePoolConfig { target: 1, max_age: Some(SECOND * 60), interval: SECOND * 10, ..CONFIG });
    pool.ready(1).await.unwrap();
    for _ in 0..7 {
        advance(SECOND * 10).await;
    }
    assert_eq!(factory.discarded(), [0]);
    pool.ready(1).await.unwrap();
    assert_eq!(pool.take(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn failed_creations_back_off_and_a_success_resets_the_delay() {
    let config = SparePoolConfig { target: 1, concurrency: 1, interval: SECOND / 10, ..CONFIG };
    let factory = TestFactory::default();
    factory.plan([Plan::Fail(Duration::ZERO); 6]);
    let pool = SparePool::start(factory.clone(), config);
    pool.ready(1).await.unwrap();
    let waits = |from: usize| -> Vec<u64> {
        let begun = factory.0.begun.lock().unwrap();
        begun[from..].windows(2).map(|pair| (pair[1] - pair[0]).as_millis() as u64 / 1000).collect()
    };
    assert_eq!(waits(0), [1, 2, 4, 8, 8, 8], "doubled, up to the maximum");
    factory.plan([Plan::Fail(Duration::ZERO)]);
    assert!(pool.take().is_some());
    assert!(pool.take().is_none(), "a request does not shorten the delay");
    pool.ready(1).await.unwrap();
    assert_eq!(waits(7), [1]);
    assert_eq!(pool.stats().failed, 7);
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_panics_is_a_failed_creation() {
    let factory = TestFactory::default();
    factory.plan([Plan::Panic]);
    let pool = SparePool::start(factory.clone(), SparePoolConfig { target: 1, ..CONFIG });
    pool.ready(1).await.unwrap();
    let stats = pool.stats();
    assert_eq!((stats.failed, stats.created, stats.creating), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn stop_begins_no_creation_and_waits_for_those_under_way() {
    let (pool, factory) = start(CONFIG);
    pool.ready(1).await.unwrap();
    run_ready_tasks().await;
    let spares = pool.stats().ready;
    let begun = factory.begun();
    assert_eq!(pool.stats().creating, 1);
    // A spare is taken right before the stop.
    assert!(pool.take().is_some());
    let mut waiting = Polled::pending({
        let state = pool.state.clone();
        async move { state.ready(3).await }
    });
    pool.stop().await;
    assert_eq!(factory.begun(), begun, "no creation begins any more");
    assert_eq!(factory.0.running.load(Ordering::SeqCst), 0, "none is under way");
    assert_eq!(factory.discarded().len(), (spares - 1) + 1, "the ready ones, and the one under way");
    assert_eq!(waiting.poll(), Some(Err(Stopped)));
    assert_eq!((pool.take(), pool.ready(0).await), (None, Err(Stopped)));
    pool.stop().await;
    let stats = pool.stats();
    assert!(stats.adds_up());
    assert_eq!((stats.ready, stats.creating), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stop_before_the_first_creation_means_no_creation() {
    let (pool, factory) = start(CONFIG);
    pool.stop().await;
    assert_eq!(factory.begun(), 0);

    // Two creations are due at once, and the first of them stops the pool.
    let (pool, factory) = start(CONFIG);
    let state = pool.state.clone();
    *factory.0.hook.lock().unwrap() = Some(Box::new(move || state.stop()));
    advance(SECOND).await;
    assert_eq!((factory.begun(), factory.discarded().len()), (1, 1));
    pool.stop().await;
    assert!(pool.stats().adds_up());
}

#[tokio::test(start_paused = true)]
async fn a_spare_pool_that_is_dropped_stops() {
    let (pool, factory) = start(CONFIG);
    pool.ready(2).await.unwrap();
    drop(pool);
    advance(SECOND * 5).await;
    assert_eq!(factory.discarded().len(), factory.begun(), "nothing is left");
    assert_eq!(Arc::strong_count(&factory.0), 1);
}

#[tokio::test(start_paused = true)]
async fn resizing_creates_more_or_throws_away_the_oldest() {
    let (pool, factory) = start(CONFIG);
    pool.ready(3).await.unwrap();
    pool.resize(5);
    pool.ready(5).await.unwrap();
    pool.resize(1);
    run_ready_tasks().await;
    assert_eq!(factory.discarded(), [0, 1, 2, 3]);
    pool.resize(0);
    run_ready_tasks().await;
    assert_eq!((pool.take(), factory.begun()), (None, 5));
    assert!(pool.stats().adds_up());
}
