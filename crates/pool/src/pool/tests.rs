//! One test per promise of the pool, over fake things whose every property the test decides. Creations take ten
//! milliseconds of paused time unless the test plans otherwise.
#![allow(clippy::unwrap_used)]

mod choosing;
mod ending;
mod making;
mod room;
mod schedule;
mod stress;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::*;
use crate::holding::Standing;
use crate::keep::{Affinity, Health, Load, Reason};
use crate::lease::Lease;
use crate::shelf::{AcquireError, Life};
use crate::testing::{Held, settle};

pub(super) const MAKING: Duration = Duration::from_millis(10);
pub(super) const BLANK: u64 = 10;
pub(super) const PLENTY: PoolLimits = PoolLimits { things: 100, weight: u64::MAX, per_group: None };
pub(super) const FOREVER: Life = Life { uses: None, ttl: None, idle: None };
pub(super) const ONE: ShelfRules = ShelfRules { most: 1, concurrency: 1, life: FOREVER };

pub(super) type Key = u32;
pub(super) type Caller = Held<Result<Lease<Shop>, AcquireError<&'static str>>>;

/// What a creation does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Make(Duration),
    /// What is made takes nothing new from the start.
    Broken(Duration),
    Fail(Duration),
    Panic,
}

/// Makes fake things. Clones are the same shop.
#[derive(Clone, Default)]
pub(super) struct Shop(Arc<Books>);

#[derive(Default)]
pub(super) struct Books {
    plans: Mutex<VecDeque<Plan>>,
    things: Mutex<Vec<Arc<Part>>>,
    begun: AtomicUsize,
    destroyed: AtomicUsize,
    looks: AtomicUsize,
}

pub(super) struct Part {
    pub(super) number: usize,
    pub(super) key: Key,
    pub(super) health: Mutex<Health>,
    pub(super) load: Mutex<Load>,
    pub(super) affinity: Mutex<Affinity>,
    pub(super) weight: AtomicU64,
    /// Leases that tests hold.
    pub(super) held: AtomicU32,
    /// How often it was told that nobody uses it.
    pub(super) idle: AtomicU32,
    /// How often it was told that it is to go as soon as nobody has it.
    pub(super) leaving: AtomicU32,
    pub(super) fate: Mutex<Option<Reason>>,
}

impl Shop {
    pub(super) fn plan(&self, plans: impl IntoIterator<Item = Plan>) {
        self.0.plans.lock().unwrap().extend(plans);
    }

    pub(super) fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }

    pub(super) fn things(&self) -> Vec<Arc<Part>> {
        self.0.things.lock().unwrap().clone()
    }

    pub(super) fn fates(&self) -> Vec<Option<Reason>> {
        self.things().iter().map(|part| *part.fate.lock().unwrap()).collect()
    }

    /// How often a thing was asked for its load.
    pub(super) fn looks(&self) -> usize {
        self.0.looks.load(Ordering::SeqCst)
    }
}

impl Part {
    pub(super) fn set_load(&self, load: Load) {
        *self.load.lock().unwrap() = load;
    }

    pub(super) fn set_health(&self, health: Health) {
        *self.health.lock().unwrap() = health;
    }
}

impl Keep for Shop {
    type Key = Key;
    type Thing = Arc<Part>;
    type Error = &'static str;

    async fn create(&self, key: &Key) -> Result<Arc<Part>, &'static str> {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        let plan = self.0.plans.lock().unwrap().pop_front().unwrap_or(Plan::Make(MAKING));
        match plan {
            Plan::Make(time) | Plan::Broken(time) => tokio::time::sleep(time).await,
            Plan::Fail(time) => {
                tokio::time::sleep(time).await;
                return Err("planned");
            }
            Plan::Panic => panic!("planned"),
        }
        let health = if let Plan::Broken(_) = plan { Health::Retiring } else { Health::Ready };
        let mut things = self.0.things.lock().unwrap();
        let part = Arc::new(Part {
            number: things.len(),
            key: *key,
            health: Mutex::new(health),
            load: Mutex::new(Load::Idle),
            affinity: Mutex::new(Affinity::Here),
            weight: AtomicU64::new(BLANK),
            held: AtomicU32::new(0),
            idle: AtomicU32::new(0),
            leaving: AtomicU32::new(0),
            fate: Mutex::new(None),
        });
        things.push(part.clone());
        Ok(part)
    }

    fn health(&self, part: &Arc<Part>) -> Health {
        *part.health.lock().unwrap()
    }

    fn load(&self, part: &Arc<Part>) -> Load {
        self.0.looks.fetch_add(1, Ordering::Relaxed);
        *part.load.lock().unwrap()
    }

    fn affinity(&self, part: &Arc<Part>) -> Affinity {
        *part.affinity.lock().unwrap()
    }

    fn weight(&self, part: &Arc<Part>) -> u64 {
        part.weight.load(Ordering::Relaxed)
    }

    fn group(&self, key: &Key) -> Option<Arc<str>> {
        Some(if key % 2 == 0 { "even" } else { "odd" }.into())
    }

    fn blank_weight(&self) -> u64 {
        BLANK
    }

    fn leaving(&self, part: &Arc<Part>) {
        part.leaving.fetch_add(1, Ordering::SeqCst);
    }

    fn idle(&self, part: &Arc<Part>) {
        assert_eq!(*part.fate.lock().unwrap(), None, "what is destroyed is told nothing");
        part.idle.fetch_add(1, Ordering::SeqCst);
    }

    fn destroy(&self, part: Arc<Part>, why: Reason) {
        assert_eq!(part.held.load(Ordering::SeqCst), 0, "somebody still has it");
        assert_eq!(part.fate.lock().unwrap().replace(why), None, "it was destroyed already");
        self.0.destroyed.fetch_add(1, Ordering::SeqCst);
    }
}

/// A pool and the shop that makes its things.
pub(super) fn pool(limits: PoolLimits) -> (Pool<Shop>, Shop) {
    let shop = Shop::default();
    (Pool::new(shop.clone(), limits), shop)
}

pub(super) fn calling(shelf: &Shelf<Shop>) -> Caller {
    let shelf = shelf.clone();
    Held::new(async move { shelf.acquire().await })
}

/// A caller that has to wait.
pub(super) fn waiting(shelf: &Shelf<Shop>) -> Caller {
    let mut caller = calling(shelf);
    assert!(caller.poll().is_none(), "it was expected to wait");
    caller
}

/// Lets `time` pass, and all that is due happen.
pub(super) async fn pass(time: Duration) {
    // First everybody gets to the point where it waits for time to pass.
    settle().await;
    tokio::time::advance(time).await;
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_acquired_again_is_warm() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    assert!(shelf.try_acquire().is_none(), "nothing is there yet");
    let lease = shelf.acquire().await.unwrap();
    assert_eq!((lease.key(), lease.number), (&1, 0));
    drop(lease);
    assert_eq!(shelf.try_acquire().unwrap().number, 0);
    assert_eq!(shelf.acquire().await.unwrap().number, 0);
    assert_eq!(shop.begun(), 1);
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.misses, stats.hit_rate()), (2, 1, Some(2.0 / 3.0)));
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_returned_exactly_once() {
    let (pool, _) = pool(PLENTY);
    let shelf = pool.shelf(1, ShelfRules { concurrency: 2, ..ONE });
    let first = shelf.acquire().await.unwrap();
    let second = shelf.try_acquire().unwrap();
    assert_eq!(shelf.stats().leased, 2);
    assert!(shelf.try_acquire().is_none(), "two leases are all it has");
    drop(first);
    assert_eq!(shelf.stats().leased, 1);
    let third = shelf.try_acquire().unwrap();
    assert!(shelf.try_acquire().is_none(), "one came back, one went out");
    drop((second, third));
    assert_eq!(pool.stats().leased, 0);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_key_again_finds_its_things() {
    let (pool, _) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    drop(shelf.acquire().await.unwrap());
    drop(shelf);
    assert_eq!(pool.shelves().len(), 1, "something is on it");
    let shelf = pool.shelf(1, ONE);
    assert!(shelf.try_acquire().is_some());
    shelf.clone().retire();
    assert_eq!(pool.shelves().len(), 1, "somebody holds it");
    drop(shelf);
    assert_eq!(pool.shelves().len(), 0);
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.misses, stats.created), (1, 1, 1), "its numbers stay");
}

#[tokio::test(start_paused = true)]
async fn a_lease_can_come_back_on_a_thread_of_no_runtime() {
    let (pool, shop) = pool(PoolLimits { things: 1, ..PLENTY });
    let lease = pool.shelf(1, ONE).acquire().await.unwrap();
    let other = pool.shelf(2, ONE);
    let mut caller = waiting(&other);
    // Its room is needed, so giving it back begins a creation.
    std::thread::spawn(move || drop(lease)).join().unwrap();
    pass(MAKING).await;
    assert_eq!(caller.poll().unwrap().unwrap().key, 2);
    assert_eq!(shop.begun(), 2);
}
