//! Capacity: which items are evicted, which callers wait, and the limit on weight.

use super::*;

const STEP: Duration = Duration::from_millis(1);

/// Leases the key's item once, one step after the previous event.
async fn use_once(pool: &Pool<TestManager>, key: Key) {
    advance(STEP).await;
    drop(pool.keyed(key, ONE).acquire().await.unwrap());
}

fn keys_left(manager: &TestManager) -> Vec<Key> {
    manager.items().iter().filter(|item| item.destroyed_for.lock().unwrap().is_none()).map(|item| item.key).collect()
}

#[tokio::test(start_paused = true)]
async fn eviction_takes_the_least_recently_used_idle_item_and_never_a_leased_one() {
    let (pool, manager) = pool(PoolLimits { max_items: 4, ..NO_LIMITS });
    let leased = pool.keyed(0, ONE).acquire().await.unwrap();
    for key in [1, 2, 3, 1] {
        use_once(&pool, key).await;
    }
    use_once(&pool, 4).await;
    assert_eq!(keys_left(&manager), [0, 1, 3, 4], "2 was used least recently; 0 is leased");
    manager.items()[3].set_load(Load::Working);
    use_once(&pool, 5).await;
    assert_eq!(keys_left(&manager), [0, 3, 4, 5], "3 is next, but it works: then 1");
    drop(leased);
    assert_eq!(pool.stats().destroyed.evicted, 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_was_released_late_is_recently_used() {
    let (pool, manager) = pool(PoolLimits { max_items: 2, ..NO_LIMITS });
    let lease = pool.keyed(1, ONE).acquire().await.unwrap();
    use_once(&pool, 2).await;
    advance(STEP).await;
    drop(lease);
    use_once(&pool, 3).await;
    assert_eq!(keys_left(&manager), [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn release_at_sets_the_time_of_the_last_use() {
    let (pool, manager) = pool(PoolLimits { max_items: 2, ..NO_LIMITS });
    let (one, two) = (pool.keyed(1, ONE), pool.keyed(2, ONE));
    for keyed in [&one, &two] {
        drop(keyed.acquire().await.unwrap());
    }
    advance(STEP).await;
    let early = Instant::now();
    advance(STEP).await;
    drop(two.try_acquire().unwrap());
    advance(STEP).await;
    one.try_acquire().unwrap().release_at(early);
    let stats = (one.stats(), two.stats());
    assert_eq!((stats.0.leased, stats.0.hits, stats.1.leased, stats.1.hits), (0, 1, 0, 1));
    use_once(&pool, 3).await;
    assert_eq!(keys_left(&manager), [2, 3], "1 was released last, and was used first");
}

#[tokio::test(start_paused = true)]
async fn a_borrowed_lease_can_become_an_owned_one() {
    let (pool, manager) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
    let keyed = pool.keyed(1, ONE);
    drop(keyed.acquire().await.unwrap());
    let lease = keyed.try_acquire().unwrap().into_owned();
    drop(keyed);
    let mut waiting = waiting(&pool.keyed(2, ONE));
    advance(CREATION_TIME).await;
    assert!(waiting.poll().is_none() && keys_left(&manager) == [1], "it is leased");
    drop(lease);
    advance(CREATION_TIME).await;
    assert_eq!(waiting.poll().unwrap().unwrap().key, 2);
}

#[tokio::test(start_paused = true)]
async fn a_caller_without_capacity_waits_until_an_item_of_any_key_is_idle() {
    let (pool, manager) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
    let (one, two, three) = (pool.keyed(1, ONE), pool.keyed(2, ONE), pool.keyed(3, ONE));
    let lease = one.acquire().await.unwrap();
    let (mut second, mut third) = (waiting(&two), waiting(&three));
    advance(CREATION_TIME).await;
    assert_eq!(manager.begun(), 1);
    drop(lease);
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Evicted)]);
    advance(CREATION_TIME).await;
    assert!(third.poll().is_none(), "first come, first served");
    drop(second.poll().unwrap().unwrap());
    advance(CREATION_TIME).await;
    assert_eq!(third.poll().unwrap().unwrap().key, 3);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_stops_waiting_for_capacity_delays_no_other() {
    let (pool, manager) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
    let (one, two, three) = (pool.keyed(1, ONE), pool.keyed(2, ONE), pool.keyed(3, ONE));
    let lease = one.acquire().await.unwrap();
    drop(waiting(&two));
    let mut third = waiting(&three);
    drop(two);
    lease.condemn();
    drop(lease);
    advance(CREATION_TIME).await;
    assert_eq!(third.poll().unwrap().unwrap().key, 3);
    assert_eq!((manager.begun(), pool.stats().waiting), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn an_item_made_for_a_cancelled_caller_is_evicted_for_a_waiting_one() {
    let (pool, _) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
    let (one, two) = (pool.keyed(1, ONE), pool.keyed(2, ONE));
    let cancelled = waiting(&one);
    let mut caller = waiting(&two);
    drop(cancelled);
    advance(CREATION_TIME).await;
    advance(CREATION_TIME).await;
    assert_eq!(caller.poll().unwrap().unwrap().key, 2);
    assert_eq!(pool.stats().destroyed.evicted, 1);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_falls_without_a_release_is_seen_by_a_notification_or_a_sweep() {
    for notify in [Pool::notify_maybe_idle, Pool::sweep] {
        let (pool, manager) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
        let lease = pool.keyed(1, ONE).acquire().await.unwrap();
        lease.set_load(Load::Working);
        let two = pool.keyed(2, ONE);
        let mut caller = waiting(&two);
        drop(lease);
        assert_eq!(manager.destroy_reasons(), [None], "it still works");
        manager.items()[0].set_load(Load::Idle);
        notify(&pool);
        advance(CREATION_TIME).await;
        assert_eq!(caller.poll().unwrap().unwrap().key, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn items_that_are_being_made_count() {
    let (pool, manager) = pool(PoolLimits { max_items: 2, ..NO_LIMITS });
    let keyed_pools: Vec<_> = (0..3).map(|key| pool.keyed(key, ONE)).collect();
    let _callers: Vec<_> = keyed_pools.iter().map(waiting).collect();
    run_ready_tasks().await;
    assert_eq!((manager.begun(), pool.stats().creating, pool.stats().weight), (2, 2, 2 * ITEM_WEIGHT));
    assert_eq!(pool.stats().capacity(), 0);
}

#[tokio::test(start_paused = true)]
async fn items_are_evicted_for_weight_too() {
    let (pool, manager) = pool(PoolLimits { max_items: 100, max_weight: 3 * ITEM_WEIGHT, ..NO_LIMITS });
    for key in 1..=4 {
        use_once(&pool, key).await;
    }
    assert_eq!(keys_left(&manager), [2, 3, 4]);
    manager.items()[3].weight.store(2 * ITEM_WEIGHT, Ordering::Relaxed);
    pool.trim();
    assert_eq!((keys_left(&manager), pool.stats().weight), (vec![3, 4], 3 * ITEM_WEIGHT));
    manager.items()[3].weight.store(9 * ITEM_WEIGHT, Ordering::Relaxed);
    let _lease = pool.keyed(4, ONE).try_acquire_owned().unwrap();
    pool.sweep();
    assert_eq!(keys_left(&manager), [4], "a leased item stays, however heavy");
}

#[tokio::test(start_paused = true)]
async fn an_empty_pool_takes_one_item_of_any_weight() {
    let (pool, _) = pool(PoolLimits { max_items: 100, max_weight: ITEM_WEIGHT / 2, ..NO_LIMITS });
    let lease = pool.keyed(1, ONE).acquire().await.unwrap();
    let other = pool.keyed(2, ONE);
    let mut caller = waiting(&other);
    drop(lease);
    advance(CREATION_TIME).await;
    assert!(caller.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_keys_in_turn_cost_the_same_each() {
    let (pool, manager) = pool(PoolLimits { max_items: 1000, ..NO_LIMITS });
    let pinned: Vec<_> = {
        let mut leases = Vec::new();
        for key in 100_000..100_500 {
            leases.push(pool.keyed(key, ONE).acquire().await.unwrap());
        }
        leases
    };
    for key in 0..10_000 {
        tokio::time::advance(STEP).await;
        drop(pool.keyed(key, ONE).acquire().await.unwrap());
    }
    let stats = pool.stats();
    assert_eq!((stats.created, stats.destroyed.evicted), (10_500, 9_500));
    assert!(manager.load_reads() < 10 * 10_000, "the load of items was read {} times", manager.load_reads());
    assert!(pool.key_stats().len() <= 1000, "empty buckets without handles are removed");
    drop(pinned);
}

/// Keys of the same parity are of one group.
const TWO_OF_A_GROUP: PoolLimits = PoolLimits { max_per_group: Some(2), ..NO_LIMITS };

#[tokio::test(start_paused = true)]
async fn a_group_beyond_its_bound_loses_its_own_least_recently_used_item() {
    let (pool, manager) = pool(TWO_OF_A_GROUP);
    for key in [1, 0, 2, 3, 0, 4] {
        use_once(&pool, key).await;
    }
    assert_eq!(keys_left(&manager), [1, 0, 3, 4], "2 is of the same group; 1 was used before it, but is of the other");
    assert_eq!(pool.stats().destroyed.evicted, 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_for_its_group_delays_no_other_group() {
    let (pool, manager) = pool(TWO_OF_A_GROUP);
    let leases = [pool.keyed(0, ONE).acquire().await.unwrap(), pool.keyed(2, ONE).acquire().await.unwrap()];
    let (four, six) = (pool.keyed(4, ONE), pool.keyed(6, ONE));
    let (mut fourth, mut sixth) = (waiting(&four), waiting(&six));
    // Items of the other group come and go.
    for key in [1, 3, 5] {
        use_once(&pool, key).await;
    }
    assert!(fourth.poll().is_none() && sixth.poll().is_none(), "all slots of the group are in use");
    assert_eq!(keys_left(&manager), [0, 2, 3, 5]);
    let [first, second] = leases;
    drop(first);
    advance(CREATION_TIME).await;
    let fourth = fourth.poll().unwrap().unwrap();
    assert_eq!((fourth.key, sixth.poll().is_none()), (4, true), "first come, first served");
    second.condemn();
    drop(second);
    advance(CREATION_TIME).await;
    assert_eq!(sixth.poll().unwrap().unwrap().key, 6);
    assert_eq!(keys_left(&manager), [3, 5, 4, 6]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_creation_gives_its_slot_of_the_group_to_a_waiting_caller() {
    let (pool, manager) = pool(PoolLimits { max_per_group: Some(1), ..NO_LIMITS });
    manager.plan([Plan::Fail(CREATION_TIME)]);
    let (one, three) = (pool.keyed(1, ONE), pool.keyed(3, ONE));
    let (mut first, mut third) = (waiting(&one), waiting(&three));
    advance(CREATION_TIME).await;
    assert!(first.poll().unwrap().is_err());
    advance(CREATION_TIME).await;
    assert_eq!(third.poll().unwrap().unwrap().key, 3);
}

#[tokio::test(start_paused = true)]
async fn a_group_whose_load_falls_without_a_release_is_seen_by_a_notification_or_a_sweep() {
    for notify in [Pool::notify_maybe_idle, Pool::sweep] {
        let (pool, manager) = pool(PoolLimits { max_per_group: Some(1), ..NO_LIMITS });
        let lease = pool.keyed(1, ONE).acquire().await.unwrap();
        lease.set_load(Load::Working);
        drop(lease);
        let three = pool.keyed(3, ONE);
        let mut caller = waiting(&three);
        manager.items()[0].set_load(Load::Idle);
        notify(&pool);
        advance(CREATION_TIME).await;
        assert_eq!(caller.poll().unwrap().unwrap().key, 3);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_a_pool_releases_callers_that_wait_for_their_group() {
    let (pool, manager) = pool(PoolLimits { max_per_group: Some(1), ..NO_LIMITS });
    let lease = pool.keyed(1, ONE).acquire().await.unwrap();
    let three = pool.keyed(3, ONE);
    let mut caller = waiting(&three);
    let mut closing = Polled::pending({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    assert_eq!(caller.poll().unwrap().unwrap_err(), AcquireError::Closed);
    drop(lease);
    assert_eq!(closing.poll(), Some(()));
    drop((closing, caller, three, pool));
    assert_eq!(Arc::strong_count(&manager.0), 1, "nothing is left of the pool");
}
