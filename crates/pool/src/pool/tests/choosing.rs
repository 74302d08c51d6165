//! Which of several things a caller gets.

use super::*;

/// A shelf with so many things on it, none of them leased.
async fn stocked(things: usize, rules: ShelfRules) -> (Pool<Shop>, Shop, Shelf<Shop>) {
    let (pool, shop) = pool(PLENTY);
    let shelf = pool.shelf(1, rules);
    let mut leases = Vec::new();
    for _ in 0..things {
        leases.push(shelf.acquire().await.unwrap());
        shop.things().last().unwrap().set_load(Load::Busy);
    }
    shop.things().iter().for_each(|part| part.set_load(Load::Idle));
    drop(leases);
    (pool, shop, shelf)
}

fn rules(most: usize, concurrency: u32) -> ShelfRules {
    ShelfRules { most, concurrency, life: FOREVER }
}

#[tokio::test(start_paused = true)]
async fn little_traffic_stays_with_the_first_thing() {
    let (_pool, shop, shelf) = stocked(3, rules(3, 4)).await;
    shop.things()[0].set_load(Load::Working);
    let leases: Vec<_> = (0..4).map(|_| shelf.try_acquire().unwrap()).collect();
    assert!(leases.iter().all(|lease| lease.number == 0), "it has room, so it is not left");
    assert_eq!(shelf.try_acquire().unwrap().number, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_at_home_here_comes_first() {
    let (_pool, shop, shelf) = stocked(3, rules(3, 4)).await;
    let things = shop.things();
    *things[0].affinity.lock().unwrap() = Affinity::Elsewhere;
    assert_eq!(shelf.try_acquire().unwrap().number, 1);
    things[1].set_load(Load::Busy);
    things[2].set_load(Load::Busy);
    assert_eq!(shelf.try_acquire().unwrap().number, 0, "elsewhere is better than busy");
}

#[tokio::test(start_paused = true)]
async fn when_all_are_busy_the_one_with_the_fewest_leases_is_taken() {
    let (_pool, shop, shelf) = stocked(2, rules(2, 4)).await;
    let first = [shelf.try_acquire().unwrap(), shelf.try_acquire().unwrap()];
    shop.things().iter().for_each(|part| part.set_load(Load::Busy));
    assert_eq!(shelf.try_acquire().unwrap().number, 1);
    drop(first);
    let second = shelf.try_acquire().unwrap();
    assert_eq!(second.number, 0, "the first of equals");
    assert_eq!(shelf.try_acquire().unwrap().number, 1);
}

#[tokio::test(start_paused = true)]
async fn while_all_are_busy_one_more_is_made_and_others_make_do() {
    let (_pool, shop, shelf) = stocked(1, rules(3, 4)).await;
    shop.things()[0].set_load(Load::Busy);
    assert!(shelf.try_acquire().is_none(), "a new one would be better");
    let mut first = waiting(&shelf);
    assert_eq!(shelf.acquire().await.unwrap().number, 0, "one is being made already");
    assert_eq!(shelf.try_acquire().unwrap().number, 0);
    pass(MAKING).await;
    assert_eq!(first.poll().unwrap().unwrap().number, 1);
    assert_eq!(shop.begun(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_new_thing_takes_an_old_one_that_is_free_sooner() {
    let (_pool, shop, shelf) = stocked(1, rules(2, 1)).await;
    let lease = shelf.try_acquire().unwrap();
    let mut caller = waiting(&shelf);
    drop(lease);
    assert_eq!(caller.poll().unwrap().unwrap().number, 0);
    pass(MAKING).await;
    assert_eq!((shop.begun(), shelf.stats().cached), (2, 2), "what was begun lands on the shelf");
}

#[tokio::test(start_paused = true)]
async fn a_busy_thing_will_do_when_the_pool_has_no_room() {
    let (pool, shop) = pool(PoolLimits { things: 1, ..PLENTY });
    let shelf = pool.shelf(1, rules(3, 4));
    let _lease = shelf.acquire().await.unwrap();
    shop.things()[0].set_load(Load::Busy);
    assert_eq!(shelf.acquire().await.unwrap().number, 0);
    assert_eq!(shop.begun(), 1);
}
