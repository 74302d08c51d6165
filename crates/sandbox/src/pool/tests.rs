//! The pool's promises, with the fake driver, in paused time.

mod shutdown;
mod storm;

use std::collections::HashMap;
use std::time::Duration;

use hearth_core::ByteSize;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::*;
use crate::driver::{Driver, Drivers};
use crate::fake::{FakeBoot, FakeDriver};

const SECOND: Duration = Duration::from_secs(1);

fn config(driver: &FakeDriver) -> PoolConfig {
    PoolConfig::new(Drivers::new(Arc::new(driver.clone()), []))
}

async fn started(driver: &FakeDriver, config: PoolConfig) -> SandboxPool {
    let pool = SandboxPool::new(config);
    pool.start().await.unwrap();
    assert_eq!(driver.sweeps(), 1, "what was left behind goes first");
    pool
}

/// With its usual sandboxes ready.
async fn filled(driver: &FakeDriver, config: PoolConfig) -> SandboxPool {
    let min = config.min_size;
    let pool = started(driver, config).await;
    pool.ready(min).await.unwrap();
    pool
}

async fn acquire(pool: &SandboxPool) -> Sandbox {
    pool.acquire(&SandboxConfig::default()).await.unwrap()
}

/// Shuts down, and checks that nothing is left.
async fn close(pool: &SandboxPool, driver: &FakeDriver) {
    let stats = pool.shutdown().await;
    assert!(stats.adds_up(), "{stats:?}");
    assert_eq!((stats.live, stats.ready, stats.booting), (0, 0, 0));
    assert_eq!(driver.live(), []);
    // Sandboxes that booted and never answered were destroyed without counting.
    assert!(stats.destroyed <= driver.destroyed() as u64);
}

#[tokio::test(start_paused = true)]
async fn fills_up_to_its_size_and_never_beyond() {
    let driver = FakeDriver::named("fake", SECOND);
    let pool = started(&driver, config(&driver)).await;
    assert!(pool.is_running());
    for _ in 0..600 {
        sleep(SECOND / 10).await;
        assert!(pool.size() + driver.booting() <= 3);
        assert!(driver.most_booting() <= 2, "max_concurrent_boots");
    }
    assert_eq!((pool.size(), driver.begun()), (3, 3));
    assert_eq!(pool.stats().hit_rate(), 0.0, "nothing was asked for");
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn the_oldest_goes_first_and_is_replaced_after_the_refill_delay() {
    let driver = FakeDriver::new();
    let interval = SECOND * 3600;
    let pool = filled(&driver, PoolConfig { fill_interval: interval, ..config(&driver) }).await;
    let mut by_cid: Vec<_> = driver.cids();
    by_cid.sort_unstable();
    assert_eq!(by_cid, [10_000, 10_001, 10_002], "the pool's own numbers");
    let before = driver.live();
    let began = Instant::now();
    let sandbox = acquire(&pool).await;
    assert!(before.contains(&sandbox.id()), "it was there");
    assert_eq!((began.elapsed(), driver.begun()), (Duration::ZERO, 3), "nothing boots while it is handed over");
    pool.ready(3).await.unwrap();
    assert!(began.elapsed() < interval, "it did not wait for the next check");
    assert_eq!(driver.begun(), 4);
    let stats = pool.stats();
    assert_eq!((stats.warm_hits, stats.cold_misses, stats.created, stats.live), (1, 0, 4, 4));
    assert_eq!(stats.hit_rate(), 100.0);
    sandbox.destroy().await;
    assert_eq!((pool.stats().destroyed, pool.stats().live), (1, 3));
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn one_boot_per_demand_even_when_boots_take_long() {
    let driver = FakeDriver::named("fake", SECOND * 30);
    let pool = filled(&driver, config(&driver)).await;
    let taken = [acquire(&pool).await, acquire(&pool).await, acquire(&pool).await];
    // Many checks while the boots take their time.
    for _ in 0..29 {
        sleep(SECOND).await;
        assert_eq!(driver.begun(), 3 + 2, "two at once, and none for the same gap");
    }
    pool.ready(3).await.unwrap();
    sleep(SECOND * 120).await;
    assert_eq!(driver.begun(), 6, "one for each that was taken");
    drop(taken);
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn a_cold_start_is_the_callers_own_boot() {
    let driver = FakeDriver::named("fake", SECOND * 10);
    let pool = started(&driver, config(&driver)).await;
    let began = Instant::now();
    let sandbox = acquire(&pool).await;
    assert_eq!(began.elapsed(), SECOND * 10, "it did not wait behind the pool's own boots");
    assert_eq!(driver.most_booting(), 3);
    let stats = pool.stats();
    assert_eq!((stats.warm_hits, stats.cold_misses), (0, 1));
    assert!(driver.cids().contains(&3), "callers' numbers begin at 3: {:?}", driver.cids());
    drop(sandbox);
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn twenty_at_once_with_three_ready() {
    let driver = FakeDriver::named("fake", SECOND);
    let limit = 4;
    let pool = filled(&driver, PoolConfig { max_cold_boots: limit, ..config(&driver) }).await;
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let pool = pool.clone();
        callers.spawn(async move { (acquire(&pool).await, Instant::now()) });
    }
    let done = callers.join_all().await;
    let waits: Vec<_> = done.iter().map(|(_, at)| (*at - began).as_secs()).collect();
    let waited = |seconds| waits.iter().filter(|wait| **wait == seconds).count();
    assert_eq!(waited(0), 3, "warm: {waits:?}");
    assert_eq!((1..=5).map(waited).collect::<Vec<_>>(), [4, 4, 4, 4, 1], "17 boots, four at a time");
    let stats = pool.stats();
    assert_eq!((stats.warm_hits, stats.cold_misses), (3, 17));
    assert!(driver.most_booting() <= limit + 2);
    let ids: std::collections::HashSet<_> = done.iter().map(|(sandbox, _)| sandbox.id()).collect();
    assert_eq!(ids.len(), 20, "none is shared");
    drop(done);
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_driver_delays_no_other() {
    let (slow, quick) = (FakeDriver::named("slow", SECOND * 50), FakeDriver::named("quick", Duration::ZERO));
    let drivers = Drivers::new(Arc::new(slow.clone()), [Arc::new(quick.clone()) as Arc<dyn Driver>]);
    let pool = SandboxPool::new(PoolConfig { max_cold_boots: 1, ..PoolConfig::new(drivers) });
    pool.start().await.unwrap();
    let mut callers = JoinSet::new();
    for _ in 0..3 {
        let pool = pool.clone();
        callers.spawn(async move { acquire(&pool).await });
    }
    tokio::task::yield_now().await;
    let began = Instant::now();
    let config = SandboxConfig::builder().driver(quick.name()).build().unwrap();
    let sandbox = pool.acquire(&config).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(sandbox.shape().driver, quick.name());
    drop((sandbox, callers.join_all().await));
    pool.shutdown().await;
    assert_eq!((slow.live(), quick.live()), (vec![], vec![]));
    assert_eq!((slow.shutdowns(), quick.shutdowns()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_spare_that_does_not_answer_is_destroyed_and_the_next_one_tried() {
    let driver = FakeDriver::new();
    let pool = filled(&driver, config(&driver)).await;
    let before = driver.live();
    driver.wedge(before[0]);
    driver.wedge(before[1]);
    let began = Instant::now();
    let taken = [acquire(&pool).await, acquire(&pool).await, acquire(&pool).await];
    assert!(began.elapsed() <= pool.config().health_timeout * 2, "{:?}", began.elapsed());
    assert!(taken.iter().all(|sandbox| sandbox.id() != before[0] && sandbox.id() != before[1]));
    let stats = pool.stats();
    assert_eq!((stats.unhealthy, stats.warm_hits + stats.cold_misses), (2, 3));
    drop(taken);
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn when_none_answers_one_is_booted() {
    let driver = FakeDriver::new();
    let pool = filled(&driver, PoolConfig { fill_interval: SECOND * 3600, ..config(&driver) }).await;
    // Refilling is slow: a spare that is taken and found broken is not replaced in time.
    driver.plan([FakeBoot::Succeed(SECOND * 5); 2]);
    driver.live().into_iter().for_each(|id| driver.wedge(id));
    let sandbox = acquire(&pool).await;
    assert_eq!(sandbox.exec(crate::ExecRequest::shell("echo hi")).await.unwrap().stdout, "hi\n");
    let stats = pool.stats();
    assert_eq!((stats.unhealthy, stats.warm_hits, stats.cold_misses), (3, 0, 1));
    drop(sandbox);
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn a_spare_that_dies_is_replaced_before_it_is_taken() {
    let driver = FakeDriver::new();
    let pool = filled(&driver, config(&driver)).await;
    let before = driver.live();
    driver.kill(before[0]);
    sleep(SECOND * 3).await;
    assert!(!driver.live().contains(&before[0]), "gone at the next look");
    driver.wedge(before[1]);
    sleep(PING_TIMEOUT + SECOND * 3).await;
    assert!(!driver.live().contains(&before[1]), "gone after it was silent for long");
    pool.ready(3).await.unwrap();
    assert_eq!((driver.begun(), pool.stats().unhealthy), (5, 0));
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn failing_boots_back_off_and_show() {
    let driver = FakeDriver::new();
    driver.plan([FakeBoot::Fail(Duration::ZERO); 8]);
    let config = PoolConfig { max_concurrent_boots: 1, ..config(&driver) };
    let pool = started(&driver, config).await;
    assert_eq!(pool.health(), PoolHealth::Good);
    sleep(SECOND / 2).await;
    let PoolHealth::Degraded { reasons } = pool.health() else { panic!("{:?}", pool.health()) };
    assert_eq!(reasons, ["fake: it was to fail"]);
    // 1 + 2 + 4 + 8 s, and a check every second does not shorten it.
    sleep(SECOND * 15).await;
    assert_eq!(driver.begun(), 5);
    assert_eq!(pool.stats().failed, 5);
    sleep(SECOND * 16 + SECOND * 32 + SECOND * 60).await;
    pool.ready(3).await.unwrap();
    assert_eq!((pool.health(), pool.stats().failed), (PoolHealth::Good, 8));
    close(&pool, &driver).await;
    assert_eq!(pool.health(), PoolHealth::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_fails_panics_or_never_answers_is_the_callers_error() {
    let driver = FakeDriver::new();
    let pool = started(&driver, PoolConfig { pooling: Pooling::Off, ..config(&driver) }).await;
    driver.plan([FakeBoot::Fail(SECOND), FakeBoot::Panic, FakeBoot::Mute]);
    for text in ["it was to fail", "did not end", "not ready after"] {
        match pool.acquire(&SandboxConfig::default()).await {
            Err(SandboxError::Boot { reason }) => assert!(reason.contains(text), "{reason}"),
            other => panic!("{:?}", other.map(|sandbox| sandbox.id())),
        }
    }
    let stats = pool.stats();
    assert_eq!((stats.failed, stats.created, stats.cold_misses, stats.booting), (3, 0, 3, 0));
    assert_eq!(driver.live(), [], "what never answered is gone, too");
    drop(acquire(&pool).await);
    assert_eq!(pool.health(), PoolHealth::Good);
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn without_pooling_every_sandbox_is_booted_when_asked_for() {
    let driver = FakeDriver::new();
    let pool = started(&driver, PoolConfig { pooling: Pooling::Off, ..config(&driver) }).await;
    sleep(SECOND * 60).await;
    assert_eq!((driver.begun(), pool.size()), (0, 0));
    let sandbox = acquire(&pool).await;
    assert_eq!((driver.begun(), pool.stats().cold_misses), (1, 1));
    drop(sandbox);
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn each_shape_has_a_pool_of_its_own() {
    let driver = FakeDriver::new();
    let large = SandboxConfig::builder().memory(ByteSize::mb(1024)).build().unwrap();
    let warm = vec![SandboxConfig::default(), large.clone(), large.clone()];
    let pool = filled(&driver, PoolConfig { warm, min_size: 2, ..config(&driver) }).await;
    sleep(SECOND * 5).await;
    assert_eq!(pool.size(), 4, "two shapes of two");
    let sandbox = pool.acquire(&large).await.unwrap();
    assert_eq!((sandbox.shape().memory, pool.stats().warm_hits), (ByteSize::mb(1024), 1));
    // Fields that are not part of the shape do not make another sandbox.
    let with_env = SandboxConfig::builder().env("A", "b").build().unwrap();
    let other = pool.acquire(&with_env).await.unwrap();
    assert_eq!(pool.stats().warm_hits, 2);
    let odd = SandboxConfig::builder().cpus(7).build().unwrap();
    let cold = pool.acquire(&odd).await.unwrap();
    assert_eq!((pool.stats().warm_hits, pool.stats().cold_misses), (2, 1));
    drop((sandbox, other, cold));
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn unknown_drivers_and_images_are_refused_before_any_work() {
    let driver = FakeDriver::new();
    let pool = SandboxPool::new(config(&driver));
    let image = SandboxConfig::builder().image("debian:12").build().unwrap();
    let unknown = SandboxConfig { driver: Some(DriverName("quantum")), ..SandboxConfig::default() };
    for (config, text) in
        [(image, "image: \"debian:12\" is not one of host"), (unknown, "driver: \"quantum\" is not one of fake")]
    {
        let error = pool.acquire(&config).await.map(|sandbox| sandbox.id()).unwrap_err();
        assert_eq!(error.to_string(), text);
    }
    assert_eq!((driver.begun(), pool.stats()), (0, SandboxPoolStats::default()));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_leaves_nothing_behind() {
    let driver = FakeDriver::named("fake", SECOND * 5);
    let pool = started(&driver, PoolConfig { pooling: Pooling::Off, max_cold_boots: 1, ..config(&driver) }).await;
    let config = SandboxConfig::default();
    assert!(timeout(SECOND, pool.acquire(&config)).await.is_err());
    // The boot that it abandoned is counted, too.
    assert!(timeout(SECOND, pool.acquire(&config)).await.is_err());
    sleep(SECOND * 60).await;
    assert_eq!(driver.live(), []);
    let stats = pool.stats();
    assert!(stats.adds_up());
    assert_eq!((stats.cold_misses, stats.live, stats.booting), (2, 0, 0));
    close(&pool, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn no_two_sandboxes_have_the_same_number() {
    let driver = FakeDriver::new();
    let pool = filled(&driver, config(&driver)).await;
    let mut held: Vec<Sandbox> = Vec::new();
    for round in 0..40 {
        held.push(acquire(&pool).await);
        if round % 3 == 0 {
            held.remove(0).destroy().await;
        }
        let mut seen = HashMap::new();
        for cid in driver.cids() {
            assert!(seen.insert(cid, ()).is_none(), "{cid} twice");
        }
    }
    drop(held);
    close(&pool, &driver).await;
}
