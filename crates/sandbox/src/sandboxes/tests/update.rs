//! Changes to live sandboxes.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::config::SandboxUpdate;
use crate::hint::{Hint, Reachable};
use crate::{LimitsPolicy, PoolHealth};

fn ttl(time: Duration) -> SandboxUpdate {
    SandboxUpdate { ttl: Some(time), ..SandboxUpdate::default() }
}

fn hosts(hosts: &[&str]) -> SandboxUpdate {
    let network = Some(NetworkPolicy::allow_list(hosts.iter().copied()).unwrap());
    SandboxUpdate { network, ..SandboxUpdate::default() }
}

#[tokio::test(start_paused = true)]
async fn a_life_is_made_longer_from_now_on_up_to_the_operators() {
    let (sandboxes, driver) = usual().await;
    let me = session("me");
    let config = SandboxConfig::builder().ttl(MINUTE).idle_timeout(10 * MINUTE).build().unwrap();
    let sandbox = sandboxes.create(&me, config).await.unwrap();
    let id = sandbox.id();
    drop(sandbox);
    sleep(MINUTE / 2).await;
    let info = sandboxes.update(&me, id, ttl(2 * MINUTE)).await.unwrap();
    assert_eq!(info.expires_at.0 - info.created_at.0, 150_000);
    sleep(2 * MINUTE - 2 * SECOND).await;
    assert!(sandboxes.get(&me, id).is_ok());
    let shorter = SandboxUpdate { idle_timeout: Some(SECOND), ..SandboxUpdate::default() };
    assert_eq!(sandboxes.update(&me, id, shorter).await.unwrap().idle_timeout, SECOND);
    let most = sandboxes.config().ceilings.ttl;
    for wrong in [Duration::ZERO, most] {
        assert!(invalid(&sandboxes.update(&me, id, ttl(wrong)).await.unwrap_err(), "ttl"), "{wrong:?}");
    }
    let refused = sandboxes.update(&session("other"), id, ttl(SECOND)).await.unwrap_err();
    assert_eq!(refused, SandboxError::NoSandbox(id));
    sleep(5 * SECOND).await;
    assert_eq!(sandboxes.get(&me, id).err(), Some(SandboxError::NoSandbox(id)), "it was not used for its new time");
    close(&sandboxes, &driver).await;
}

/// The proxy's answer to a program inside.
async fn asked(driver: &FakeDriver, id: SandboxId, host: &str) -> String {
    let mut connection = driver.dial_out(id).await.unwrap();
    connection.write_all(format!("CONNECT {host}:443 HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(start_paused = true)]
async fn hosts_can_be_allowed_later_and_refusals_give_hints() {
    let (sandboxes, driver) = usual().await;
    let me = session("me");
    let sandbox = create(&sandboxes, &me).await;
    let id = sandbox.id();
    let mut running = sandbox.stream(ExecRequest::shell("sleep 5")).await.unwrap();
    let answer = asked(&driver, id, "a.test").await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("allowed_hosts"), "{answer}");
    while !matches!(running.next().await.unwrap(), crate::ExecEvent::Ended(_)) {}
    assert_eq!(running.hints(), [Hint::Refused { host: "a.test".to_owned(), reach: Reachable::Nothing }]);
    // The other has requested nothing.
    assert_eq!(sandbox.exec(ExecRequest::shell("echo")).await.unwrap().hints, []);
    let info = sandboxes.update(&me, id, hosts(&["b.test"])).await.unwrap();
    assert_eq!(info.config.network, NetworkPolicy::allow_list(["b.test"]).unwrap());
    assert!(asked(&driver, id, "a.test").await.contains("list of hosts"));
    let full = SandboxUpdate { network: Some(NetworkPolicy::Full), ..SandboxUpdate::default() };
    assert_eq!(sandboxes.update(&me, id, full).await.unwrap_err().code(), crate::ErrorCode::Denied);
    let none = SandboxUpdate { network: Some(NetworkPolicy::None), ..SandboxUpdate::default() };
    sandboxes.update(&me, id, none).await.unwrap();
    assert!(asked(&driver, id, "b.test").await.contains("no network"));
    drop((sandbox, running));
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn output_about_limits_gives_hints_where_the_command_failed() {
    let (sandboxes, driver) = usual().await;
    let sandbox = create(&sandboxes, &session("me")).await;
    let said = async |line: &str| {
        let result = sandbox.exec(ExecRequest::shell(line)).await.unwrap();
        result.hints.iter().map(Hint::code).collect::<Vec<_>>()
    };
    assert_eq!(said("fail cp: No space left on device").await, ["disk_full"]);
    assert_eq!(said("fail MemoryError").await, ["out_of_memory"]);
    assert_eq!(said("warn No space left on device").await, [""; 0], "it did not fail");
    assert_eq!(said("exit 1").await, [""; 0]);
    drop(sandbox);
    close(&sandboxes, &driver).await;
}

#[tokio::test(start_paused = true)]
async fn unenforced_limits_degrade_health_and_refuse_sandboxes_where_required() {
    let driver = FakeDriver::named("fake", SECOND);
    driver.lack("no control groups");
    let sandboxes = started(config(&driver)).await;
    sandboxes.pool().ready(3).await.unwrap();
    let PoolHealth::Degraded { reasons } = sandboxes.health() else { panic!("{:?}", sandboxes.health()) };
    assert_eq!(reasons, ["fake: no control groups"]);
    drop(create(&sandboxes, &Caller::Admin).await);
    close(&sandboxes, &driver).await;

    let mut config = config(&driver);
    config.pool.limits = LimitsPolicy::Required;
    let sandboxes = started(config).await;
    let error = sandboxes.create(&Caller::Admin, SandboxConfig::default()).await.err().unwrap();
    assert!(error.to_string().contains("`limits: required`"), "{error}");
    assert_eq!(sandboxes.shutdown().await.created, 0);
}
