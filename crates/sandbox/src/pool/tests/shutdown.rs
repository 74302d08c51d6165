//! Shutdown of a pool: waiting callers get an error, no boot begins, those under way are waited
//! for, nothing is left.

use super::*;

#[tokio::test(start_paused = true)]
async fn shutdown_in_the_middle_of_boots_leaves_nothing() {
    let driver = FakeDriver::named("fake", SECOND * 10);
    let pool = started(&driver, PoolConfig { max_cold_boots: 2, ..config(&driver) }).await;
    let mut callers = JoinSet::new();
    for _ in 0..5 {
        let pool = pool.clone();
        callers.spawn(async move { pool.acquire(&SandboxConfig::default()).await.map(|sandbox| sandbox.id()) });
    }
    sleep(SECOND).await;
    assert_eq!((driver.begun(), driver.booting()), (4, 4), "two of the pool's and two for callers");
    let stats = pool.shutdown().await;
    assert_eq!(driver.begun(), 4, "no boot began after that");
    assert_eq!((driver.booting(), driver.live()), (0, vec![]));
    assert_eq!(driver.shutdowns(), 1);
    assert!(stats.adds_up() && stats.live == 0 && !pool.is_running(), "{stats:?}");
    for answer in callers.join_all().await {
        assert_eq!(answer, Err(SandboxError::ShuttingDown));
    }
    assert_eq!(pool.acquire(&SandboxConfig::default()).await.err(), Some(SandboxError::ShuttingDown));
    assert_eq!(pool.start().await, Err(SandboxError::ShuttingDown));
    sleep(SECOND * 60).await;
    assert_eq!((driver.begun(), pool.size()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_second_shutdown_waits_for_the_same_end() {
    let driver = FakeDriver::named("fake", SECOND * 10);
    let pool = started(&driver, config(&driver)).await;
    sleep(SECOND).await;
    let (first, second) = tokio::join!(pool.shutdown(), pool.shutdown());
    assert_eq!(first, second);
    assert_eq!((driver.live(), driver.shutdowns()), (vec![], 1));
}

#[tokio::test(start_paused = true)]
async fn shutdown_waits_for_acquired_sandboxes() {
    let driver = FakeDriver::new();
    let pool = filled(&driver, config(&driver)).await;
    let sandbox = acquire(&pool).await;
    let ending = tokio::spawn({
        let pool = pool.clone();
        async move { pool.shutdown().await }
    });
    sleep(SECOND * 5).await;
    assert!(!ending.is_finished());
    assert_eq!(driver.live(), [sandbox.id()], "what was ready is gone already");
    sandbox.destroy().await;
    assert_eq!(ending.await.unwrap().live, 0);
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_was_never_started_ends_too() {
    let driver = FakeDriver::new();
    let pool = SandboxPool::new(config(&driver));
    assert!(!pool.is_running());
    assert_eq!(pool.shutdown().await, SandboxPoolStats::default());
    assert_eq!(driver.begun(), 0);
}
