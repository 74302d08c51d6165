//! Real threads: what the paused clock cannot show. Sums at the end, nothing in between.

use super::*;

const TASKS: usize = 16;
const ROUNDS: usize = 300;

async fn crowd(pool: Pool<Shop>, shelves: Vec<Shelf<Shop>>, seed: usize) {
    for round in 0..ROUNDS {
        let turn = seed * 7 + round;
        let shelf = &shelves[turn % shelves.len()];
        match turn % 11 {
            0 => drop(shelf.try_acquire()),
            // Gives up at about the time its turn comes.
            1 => drop(tokio::time::timeout(Duration::from_micros(80), shelf.acquire()).await),
            2 => {
                let lease = shelf.acquire().await;
                tokio::task::yield_now().await;
                lease.unwrap().condemn();
            }
            3 if round % 20 == 0 => pool.sweep(),
            4 => shelf.acquire().await.unwrap().set_health(Health::Retiring),
            _ => {
                let lease = shelf.acquire().await.unwrap();
                lease.held.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                assert_eq!(*lease.fate.lock().unwrap(), None, "it was destroyed under its user");
                lease.held.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

#[test]
fn nothing_is_lost_or_left_between_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let (pool, shop) = pool(PoolLimits { things: 5, per_group: Some(3), ..PLENTY });
        // Most of the creations are over at once, some take a moment.
        let moment = |number: usize| Plan::Make(Duration::from_micros(if number % 8 == 0 { 50 } else { 0 }));
        shop.plan((0..20_000).map(moment));
        let shelves: Vec<_> =
            (0..4).map(|key| pool.shelf(key, ShelfRules { most: 2, concurrency: 2, life: FOREVER })).collect();
        let task = |seed| tokio::spawn(crowd(pool.clone(), shelves.clone(), seed));
        let tasks: Vec<_> = (0..TASKS).map(task).collect();
        for task in tasks {
            task.await.unwrap();
        }
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert_eq!((stats.leased, stats.waiting), (0, 0));
        pool.close().await;
        assert_eq!(pool.stats().created, shop.0.destroyed.load(Ordering::SeqCst) as u64);
        assert!(shop.fates().iter().all(Option::is_some));
    });
}
