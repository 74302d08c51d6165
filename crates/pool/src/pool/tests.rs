//! One test per promise of the pool, over fake items whose every property the test decides. Creations take ten
//! milliseconds of paused time unless the test plans otherwise.
#![allow(clippy::unwrap_used)]

mod capacity;
mod creation;
mod removal;
mod schedule;
mod selection;
mod stress;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::*;
use crate::keyed_pool::{AcquireError, ItemLifetime};
use crate::lease::OwnedLease;
use crate::listing::ItemState;
use crate::manager::{Affinity, DestroyReason, ItemHealth, Load};
use crate::testing::{Polled, run_ready_tasks};

pub(super) const CREATION_TIME: Duration = Duration::from_millis(10);
pub(super) const ITEM_WEIGHT: u64 = 10;
pub(super) const NO_LIMITS: PoolLimits = PoolLimits { max_items: 100, max_weight: u64::MAX, max_per_group: None };
pub(super) const FOREVER: ItemLifetime = ItemLifetime { uses: None, ttl: None, idle: None };
pub(super) const ONE: KeyLimits = KeyLimits { max_items: 1, concurrency: 1, lifetime: FOREVER };

pub(super) type Key = u32;
pub(super) type Caller = Polled<Result<OwnedLease<TestManager>, AcquireError<&'static str>>>;

/// What a creation does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    Create(Duration),
    /// The item is made, but gets no new leases from the start.
    Broken(Duration),
    Fail(Duration),
    Panic,
}

/// Makes fake items. Clones share the same records.
#[derive(Clone, Default)]
pub(super) struct TestManager(Arc<Records>);

#[derive(Default)]
pub(super) struct Records {
    plans: Mutex<VecDeque<Plan>>,
    items: Mutex<Vec<Arc<TestItem>>>,
    begun: AtomicUsize,
    destroyed: AtomicUsize,
    load_reads: AtomicUsize,
}

pub(super) struct TestItem {
    pub(super) number: usize,
    pub(super) key: Key,
    pub(super) health: Mutex<ItemHealth>,
    pub(super) load: Mutex<Load>,
    pub(super) affinity: Mutex<Affinity>,
    pub(super) weight: AtomicU64,
    /// Leases that tests hold.
    pub(super) held: AtomicU32,
    /// How often `on_idle` was called for it.
    pub(super) on_idle_calls: AtomicU32,
    /// How often `on_draining` was called for it.
    pub(super) on_draining_calls: AtomicU32,
    pub(super) destroyed_for: Mutex<Option<DestroyReason>>,
}

impl TestManager {
    pub(super) fn plan(&self, plans: impl IntoIterator<Item = Plan>) {
        self.0.plans.lock().unwrap().extend(plans);
    }

    pub(super) fn begun(&self) -> usize {
        self.0.begun.load(Ordering::SeqCst)
    }

    pub(super) fn items(&self) -> Vec<Arc<TestItem>> {
        self.0.items.lock().unwrap().clone()
    }

    pub(super) fn destroy_reasons(&self) -> Vec<Option<DestroyReason>> {
        self.items().iter().map(|item| *item.destroyed_for.lock().unwrap()).collect()
    }

    /// How often the load of an item was read.
    pub(super) fn load_reads(&self) -> usize {
        self.0.load_reads.load(Ordering::SeqCst)
    }
}

impl TestItem {
    pub(super) fn set_load(&self, load: Load) {
        *self.load.lock().unwrap() = load;
    }

    pub(super) fn set_health(&self, health: ItemHealth) {
        *self.health.lock().unwrap() = health;
    }
}

impl Manager for TestManager {
    type Key = Key;
    type Item = Arc<TestItem>;
    type Error = &'static str;

    async fn create(&self, key: &Key) -> Result<Arc<TestItem>, &'static str> {
        self.0.begun.fetch_add(1, Ordering::SeqCst);
        let plan = self.0.plans.lock().unwrap().pop_front().unwrap_or(Plan::Create(CREATION_TIME));
        match plan {
            Plan::Create(time) | Plan::Broken(time) => tokio::time::sleep(time).await,
            Plan::Fail(time) => {
                tokio::time::sleep(time).await;
                return Err("planned");
            }
            Plan::Panic => panic!("planned"),
        }
        let health = if let Plan::Broken(_) = plan { ItemHealth::Retiring } else { ItemHealth::Ready };
        let mut items = self.0.items.lock().unwrap();
        let item = Arc::new(TestItem {
            number: items.len(),
            key: *key,
            health: Mutex::new(health),
            load: Mutex::new(Load::Idle),
            affinity: Mutex::new(Affinity::Here),
            weight: AtomicU64::new(ITEM_WEIGHT),
            held: AtomicU32::new(0),
            on_idle_calls: AtomicU32::new(0),
            on_draining_calls: AtomicU32::new(0),
            destroyed_for: Mutex::new(None),
        });
        items.push(item.clone());
        Ok(item)
    }

    fn health(&self, item: &Arc<TestItem>) -> ItemHealth {
        *item.health.lock().unwrap()
    }

    fn load(&self, item: &Arc<TestItem>) -> Load {
        self.0.load_reads.fetch_add(1, Ordering::Relaxed);
        *item.load.lock().unwrap()
    }

    fn affinity(&self, item: &Arc<TestItem>) -> Affinity {
        *item.affinity.lock().unwrap()
    }

    fn weight(&self, item: &Arc<TestItem>) -> u64 {
        item.weight.load(Ordering::Relaxed)
    }

    fn group(&self, key: &Key) -> Option<Arc<str>> {
        Some(if key.is_multiple_of(2) { "even" } else { "odd" }.into())
    }

    fn estimated_weight(&self) -> u64 {
        ITEM_WEIGHT
    }

    fn on_draining(&self, item: &Arc<TestItem>) {
        item.on_draining_calls.fetch_add(1, Ordering::SeqCst);
    }

    fn on_idle(&self, item: &Arc<TestItem>) {
        assert_eq!(*item.destroyed_for.lock().unwrap(), None, "on_idle is not called for a destroyed item");
        item.on_idle_calls.fetch_add(1, Ordering::SeqCst);
    }

    fn destroy(&self, item: Arc<TestItem>, why: DestroyReason) {
        assert_eq!(item.held.load(Ordering::SeqCst), 0, "a lease is still out");
        assert_eq!(item.destroyed_for.lock().unwrap().replace(why), None, "the item was destroyed already");
        self.0.destroyed.fetch_add(1, Ordering::SeqCst);
    }
}

/// A pool and the manager that makes its items.
pub(super) fn pool(limits: PoolLimits) -> (Pool<TestManager>, TestManager) {
    let manager = TestManager::default();
    (Pool::new(manager.clone(), limits), manager)
}

pub(super) fn calling(keyed: &KeyedPool<TestManager>) -> Caller {
    let keyed = keyed.clone();
    Polled::new(async move { keyed.acquire().await })
}

/// A caller that waits.
pub(super) fn waiting(keyed: &KeyedPool<TestManager>) -> Caller {
    let mut caller = calling(keyed);
    assert!(caller.poll().is_none(), "the caller was expected to wait");
    caller
}

/// Lets `time` pass, and runs all tasks that are due.
pub(super) async fn advance(time: Duration) {
    // First all tasks run to the point where they wait for time to pass.
    run_ready_tasks().await;
    tokio::time::advance(time).await;
    run_ready_tasks().await;
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_acquired_again_is_warm() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    assert!(keyed.try_acquire_owned().is_none(), "there is no item yet");
    let lease = keyed.acquire().await.unwrap();
    assert_eq!((lease.key(), lease.number), (&1, 0));
    drop(lease);
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 0);
    assert_eq!(keyed.acquire().await.unwrap().number, 0);
    assert_eq!(manager.begun(), 1);
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.misses, stats.hit_rate()), (2, 1, Some(2.0 / 3.0)));
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_released_exactly_once() {
    let (pool, _) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, KeyLimits { concurrency: 2, ..ONE });
    let first = keyed.acquire().await.unwrap();
    let second = keyed.try_acquire_owned().unwrap();
    assert_eq!(keyed.stats().leased, 2);
    assert!(keyed.try_acquire_owned().is_none(), "the item has two leases");
    drop(first);
    assert_eq!(keyed.stats().leased, 1);
    let third = keyed.try_acquire_owned().unwrap();
    assert!(keyed.try_acquire_owned().is_none(), "one was released, one was taken");
    drop((second, third));
    assert_eq!(pool.stats().leased, 0);
}

#[tokio::test(start_paused = true)]
async fn a_new_handle_for_a_key_finds_its_items() {
    let (pool, _) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    drop(keyed.acquire().await.unwrap());
    drop(keyed);
    assert_eq!(pool.key_stats().len(), 1, "it has an item");
    let keyed = pool.keyed(1, ONE);
    assert!(keyed.try_acquire_owned().is_some());
    keyed.clone().retire();
    assert_eq!(pool.key_stats().len(), 1, "it has a handle");
    drop(keyed);
    assert_eq!(pool.key_stats().len(), 0);
    let stats = pool.stats();
    assert_eq!((stats.hits, stats.misses, stats.created), (1, 1, 1), "its counts stay");
}

#[tokio::test(start_paused = true)]
async fn a_lease_can_be_released_on_a_thread_without_a_runtime() {
    let (pool, manager) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
    let lease = pool.keyed(1, ONE).acquire().await.unwrap();
    let other = pool.keyed(2, ONE);
    let mut caller = waiting(&other);
    // A caller waits for its slot, so releasing it begins a creation.
    std::thread::spawn(move || drop(lease)).join().unwrap();
    advance(CREATION_TIME).await;
    assert_eq!(caller.poll().unwrap().unwrap().key, 2);
    assert_eq!(manager.begun(), 2);
}
