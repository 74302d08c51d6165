//! What process sandboxes cost: from nothing to an agent that answers, from the pool, a command, the first line of an
//! interpreter that waits, the end. For real, so it needs what sandboxes need. `cargo bench -p hearth-sandbox --bench process`;
//! no test runs this. `ROUNDS` in the environment changes how often (300).

mod measure;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_sandbox::drivers::process::{Process, SpawnerCommand};
use hearth_sandbox::{Driver, Drivers, ExecRequest, Language, PoolConfig, SandboxConfig, SandboxPool};
use hearth_sys::procfs;

use crate::measure::{Marks, Times, available, first_output};

const CREATE: Marks = Marks { p50: 3.0, p99: 12.0 };
const DESTROY: Marks = Marks { p50: 1.0, p99: 10.0 };
const ACQUIRE: Marks = Marks { p50: 0.3, p99: 1.0 };
const PYTHON: Marks = Marks { p50: 3.0, p99: 6.0 };
const NODE: Marks = Marks { p50: 1.5, p99: 3.0 };

fn main() {
    let rounds = measure::rounds(300);
    let runtime = measure::runtime();
    // As in a server, where everything is done by tasks.
    let done = runtime.spawn(async move {
        let driver = Arc::new(
            Process::new(SpawnerCommand {
                program: env!("CARGO_BIN_EXE_hearth-spawner").into(),
                arguments: Vec::new(),
            })
            .with_disks(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("disks")),
        );
        println!("{:?}", driver.probe().await.expect("sandboxes can run here"));
        let drivers = Drivers::new(driver, []);
        measure::print_head();
        cold(&drivers, rounds).await;
        warm(&drivers, rounds).await;
        ready(&drivers).await;
        many(&drivers).await;
    });
    runtime.block_on(done).expect("it comes to its end");
}

/// Without a pool.
async fn cold(drivers: &Drivers, rounds: usize) {
    let pool = SandboxPool::new(PoolConfig { min_size: 0, ..PoolConfig::new(drivers.clone()) });
    pool.start().await.expect("a pool");
    let config = SandboxConfig::default();
    let (mut creates, mut ends) = (Times::default(), Times::default());
    for _ in 0..rounds {
        let sandbox = creates.of(pool.acquire(&config)).await.expect("a sandbox");
        ends.of(sandbox.destroy()).await;
    }
    creates.report_against(CREATE, "cold create, agent answers");
    ends.report_against(DESTROY, "destroy");
    let sandbox = pool.acquire(&config).await.expect("a sandbox");
    let mut times = Times::default();
    for _ in 0..rounds {
        times.of(sandbox.exec(ExecRequest::argv(["true"]))).await.expect("it runs");
    }
    times.report("exec true, to its end");
    let mut times = Times::default();
    for _ in 0..rounds {
        times.push(first_output(&sandbox, ExecRequest::code(Language::Bash, "echo")).await);
    }
    times.report("first output of bash");
}

/// From the pool, with interpreters that wait.
async fn warm(drivers: &Drivers, rounds: usize) {
    let pool = SandboxPool::new(PoolConfig { min_size: 3, ..PoolConfig::new(drivers.clone()) });
    pool.start().await.expect("a pool");
    let config = SandboxConfig::default();
    let (mut acquires, mut first_python, mut first_node) = (Times::default(), Times::default(), Times::default());
    for _ in 0..rounds {
        rest(&pool).await;
        let sandbox = acquires.of(pool.acquire(&config)).await.expect("a sandbox");
        rest(&pool).await;
        first_python.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
        // Another spare of python's is started meanwhile.
        rest(&pool).await;
        first_node.push(first_output(&sandbox, ExecRequest::code(Language::JavaScript, "console.log()")).await);
        sandbox.destroy().await;
    }
    acquires.report_against(ACQUIRE, "warm acquire");
    first_python.report_against(PYTHON, "first output of python, fresh sandbox");
    first_node.report_against(NODE, "first output of node, fresh sandbox");
    let sandbox = pool.acquire(&config).await.expect("a sandbox");
    rest(&pool).await;
    let mut python = Times::default();
    for _ in 0..rounds {
        // At once after the one before, so that none waits yet.
        python.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
    }
    python.report("first output of python, one by one");
    drop(sandbox);
    pool.shutdown().await;
}

/// Waits until the pool is full, and what it has started has come to rest.
async fn rest(pool: &SandboxPool) {
    pool.ready(pool.config().min_size).await.expect("a pool");
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// What sandboxes take whose interpreters wait: as the machine sees it, which others use too, and as their groups count it.
async fn ready(drivers: &Drivers) {
    let count = 10;
    let before = available();
    let pool = SandboxPool::new(PoolConfig { min_size: count, ..PoolConfig::new(drivers.clone()) });
    pool.start().await.expect("a pool");
    rest(&pool).await;
    let used = before.saturating_sub(available());
    let mut counted = 0;
    for _ in 0..count {
        let sandbox = pool.acquire(&SandboxConfig::default()).await.expect("a sandbox");
        counted += sandbox.usage().memory.map_or(0, |memory| memory.bytes() >> 10);
    }
    let each = |kilobytes: u64| kilobytes / count as u64;
    println!("{count} ready sandboxes: {} kB each, {} kB by their groups", each(used), each(counted));
    pool.shutdown().await;
}

/// What a hundred take, and that a thousand leave nothing.
async fn many(drivers: &Drivers) {
    let pool = SandboxPool::new(PoolConfig { min_size: 0, ..PoolConfig::new(drivers.clone()) });
    pool.start().await.expect("a pool");
    let config = SandboxConfig::default();
    let before = available();
    let mut all = Vec::new();
    for _ in 0..100 {
        all.push(pool.acquire(&config).await.expect("a sandbox"));
    }
    let used = before.saturating_sub(available());
    println!("100 sandboxes: {} kB each", used / 100);
    for sandbox in all {
        sandbox.destroy().await;
    }
    let before = descendants();
    let start = Instant::now();
    for _ in 0..1000 {
        pool.acquire(&config).await.expect("a sandbox").destroy().await;
    }
    let left = descendants() - before;
    println!("1000 created and destroyed in {:.1?}, {left} processes left: {:?}", start.elapsed(), pool.stats());
    pool.shutdown().await;
}

/// How many processes descend from this one.
fn descendants() -> usize {
    let parents: HashMap<u32, u32> = procfs::processes().map(|process| (process.id, process.parent)).collect();
    let is_ours = |pid: &&u32| {
        let mut line = std::iter::successors(parents.get(*pid), |pid| parents.get(*pid));
        line.any(|pid| *pid == std::process::id())
    };
    parents.keys().filter(is_ours).count()
}
