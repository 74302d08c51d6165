//! What the hot paths cost: entering and leaving a gate, leasing and releasing a warm item. Plain loops over
//! items that do nothing, so that only the crate's own cost is measured. `cargo bench -p hearth-pool`; no test runs this.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use hearth_pool::{
    Affinity, DestroyReason, Gate, GateLimits, ItemHealth, ItemLifetime, KeyLimits, KeyedPool, Load, Manager,
    OwnerLimits, Pool, PoolLimits,
};

const ROUNDS: u32 = 2_000_000;
const OWNER: OwnerLimits =
    OwnerLimits { max_running: 64, max_queued: 100, queue_timeout: Duration::from_secs(5), weight: 1 };
const RULES: KeyLimits =
    KeyLimits { max_items: 4, concurrency: 32, lifetime: ItemLifetime { uses: None, ttl: None, idle: None } };
const LIMITS: PoolLimits = PoolLimits { max_items: 20_000, max_weight: u64::MAX, max_per_group: None };

/// Makes items that are always ready and weigh nothing.
struct EmptyManager;

impl Manager for EmptyManager {
    type Key = u32;
    type Item = Arc<u32>;
    type Error = ();

    async fn create(&self, key: &u32) -> Result<Arc<u32>, ()> {
        Ok(Arc::new(*key))
    }

    fn health(&self, _: &Arc<u32>) -> ItemHealth {
        ItemHealth::Ready
    }

    fn load(&self, _: &Arc<u32>) -> Load {
        Load::Idle
    }

    fn affinity(&self, _: &Arc<u32>) -> Affinity {
        Affinity::Here
    }

    fn weight(&self, _: &Arc<u32>) -> u64 {
        0
    }

    fn estimated_weight(&self) -> u64 {
        0
    }

    fn destroy(&self, _: Arc<u32>, _: DestroyReason) {}
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _entered = runtime.enter();

    report("the clock, once", || {
        black_box(tokio::time::Instant::now());
    });
    gates();

    let pool = Pool::new(EmptyManager, LIMITS);
    let keyed = runtime.block_on(stocked(&pool, 0));
    report("try_acquire_owned + drop, 1 key", || drop(black_box(keyed.try_acquire_owned())));
    let held: Vec<_> = (0..8).map(|_| keyed.try_acquire_owned()).collect();
    report("try_acquire_owned + drop, never the last lease", || drop(black_box(keyed.try_acquire_owned())));
    drop(held);
    let mut leases = Vec::with_capacity(32);
    let acquiring = best_of(|| {
        let mut spent = Duration::ZERO;
        for _ in 0..ROUNDS / 32 {
            let begun = Instant::now();
            leases.extend((0..32).filter_map(|_| keyed.try_acquire_owned()));
            spent += begun.elapsed();
            leases.clear();
        }
        spent
    });
    print("try_acquire_owned alone, 32 in a row", acquiring);

    let keyed_pools: Vec<_> = (1..10_000).map(|key| runtime.block_on(stocked(&pool, key))).collect();
    report("try_acquire_owned + drop, 10,000 keys", || drop(black_box(keyed.try_acquire_owned())));
    let mut next = 0;
    report("try_acquire_owned + drop, 10,000 keys in turn", || {
        next = (next + 7919) % keyed_pools.len();
        drop(black_box(keyed_pools[next].try_acquire_owned()));
    });
    print("2 threads, one key, per pair", together(&keyed, &keyed));
    print("2 threads, a key each, per pair", together(&keyed, &keyed_pools[4999]));
    evictions(&runtime);
}

fn gates() {
    let owner = Gate::new(GateLimits::default()).add_owner(OWNER);
    report("try_enter_owned + drop", || drop(black_box(owner.try_enter_owned())));
    let owner = Gate::new(GateLimits { max_running: Some(64), max_total: Some(640) }).add_owner(OWNER);
    report("try_enter_owned + drop, shared limits", || drop(black_box(owner.try_enter_owned())));
}

fn evictions(runtime: &tokio::runtime::Runtime) {
    let pool = Pool::new(EmptyManager, PoolLimits { max_items: 1000, ..LIMITS });
    let begun = Instant::now();
    for key in 0..10_000 {
        runtime.block_on(stocked(&pool, key));
    }
    print("acquire cold, 10,000 keys in turn, 1,000 items", begun.elapsed() * (ROUNDS / 10_000));
}

/// A key with one warm item.
async fn stocked(pool: &Pool<EmptyManager>, key: u32) -> KeyedPool<EmptyManager> {
    let keyed = pool.keyed(key, RULES);
    drop(keyed.acquire().await.expect("creation never fails"));
    keyed
}

fn together(one: &KeyedPool<EmptyManager>, other: &KeyedPool<EmptyManager>) -> Duration {
    best_of(|| {
        let start = Barrier::new(2);
        let run = |keyed: &KeyedPool<EmptyManager>| {
            start.wait();
            let begun = Instant::now();
            for _ in 0..ROUNDS {
                drop(black_box(keyed.try_acquire_owned()));
            }
            begun.elapsed()
        };
        std::thread::scope(|scope| {
            let second = scope.spawn(|| run(other));
            run(one).max(second.join().expect("the other thread"))
        })
    })
}

fn report(name: &str, mut once: impl FnMut()) {
    let time = best_of(|| {
        let begun = Instant::now();
        for _ in 0..ROUNDS {
            once();
        }
        begun.elapsed()
    });
    print(name, time);
}

/// The least disturbed of a few runs: other programs use the machine too.
fn best_of(mut run: impl FnMut() -> Duration) -> Duration {
    (0..5).map(|_| run()).min().unwrap_or_default()
}

/// `time` is for `ROUNDS` rounds.
fn print(name: &str, time: Duration) {
    println!("{name:<52} {:>8.1} ns", time.as_nanos() as f64 / f64::from(ROUNDS));
}
