//! The driver for Firecracker, whole, against a Firecracker that only plays (`fake.rs`): it holds to the published contract
//! strictly, and behind its vsock is Hearth's real agent. Guests of a real one need KVM, which machines that run tests seldom
//! have.
//!
//! This program is both: started as the driver starts Firecracker it plays it, else it runs the tests below, one after the
//! other. Words on the command line choose among them.
#![allow(clippy::unwrap_used)]

mod agents;
mod fake;
mod http;

use std::io::{BufRead, BufReader};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_sandbox::drivers::microvm::{MicroVm, Monitor};
use hearth_sandbox::drivers::process::SpawnerCommand;
use hearth_sandbox::{
    Driver, Drivers, ErrorCode, ExecRequest, Language, PoolConfig, SandboxConfig, SandboxPool, WriteFile,
};
use serde_json::{Value, json};

use self::agents::Agents;

/// So long a test waits for what happens soon on any machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Said to this program, before a folder: to be a server with one sandbox, until it is killed.
const HOLD: &str = "--hold";

type Test = fn(&tokio::runtime::Runtime);

const TESTS: &[(&str, Test)] = &[
    ("machines_boot_and_are_copied", |runtime| runtime.block_on(machines_boot_and_are_copied())),
    ("what_is_refused_is_told", |runtime| runtime.block_on(what_is_refused_is_told())),
    ("every_death_is_noticed", |runtime| runtime.block_on(every_death_is_noticed())),
    ("garbage_is_not_believed", |runtime| runtime.block_on(garbage_is_not_believed())),
    ("every_wait_has_a_deadline", |runtime| runtime.block_on(every_wait_has_a_deadline())),
    ("a_server_that_is_killed_leaves_nothing", |runtime| runtime.block_on(a_server_that_is_killed_leaves_nothing())),
    ("its_version_is_asked_for", |runtime| runtime.block_on(its_version_is_asked_for())),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--api-sock" || argument == "--version") {
        return fake::play(&arguments);
    }
    if let [_, hold, folder] = &arguments[..]
        && hold == HOLD
    {
        return serve(Path::new(folder));
    }
    let wanted: Vec<&String> = arguments.iter().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut failed = 0;
    for (name, test) in TESTS {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| test(&runtime)));
        println!("test {name} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
        failed += usize::from(outcome.is_err());
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A driver with its fake Firecracker, and the agents behind that.
struct Stage {
    folder: tempfile::TempDir,
    agents: Agents,
    pool: SandboxPool,
}

impl Stage {
    /// `script` says what the fake does wrong; an empty one: nothing.
    async fn new(script: Value, patience: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agents = files(folder.path(), &script);
        let pool = pool(folder.path(), patience).await;
        Self { folder, agents, pool }
    }

    /// Why no sandbox can be had.
    async fn refusal(&self) -> String {
        match self.pool.acquire(&SandboxConfig::default()).await {
            Ok(_) => panic!("there should be none"),
            Err(error) => error.to_string(),
        }
    }

    /// Nothing is left.
    async fn end(self) {
        let stats = self.pool.shutdown().await;
        assert_eq!((stats.created, stats.live), (stats.destroyed, 0));
        all_end(self.folder.path()).await;
        self.agents.end();
    }
}

fn driver(folder: &Path, patience: Duration) -> MicroVm {
    let spawner = SpawnerCommand { program: env!("CARGO_BIN_EXE_hearth-spawner").into(), arguments: Vec::new() };
    MicroVm::with(spawner, folder, Monitor::Firecracker, patience).unwrap()
}

async fn pool(folder: &Path, patience: Duration) -> SandboxPool {
    let driver: Arc<dyn Driver> = Arc::new(driver(folder, patience));
    let config =
        PoolConfig { min_size: 0, boot_timeout: 5 * TEST_TIMEOUT, ..PoolConfig::new(Drivers::new(driver, [])) };
    let pool = SandboxPool::new(config);
    pool.start().await.unwrap();
    pool
}

/// A server with one sandbox, until it is killed.
fn serve(folder: &Path) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let pool = pool(folder, TEST_TIMEOUT).await;
        let _sandbox = pool.acquire(&SandboxConfig::default()).await.unwrap();
        println!("ready");
        std::future::pending::<ExitCode>().await
    })
}

/// What `tools/drivers` makes, as far as the fake cares: the kernel is its script, modules are empty.
fn files(folder: &Path, script: &Value) -> Agents {
    use std::os::unix::fs::PermissionsExt;
    let open = |path: &Path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    open(folder);
    std::fs::write(folder.join("vmlinux"), script.to_string()).unwrap();
    for module in
        ["virtio_mmio.ko", "vsock.ko", "vmw_vsock_virtio_transport_common.ko", "vmw_vsock_virtio_transport.ko"]
    {
        std::fs::write(folder.join(module), b"").unwrap();
    }
    for name in ["root", "firecracker"] {
        std::fs::create_dir(folder.join(name)).unwrap();
        open(&folder.join(name));
    }
    let program = folder.join("firecracker/firecracker");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    open(&program);
    Agents::listen(&folder.join("firecracker/agents.sock"))
}

/// Boot, snapshot, restore, work, end: with every request checked on the other side.
async fn machines_boot_and_are_copied() {
    let stage = Stage::new(json!({}), TEST_TIMEOUT).await;
    let config = SandboxConfig::default();
    let (one, other) = tokio::join!(stage.pool.acquire(&config), stage.pool.acquire(&config));
    let (one, other) = (one.unwrap(), other.unwrap());
    let result = one.execute(Language::Sh, "echo out; echo err >&2; exit 3").await.unwrap();
    assert_eq!((result.exit_code, &result.stdout[..], &result.stderr[..]), (Some(3), &b"out\n"[..], &b"err\n"[..]));
    let late = ExecRequest { timeout: Some(Duration::from_millis(300)), ..ExecRequest::shell("sleep 1000") };
    assert!(other.exec(late).await.unwrap().timed_out);
    let path = stage.folder.path().join("file").to_str().unwrap().to_owned();
    let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n * 7) as u8).collect();
    one.write_file(WriteFile { path: path.clone(), content: bytes.clone().into(), mode: None }).await.unwrap();
    assert!(one.read_file(&path).await.unwrap() == bytes, "three megabytes go there and back over vsock");
    one.destroy().await;
    other.destroy().await;
    // With three processors: an even number.
    let three = stage.pool.acquire(&SandboxConfig::builder().cpus(3).build().unwrap()).await.unwrap();
    three.destroy().await;
    assert_eq!(stage.agents.count(), 2 + 3, "a template for each shape, and three copies");
    stage.end().await;
}

const REQUESTS: [&str; 7] = [
    "PUT /machine-config",
    "PUT /boot-source",
    "PUT /vsock",
    "PUT /actions",
    "PATCH /vm",
    "PUT /snapshot/create",
    "PUT /snapshot/load",
];

async fn what_is_refused_is_told() {
    for request in REQUESTS {
        let stage = Stage::new(json!({ "at": request, "do": "refuse" }), TEST_TIMEOUT).await;
        let why = stage.refusal().await;
        assert!(why.contains(&format!("Firecracker refused {request}: 400 not today")), "{request}: {why}");
        stage.end().await;
    }
}

async fn every_death_is_noticed() {
    for request in REQUESTS {
        let stage = Stage::new(json!({ "at": request, "do": "die" }), TEST_TIMEOUT).await;
        let why = stage.refusal().await;
        assert!(why.contains(&format!("ended or fell silent at {request}")), "{request}: {why}");
        assert!(why.contains("it said: dying of"), "its last words are passed on: {why}");
        stage.end().await;
    }
    let stage = Stage::new(json!({ "at": "start", "do": "die" }), TEST_TIMEOUT).await;
    let why = stage.refusal().await;
    assert!(why.contains("does not listen"), "{why}");
    stage.end().await;
    // And long after.
    let stage = Stage::new(json!({}), TEST_TIMEOUT).await;
    let sandbox = stage.pool.acquire(&SandboxConfig::default()).await.unwrap();
    let running = sandbox.exec(ExecRequest::shell("sleep 1000"));
    let killing = async {
        assert_eq!(agents::kill_monitors(&stage.folder.path().join("firecracker")), 1);
    };
    let (lost, ()) = tokio::join!(running, killing);
    assert_eq!(lost.unwrap_err().code(), ErrorCode::AgentLost);
    sandbox.destroy().await;
    stage.end().await;
}

async fn garbage_is_not_believed() {
    for request in REQUESTS {
        let stage = Stage::new(json!({ "at": request, "do": "garbage" }), TEST_TIMEOUT).await;
        let why = stage.refusal().await;
        assert!(why.contains(&format!("answered {request} with invalid HTTP")), "{request}: {why}");
        stage.end().await;
    }
    let stage = Stage::new(json!({ "at": "CONNECT", "do": "garbage" }), TEST_TIMEOUT).await;
    let why = stage.refusal().await;
    assert!(why.contains("and not OK"), "{why}");
    stage.end().await;
}

async fn every_wait_has_a_deadline() {
    for at in ["PUT /machine-config", "PUT /snapshot/load", "CONNECT"] {
        let stage = Stage::new(json!({ "at": at, "do": "hang" }), Duration::from_secs(3)).await;
        let why = stage.refusal().await;
        assert!(why.contains("did not answer") || why.contains("cannot be reached"), "{at}: {why}");
        stage.end().await;
    }
}

async fn all_end(folder: &Path) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while agents::monitors(&folder.join("firecracker")) > 0 {
        assert!(Instant::now() < deadline, "a monitor is left");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn a_server_that_is_killed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let agents = files(folder.path(), &json!({}));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(HOLD).arg(folder.path()).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut said = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n");
    assert_eq!(agents::monitors(&folder.path().join("firecracker")), 1);
    server.kill().unwrap();
    server.wait().unwrap();
    all_end(folder.path()).await;
    agents.end();
}

async fn its_version_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let agents = files(folder.path(), &json!({}));
    let driver = driver(folder.path(), TEST_TIMEOUT);
    let found = driver.probe().await.unwrap();
    assert!(found.summary.starts_with("Firecracker 1.12 with KVM, in a jail"), "{}", found.summary);
    std::fs::remove_file(folder.path().join("vsock.ko")).unwrap();
    let why = driver.probe().await.unwrap_err().to_string();
    assert!(why.contains("vsock.ko is missing") && why.contains("tools/drivers"), "{why}");
    driver.shutdown().await;
    agents.end();
}
