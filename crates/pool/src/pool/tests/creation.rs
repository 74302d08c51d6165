//! Creations: as many as are needed, shared, and finished also when the callers go away.

use super::*;

async fn first_callers(
    count: usize,
    rules: KeyLimits,
) -> (Pool<TestManager>, TestManager, KeyedPool<TestManager>, Vec<Caller>) {
    let (pool, manager) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, rules);
    let callers: Vec<_> = (0..count).map(|_| waiting(&keyed)).collect();
    run_ready_tasks().await;
    (pool, manager, keyed, callers)
}

fn leases(callers: &mut Vec<Caller>) -> Vec<OwnedLease<TestManager>> {
    let mut leases = Vec::new();
    callers.retain_mut(|caller| match caller.poll() {
        Some(lease) => {
            leases.push(lease.unwrap());
            false
        }
        None => true,
    });
    leases
}

#[tokio::test(start_paused = true)]
async fn fifty_concurrent_first_requests_start_no_more_items_than_needed_and_none_is_orphaned() {
    let rules = KeyLimits { max_items: 10, concurrency: 8, lifetime: FOREVER };
    let (pool, manager, keyed, mut callers) = first_callers(50, rules).await;
    assert_eq!(manager.begun(), 7, "50 callers, 8 to an item");
    advance(CREATION_TIME).await;
    let leases = leases(&mut callers);
    assert_eq!((leases.len(), keyed.stats().misses, keyed.stats().cached), (50, 50, 7));
    drop(leases);
    pool.close().await;
    assert_eq!(manager.destroy_reasons(), [Some(DestroyReason::Closed); 7]);
    assert!(pool.stats().adds_up());
}

#[tokio::test(start_paused = true)]
async fn callers_share_one_creation_when_concurrency_has_no_bound() {
    let rules = KeyLimits { max_items: 10, concurrency: 0, lifetime: FOREVER };
    let (_pool, manager, _, mut callers) = first_callers(50, rules).await;
    advance(CREATION_TIME).await;
    assert_eq!((leases(&mut callers).len(), manager.begun()), (50, 1));
}

#[tokio::test(start_paused = true)]
async fn no_more_than_max_items_are_made_and_the_other_callers_wait() {
    let rules = KeyLimits { max_items: 2, concurrency: 2, lifetime: FOREVER };
    let (_pool, manager, _, mut callers) = first_callers(6, rules).await;
    advance(CREATION_TIME).await;
    let mut held = leases(&mut callers);
    assert_eq!((held.len(), manager.begun(), callers.len()), (4, 2, 2));
    for _ in 0..2 {
        drop(held.remove(0));
        let mut first = vec![callers.remove(0)];
        held.extend(leases(&mut first));
        assert_eq!(held.len(), 4, "first come, first served");
    }
    assert_eq!(manager.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_first_item_made_goes_to_the_first_caller() {
    let (pool, manager) = pool(NO_LIMITS);
    manager.plan([Plan::Create(CREATION_TIME * 3), Plan::Create(CREATION_TIME)]);
    let keyed = pool.keyed(1, KeyLimits { max_items: 2, ..ONE });
    let (mut first, mut second) = (waiting(&keyed), waiting(&keyed));
    advance(CREATION_TIME).await;
    let lease = first.poll().unwrap().unwrap();
    assert!(second.poll().is_none(), "it is assigned to the other creation now");
    advance(CREATION_TIME * 2).await;
    assert_ne!(second.poll().unwrap().unwrap().number, lease.number);
    assert_eq!(manager.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_caller_leaves_the_created_item_warm() {
    let (_pool, manager, keyed, callers) = first_callers(1, ONE).await;
    drop(callers);
    advance(CREATION_TIME).await;
    assert!(keyed.try_acquire_owned().is_some());
    assert_eq!((manager.begun(), keyed.stats().hits, keyed.stats().misses), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_after_a_cancelled_one_shares_its_creation() {
    let (pool, manager) = pool(NO_LIMITS);
    manager.plan([Plan::Fail(CREATION_TIME)]);
    let keyed = pool.keyed(1, KeyLimits { max_items: 2, ..ONE });
    drop(waiting(&keyed));
    let mut caller = waiting(&keyed);
    advance(CREATION_TIME).await;
    assert!(caller.poll().unwrap().is_err(), "it waited for that creation");
    assert_eq!(manager.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_for_a_cancelled_caller_goes_to_the_next() {
    let (_pool, manager, keyed, mut callers) = first_callers(2, ONE).await;
    advance(CREATION_TIME).await;
    // The first has its lease now, but was not polled yet.
    drop(callers.remove(0));
    assert_eq!(leases(&mut callers).len(), 1);
    assert_eq!((manager.begun(), keyed.stats().leased), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failed_creation_fails_all_callers_that_waited_for_it() {
    let (pool, manager) = pool(NO_LIMITS);
    manager.plan([Plan::Fail(CREATION_TIME), Plan::Create(CREATION_TIME)]);
    let keyed = pool.keyed(1, KeyLimits { max_items: 2, concurrency: 2, lifetime: FOREVER });
    let mut callers: Vec<_> = (0..4).map(|_| waiting(&keyed)).collect();
    advance(CREATION_TIME).await;
    for caller in &mut callers[..2] {
        assert_eq!(caller.poll().unwrap().err(), Some(AcquireError::Failed("planned")));
    }
    for caller in &mut callers[2..] {
        assert!(caller.poll().unwrap().is_ok(), "it waited for the other creation");
    }
    let stats = pool.stats();
    assert_eq!((stats.failed, stats.created, stats.waiting, stats.creating), (1, 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waited_for_a_slot_begins_a_creation_after_one_failed() {
    let (pool, manager) = pool(NO_LIMITS);
    manager.plan([Plan::Fail(CREATION_TIME)]);
    let keyed = pool.keyed(1, ONE);
    let (mut first, mut second) = (waiting(&keyed), waiting(&keyed));
    advance(CREATION_TIME).await;
    assert!(first.poll().unwrap().is_err());
    assert!(second.poll().is_none());
    advance(CREATION_TIME).await;
    assert!(second.poll().unwrap().is_ok());
    assert_eq!(manager.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failed_creation_and_blocks_no_caller() {
    let (pool, manager) = pool(PoolLimits { max_items: 1, ..NO_LIMITS });
    manager.plan([Plan::Panic]);
    let keyed = pool.keyed(1, ONE);
    assert_eq!(keyed.acquire().await.err(), Some(AcquireError::Panicked));
    assert!(keyed.acquire().await.is_ok());
    let stats = pool.stats();
    assert_eq!((stats.failed, stats.created, stats.creating), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hit_is_served_by_an_item_that_existed_before() {
    let (pool, _) = pool(NO_LIMITS);
    let keyed = pool.keyed(1, ONE);
    let mut first = waiting(&keyed);
    let mut second = waiting(&keyed);
    advance(CREATION_TIME).await;
    let lease = first.poll().unwrap().unwrap();
    let mut third = waiting(&keyed);
    drop(lease);
    // The second came before the item, the third after it.
    drop(second.poll().unwrap().unwrap());
    drop(third.poll().unwrap().unwrap());
    assert_eq!((keyed.stats().hits, keyed.stats().misses), (1, 2));
}
