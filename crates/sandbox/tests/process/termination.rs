//! Nothing is left of a sandbox that is destroyed, of one whose creation was abandoned, of a
//! spawner or a server that dies.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_sandbox::drivers::process::{Process, SpawnerCommand};
use hearth_sandbox::{Driver, ExecRequest, Language, Sandbox, SandboxConfig, SandboxPool, SandboxState, Seen};
use hearth_sys::procfs::{self, ProcStat};

use crate::{TEST_TIMEOUT, driver, out, pool, pool_config, sandbox, sh};

/// Parents and times of birth of all processes.
fn processes() -> HashMap<u32, (u32, u64)> {
    let alive = procfs::processes().filter(ProcStat::is_alive);
    alive.map(|process| (process.id, (process.parent, process.start_ticks))).collect()
}

/// A process and all below it, each with its time of birth, so that another with its number is not taken for it.
fn family(root: u32) -> Vec<(u32, u64)> {
    let all = processes();
    let is_below = |mut pid: u32| {
        while let Some((parent, _)) = all.get(&pid) {
            if pid == root {
                return true;
            }
            pid = *parent;
        }
        false
    };
    all.iter().filter(|(pid, _)| is_below(**pid)).map(|(pid, (_, born))| (*pid, *born)).collect()
}

async fn until_gone(family: &[(u32, u64)]) {
    let start = Instant::now();
    loop {
        let all = processes();
        let left: Vec<_> =
            family.iter().filter(|(pid, born)| all.get(pid).is_some_and(|(_, other)| other == born)).collect();
        if left.is_empty() {
            return;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "still there: {left:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Folders of groups whose names have this in them: a spawner's number, or a sandbox's id.
fn groups(part: &str) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let at = mounts.lines().filter(|line| line.contains(" - cgroup")).filter_map(|line| line.split(' ').nth(4));
    let below: Vec<&str> = own.lines().filter_map(|line| line.splitn(3, ':').nth(2)).collect();
    at.flat_map(|at| below.iter().map(move |below| format!("{at}{below}/hearth-sandboxes")))
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.split('.').any(|own| own == part))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_come_and_go_and_nothing_is_left() {
    let pool = pool().await;
    for _ in 0..20 {
        let sandbox = sandbox(&pool).await;
        sh(&sandbox, "sleep 1000 & sleep 1000 & true").await;
        sandbox.destroy().await;
        assert_eq!(groups(&sandbox.id().to_string()), Vec::<String>::new());
    }
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_creation_leaves_nothing() {
    let pool = pool().await;
    let config = SandboxConfig::default();
    for microseconds in [0, 200, 1_000, 2_000, 4_000] {
        let given_up = tokio::time::timeout(Duration::from_micros(microseconds), pool.acquire(&config)).await;
        drop(given_up);
    }
    // The next is made after those, by the same spawner.
    sandbox(&pool).await.destroy().await;
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_die_with_their_spawner_and_the_next_gets_another() {
    let driver = driver();
    driver.probe().await.expect("these tests need user namespaces");
    let drivers = hearth_sandbox::Drivers::new(driver, []);
    let pool = hearth_sandbox::SandboxPool::new(hearth_sandbox::PoolConfig {
        min_size: 0,
        ..hearth_sandbox::PoolConfig::new(drivers)
    });
    pool.start().await.unwrap();
    let first = sandbox(&pool).await;
    first.start_job(ExecRequest::argv(["sleep", OWN_SLEEP])).await.unwrap();
    let start = Instant::now();
    let agent = loop {
        if let Some((agent, _)) = own_agents().first() {
            break *agent;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "it runs something");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let (spawner, _) = processes()[&agent];
    let below = family(spawner);
    assert!(below.len() >= 3, "{below:?}");
    assert!(Command::new("kill").args(["-9", &spawner.to_string()]).status().unwrap().success());
    until_gone(&below).await;
    let start = Instant::now();
    while first.state() == SandboxState::Ready {
        assert!(start.elapsed() < TEST_TIMEOUT);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let second = sandbox(&pool).await;
    assert_eq!(second.execute(Language::Sh, "echo anew").await.unwrap().exit_code, Some(0));
    drop((first, second));
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spawner_that_was_stopped_is_replaced_and_its_sandboxes_go_on() {
    const OWN: &str = "100043";
    let pool = pool().await;
    let first = sandbox(&pool).await;
    let spawner = spawner_of(&first, OWN).await;
    let born = processes()[&spawner].1;
    let signal = |name: &str| Command::new("kill").args([name, &spawner.to_string()]).status().unwrap().success();
    assert!(signal("-STOP"));
    let second = sandbox(&pool).await;
    for sandbox in [&first, &second] {
        assert_eq!(sh(sandbox, "true").await.exit_code, Some(0));
    }
    drop((first, second));
    pool.shutdown().await;
    until_gone(&[(spawner, born)]).await;
}

/// A file instead of the device, as it is where the host's own is replaced: programs would write into it.
#[tokio::test(flavor = "multi_thread")]
async fn a_spawner_whose_devices_are_gone_is_replaced_and_its_sandboxes_go_on() {
    const OWN: &str = "100044";
    let pool = pool().await;
    let first = sandbox(&pool).await;
    let spawner = spawner_of(&first, OWN).await;
    let mounts = std::fs::read_to_string(format!("/proc/{spawner}/mountinfo")).unwrap();
    let nodes = mounts.lines().filter_map(|line| line.split(' ').nth(4)).filter(|at| at.ends_with("/dev/null"));
    let nodes: Vec<&str> = nodes.filter(|at| *at != "/dev/null").collect();
    assert!(!nodes.is_empty(), "{mounts}");
    for node in nodes {
        let mut inside = Command::new("nsenter");
        inside.args(["--target", &spawner.to_string(), "--mount"]);
        if rustix::process::geteuid().as_raw() != 0 {
            inside.args(["--user", "--preserve-credentials"]);
        }
        let done = inside.args(["umount", "--lazy", node]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let second = sandbox(&pool).await;
    assert_eq!(sh(&second, "test -c /dev/null").await.exit_code, Some(0));
    assert_ne!(spawner_of(&second, "100045").await, spawner);
    assert_eq!(sh(&first, "true").await.exit_code, Some(0));
    drop((first, second));
    pool.shutdown().await;
}

/// The process that made a sandbox, which is found by a `sleep` of so many seconds.
async fn spawner_of(sandbox: &Sandbox, sleep: &str) -> u32 {
    sandbox.start_job(ExecRequest::argv(["sleep", sleep])).await.unwrap();
    let start = Instant::now();
    loop {
        if let Some((agent, _)) = agents_with(sleep).first() {
            return processes()[agent].0;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "it runs something");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The agent's limit is 4,096; a service may have fewer, and its hard limit cannot be raised inside.
#[tokio::test(flavor = "multi_thread")]
async fn sandboxes_start_where_a_process_may_have_few_descriptors() {
    let line = "ulimit -n 1000 && exec \"$0\"";
    let arguments = ["-c", line, env!("CARGO_BIN_EXE_hearth-spawner")].map(Into::into).to_vec();
    let driver = Arc::new(Process::new(SpawnerCommand { program: "/bin/sh".into(), arguments }));
    let pool = SandboxPool::new(pool_config(driver));
    pool.start().await.unwrap();
    let sandbox = sandbox(&pool).await;
    assert_eq!(out(&sh(&sandbox, "ulimit -Hn").await), "1000\n");
    drop(sandbox);
    pool.shutdown().await;
}

/// What only one test has running, in seconds: others run at the same time, and none of their sandboxes may be taken for it.
const OWN_SLEEP: &str = "100042";

/// Agents of this very test: those in whose sandbox its `sleep` runs.
fn own_agents() -> Vec<(u32, u64)> {
    agents_with(OWN_SLEEP)
}

fn agents_with(sleep: &str) -> Vec<(u32, u64)> {
    let mine = family(std::process::id());
    mine.into_iter()
        .filter(|(pid, _)| {
            let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            command.starts_with(b"hearth-agent\0")
        })
        .filter(|(pid, _)| {
            family(*pid).iter().any(|(pid, _)| {
                std::fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|command| command == format!("sleep\0{sleep}\0").as_bytes())
            })
        })
        .collect()
}

/// Not a test by itself: what `a_server_that_is_killed_leaves_nothing` kills.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_to_be_killed() {
    if std::env::var_os("HEARTH_TEST_SERVER").is_none() {
        return;
    }
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let line = "sleep 1000 & setsid sleep 1000 & echo up; wait";
    let job = sandbox.start_job(ExecRequest::shell(line)).await.unwrap();
    assert_eq!(sandbox.poll_job(job, Seen::default(), TEST_TIMEOUT).await.unwrap().stdout, "up\n");
    println!("\nready");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_leaves_nothing() {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "termination::a_server_to_be_killed", "--nocapture"])
        .env("HEARTH_TEST_SERVER", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "it was ready");
    let below = family(server.id());
    // The server, its spawner, an agent, two that sleep.
    assert!(below.len() >= 5, "{below:?}");
    server.kill().unwrap();
    server.wait().unwrap();
    until_gone(&below).await;
    // The kernel has kept the empty groups; the next server removes them.
    let owners: Vec<u32> = below.iter().map(|(pid, _)| *pid).collect();
    let left: Vec<String> = owners.iter().flat_map(|owner| groups(&owner.to_string())).collect();
    driver().sweep().await;
    for owner in owners {
        assert_eq!(groups(&owner.to_string()), Vec::<String>::new(), "of {left:?}");
    }
}
