//! Creations: as many as are needed, shared, finished whatever becomes of the callers.

use super::*;

async fn first_callers(count: usize, rules: ShelfRules) -> (Pool<Shop>, Shop, Shelf<Shop>, Vec<Caller>) {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, rules);
    let callers: Vec<_> = (0..count).map(|_| waiting(&shelf)).collect();
    settle().await;
    (pool, shop, shelf, callers)
}

fn leases(callers: &mut Vec<Caller>) -> Vec<Lease<Shop>> {
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
async fn fifty_concurrent_first_requests_start_no_more_things_than_needed_and_none_is_orphaned() {
    let rules = ShelfRules { most: 10, concurrency: 8, life: FOREVER };
    let (pool, shop, shelf, mut callers) = first_callers(50, rules).await;
    assert_eq!(shop.begun(), 7, "50 callers, 8 to a thing");
    pass(MAKING).await;
    let leases = leases(&mut callers);
    assert_eq!((leases.len(), shelf.stats().misses, shelf.stats().cached), (50, 50, 7));
    drop(leases);
    pool.close().await;
    assert_eq!(shop.fates(), [Some(Reason::Closed); 7]);
    assert!(pool.stats().adds_up());
}

#[tokio::test(start_paused = true)]
async fn callers_share_one_creation_when_concurrency_has_no_bound() {
    let rules = ShelfRules { most: 10, concurrency: 0, life: FOREVER };
    let (_pool, shop, _, mut callers) = first_callers(50, rules).await;
    pass(MAKING).await;
    assert_eq!((leases(&mut callers).len(), shop.begun()), (50, 1));
}

#[tokio::test(start_paused = true)]
async fn no_more_than_most_are_made_and_the_rest_waits_its_turn() {
    let rules = ShelfRules { most: 2, concurrency: 2, life: FOREVER };
    let (_pool, shop, _, mut callers) = first_callers(6, rules).await;
    pass(MAKING).await;
    let mut held = leases(&mut callers);
    assert_eq!((held.len(), shop.begun(), callers.len()), (4, 2, 2));
    for _ in 0..2 {
        drop(held.remove(0));
        let mut first = vec![callers.remove(0)];
        held.extend(leases(&mut first));
        assert_eq!(held.len(), 4, "who came first goes first");
    }
    assert_eq!(shop.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_made_first_goes_to_who_came_first() {
    let (pool, shop) = pool(PLENTY);
    shop.plan([Plan::Make(MAKING * 3), Plan::Make(MAKING)]);
    let shelf = pool.shelf(1, ShelfRules { most: 2, ..ONE });
    let (mut first, mut second) = (waiting(&shelf), waiting(&shelf));
    pass(MAKING).await;
    let lease = first.poll().unwrap().unwrap();
    assert!(second.poll().is_none(), "it counts on the other creation now");
    pass(MAKING * 2).await;
    assert_ne!(second.poll().unwrap().unwrap().number, lease.number);
    assert_eq!(shop.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_caller_leaves_the_created_thing_warm() {
    let (_pool, shop, shelf, callers) = first_callers(1, ONE).await;
    drop(callers);
    pass(MAKING).await;
    assert!(shelf.try_acquire().is_some());
    assert_eq!((shop.begun(), shelf.stats().hits, shelf.stats().misses), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn who_comes_after_a_cancelled_caller_shares_its_creation() {
    let (pool, shop) = pool(PLENTY);
    shop.plan([Plan::Fail(MAKING)]);
    let shelf = pool.shelf(1, ShelfRules { most: 2, ..ONE });
    drop(waiting(&shelf));
    let mut caller = waiting(&shelf);
    pass(MAKING).await;
    assert!(caller.poll().unwrap().is_err(), "it waited for that creation");
    assert_eq!(shop.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_for_a_cancelled_caller_goes_to_the_next() {
    let (_pool, shop, shelf, mut callers) = first_callers(2, ONE).await;
    pass(MAKING).await;
    // The first has its lease now, but has not looked yet.
    drop(callers.remove(0));
    assert_eq!(leases(&mut callers).len(), 1);
    assert_eq!((shop.begun(), shelf.stats().leased), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failed_creation_fails_all_who_waited_for_it() {
    let (pool, shop) = pool(PLENTY);
    shop.plan([Plan::Fail(MAKING), Plan::Make(MAKING)]);
    let shelf = pool.shelf(1, ShelfRules { most: 2, concurrency: 2, life: FOREVER });
    let mut callers: Vec<_> = (0..4).map(|_| waiting(&shelf)).collect();
    pass(MAKING).await;
    for caller in &mut callers[..2] {
        assert_eq!(caller.poll().unwrap().err(), Some(AcquireError::Failed("planned")));
    }
    for caller in &mut callers[2..] {
        assert!(caller.poll().unwrap().is_ok(), "it waited for the other creation");
    }
    let stats = pool.stats();
    assert_eq!((stats.failed, stats.created, stats.waiting, stats.cold), (1, 1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn who_waited_for_room_begins_a_creation_after_one_failed() {
    let (pool, shop) = pool(PLENTY);
    shop.plan([Plan::Fail(MAKING)]);
    let shelf = pool.shelf(1, ONE);
    let (mut first, mut second) = (waiting(&shelf), waiting(&shelf));
    pass(MAKING).await;
    assert!(first.poll().unwrap().is_err());
    assert!(second.poll().is_none());
    pass(MAKING).await;
    assert!(second.poll().unwrap().is_ok());
    assert_eq!(shop.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failed_creation_and_blocks_nobody() {
    let (pool, shop) = pool(PoolLimits { things: 1, ..PLENTY });
    shop.plan([Plan::Panic]);
    let shelf = pool.shelf(1, ONE);
    assert_eq!(shelf.acquire().await.err(), Some(AcquireError::Panicked));
    assert!(shelf.acquire().await.is_ok());
    let stats = pool.stats();
    assert_eq!((stats.failed, stats.created, stats.cold), (1, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_hit_is_served_by_a_thing_that_was_there_before() {
    let (pool, _) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    let mut first = waiting(&shelf);
    let mut second = waiting(&shelf);
    pass(MAKING).await;
    let lease = first.poll().unwrap().unwrap();
    let mut third = waiting(&shelf);
    drop(lease);
    // The second came before the thing, the third after it.
    drop(second.poll().unwrap().unwrap());
    drop(third.poll().unwrap().unwrap());
    assert_eq!((shelf.stats().hits, shelf.stats().misses), (1, 2));
}
