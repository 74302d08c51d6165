//! How things end: condemned, broken, worn out, retired, closed.

use super::*;

const PAIR: ShelfRules = ShelfRules { most: 1, concurrency: 2, life: FOREVER };

#[tokio::test(start_paused = true)]
async fn a_condemned_thing_goes_with_its_last_lease_and_nobody_gets_it_again() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, PAIR);
    let first = shelf.acquire().await.unwrap();
    let second = shelf.acquire().await.unwrap();
    first.condemn();
    first.condemn();
    assert!(shelf.try_acquire().is_none());
    drop(first);
    assert_eq!(shop.fates(), [None], "somebody still has it");
    assert_eq!(shelf.acquire().await.unwrap().number, 1, "its successor need not wait for it");
    drop(second);
    assert_eq!(shop.fates(), [Some(Reason::Condemned), None]);
    assert_eq!(pool.stats().destroyed.condemned, 1);
}

#[tokio::test(start_paused = true)]
async fn condemning_what_others_wait_for_makes_a_new_one() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    let lease = shelf.acquire().await.unwrap();
    let mut caller = waiting(&shelf);
    lease.condemn();
    pass(MAKING).await;
    assert_eq!(caller.poll().unwrap().unwrap().number, 1);
    assert_eq!(shop.fates()[0], None);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_is_dropped_at_once_and_what_retires_when_it_is_idle() {
    for (health, why) in [(Health::Gone, Reason::Gone), (Health::Retiring, Reason::Retired)] {
        let (pool, shop) = pool(PLENTY);
        let shelf = pool.shelf(1, PAIR);
        let lease = shelf.acquire().await.unwrap();
        lease.set_health(health);
        lease.set_load(Load::Working);
        assert!(shelf.try_acquire().is_none(), "no new leases");
        drop(lease);
        match health {
            Health::Gone => assert_eq!(shop.fates(), [Some(why)]),
            _ => {
                pool.sweep();
                assert_eq!(shop.fates(), [None], "it finishes what it has");
                shop.things()[0].set_load(Load::Idle);
                pool.sweep();
                assert_eq!(shop.fates(), [Some(why)]);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_found_broken_makes_way_for_who_waits() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    let lease = shelf.acquire().await.unwrap();
    let mut caller = waiting(&shelf);
    lease.set_health(Health::Gone);
    assert!(shelf.try_acquire().is_none());
    pass(MAKING).await;
    assert!(caller.poll().unwrap().is_ok());
    drop(lease);
    assert_eq!(shop.fates(), [Some(Reason::Gone), None]);
}

#[tokio::test(start_paused = true)]
async fn a_thing_is_used_so_often_and_no_more() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ShelfRules { life: Life { uses: Some(2), ..FOREVER }, ..ONE });
    for number in [0, 0, 1] {
        assert_eq!(shelf.acquire().await.unwrap().number, number);
    }
    assert_eq!(shop.fates(), [Some(Reason::Expired), None]);
}

#[tokio::test(start_paused = true)]
async fn a_thing_lives_so_long_and_no_longer() {
    let (pool, shop) = pool(PLENTY);
    let life = Life { ttl: Some(Duration::from_secs(60)), ..FOREVER };
    let shelf = pool.shelf(1, ShelfRules { life, ..ONE });
    drop(shelf.acquire().await.unwrap());
    pass(Duration::from_secs(59)).await;
    assert!(shelf.try_acquire().is_some());
    pass(Duration::from_secs(1)).await;
    assert!(shelf.try_acquire().is_none());
    assert_eq!(shop.fates(), [Some(Reason::Expired)]);
}

#[tokio::test(start_paused = true)]
async fn who_waited_gets_even_what_lives_for_no_time() {
    let (pool, shop) = pool(PLENTY);
    let life = Life { ttl: Some(Duration::ZERO), ..FOREVER };
    let shelf = pool.shelf(1, ShelfRules { life, ..ONE });
    assert_eq!(shelf.acquire().await.unwrap().number, 0);
    assert_eq!(shelf.acquire().await.unwrap().number, 1);
    assert_eq!(shop.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_idle_for_too_long_is_swept() {
    let (pool, shop) = pool(PLENTY);
    let life = Life { idle: Some(Duration::from_secs(60)), ..FOREVER };
    let shelf = pool.shelf(1, ShelfRules { life, ..ONE });
    let tidy = pool.keep_tidy(Duration::from_secs(10));
    let lease = shelf.acquire().await.unwrap();
    for _ in 0..12 {
        pass(Duration::from_secs(10)).await;
    }
    assert_eq!(shop.fates(), [None], "it is in use");
    drop(lease);
    for _ in 0..5 {
        pass(Duration::from_secs(10)).await;
    }
    assert_eq!(shop.fates(), [None], "not long enough");
    pass(Duration::from_secs(10)).await;
    pass(Duration::from_secs(10)).await;
    assert_eq!(shop.fates(), [Some(Reason::Expired)]);
    drop(pool);
    pass(Duration::from_secs(10)).await;
    assert!(tidy.is_finished(), "there is nothing to tidy any more");
}

/// What `Keep::idle` has been told of the first thing.
fn told(shop: &Shop) -> u32 {
    shop.things()[0].idle.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn a_thing_hears_of_its_idleness_once_and_goes_at_the_next_sweep() {
    let (pool, shop) = pool(PLENTY);
    let life = Life { idle: Some(Duration::from_secs(60)), ..FOREVER };
    let shelf = pool.shelf(1, ShelfRules { life, ..ONE });
    drop(shelf.acquire().await.unwrap());
    let standing = || pool.holdings().iter().map(|holding| holding.standing).collect::<Vec<_>>();
    pass(Duration::from_secs(59)).await;
    pool.sweep();
    assert_eq!((told(&shop), standing()), (0, vec![Standing::Active]), "not long enough");
    pass(Duration::from_secs(1)).await;
    pool.sweep();
    assert_eq!((told(&shop), standing()), (1, vec![Standing::Idle]));
    assert_eq!(pool.holdings()[0].unused, Duration::from_secs(60));
    // What it does about that is work: it is let finish.
    shop.things()[0].set_load(Load::Working);
    pool.sweep();
    assert_eq!((told(&shop), shop.fates()), (1, vec![None]));
    shop.things()[0].set_load(Load::Idle);
    pool.sweep();
    assert_eq!((told(&shop), shop.fates()), (1, vec![Some(Reason::Expired)]));
    assert_eq!(standing(), []);
}

#[tokio::test(start_paused = true)]
async fn who_uses_an_idle_thing_keeps_it_and_it_is_told_again_the_next_time() {
    let (pool, shop) = pool(PLENTY);
    let life = Life { idle: Some(Duration::from_secs(60)), ..FOREVER };
    let shelf = pool.shelf(1, ShelfRules { life, ..ONE });
    let mut lease = shelf.acquire().await.unwrap();
    for period in 1..4 {
        drop(lease);
        pass(Duration::from_secs(60)).await;
        pool.sweep();
        assert_eq!((told(&shop), shop.fates()), (period, vec![None]));
        lease = shelf.try_acquire().unwrap();
        pool.sweep();
        assert_eq!(pool.holdings()[0].standing, Standing::Active, "somebody has it");
    }
    assert_eq!(shop.begun(), 1, "it was the same one all along");
    drop(lease);
}

#[tokio::test(start_paused = true)]
async fn a_retired_shelf_gives_nothing_and_empties() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    let lease = shelf.acquire().await.unwrap();
    let mut caller = waiting(&shelf);
    shelf.retire();
    assert_eq!(caller.poll().unwrap().err(), Some(AcquireError::Retired));
    assert_eq!(shelf.acquire().await.err(), Some(AcquireError::Retired));
    let successor = pool.shelf(1, ONE);
    assert_eq!(successor.acquire().await.unwrap().number, 1, "the key has a new shelf");
    assert_eq!(shop.fates(), [None, None]);
    drop(lease);
    assert_eq!(shop.fates(), [Some(Reason::Retired), None]);
}

#[tokio::test(start_paused = true)]
async fn what_lands_on_a_retired_shelf_is_destroyed() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    let mut caller = waiting(&shelf);
    shelf.retire();
    assert!(caller.poll().unwrap().is_err());
    drop((shelf, caller));
    pass(MAKING).await;
    assert_eq!(shop.fates(), [Some(Reason::Retired)]);
    assert!(pool.shelves().is_empty());
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_leases_creations_and_work_without_a_lease() {
    let (pool, shop) = pool(PLENTY);
    let (shelf, slow) = (pool.shelf(1, PAIR), pool.shelf(2, ONE));
    let lease = shelf.acquire().await.unwrap();
    lease.set_load(Load::Working);
    let working = lease.clone();
    let mut caller = waiting(&slow);
    settle().await;
    let mut closed = Held::pending({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    assert_eq!(caller.poll().unwrap().err(), Some(AcquireError::Closed));
    assert_eq!(shelf.acquire().await.err(), Some(AcquireError::Closed));
    assert_eq!(pool.shelf(3, ONE).acquire().await.err(), Some(AcquireError::Closed));
    drop(lease);
    assert!(closed.poll().is_none(), "something is being made");
    pass(MAKING).await;
    assert!(closed.poll().is_none(), "one has work to finish");
    working.set_load(Load::Idle);
    pool.sweep();
    assert!(closed.poll().is_some());
    assert_eq!(shop.fates(), [Some(Reason::Closed); 2]);
    let stats = pool.stats();
    assert_eq!((stats.created, stats.destroyed.closed, stats.cached), (2, 2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_dropped_is_closed_and_leases_outlive_it() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    drop(pool.shelf(2, ONE).acquire().await.unwrap());
    let lease = shelf.acquire().await.unwrap();
    drop(pool);
    assert_eq!(shop.fates(), [Some(Reason::Closed), None]);
    assert_eq!(shelf.acquire().await.err(), Some(AcquireError::Closed));
    assert_eq!(lease.key, 1, "who has it can use it");
    drop(shelf);
    drop(lease);
    assert_eq!(shop.fates(), [Some(Reason::Closed); 2]);
    assert_eq!(Arc::strong_count(&shop.0), 1, "nothing is left of the pool");
}

#[tokio::test(start_paused = true)]
async fn a_thing_that_somebody_has_hears_once_that_it_is_to_go() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ShelfRules { concurrency: 2, ..ONE });
    let leases = (shelf.acquire().await.unwrap(), shelf.acquire().await.unwrap());
    let told = || shop.things()[0].leaving.load(Ordering::SeqCst);
    pool.sweep();
    assert_eq!(told(), 0);
    shelf.retire();
    assert_eq!((told(), shop.fates()), (1, vec![None]));
    drop(leases.0);
    pool.sweep();
    assert_eq!((told(), shop.fates()), (1, vec![None]));
    drop(leases.1);
    assert_eq!((told(), shop.fates()), (1, vec![Some(Reason::Retired)]));
    // One that nobody has just goes.
    let other = pool.shelf(2, ONE);
    drop(other.acquire().await.unwrap());
    other.retire();
    assert_eq!(shop.things()[1].leaving.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_broken_when_it_comes_serves_who_waited_and_the_next_is_made_after_a_pause() {
    let (pool, shop) = pool(PLENTY);
    shop.plan(std::iter::repeat_n(Plan::Broken(MAKING), 20));
    let shelf = pool.shelf(1, ONE);
    let mut waited = Vec::new();
    for _ in 0..4 {
        let mut caller = waiting(&shelf);
        let began = Instant::now();
        let lease = loop {
            match caller.poll() {
                Some(lease) => break lease.unwrap(),
                None => pass(MAKING).await,
            }
        };
        waited.push(began.elapsed());
        drop(lease);
    }
    assert_eq!(shop.begun(), 4, "one for each caller, and none for nobody");
    assert!(waited[0] <= MAKING * 2 && waited.is_sorted() && waited[3] >= waited[1] * 2, "{waited:?}");
    assert!(waited.iter().all(|wait| *wait < Duration::from_secs(3)), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thing_that_comes_well_ends_the_pauses() {
    let (pool, shop) = pool(PLENTY);
    shop.plan([Plan::Broken(MAKING), Plan::Make(MAKING)]);
    let shelf = pool.shelf(1, ONE);
    let mut first = waiting(&shelf);
    pass(MAKING).await;
    drop(first.poll().unwrap().unwrap());
    let mut second = waiting(&shelf);
    pass(Duration::from_millis(50)).await;
    pass(MAKING).await;
    drop(second.poll().unwrap().unwrap());
    assert_eq!(shelf.try_acquire().unwrap().number, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_worn_serves_until_its_successor_is_there() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    drop(shelf.acquire().await.unwrap());
    shop.things()[0].set_health(Health::Worn);
    for _ in 0..3 {
        assert_eq!(shelf.try_acquire().unwrap().number, 0, "nobody waits for the successor");
        settle().await;
    }
    assert_eq!(shop.begun(), 2, "one successor, although one thing is the most");
    let held = shelf.try_acquire().unwrap();
    pass(MAKING).await;
    assert_eq!(shelf.try_acquire().unwrap().number, 1);
    assert_eq!(shop.fates(), [None, None], "it finishes what it has");
    drop(held);
    assert_eq!(shop.fates(), [Some(Reason::Expired), None]);
}

#[tokio::test(start_paused = true)]
async fn a_successor_that_cannot_be_made_is_tried_again_after_a_pause_and_the_worn_one_goes_on() {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, ONE);
    drop(shelf.acquire().await.unwrap());
    shop.things()[0].set_health(Health::Worn);
    shop.plan(std::iter::repeat_n(Plan::Fail(MAKING), 100));
    for _ in 0..100 {
        assert_eq!(shelf.try_acquire().unwrap().number, 0);
        pass(MAKING).await;
    }
    assert!((2..10).contains(&shop.begun()), "{}", shop.begun());
}
