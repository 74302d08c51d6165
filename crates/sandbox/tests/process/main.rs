//! Process sandboxes for real: what runs in them, what they hold, and that nothing is left of them.
//!
//! | file | |
//! |---|---|
//! | `running.rs` | commands, languages, sessions, deadlines, output |
//! | `spares.rs` | interpreters that wait for a program |
//! | `typescript.rs` | TypeScript, whatever node there is |
//! | `kinds.rs` | images, networks and shares of processors |
//! | `packages.rs` | pip and npm, and what is kept for others |
//! | `isolation.rs` | what a program inside cannot reach, one test for each line of the threat model |
//! | `limits.rs` | what a program inside cannot use up |
//! | `termination.rs` | nothing is left of a sandbox |
#![allow(clippy::unwrap_used)]

mod isolation;
mod kinds;
mod limits;
mod packages;
mod running;
mod spares;
mod termination;
mod typescript;

use std::sync::Arc;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_sandbox::drivers::process::{Process, SpawnerCommand};
use hearth_sandbox::{
    Driver, Drivers, ExecRequest, ExecResult, PoolConfig, Sandbox, SandboxConfig, SandboxPool, WriteFile,
};

/// Timeout for what happens soon on any machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

fn driver() -> Arc<Process> {
    let program = env!("CARGO_BIN_EXE_hearth-spawner").into();
    Arc::new(Process::new(SpawnerCommand { program, arguments: Vec::new() }).with_disks(disks()))
}

/// A folder of this user's, in which nothing stays.
fn disks() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("disks")
}

/// A pool that keeps nothing ready. Fails, and says why, where there can be no sandboxes: they are not tested otherwise.
async fn pool() -> SandboxPool {
    let driver = driver();
    driver.probe().await.expect("these tests need user namespaces");
    let pool = SandboxPool::new(pool_config(driver));
    pool.start().await.unwrap();
    pool
}

fn pool_config(driver: Arc<Process>) -> PoolConfig {
    PoolConfig { min_size: 0, ..PoolConfig::new(Drivers::new(driver, [])) }
}

async fn sandbox(pool: &SandboxPool) -> Sandbox {
    pool.acquire(&SandboxConfig::default()).await.unwrap()
}

async fn sandbox_with_memory(pool: &SandboxPool, memory: ByteSize) -> Sandbox {
    let config = SandboxConfig::builder().memory(memory).build().unwrap();
    pool.acquire(&config).await.unwrap()
}

async fn sh(sandbox: &Sandbox, line: &str) -> ExecResult {
    sandbox.exec(ExecRequest::shell(line)).await.unwrap()
}

fn file(path: &str, content: impl Into<bytes::Bytes>) -> WriteFile {
    WriteFile { path: path.to_owned(), content: content.into(), mode: None }
}

fn out(result: &ExecResult) -> String {
    String::from_utf8_lossy(&result.stdout).into_owned()
}
