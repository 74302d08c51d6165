//! Real threads: what the paused clock cannot show. Only the sums at the end are checked.

use super::*;

const TASKS: usize = 16;
const ROUNDS: usize = 300;

async fn crowd(pool: Pool<TestManager>, keyed_pools: Vec<KeyedPool<TestManager>>, seed: usize) {
    for round in 0..ROUNDS {
        let turn = seed * 7 + round;
        let keyed = &keyed_pools[turn % keyed_pools.len()];
        match turn % 11 {
            0 => drop(keyed.try_acquire_owned()),
            // Gives up at about the time its turn comes.
            1 => drop(tokio::time::timeout(Duration::from_micros(80), keyed.acquire()).await),
            2 => {
                let lease = keyed.acquire().await;
                tokio::task::yield_now().await;
                lease.unwrap().condemn();
            }
            3 if round % 20 == 0 => pool.sweep(),
            4 => keyed.acquire().await.unwrap().set_health(ItemHealth::Retiring),
            _ => {
                let lease = keyed.acquire().await.unwrap();
                lease.held.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                assert_eq!(*lease.destroyed_for.lock().unwrap(), None, "the item was destroyed while it was leased");
                lease.held.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

#[test]
fn no_lease_or_item_is_lost_between_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    runtime.block_on(async {
        let (pool, manager) = pool(PoolLimits { max_items: 5, max_per_group: Some(3), ..NO_LIMITS });
        // Most creations end at once, some take 50 us.
        let moment = |number: usize| Plan::Create(Duration::from_micros(if number.is_multiple_of(8) { 50 } else { 0 }));
        manager.plan((0..20_000).map(moment));
        let keyed_pools: Vec<_> =
            (0..4).map(|key| pool.keyed(key, KeyLimits { max_items: 2, concurrency: 2, lifetime: FOREVER })).collect();
        let task = |seed| tokio::spawn(crowd(pool.clone(), keyed_pools.clone(), seed));
        let tasks: Vec<_> = (0..TASKS).map(task).collect();
        for task in tasks {
            task.await.unwrap();
        }
        let stats = pool.stats();
        assert!(stats.adds_up(), "{stats:?}");
        assert_eq!((stats.leased, stats.waiting), (0, 0));
        pool.close().await;
        assert_eq!(pool.stats().created, manager.0.destroyed.load(Ordering::SeqCst) as u64);
        assert!(manager.destroy_reasons().iter().all(Option::is_some));
    });
}
