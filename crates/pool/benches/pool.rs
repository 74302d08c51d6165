//! What the hot paths cost: entering a gate and leaving it, acquiring a warm thing and giving it back. Plain loops over
//! things that do nothing, so that what is measured is the crate's own. `cargo bench -p hearth-pool`; no test runs this.

use std::hint::black_box;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use hearth_pool::{
    Affinity, Gate, GateLimits, Health, Keep, Life, Load, OwnerLimits, Pool, PoolLimits, Reason, Shelf, ShelfRules,
};

const ROUNDS: u32 = 2_000_000;
const OWNER: OwnerLimits = OwnerLimits { running: 64, queued: 100, patience: Duration::from_secs(5), weight: 1 };
const RULES: ShelfRules = ShelfRules { most: 4, concurrency: 32, life: Life { uses: None, ttl: None, idle: None } };
const LIMITS: PoolLimits = PoolLimits { things: 20_000, weight: u64::MAX, per_group: None };

/// Makes things that are always there and weigh nothing.
struct Nothing;

impl Keep for Nothing {
    type Key = u32;
    type Thing = Arc<u32>;
    type Error = ();

    async fn create(&self, key: &u32) -> Result<Arc<u32>, ()> {
        Ok(Arc::new(*key))
    }

    fn health(&self, _: &Arc<u32>) -> Health {
        Health::Ready
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

    fn blank_weight(&self) -> u64 {
        0
    }

    fn destroy(&self, _: Arc<u32>, _: Reason) {}
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _entered = runtime.enter();

    report("the clock, once", || {
        black_box(tokio::time::Instant::now());
    });
    gates();

    let pool = Pool::new(Nothing, LIMITS);
    let shelf = runtime.block_on(stocked(&pool, 0));
    report("try_acquire + drop, 1 shelf", || drop(black_box(shelf.try_acquire())));
    let held: Vec<_> = (0..8).map(|_| shelf.try_acquire()).collect();
    report("try_acquire + drop, never the last lease", || drop(black_box(shelf.try_acquire())));
    drop(held);
    let mut leases = Vec::with_capacity(32);
    let acquiring = best_of(|| {
        let mut spent = Duration::ZERO;
        for _ in 0..ROUNDS / 32 {
            let begun = Instant::now();
            leases.extend((0..32).filter_map(|_| shelf.try_acquire()));
            spent += begun.elapsed();
            leases.clear();
        }
        spent
    });
    print("try_acquire alone, 32 in a row", acquiring);

    let shelves: Vec<_> = (1..10_000).map(|key| runtime.block_on(stocked(&pool, key))).collect();
    report("try_acquire + drop, 10,000 shelves", || drop(black_box(shelf.try_acquire())));
    let mut next = 0;
    report("try_acquire + drop, 10,000 shelves in turn", || {
        next = (next + 7919) % shelves.len();
        drop(black_box(shelves[next].try_acquire()));
    });
    print("2 threads, one shelf, per pair", together(&shelf, &shelf));
    print("2 threads, a shelf each, per pair", together(&shelf, &shelves[4999]));
    evictions(&runtime);
}

fn gates() {
    let owner = Gate::new(GateLimits::default()).owner(OWNER);
    report("try_enter + drop", || drop(black_box(owner.try_enter())));
    let owner = Gate::new(GateLimits { running: Some(64), total: Some(640) }).owner(OWNER);
    report("try_enter + drop, shared bounds", || drop(black_box(owner.try_enter())));
}

fn evictions(runtime: &tokio::runtime::Runtime) {
    let pool = Pool::new(Nothing, PoolLimits { things: 1000, ..LIMITS });
    let begun = Instant::now();
    for key in 0..10_000 {
        runtime.block_on(stocked(&pool, key));
    }
    print("acquire cold, 10,000 keys in turn, room for 1,000", begun.elapsed() * (ROUNDS / 10_000));
}

/// A shelf with one warm thing.
async fn stocked(pool: &Pool<Nothing>, key: u32) -> Shelf<Nothing> {
    let shelf = pool.shelf(key, RULES);
    drop(shelf.acquire().await.expect("nothing is always there"));
    shelf
}

fn together(one: &Shelf<Nothing>, other: &Shelf<Nothing>) -> Duration {
    best_of(|| {
        let start = Barrier::new(2);
        let run = |shelf: &Shelf<Nothing>| {
            start.wait();
            let begun = Instant::now();
            for _ in 0..ROUNDS {
                drop(black_box(shelf.try_acquire()));
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

/// Others use the machine too: the least disturbed of a few runs.
fn best_of(mut run: impl FnMut() -> Duration) -> Duration {
    (0..5).map(|_| run()).min().unwrap_or_default()
}

/// `time` is for `ROUNDS` rounds.
fn print(name: &str, time: Duration) {
    println!("{name:<52} {:>8.1} ns", time.as_nanos() as f64 / f64::from(ROUNDS));
}
