//! What sandboxes with a stronger wall cost: virtual machines and gVisor, with what `tools/drivers` made. For real, so it takes
//! what those take. `cargo bench -p hearth-sandbox --bench microvm`; no test runs this. `ROUNDS` in the environment changes
//! how often (100).

mod measure;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hearth_sandbox::drivers::gvisor::GVisor;
use hearth_sandbox::drivers::microvm::MicroVm;
use hearth_sandbox::drivers::process::SpawnerCommand;
use hearth_sandbox::{Driver, Drivers, ExecRequest, Language, PoolConfig, SandboxConfig, SandboxPool};

use crate::measure::{Marks, Times, available, first_output};

/// From a snapshot to the first reply, under emulation.
const RESTORE: Marks = Marks { p50: 150.0, p99: 150.0 };
/// Copies that live at the same time, to see what each takes.
const MANY: u64 = 10;

fn main() {
    let rounds = measure::rounds(100);
    let runtime = measure::runtime();
    let spawner = SpawnerCommand { program: env!("CARGO_BIN_EXE_hearth-spawner").into(), arguments: Vec::new() };
    let folder = std::env::temp_dir().join(format!("hearth-bench-{}", std::process::id()));
    measure::print_head();
    runtime.block_on(async {
        measure(Arc::new(MicroVm::new(spawner, &made("microvm"))), Some(RESTORE), rounds).await;
        measure(Arc::new(GVisor::with(Some(made("gvisor/runsc")), &folder)), None, rounds).await;
    });
    // It is empty by now.
    let _ = std::fs::remove_dir(folder);
}

fn made(what: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/drivers").join(what)
}

/// `marks` are for a copy that answers.
async fn measure(driver: Arc<dyn Driver>, marks: Option<Marks>, rounds: usize) {
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
        fresh.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
        ends.of(sandbox.destroy()).await;
    }
    match marks {
        Some(marks) => creates.report_against(marks, "create, agent answers"),
        None => creates.report("create, agent answers"),
    }
    fresh.report("first output of python, fresh sandbox");
    ends.report("destroy");
    let sandbox = pool.acquire(&config).await.expect("a sandbox");
    let (mut commands, mut python) = (Times::default(), Times::default());
    for _ in 0..rounds {
        commands.of(sandbox.exec(ExecRequest::argv(["true"]))).await.expect("it runs");
        python.push(first_output(&sandbox, ExecRequest::code(Language::Python, "print()")).await);
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
