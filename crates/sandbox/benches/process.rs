//! What process sandboxes cost: from nothing to an agent that answers, from the pool, a command, the first line of an
//! interpreter that waits, the end. For real, so it needs what sandboxes need. `cargo bench -p hearth-sandbox --bench process`;
//! no test runs this. `ROUNDS` in the environment changes how often (100).

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_sandbox::drivers::process::{Process, SpawnerCommand};
use hearth_sandbox::{
    Driver, Drivers, ExecEvent, ExecRequest, Language, PoolConfig, Sandbox, SandboxConfig, SandboxPool,
};

fn main() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let driver = Arc::new(Process::new(SpawnerCommand {
            program: env!("CARGO_BIN_EXE_hearth-spawner").into(),
            arguments: Vec::new(),
        }));
        println!("{:?}", driver.probe().await.expect("sandboxes can run here"));
        let drivers = Drivers::new(driver, []);
        println!("{:40} {:>9} {:>9} {:>9} {:>6}", "", "p50", "p99", "most", "n");
        cold(&drivers, rounds).await;
        warm(&drivers, rounds).await;
        many(&drivers).await;
    });
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
    creates.report("cold create, agent answers");
    ends.report("destroy");
    let sandbox = pool.acquire(&config).await.expect("a sandbox");
    let mut times = Times::default();
    for _ in 0..rounds {
        times.of(sandbox.exec(ExecRequest::argv(["true"]))).await.expect("it runs");
    }
    times.report("exec true, to its end");
    let mut times = Times::default();
    for _ in 0..rounds {
        times.0.push(first_output(&sandbox, ExecRequest::code(Language::Bash, "echo")).await);
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
        while pool.size() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let sandbox = acquires.of(pool.acquire(&config)).await.expect("a sandbox");
        while pool.size() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        first_python.0.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
        first_node.0.push(first_output(&sandbox, ExecRequest::code(Language::JavaScript, "console.log()")).await);
        sandbox.destroy().await;
    }
    acquires.report("warm acquire");
    first_python.report("first output of python, fresh sandbox");
    first_node.report("first output of node, fresh sandbox");
    let sandbox = pool.acquire(&config).await.expect("a sandbox");
    let mut python = Times::default();
    for _ in 0..rounds {
        python.0.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
    }
    python.report("first output of python, same sandbox");
    drop(sandbox);
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
    drop(all);
    let start = Instant::now();
    for _ in 0..1000 {
        pool.acquire(&config).await.expect("a sandbox").destroy().await;
    }
    println!("1000 created and destroyed in {:.1?}: {:?}", start.elapsed(), pool.stats());
    pool.shutdown().await;
}

async fn first_output(sandbox: &Sandbox, request: ExecRequest) -> Duration {
    let start = Instant::now();
    let mut stream = sandbox.stream(request).await.expect("it starts");
    let mut first = None;
    loop {
        match stream.next().await.expect("it runs") {
            ExecEvent::Stdout(_) => first = first.or_else(|| Some(start.elapsed())),
            ExecEvent::Stderr(_) => {}
            ExecEvent::Ended(_) => return first.expect("it prints"),
        }
    }
}

/// Kilobytes that are free on this machine.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("Linux");
    let line = text.lines().find(|line| line.starts_with("MemAvailable:")).expect("Linux");
    line.split_ascii_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    async fn of<T>(&mut self, work: impl Future<Output = T>) -> T {
        let start = Instant::now();
        let done = work.await;
        self.0.push(start.elapsed());
        done
    }

    fn report(mut self, what: &str) {
        self.0.sort_unstable();
        let at = |share: f64| self.0[((self.0.len() - 1) as f64 * share).round() as usize];
        println!("{what:40} {:>9.2?} {:>9.2?} {:>9.2?} {:>6}", at(0.5), at(0.99), at(1.0), self.0.len());
    }
}
