//! The stronger drivers, for real: gVisor and QEMU, with what `tools/drivers` made. Who lacks that is told so, not let pass.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_sandbox::drivers::gvisor::GVisor;
use hearth_sandbox::drivers::microvm::MicroVm;
use hearth_sandbox::{
    Driver, Drivers, ErrorCode, ExecRequest, Language, PoolConfig, Sandbox, SandboxConfig, SandboxPool, WriteFile,
};

/// Where `make test` has `tools/drivers` put it.
fn made(what: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/drivers").join(what);
    assert!(path.exists(), "{} is missing: run tools/drivers", path.display());
    path
}

fn pool(driver: Arc<dyn Driver>) -> SandboxPool {
    let config = PoolConfig::new(Drivers::new(driver, []));
    // An emulated guest on a busy machine takes its time.
    SandboxPool::new(PoolConfig { min_size: 0, boot_timeout: Duration::from_secs(300), ..config })
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

async fn sh(sandbox: &Sandbox, line: &str) -> String {
    let result = sandbox.execute(Language::Sh, line.to_owned()).await.unwrap();
    text(&result.stdout).to_owned() + text(&result.stderr)
}

/// What holds whatever a sandbox is made of.
async fn behaves(pool: &SandboxPool) {
    let config = SandboxConfig::default();
    let (one, other) = (pool.acquire(&config).await.unwrap(), pool.acquire(&config).await.unwrap());
    let python = one.execute(Language::Python, "print(6 * 7)").await.unwrap();
    assert_eq!((python.exit_code, text(&python.stdout)), (Some(0), "42\n"));
    let failed = one.execute(Language::Sh, "echo no >&2; exit 42").await.unwrap();
    assert_eq!((failed.exit_code, text(&failed.stderr)), (Some(42), "no\n"));
    let bytes: Vec<u8> = (0..1_000_000u32).map(|n| (n * 7) as u8).collect();
    let file = WriteFile { path: "/work/deep/file".to_owned(), content: Bytes::from(bytes.clone()), mode: None };
    one.write_file(file).await.unwrap();
    assert!(one.read_file("/work/deep/file").await.unwrap() == bytes, "binary files survive");
    let missing = other.read_file("/work/deep/file").await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound, "a sandbox sees nothing of another");
    let late = ExecRequest { timeout: Some(Duration::from_millis(300)), ..ExecRequest::shell("sleep 1000") };
    assert!(one.exec(late).await.unwrap().timed_out);
    assert_eq!(sh(&one, "echo next").await, "next\n", "the next call gets its own output");
    let processes = sh(&one, "ls /proc | grep -c '^[0-9]'").await;
    assert!(processes.trim().parse::<u32>().unwrap() < 200, "only its own processes: {processes}");
    let network = one.execute(Language::Python, "import socket\nsocket.create_connection(('1.1.1.1', 53), 5)").await;
    assert_ne!(network.unwrap().exit_code, Some(0), "there is no network");
    let random = "import os, random\nprint(os.urandom(16).hex(), random.random())";
    let (here, there) = (one.execute(Language::Python, random).await, other.execute(Language::Python, random).await);
    assert_ne!(here.unwrap().stdout, there.unwrap().stdout, "no two have the same random numbers");
    one.destroy().await;
    other.destroy().await;
}

fn processes_with(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let command = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
    all.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .map(command)
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_in_go() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Arc::new(GVisor::with(Some(made("gvisor/runsc")), folder.path()));
    driver.probe().await.unwrap();
    let pool = pool(driver);
    pool.start().await.unwrap();
    behaves(&pool).await;
    let sandbox = pool.acquire(&SandboxConfig::default()).await.unwrap();
    assert_eq!(sh(&sandbox, "uname -r").await, "4.4.0\n", "not the machine's own kernel");
    assert!(sh(&sandbox, "echo x > /usr/x").await.contains("Read-only"), "the machine's files cannot be changed");
    assert_eq!(sh(&sandbox, "ls /root /home /etc/shadow 2>/dev/null").await, "", "nor those of its users be seen");
    let mark = folder.path().to_str().unwrap().to_owned();
    assert!(processes_with(&mark) > 0);
    sandbox.destroy().await;
    let stats = pool.shutdown().await;
    assert_eq!((stats.created, stats.destroyed, stats.live), (3, 3, 0));
    assert_eq!(processes_with(&mark), 0, "nothing runs on");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_its_own() {
    let driver = Arc::new(MicroVm::new(&made("microvm")));
    driver.probe().await.unwrap();
    let pool = pool(driver);
    pool.start().await.unwrap();
    behaves(&pool).await;
    let sandbox = pool.acquire(&SandboxConfig::default()).await.unwrap();
    assert!(sh(&sandbox, "uname -r").await.contains("cloud"), "a kernel of its own");
    let clock = sh(&sandbox, "date +%s").await.trim().parse::<u64>().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(now.abs_diff(clock) < 600, "its clock is set: {clock}, and it is {now}");
    sandbox.destroy().await;
    let stats = pool.shutdown().await;
    assert_eq!((stats.created, stats.destroyed, stats.live), (3, 3, 0));
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let why = GVisor::with(None, folder.path()).probe().await.unwrap_err().to_string();
    assert!(why.contains("install gVisor"), "{why}");
    let why = MicroVm::new(folder.path()).probe().await.unwrap_err().to_string();
    assert!(why.contains("tools/drivers") || why.contains("qemu-system-x86"), "{why}");
}
