//! Which of several items a caller gets.

use super::*;

/// A key with so many items, none of them leased.
async fn stocked(items: usize, rules: KeyLimits) -> (Pool<TestManager>, TestManager, KeyedPool<TestManager>) {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, rules);
    let mut leases = Vec::new();
    for _ in 0..items {
        leases.push(keyed.acquire().await.unwrap());
        manager.items().last().unwrap().set_load(Load::Busy);
    }
    manager.items().iter().for_each(|item| item.set_load(Load::Idle));
    drop(leases);
    (pool, manager, keyed)
}

fn rules(most: usize, concurrency: u32) -> KeyLimits {
    KeyLimits { max_items: most, concurrency, lifetime: FOREVER }
}

#[tokio::test(start_paused = true)]
async fn low_load_stays_with_the_first_item() {
    let (_pool, manager, keyed) = stocked(3, rules(3, 4)).await;
    manager.items()[0].set_load(Load::Working);
    let leases: Vec<_> = (0..4).map(|_| keyed.try_acquire_owned().unwrap()).collect();
    assert!(leases.iter().all(|lease| lease.number == 0), "it has a free lease, so no other is used");
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 1);
}

#[tokio::test(start_paused = true)]
async fn an_item_last_used_on_this_thread_comes_first() {
    let (_pool, manager, keyed) = stocked(3, rules(3, 4)).await;
    let items = manager.items();
    *items[0].affinity.lock().unwrap() = Affinity::Elsewhere;
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 1);
    items[1].set_load(Load::Busy);
    items[2].set_load(Load::Busy);
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 0, "elsewhere is better than busy");
}

#[tokio::test(start_paused = true)]
async fn when_all_are_busy_the_one_with_the_fewest_leases_is_taken() {
    let (_pool, manager, keyed) = stocked(2, rules(2, 4)).await;
    let first = [keyed.try_acquire_owned().unwrap(), keyed.try_acquire_owned().unwrap()];
    manager.items().iter().for_each(|item| item.set_load(Load::Busy));
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 1);
    drop(first);
    let second = keyed.try_acquire_owned().unwrap();
    assert_eq!(second.number, 0, "the first of equals");
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 1);
}

#[tokio::test(start_paused = true)]
async fn while_all_are_busy_one_more_is_made_and_other_callers_get_busy_ones() {
    let (_pool, manager, keyed) = stocked(1, rules(3, 4)).await;
    manager.items()[0].set_load(Load::Busy);
    assert!(keyed.try_acquire_owned().is_none(), "a new one would be better");
    let mut first = waiting(&keyed);
    assert_eq!(keyed.acquire().await.unwrap().number, 0, "one is being made already");
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 0);
    advance(CREATION_TIME).await;
    assert_eq!(first.poll().unwrap().unwrap().number, 1);
    assert_eq!(manager.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_a_creation_takes_an_item_that_is_free_sooner() {
    let (_pool, manager, keyed) = stocked(1, rules(2, 1)).await;
    let lease = keyed.try_acquire_owned().unwrap();
    let mut caller = waiting(&keyed);
    drop(lease);
    assert_eq!(caller.poll().unwrap().unwrap().number, 0);
    advance(CREATION_TIME).await;
    assert_eq!((manager.begun(), keyed.stats().cached), (2, 2), "the creation that was begun is finished");
}

#[tokio::test(start_paused = true)]
async fn a_busy_item_is_leased_when_the_pool_has_no_capacity() {
    let (pool, manager) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
    let keyed = pool.keyed(1, rules(3, 4));
    let _lease = keyed.acquire().await.unwrap();
    manager.items()[0].set_load(Load::Busy);
    assert_eq!(keyed.acquire().await.unwrap().number, 0);
    assert_eq!(manager.begun(), 1);
}
