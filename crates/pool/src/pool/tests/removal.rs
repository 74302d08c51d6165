//! How items end: condemned, broken, worn out, retired, closed.

use super::*;

const PAIR: KeyLimits = KeyLimits { max_items: 1, concurrency: 2, lifetime: FOREVER };

#[tokio::test(start_paused = true)]
async fn a_condemned_item_is_destroyed_with_its_last_lease_and_not_leased_again() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, PAIR);
    let first = keyed.acquire().await.unwrap();
    let second = keyed.acquire().await.unwrap();
    first.condemn();
    first.condemn();
    assert!(keyed.try_acquire_owned().is_none());
    drop(first);
    assert_eq!(manager.destroy_reasons(), [None], "a lease is still out");
    assert_eq!(keyed.acquire().await.unwrap().number, 1, "its successor does not wait for it");
    drop(second);
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Condemned), None]);
    assert_eq!(pool.stats().destroyed.condemned, 1);
}

#[tokio::test(start_paused = true)]
async fn condemning_an_item_that_others_wait_for_makes_a_new_one() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    let lease = keyed.acquire().await.unwrap();
    let mut caller = waiting(&keyed);
    lease.condemn();
    advance(CREATION_TIME).await;
    assert_eq!(caller.poll().unwrap().unwrap().number, 1);
    assert_eq!(manager.destroy_reasons()[0], None);
}

#[tokio::test(start_paused = true)]
async fn a_gone_item_is_destroyed_at_once_and_a_retiring_one_when_it_is_idle() {
    for (health, why) in [(ItemHealth::Gone, DestroyReason::Gone), (ItemHealth::Retiring, DestroyReason::Retired)] {
        let (pool, manager) = pool(NO_LIMITS);
        let keyed = pool.keyed(1, PAIR);
        let lease = keyed.acquire().await.unwrap();
        lease.set_health(health);
        lease.set_load(Load::Working);
        assert!(keyed.try_acquire_owned().is_none(), "no new leases");
        drop(lease);
        match health {
            ItemHealth::Gone => assert_eq!(manager.destroy_reasons(), [Some(why)]),
            _ => {
                pool.sweep();
                assert_eq!(manager.destroy_reasons(), [None], "the item finishes its work");
                manager.items()[0].set_load(Load::Idle);
                pool.sweep();
                assert_eq!(manager.destroy_reasons(), [Some(why)]);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_found_broken_is_replaced_for_the_waiting_caller() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    let lease = keyed.acquire().await.unwrap();
    let mut caller = waiting(&keyed);
    lease.set_health(ItemHealth::Gone);
    assert!(keyed.try_acquire_owned().is_none());
    advance(CREATION_TIME).await;
    assert!(caller.poll().unwrap().is_ok());
    drop(lease);
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Gone), None]);
}

#[tokio::test(start_paused = true)]
async fn an_item_is_leased_for_its_number_of_uses_and_no_more() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, KeyLimits { lifetime: ItemLifetime { uses: Some(2), ..FOREVER }, ..ONE });
    for number in [0, 0, 1] {
        assert_eq!(keyed.acquire().await.unwrap().number, number);
    }
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Expired), None]);
}

#[tokio::test(start_paused = true)]
async fn an_item_is_leased_until_its_ttl_and_no_longer() {
    let (pool, manager) = pool(NO_LIMITS);
    let lifetime = ItemLifetime { ttl: Some(Duration::from_secs(60)), ..FOREVER };
    let keyed = pool.keyed(1, KeyLimits { lifetime, ..ONE });
    drop(keyed.acquire().await.unwrap());
    advance(Duration::from_secs(59)).await;
    assert!(keyed.try_acquire_owned().is_some());
    advance(Duration::from_secs(1)).await;
    assert!(keyed.try_acquire_owned().is_none());
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Expired)]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_caller_gets_even_an_item_with_a_ttl_of_zero() {
    let (pool, manager) = pool(NO_LIMITS);
    let lifetime = ItemLifetime { ttl: Some(Duration::ZERO), ..FOREVER };
    let keyed = pool.keyed(1, KeyLimits { lifetime, ..ONE });
    assert_eq!(keyed.acquire().await.unwrap().number, 0);
    assert_eq!(keyed.acquire().await.unwrap().number, 1);
    assert_eq!(manager.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_idle_for_too_long_is_swept() {
    let (pool, manager) = pool(NO_LIMITS);
    let lifetime = ItemLifetime { idle: Some(Duration::from_secs(60)), ..FOREVER };
    let keyed = pool.keyed(1, KeyLimits { lifetime, ..ONE });
    let sweeper = pool.spawn_sweeper(Duration::from_secs(10));
    let lease = keyed.acquire().await.unwrap();
    for _ in 0..12 {
        advance(Duration::from_secs(10)).await;
    }
    assert_eq!(manager.destroy_reasons(), [None], "it is in use");
    drop(lease);
    for _ in 0..5 {
        advance(Duration::from_secs(10)).await;
    }
    assert_eq!(manager.destroy_reasons(), [None], "not long enough");
    advance(Duration::from_secs(10)).await;
    advance(Duration::from_secs(10)).await;
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Expired)]);
    drop(pool);
    advance(Duration::from_secs(10)).await;
    assert!(sweeper.is_finished(), "there is no pool to sweep any more");
}

/// How often `on_idle` was called for the first item.
fn idle_calls(manager: &TestManager) -> u32 {
    manager.items()[0].on_idle_calls.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn on_idle_is_called_once_and_the_next_sweep_destroys_the_item() {
    let (pool, manager) = pool(NO_LIMITS);
    let lifetime = ItemLifetime { idle: Some(Duration::from_secs(60)), ..FOREVER };
    let keyed = pool.keyed(1, KeyLimits { lifetime, ..ONE });
    drop(keyed.acquire().await.unwrap());
    let states = || pool.list().iter().map(|info| info.state).collect::<Vec<_>>();
    advance(Duration::from_secs(59)).await;
    pool.sweep();
    assert_eq!((idle_calls(&manager), states()), (0, vec![ItemState::Active]), "not long enough");
    advance(Duration::from_secs(1)).await;
    pool.sweep();
    assert_eq!((idle_calls(&manager), states()), (1, vec![ItemState::Idle]));
    assert_eq!(pool.list()[0].unused_for, Duration::from_secs(60));
    // Work that `on_idle` started is finished.
    manager.items()[0].set_load(Load::Working);
    pool.sweep();
    assert_eq!((idle_calls(&manager), manager.destroy_reasons()), (1, vec![None]));
    manager.items()[0].set_load(Load::Idle);
    pool.sweep();
    assert_eq!((idle_calls(&manager), manager.destroy_reasons()), (1, vec![Some(DestroyReason::Expired)]));
    assert_eq!(states(), []);
}

#[tokio::test(start_paused = true)]
async fn a_lease_keeps_an_idle_item_and_on_idle_is_called_again_the_next_time() {
    let (pool, manager) = pool(NO_LIMITS);
    let lifetime = ItemLifetime { idle: Some(Duration::from_secs(60)), ..FOREVER };
    let keyed = pool.keyed(1, KeyLimits { lifetime, ..ONE });
    let mut lease = keyed.acquire().await.unwrap();
    for period in 1..4 {
        drop(lease);
        advance(Duration::from_secs(60)).await;
        pool.sweep();
        assert_eq!((idle_calls(&manager), manager.destroy_reasons()), (period, vec![None]));
        lease = keyed.try_acquire_owned().unwrap();
        pool.sweep();
        assert_eq!(pool.list()[0].state, ItemState::Active, "a lease is out");
    }
    assert_eq!(manager.begun(), 1, "it was the same item all the time");
    drop(lease);
}

#[tokio::test(start_paused = true)]
async fn a_retired_key_gives_no_leases_and_empties() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    let lease = keyed.acquire().await.unwrap();
    let mut caller = waiting(&keyed);
    keyed.retire();
    assert_eq!(caller.poll().unwrap().err(), Some(AcquireError::Retired));
    assert_eq!(keyed.acquire().await.err(), Some(AcquireError::Retired));
    let successor = pool.keyed(1, ONE);
    assert_eq!(successor.acquire().await.unwrap().number, 1, "the key has a new bucket");
    assert_eq!(manager.destroy_reasons(), [None, None]);
    drop(lease);
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Retired), None]);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_made_for_a_retired_key_is_destroyed() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    let mut caller = waiting(&keyed);
    keyed.retire();
    assert!(caller.poll().unwrap().is_err());
    drop((keyed, caller));
    advance(CREATION_TIME).await;
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Retired)]);
    assert!(pool.key_stats().is_empty());
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_leases_creations_and_work_without_a_lease() {
    let (pool, manager) = pool(NO_LIMITS);
    let (keyed, slow) = (pool.keyed(1, PAIR), pool.keyed(2, ONE));
    let lease = keyed.acquire().await.unwrap();
    lease.set_load(Load::Working);
    let working = lease.clone();
    let mut caller = waiting(&slow);
    run_ready_tasks().await;
    let mut closed = Polled::pending({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    assert_eq!(caller.poll().unwrap().err(), Some(AcquireError::Closed));
    assert_eq!(keyed.acquire().await.err(), Some(AcquireError::Closed));
    assert_eq!(pool.keyed(3, ONE).acquire().await.err(), Some(AcquireError::Closed));
    drop(lease);
    assert!(closed.poll().is_none(), "an item is being made");
    advance(CREATION_TIME).await;
    assert!(closed.poll().is_none(), "an item has work to finish");
    working.set_load(Load::Idle);
    pool.sweep();
    assert!(closed.poll().is_some());
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Closed); 2]);
    let stats = pool.stats();
    assert_eq!((stats.created, stats.destroyed.closed, stats.cached), (2, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_dropped_is_closed_and_leases_outlive_it() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    drop(pool.keyed(2, ONE).acquire().await.unwrap());
    let lease = keyed.acquire().await.unwrap();
    drop(pool);
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Closed), None]);
    assert_eq!(keyed.acquire().await.err(), Some(AcquireError::Closed));
    assert_eq!(lease.key, 1, "the lease is still valid");
    drop(keyed);
    drop(lease);
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Closed); 2]);
    assert_eq!(Arc::strong_count(&manager.0), 1, "nothing is left of the pool");
}

#[tokio::test(start_paused = true)]
async fn on_draining_is_called_once_for_a_leased_item() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, KeyLimits { concurrency: 2, ..ONE });
    let leases = (keyed.acquire().await.unwrap(), keyed.acquire().await.unwrap());
    let calls = || manager.items()[0].on_draining_calls.load(Ordering::SeqCst);
    pool.sweep();
    assert_eq!(calls(), 0);
    keyed.retire();
    assert_eq!((calls(), manager.destroy_reasons()), (1, vec![None]));
    drop(leases.0);
    pool.sweep();
    assert_eq!((calls(), manager.destroy_reasons()), (1, vec![None]));
    drop(leases.1);
    assert_eq!((calls(), manager.destroy_reasons()), (1, vec![Some(DestroyReason::Retired)]));
    // An item without a lease is destroyed without it.
    let other = pool.keyed(2, ONE);
    drop(other.acquire().await.unwrap());
    other.retire();
    assert_eq!(manager.items()[1].on_draining_calls.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_made_broken_serves_the_waiting_caller_and_the_next_is_made_after_a_pause() {
    let (pool, manager) = pool(NO_LIMITS);
    manager.plan(std::iter::repeat_n(Plan::Broken(CREATION_TIME), 20));
    let keyed = pool.keyed(1, ONE);
    let mut waited = Vec::new();
    for _ in 0..4 {
        let mut caller = waiting(&keyed);
        let began = Instant::now();
        let lease = loop {
            match caller.poll() {
                Some(lease) => break lease.unwrap(),
                None => advance(CREATION_TIME).await,
            }
        };
        waited.push(began.elapsed());
        drop(lease);
    }
    assert_eq!(manager.begun(), 4, "one for each caller, and no more");
    assert!(waited[0] <= CREATION_TIME * 2 && waited.is_sorted() && waited[3] >= waited[1] * 2, "{waited:?}");
    assert!(waited.iter().all(|wait| *wait < Duration::from_secs(3)), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_made_well_ends_the_pauses() {
    let (pool, manager) = pool(NO_LIMITS);
    manager.plan([Plan::Broken(CREATION_TIME), Plan::Create(CREATION_TIME)]);
    let keyed = pool.keyed(1, ONE);
    let mut first = waiting(&keyed);
    advance(CREATION_TIME).await;
    drop(first.poll().unwrap().unwrap());
    let mut second = waiting(&keyed);
    advance(Duration::from_millis(50)).await;
    advance(CREATION_TIME).await;
    drop(second.poll().unwrap().unwrap());
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 1);
}

#[tokio::test(start_paused = true)]
async fn a_worn_item_serves_until_its_successor_is_there() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    drop(keyed.acquire().await.unwrap());
    manager.items()[0].set_health(ItemHealth::Worn);
    for _ in 0..3 {
        assert_eq!(keyed.try_acquire_owned().unwrap().number, 0, "no caller waits for the successor");
        run_ready_tasks().await;
    }
    assert_eq!(manager.begun(), 2, "one successor, although the limit is one item");
    let held = keyed.try_acquire_owned().unwrap();
    advance(CREATION_TIME).await;
    assert_eq!(keyed.try_acquire_owned().unwrap().number, 1);
    assert_eq!(manager.destroy_reasons(), [None, None], "the item finishes its work");
    drop(held);
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Expired), None]);
}

#[tokio::test(start_paused = true)]
async fn a_successor_that_cannot_be_made_is_retried_after_a_pause_and_the_worn_item_goes_on() {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    drop(keyed.acquire().await.unwrap());
    manager.items()[0].set_health(ItemHealth::Worn);
    manager.plan(std::iter::repeat_n(Plan::Fail(CREATION_TIME), 100));
    for _ in 0..100 {
        assert_eq!(keyed.try_acquire_owned().unwrap().number, 0);
        advance(CREATION_TIME).await;
    }
    assert!((2..10).contains(&manager.begun()), "{}", manager.begun());
}
