//! Room in the pool: what is evicted, who waits, what weighs too much.

use super::*;

const STEP: Duration = Duration::from_millis(1);

/// Uses the key's thing once, a moment after whatever happened before.
async fn use_once(pool: &Pool<Shop>, key: Key) {
    pass(STEP).await;
    drop(pool.shelf(key, ONE).acquire().await.unwrap());
}

fn keys_left(shop: &Shop) -> Vec<Key> {
    shop.things().iter().filter(|part| part.fate.lock().unwrap().is_none()).map(|part| part.key).collect()
}

#[tokio::test(start_paused = true)]
async fn eviction_takes_the_least_recently_used_idle_thing_and_never_a_leased_one() {
    let (pool, shop) = pool(PoolLimits { things: 4, ..PLENTY });
    let leased = pool.shelf(0, ONE).acquire().await.unwrap();
    for key in [1, 2, 3, 1] {
        use_once(&pool, key).await;
    }
    use_once(&pool, 4).await;
    assert_eq!(keys_left(&shop), [0, 1, 3, 4], "2 was used least recently; 0 is leased");
    shop.things()[3].set_load(Load::Working);
    use_once(&pool, 5).await;
    assert_eq!(keys_left(&shop), [0, 3, 4, 5], "3 is next, but it works: then 1");
    drop(leased);
    assert_eq!(pool.stats().destroyed.evicted, 2);
}

#[tokio::test(start_paused = true)]
async fn a_thing_that_came_back_late_is_recently_used() {
    let (pool, shop) = pool(PoolLimits { things: 2, ..PLENTY });
    let lease = pool.shelf(1, ONE).acquire().await.unwrap();
    use_once(&pool, 2).await;
    pass(STEP).await;
    drop(lease);
    use_once(&pool, 3).await;
    assert_eq!(keys_left(&shop), [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn a_thing_that_is_given_back_was_used_when_its_user_says() {
    let (pool, shop) = pool(PoolLimits { things: 2, ..PLENTY });
    let (one, two) = (pool.shelf(1, ONE), pool.shelf(2, ONE));
    for shelf in [&one, &two] {
        drop(shelf.acquire().await.unwrap());
    }
    pass(STEP).await;
    let early = Instant::now();
    pass(STEP).await;
    drop(two.try_acquire_briefly().unwrap());
    pass(STEP).await;
    one.try_acquire_briefly().unwrap().give_back(early);
    let stats = (one.stats(), two.stats());
    assert_eq!((stats.0.leased, stats.0.hits, stats.1.leased, stats.1.hits), (0, 1, 0, 1));
    use_once(&pool, 3).await;
    assert_eq!(keys_left(&shop), [2, 3], "1 came back last, and was used first");
}

#[tokio::test(start_paused = true)]
async fn what_was_leased_for_a_moment_can_be_kept() {
    let (pool, shop) = pool(PoolLimits { things: 1, ..PLENTY });
    let shelf = pool.shelf(1, ONE);
    drop(shelf.acquire().await.unwrap());
    let lease = shelf.try_acquire_briefly().unwrap().keep();
    drop(shelf);
    let mut waiting = waiting(&pool.shelf(2, ONE));
    pass(MAKING).await;
    assert!(waiting.poll().is_none() && keys_left(&shop) == [1], "it is leased");
    drop(lease);
    pass(MAKING).await;
    assert_eq!(waiting.poll().unwrap().unwrap().key, 2);
}

#[tokio::test(start_paused = true)]
async fn who_finds_no_room_waits_until_anything_anywhere_is_idle() {
    let (pool, shop) = pool(PoolLimits { things: 1, ..PLENTY });
    let (one, two, three) = (pool.shelf(1, ONE), pool.shelf(2, ONE), pool.shelf(3, ONE));
    let lease = one.acquire().await.unwrap();
    let (mut second, mut third) = (waiting(&two), waiting(&three));
    pass(MAKING).await;
    assert_eq!(shop.begun(), 1);
    drop(lease);
    assert_eq!(shop.fates(), [Some(Reason::Evicted)]);
    pass(MAKING).await;
    assert!(third.poll().is_none(), "who came first goes first");
    drop(second.poll().unwrap().unwrap());
    pass(MAKING).await;
    assert_eq!(third.poll().unwrap().unwrap().key, 3);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_room_and_goes_away_is_in_nobodys_way() {
    let (pool, shop) = pool(PoolLimits { things: 1, ..PLENTY });
    let (one, two, three) = (pool.shelf(1, ONE), pool.shelf(2, ONE), pool.shelf(3, ONE));
    let lease = one.acquire().await.unwrap();
    drop(waiting(&two));
    let mut third = waiting(&three);
    drop(two);
    lease.condemn();
    drop(lease);
    pass(MAKING).await;
    assert_eq!(third.poll().unwrap().unwrap().key, 3);
    assert_eq!((shop.begun(), pool.stats().waiting), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn what_lands_for_nobody_makes_room_for_who_waits() {
    let (pool, _) = pool(PoolLimits { things: 1, ..PLENTY });
    let (one, two) = (pool.shelf(1, ONE), pool.shelf(2, ONE));
    let cancelled = waiting(&one);
    let mut caller = waiting(&two);
    drop(cancelled);
    pass(MAKING).await;
    pass(MAKING).await;
    assert_eq!(caller.poll().unwrap().unwrap().key, 2);
    assert_eq!(pool.stats().destroyed.evicted, 1);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_falls_without_a_lease_is_seen_by_a_nudge_or_a_sweep() {
    for nudge in [Pool::nudge, Pool::sweep] {
        let (pool, shop) = pool(PoolLimits { things: 1, ..PLENTY });
        let lease = pool.shelf(1, ONE).acquire().await.unwrap();
        lease.set_load(Load::Working);
        let two = pool.shelf(2, ONE);
        let mut caller = waiting(&two);
        drop(lease);
        assert_eq!(shop.fates(), [None], "it still works");
        shop.things()[0].set_load(Load::Idle);
        nudge(&pool);
        pass(MAKING).await;
        assert_eq!(caller.poll().unwrap().unwrap().key, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_being_made_counts() {
    let (pool, shop) = pool(PoolLimits { things: 2, ..PLENTY });
    let shelves: Vec<_> = (0..3).map(|key| pool.shelf(key, ONE)).collect();
    let _callers: Vec<_> = shelves.iter().map(waiting).collect();
    settle().await;
    assert_eq!((shop.begun(), pool.stats().cold, pool.stats().weight), (2, 2, 2 * BLANK));
    assert_eq!(pool.stats().capacity(), 0);
}

#[tokio::test(start_paused = true)]
async fn weight_makes_room_too() {
    let (pool, shop) = pool(PoolLimits { things: 100, weight: 3 * BLANK, ..PLENTY });
    for key in 1..=4 {
        use_once(&pool, key).await;
    }
    assert_eq!(keys_left(&shop), [2, 3, 4]);
    shop.things()[3].weight.store(2 * BLANK, Ordering::Relaxed);
    pool.trim();
    assert_eq!((keys_left(&shop), pool.stats().weight), (vec![3, 4], 3 * BLANK));
    shop.things()[3].weight.store(9 * BLANK, Ordering::Relaxed);
    let _lease = pool.shelf(4, ONE).try_acquire().unwrap();
    pool.sweep();
    assert_eq!(keys_left(&shop), [4], "a leased thing stays, however heavy");
}

#[tokio::test(start_paused = true)]
async fn an_empty_pool_takes_one_thing_however_heavy() {
    let (pool, _) = pool(PoolLimits { things: 100, weight: BLANK / 2, ..PLENTY });
    let lease = pool.shelf(1, ONE).acquire().await.unwrap();
    let other = pool.shelf(2, ONE);
    let mut caller = waiting(&other);
    drop(lease);
    pass(MAKING).await;
    assert!(caller.poll().unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_keys_in_turn_cost_the_same_each() {
    let (pool, shop) = pool(PoolLimits { things: 1000, ..PLENTY });
    let pinned: Vec<_> = {
        let mut leases = Vec::new();
        for key in 100_000..100_500 {
            leases.push(pool.shelf(key, ONE).acquire().await.unwrap());
        }
        leases
    };
    for key in 0..10_000 {
        tokio::time::advance(STEP).await;
        drop(pool.shelf(key, ONE).acquire().await.unwrap());
    }
    let stats = pool.stats();
    assert_eq!((stats.created, stats.destroyed.evicted), (10_500, 9_500));
    assert!(shop.looks() < 10 * 10_000, "{} looks at things", shop.looks());
    assert!(pool.shelves().len() <= 1000, "shelves that are empty and that nobody holds are forgotten");
    drop(pinned);
}

/// Keys of the same parity are of one group.
const TWO_OF_A_GROUP: PoolLimits = PoolLimits { per_group: Some(2), ..PLENTY };

#[tokio::test(start_paused = true)]
async fn a_group_beyond_its_bound_loses_its_own_least_recently_used_thing() {
    let (pool, shop) = pool(TWO_OF_A_GROUP);
    for key in [1, 0, 2, 3, 0, 4] {
        use_once(&pool, key).await;
    }
    assert_eq!(keys_left(&shop), [1, 0, 3, 4], "2 is its group's; 1 was used before it, and is another's");
    assert_eq!(pool.stats().destroyed.evicted, 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_its_group_is_in_no_other_groups_way() {
    let (pool, shop) = pool(TWO_OF_A_GROUP);
    let leases = [pool.shelf(0, ONE).acquire().await.unwrap(), pool.shelf(2, ONE).acquire().await.unwrap()];
    let (four, six) = (pool.shelf(4, ONE), pool.shelf(6, ONE));
    let (mut fourth, mut sixth) = (waiting(&four), waiting(&six));
    // Others come and go, with all the room there is.
    for key in [1, 3, 5] {
        use_once(&pool, key).await;
    }
    assert!(fourth.poll().is_none() && sixth.poll().is_none(), "all that the group may have is in use");
    assert_eq!(keys_left(&shop), [0, 2, 3, 5]);
    let [first, second] = leases;
    drop(first);
    pass(MAKING).await;
    let fourth = fourth.poll().unwrap().unwrap();
    assert_eq!((fourth.key, sixth.poll().is_none()), (4, true), "who came first goes first");
    second.condemn();
    drop(second);
    pass(MAKING).await;
    assert_eq!(sixth.poll().unwrap().unwrap().key, 6);
    assert_eq!(keys_left(&shop), [3, 5, 4, 6]);
}

#[tokio::test(start_paused = true)]
async fn a_creation_that_fails_gives_its_groups_place_to_who_waits() {
    let (pool, shop) = pool(PoolLimits { per_group: Some(1), ..PLENTY });
    shop.plan([Plan::Fail(MAKING)]);
    let (one, three) = (pool.shelf(1, ONE), pool.shelf(3, ONE));
    let (mut first, mut third) = (waiting(&one), waiting(&three));
    pass(MAKING).await;
    assert!(first.poll().unwrap().is_err());
    pass(MAKING).await;
    assert_eq!(third.poll().unwrap().unwrap().key, 3);
}

#[tokio::test(start_paused = true)]
async fn a_group_whose_load_falls_without_a_lease_is_seen_by_a_nudge_or_a_sweep() {
    for nudge in [Pool::nudge, Pool::sweep] {
        let (pool, shop) = pool(PoolLimits { per_group: Some(1), ..PLENTY });
        let lease = pool.shelf(1, ONE).acquire().await.unwrap();
        lease.set_load(Load::Working);
        drop(lease);
        let three = pool.shelf(3, ONE);
        let mut caller = waiting(&three);
        shop.things()[0].set_load(Load::Idle);
        nudge(&pool);
        pass(MAKING).await;
        assert_eq!(caller.poll().unwrap().unwrap().key, 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_closed_lets_go_of_who_waited_for_its_group() {
    let (pool, shop) = pool(PoolLimits { per_group: Some(1), ..PLENTY });
    let lease = pool.shelf(1, ONE).acquire().await.unwrap();
    let three = pool.shelf(3, ONE);
    let mut caller = waiting(&three);
    let mut closing = Held::pending({
        let pool = pool.clone();
        async move { pool.close().await }
    });
    assert_eq!(caller.poll().unwrap().unwrap_err(), AcquireError::Closed);
    drop(lease);
    assert_eq!(closing.poll(), Some(()));
    drop((closing, caller, three, pool));
    assert_eq!(Arc::strong_count(&shop.0), 1, "nothing is left of the pool");
}
