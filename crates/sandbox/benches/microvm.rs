//! What sandboxes with a stronger wall cost: virtual machines and gVisor, with what `tools/drivers` made. For real, so it takes
//! what those take. `cargo bench -p hearth-sandbox --bench microvm`; no test runs this. `ROUNDS` in the environment changes
//! how often (50).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_sandbox::drivers::gvisor::GVisor;
use hearth_sandbox::drivers::microvm::MicroVm;
use hearth_sandbox::drivers::process::SpawnerCommand;
use hearth_sandbox::{
    Driver, Drivers, ExecEvent, ExecRequest, Language, PoolConfig, Sandbox, SandboxConfig, SandboxPool,
};

/// Copies that live at the same time, to see what each takes.
const MANY: u64 = 10;

fn main() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(50);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let spawner = SpawnerCommand { program: env!("CARGO_BIN_EXE_hearth-spawner").into(), arguments: Vec::new() };
    let folder = std::env::temp_dir().join(format!("hearth-bench-{}", std::process::id()));
    println!("{:40} {:>9} {:>9} {:>9} {:>6}", "", "p50", "p99", "most", "n");
    runtime.block_on(async {
        measure(Arc::new(MicroVm::new(spawner, &made("microvm"))), rounds).await;
        measure(Arc::new(GVisor::with(Some(made("gvisor/runsc")), &folder)), rounds).await;
    });
    // It is empty by now.
    let _ = std::fs::remove_dir(folder);
}

fn made(what: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/drivers").join(what)
}

async fn measure(driver: Arc<dyn Driver>, rounds: usize) {
    println!("{}: {}", driver.name(), driver.probe().await.expect("it can run here").summary);
    let config = PoolConfig::new(Drivers::new(driver, []));
    let pool = SandboxPool::new(PoolConfig { min_size: 0, boot_timeout: Duration::from_secs(300), ..config });
    pool.start().await.expect("a pool");
    let config = SandboxConfig::default();
    let mut first = Times::default();
    first.of(pool.acquire(&config)).await.expect("a sandbox").destroy().await;
    first.report("the first of its shape");
    let (mut creates, mut ends, mut fresh) = (Times::default(), Times::default(), Times::default());
    for _ in 0..rounds {
        let sandbox = creates.of(pool.acquire(&config)).await.expect("a sandbox");
        fresh.0.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
        ends.of(sandbox.destroy()).await;
    }
    creates.report("create, agent answers");
    fresh.report("first output of python, fresh sandbox");
    ends.report("destroy");
    let sandbox = pool.acquire(&config).await.expect("a sandbox");
    let (mut commands, mut python) = (Times::default(), Times::default());
    for _ in 0..rounds {
        commands.of(sandbox.exec(ExecRequest::argv(["true"]))).await.expect("it runs");
        python.0.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
    }
    commands.report("exec true, to its end");
    python.report("first output of python, same sandbox");
    sandbox.destroy().await;
    let before = available();
    let mut all = Vec::new();
    for _ in 0..MANY {
        all.push(pool.acquire(&config).await.expect("a sandbox"));
    }
    println!("{MANY} sandboxes: {} kB each", before.saturating_sub(available()) / MANY);
    drop(all);
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
