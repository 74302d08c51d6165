//! Owners, limits and lifetimes of sandboxes.

use tokio::task::JoinSet;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_sandbox_is_listed_while_it_is_there_and_destroyed_once() {
    let (sandboxes, driver) = usual().await;
    let me = session("me");
    let sandbox = create(&sandboxes, &me).await;
    let list = sandboxes.list(&me);
    assert_eq!((list.len(), list[0].id, list[0].state), (1, sandbox.id(), SandboxState::Ready));
    let time = list[0].created_at.to_string();
    assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    assert_eq!(sandboxes.info(&me, sandbox.id()).unwrap().owner, me);
    assert_eq!(sandboxes.destroy(&me, sandbox.id()).await, Ok(()));
    assert!(!driver.live().contains(&sandbox.id()));
    assert_eq!(sandboxes.destroy(&me, sandbox.id()).await, Err(SandboxError::NoSandbox(sandbox.id())));
    assert_eq!(sandboxes.list(&me), []);
    let error = sandbox.exec(ExecRequest::shell("echo hi")).await.unwrap_err();
    assert_eq!(error, SandboxError::Destroyed);
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn sessions_do_not_see_each_other_and_the_operator_sees_all() {
    let (sandboxes, driver) = usual().await;
    let (a, b) = (session("a"), session("b"));
    let (of_a, of_b) = (create(&sandboxes, &a).await, create(&sandboxes, &b).await);
    let none = SandboxError::NoSandbox(of_a.id());
    assert_eq!(sandboxes.get(&b, of_a.id()).err(), Some(none.clone()), "as if there were none");
    assert_eq!(sandboxes.destroy(&b, of_a.id()).await, Err(none.clone()));
    assert_eq!(sandboxes.info(&b, of_a.id()), Err(none.clone()));
    assert_eq!(sandboxes.link(&b, of_a.id(), "x", Direction::Download, MINUTE), Err(none));
    assert_eq!(sandboxes.list(&b).iter().map(|info| info.id).collect::<Vec<_>>(), [of_b.id()]);
    assert_eq!(sandboxes.list(&Caller::Admin).len(), 2);
    assert!(sandboxes.get(&Caller::Admin, of_a.id()).is_ok());
    assert_eq!(sandboxes.end_session(&SessionId::new("a")).await, 1);
    assert!(!driver.live().contains(&of_a.id()));
    assert!(sandboxes.get(&b, of_b.id()).is_ok());
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn twice_the_limit_at_once_never_exceeds_it() {
    let driver = FakeDriver::named("fake", SECOND);
    let mut config = SandboxesConfig { max_sandboxes: 10, ..config(&driver) };
    config.pool.pooling = Pooling::Off;
    let sandboxes = started(config).await;
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let sandboxes = sandboxes.clone();
        callers.spawn(async move { sandboxes.create(&session("me"), SandboxConfig::default()).await });
    }
    let answers = callers.join_all().await;
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!(refused.len(), 10);
    assert!(refused.iter().all(|error| **error == SandboxError::TooManySandboxes { limit: 10 }));
    assert_eq!((driver.most_live(), driver.begun()), (10, 10), "what is refused costs nothing");
    let stats = sandboxes.stats();
    assert_eq!((stats.held, stats.limit, stats.pool.cold_misses), (10, 10, 10));
    let first = sandboxes.list(&session("me"))[0].id;
    sandboxes.destroy(&session("me"), first).await.unwrap();
    assert!(sandboxes.create(&session("me"), SandboxConfig::default()).await.is_ok());
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_does_not_touch_the_pool() {
    let driver = FakeDriver::new();
    let sandboxes = started(SandboxesConfig { max_sandboxes: 0, ..config(&driver) }).await;
    sandboxes.pool().ready(3).await.unwrap();
    let before = sandboxes.stats().pool;
    let answer = sandboxes.create(&session("me"), SandboxConfig::default()).await;
    assert_eq!(answer.err(), Some(SandboxError::TooManySandboxes { limit: 0 }));
    assert_eq!(sandboxes.stats().pool, before);
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn a_boot_that_fails_releases_its_reservation() {
    let driver = FakeDriver::new();
    let mut config = SandboxesConfig { max_sandboxes: 1, ..config(&driver) };
    config.pool.pooling = Pooling::Off;
    let sandboxes = started(config).await;
    driver.plan([FakeBoot::Fail(SECOND)]);
    let answer = sandboxes.create(&session("me"), SandboxConfig::default()).await;
    assert!(matches!(answer.err(), Some(SandboxError::Boot { .. })));
    assert!(sandboxes.create(&session("me"), SandboxConfig::default()).await.is_ok());
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn configurations_are_checked_before_any_work() {
    let driver = FakeDriver::new();
    let sandboxes = Sandboxes::new(config(&driver));
    let build = |builder: crate::SandboxConfigBuilder| builder.build().unwrap();
    let builder = SandboxConfig::builder;
    for (config, text) in [
        (build(builder().memory(ByteSize::mb(8))), "memory: 8mb is not between 32mb and 8gb"),
        (build(builder().memory(ByteSize::mb(9000))), "memory: 8.8gb is not between 32mb and 8gb"),
        (build(builder().cpus(0)), "cpus: 0 is not between 1 and 16"),
        (build(builder().cpus(17)), "cpus: 17 is not between 1 and 16"),
        (build(builder().ttl(MINUTE * 60 * 25)), "ttl: longer than 86400s, which is the longest here"),
        (build(builder().idle_timeout(MINUTE * 11)), "idle_timeout: longer than 600s, which is the longest here"),
    ] {
        let error = sandboxes.create(&session("me"), config).await.err().unwrap();
        assert_eq!(error.to_string(), text);
    }
    let full = build(builder().network(NetworkPolicy::Full));
    let error = sandboxes.create(&session("me"), full).await.err().unwrap();
    assert_eq!(error.code().as_str(), "denied");
    assert_eq!(driver.begun(), 0);
    for (builder, field) in [
        (builder().image("../etc"), "image"),
        (builder().image(""), "image"),
        (builder().env("A=B", ""), "env"),
        (builder().env("A", "\0"), "env"),
        (builder().env("A", "x".repeat(1 << 20)), "env"),
        (builder().ttl(Duration::ZERO), "ttl"),
    ] {
        // `..` consists of allowed characters, but is no known image.
        match builder.build() {
            Ok(config) => assert!(invalid(&sandboxes.pool().acquire(&config).await.err().unwrap(), field)),
            Err(error) => assert!(invalid(&error, field), "{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn idle_sandboxes_end_and_used_ones_stay() {
    let (sandboxes, driver) = usual().await;
    let me = session("me");
    let idle = create(&sandboxes, &me).await;
    let used = create(&sandboxes, &me).await;
    let busy = create(&sandboxes, &me).await;
    let running = tokio::spawn({
        let busy = busy.clone();
        let request = ExecRequest { timeout: Some(MINUTE * 59), ..ExecRequest::shell("sleep 3000") };
        async move { busy.exec(request).await }
    });
    let working = create(&sandboxes, &me).await;
    let job = working.start_job(ExecRequest::shell("sleep 3000")).await.unwrap();
    let short = SandboxConfig::builder().idle_timeout(MINUTE).build().unwrap();
    let short = sandboxes.create(&me, short).await.unwrap().id();
    for minute in 0..20 {
        sleep(MINUTE).await;
        used.stat("/work").await.unwrap();
        let there = |id| sandboxes.get(&me, id).is_ok();
        assert_eq!(there(idle.id()), minute < 9, "minute {minute}");
        assert!(there(used.id()) && there(busy.id()) && there(working.id()));
        assert!(!there(short));
    }
    assert!(!driver.live().contains(&idle.id()));
    working.signal_job(job, crate::Signal(9)).unwrap();
    sleep(MINUTE * 11).await;
    assert!(sandboxes.get(&me, working.id()).is_err(), "its job is over");
    assert!(!running.is_finished());
    close(&sandboxes, &driver).await;
    assert_eq!(running.await.unwrap(), Err(SandboxError::Destroyed));
}

#[tokio::test(start_paused = true)]
async fn a_life_ends_also_when_it_is_used() {
    let (sandboxes, driver) = usual().await;
    let me = session("me");
    let config = SandboxConfig::builder().ttl(MINUTE * 5).build().unwrap();
    let sandbox = sandboxes.create(&me, config).await.unwrap();
    let info = sandboxes.info(&me, sandbox.id()).unwrap();
    assert_eq!(info.expires_at.0 - info.created_at.0, 300_000);
    let request = ExecRequest { timeout: Some(MINUTE * 30), ..ExecRequest::shell("sleep 1000") };
    assert_eq!(sandbox.exec(request).await, Err(SandboxError::Destroyed));
    assert_eq!(sandboxes.get(&me, sandbox.id()).err(), Some(SandboxError::NoSandbox(sandbox.id())));
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_whose_agent_is_gone_is_freed_and_listed_as_lost() {
    let (sandboxes, driver) = usual().await;
    let me = session("me");
    let sandbox = create(&sandboxes, &me).await;
    driver.kill(sandbox.id());
    let error = sandbox.exec(ExecRequest::shell("sleep 5")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "agent_lost");
    sleep(SECOND * 3).await;
    assert!(!driver.live().contains(&sandbox.id()), "nothing of it is kept");
    assert_eq!(sandboxes.list(&me)[0].state, SandboxState::Lost);
    let error = sandbox.exec(ExecRequest::shell("echo hi")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "agent_lost");
    assert_eq!(sandboxes.destroy(&me, sandbox.id()).await, Ok(()));
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_during_a_creation_gets_nothing() {
    let driver = FakeDriver::named("fake", SECOND * 5);
    let mut config = config(&driver);
    config.pool.pooling = Pooling::Off;
    let sandboxes = started(config).await;
    let creating = tokio::spawn({
        let sandboxes = sandboxes.clone();
        async move { sandboxes.create(&session("me"), SandboxConfig::default()).await }
    });
    sleep(SECOND).await;
    assert_eq!(sandboxes.end_session(&SessionId::new("me")).await, 0);
    assert_eq!(creating.await.unwrap().err(), Some(SandboxError::SessionEnded));
    sleep(SECOND).await;
    assert_eq!(driver.live(), []);
    // A session of the same name that comes later is a new one.
    assert!(sandboxes.create(&session("me"), SandboxConfig::default()).await.is_ok());
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_during_creations_leaves_nothing() {
    let driver = FakeDriver::named("fake", SECOND * 5);
    let sandboxes = started(config(&driver)).await;
    let mut callers = JoinSet::new();
    for _ in 0..10 {
        let sandboxes = sandboxes.clone();
        callers.spawn(async move { sandboxes.create(&session("me"), SandboxConfig::default()).await.err() });
    }
    sleep(SECOND).await;
    close(&sandboxes, &driver).await;
    for answer in callers.join_all().await {
        assert_eq!(answer, Some(SandboxError::ShuttingDown));
    }
}
