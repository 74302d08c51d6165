//! The stronger drivers, for real: gVisor and QEMU, with what `tools/drivers` made. Missing
//! programs are a failure, not a skipped test.
#![allow(clippy::unwrap_used)]

#[path = "strong/languages.rs"]
mod languages;
#[path = "strong/network.rs"]
mod network;
#[path = "strong/outside.rs"]
mod outside;
mod registry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::ByteSize;
use hearth_egress::EgressPolicy;
use hearth_sandbox::drivers::gvisor::GVisor;
use hearth_sandbox::drivers::microvm::{MicroVm, Monitor};
use hearth_sandbox::drivers::process::SpawnerCommand;
use hearth_sandbox::{
    Driver, Drivers, ErrorCode, ExecRequest, ImageName, Language, NetworkPolicy, PoolConfig, Sandbox, SandboxConfig,
    SandboxPool, WriteFile,
};

use self::registry::{Dns, Registry};

/// Where `make test` has `tools/drivers` put it.
fn made(what: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/drivers").join(what);
    assert!(path.exists(), "{} is missing: run tools/drivers", path.display());
    path
}

fn spawner() -> SpawnerCommand {
    SpawnerCommand { program: env!("CARGO_BIN_EXE_hearth-spawner").into(), arguments: Vec::new() }
}

fn pool_config(driver: Arc<dyn Driver>) -> PoolConfig {
    let config = PoolConfig::new(Drivers::new(driver, []));
    // An emulated guest on a busy machine takes its time.
    PoolConfig { min_size: 0, boot_timeout: Duration::from_secs(300), ..config }
}

fn pool(driver: Arc<dyn Driver>) -> SandboxPool {
    SandboxPool::new(pool_config(driver))
}

/// Machines are inspected from outside while there is exactly one: tests that make one wait for the
/// others.
static MACHINES: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

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
    let random = "import os, random\nprint(random.random())\nprint(os.urandom(16).hex())";
    let (here, there) = (one.execute(Language::Python, random).await, other.execute(Language::Python, random).await);
    let (here, there) = (here.unwrap().stdout, there.unwrap().stdout);
    let pairs: Vec<_> = text(&here).lines().zip(text(&there).lines()).collect();
    assert_eq!(pairs.len(), 2);
    assert!(pairs.iter().all(|(here, there)| here != there), "no two have the same random numbers: {pairs:?}");
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
    let templates = std::fs::read_dir(folder.path().join(std::process::id().to_string()).join("templates")).unwrap();
    let images: Vec<_> = templates.map(|template| template.unwrap().path().join("checkpoint.img").exists()).collect();
    assert_eq!(images, [true], "all were copies of one");
    let mark = folder.path().to_str().unwrap().to_owned();
    assert!(processes_with(&mark) > 0);
    // Without control groups it cannot be told.
    if sandbox.usage().memory.is_some() {
        outside::are_held_together(&mark, &format!("gvisor-{}", sandbox.id()));
    }
    sandbox.destroy().await;
    let stats = pool.shutdown().await;
    assert_eq!((stats.created, stats.destroyed, stats.live), (3, 3, 0));
    assert_eq!(processes_with(&mark), 0, "nothing runs on");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_of_its_own() {
    let _alone = MACHINES.lock().await;
    let driver = Arc::new(MicroVm::new(spawner(), &made("microvm")));
    let found = driver.probe().await.unwrap();
    assert!(found.summary.contains("in a jail"), "{}", found.summary);
    let pool = pool(driver);
    pool.start().await.unwrap();
    behaves(&pool).await;
    let sandbox = pool.acquire(&SandboxConfig::default()).await.unwrap();
    assert!(sh(&sandbox, "uname -r").await.contains("cloud"), "a kernel of its own");
    let clock = sh(&sandbox, "date +%s").await.trim().parse::<u64>().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    assert!(now.abs_diff(clock) < 600, "its clock is set: {clock}, and it is {now}");
    let monitor = outside::monitor("hearth-microvm");
    outside::has_no_rights(monitor);
    outside::has_namespaces_of_its_own(monitor);
    outside::sees_few_files(monitor, &made("microvm/qemu").canonicalize().unwrap());
    outside::holds_nothing_of_the_machines(monitor);
    eats(&sandbox, monitor).await;
    sandbox.destroy().await;
    let stats = pool.shutdown().await;
    assert_eq!((stats.created, stats.destroyed, stats.live), (3, 3, 0));
    assert!(!outside::is_alive(monitor), "nothing runs on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kernel_in_go_runs_every_language_and_reaches_listed_hosts() {
    let (folder, made_here, kept) = (tempfile::tempdir(), tempfile::tempdir(), tempfile::tempdir());
    let (folder, made_here, kept) = (folder.unwrap(), made_here.unwrap(), kept.unwrap());
    let registry = Registry::start(made_here.path());
    let driver = Arc::new(GVisor::with(Some(made("gvisor/runsc")), folder.path()));
    let pool = SandboxPool::new(registry.supplies(pool_config(driver), kept.path()));
    pool.start().await.unwrap();
    let config = SandboxConfig::default();
    network::leads_to_listed_hosts_only(&pool, &config, network::server()).await;
    let sandbox = network::with_hosts(&pool, config, &[&format!("registry.test:{}", registry.port)]).await;
    languages::all_run(&sandbox).await;
    let install = "pip install --user --no-input hearth-greeting >/tmp/pip 2>&1 || cat /tmp/pip; \
                   npm install --no-fund @hearth/greeting >/tmp/npm 2>&1 || cat /tmp/npm ~/.npm/_logs/*; \
                   python3 -c 'import hearth_greeting; print(hearth_greeting.hello)'; \
                   node -e \"console.log(require('@hearth/greeting'))\"";
    let request = ExecRequest { timeout: Some(Duration::from_secs(600)), ..ExecRequest::shell(install) };
    let installed = sandbox.exec(request).await.unwrap();
    assert_eq!(text(&installed.stdout), "from the wheel\nfrom the tarball\n", "{}", text(&installed.stderr));
    assert_eq!((registry.asked(".whl"), registry.asked(".tgz")), (1, 1));
    sandbox.destroy().await;
    assert_eq!(pool.shutdown().await.live, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_runs_every_language_that_its_image_has_and_reaches_listed_hosts() {
    let _alone = MACHINES.lock().await;
    let image = tempfile::tempdir().unwrap();
    add_node(image.path());
    let name = ImageName::new("node").unwrap();
    let driver = Arc::new(MicroVm::new(spawner(), &made("microvm")));
    let pool = SandboxPool::new(PoolConfig {
        images: BTreeMap::from([(name.clone(), image.path().to_owned())]),
        dns: Arc::new(Dns),
        egress: EgressPolicy::all(),
        ..pool_config(driver)
    });
    pool.start().await.unwrap();
    // Its files are in its memory.
    let config = SandboxConfig { image: name, memory: ByteSize::mb(1024), ..SandboxConfig::default() };
    network::leads_to_listed_hosts_only(&pool, &config, network::server()).await;
    let sandbox = pool.acquire(&config).await.unwrap();
    languages::all_run(&sandbox).await;
    let trusted = "import ssl\nprint(len(ssl.create_default_context().get_ca_certs()) > 0)";
    // Some machines have no certificates.
    if Path::new("/etc/ssl/certs/ca-certificates.crt").exists() {
        assert_eq!(text(&sandbox.execute(Language::Python, trusted).await.unwrap().stdout), "True\n");
    }
    let full = SandboxConfig { network: NetworkPolicy::Full, ..config };
    let denied = pool.acquire(&full).await.err().unwrap();
    assert_eq!(denied.code(), ErrorCode::Denied, "{denied}");
    sandbox.destroy().await;
    assert_eq!(pool.shutdown().await.live, 0);
}

/// The guest's usual files, and this machine's node with the libraries that it needs.
fn add_node(to: &Path) {
    let script = r#"set -e
cp -a "$0/." "$1/"
node=$(readlink -f "$(PATH=/usr/local/bin:/usr/bin command -v node)")
cp "$node" "$1/usr/bin/node"
ldd "$node" | awk '$3 ~ "^/" { print $3 }' | while read -r library; do
  [ -e "$1$library" ] || cp -L "$library" "$1/usr/lib/x86_64-linux-gnu/"
done"#;
    let done = Command::new("bash").args(["-c", script]).arg(made("microvm/root")).arg(to).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A guest that takes all it can get takes no more of the machine than it was given.
async fn eats(sandbox: &Sandbox, monitor: u32) {
    const GUEST: u64 = 512 << 20;
    const MONITOR: u64 = 256 << 20;
    let much = sandbox.execute(Language::Python, "b = bytearray(b'x') * (300 << 20)\nprint(len(b))").await.unwrap();
    assert_eq!(text(&much.stdout), "314572800\n");
    // Without control groups it cannot be told.
    if let Some(memory) = sandbox.usage().memory {
        assert!(memory.bytes() <= GUEST + MONITOR, "{memory:?}");
        assert_eq!(outside::memory_limit(monitor), GUEST + MONITOR);
    }
    let too_much = sandbox.execute(Language::Python, "b = bytearray(b'x') * (2 << 30)\nprint('got it')").await.unwrap();
    assert_ne!(text(&too_much.stdout), "got it\n", "a guest has the memory that it was given");
    let (before, began) = (outside::cpu_time(monitor), std::time::Instant::now());
    let spin = "for i in 1 2 3 4; do (while :; do :; done) & done; sleep 2; kill $(jobs -p)";
    sandbox.execute(Language::Bash, spin).await.unwrap();
    let (used, passed) = (outside::cpu_time(monitor) - before, began.elapsed());
    // One processor, a quarter for the monitor, and what a period may carry over.
    let is_within = used <= passed.mul_f64(1.25) + Duration::from_millis(250);
    assert!(is_within || !outside::is_held(monitor, "cpu"), "{used:?} in {passed:?}");
    assert_eq!(sh(sandbox, "echo alive").await, "alive\n");
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let why = GVisor::with(None, folder.path()).probe().await.unwrap_err().to_string();
    assert!(why.contains("install gVisor"), "{why}");
    let why = MicroVm::new(spawner(), folder.path()).probe().await.unwrap_err().to_string();
    assert!(why.contains("tools/drivers") || why.contains("qemu-system-x86"), "{why}");
    let none = MicroVm::with(spawner(), folder.path(), Monitor::Firecracker, Duration::from_secs(60));
    assert!(
        none.is_none()
            || Path::new("/usr/bin/firecracker").exists()
            || Path::new("/usr/local/bin/firecracker").exists()
    );
}
