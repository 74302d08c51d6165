//! The real program, started for one test: an app of `tests/apps/` on a port of its own. Killed when dropped.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::client::{Client, Reply};

/// Nothing takes this long, however slow the machine: what does, hangs. An app that has been slow runs at a tenth of the
/// others' weight, and on a machine with much else to do half a second of CPU time may take a minute then.
pub const PATIENCE: Duration = Duration::from_secs(180);
/// A limit of time that nothing meets, not even what takes all of [`PATIENCE`]: the one that a test is about is met first.
pub const AMPLE: &str = "10m";

const BINARY: &str = env!("CARGO_BIN_EXE_hearth");
const READY: &str = "Listening on http://";
pub const TOKEN: &str = "the-tests-own-token";

pub struct Server {
    child: Child,
    address: String,
    log: Log,
    /// Goes with the server.
    _data: Option<Data>,
}

/// What a server keeps, in a folder.
struct Data {
    folder: PathBuf,
    kept: Kept,
}

#[derive(PartialEq, Eq)]
enum Kept {
    /// By the test that named the folder.
    Forever,
    WithTheServer,
}

/// What the program writes to standard error, as it comes.
#[derive(Clone, Default)]
struct Log(Arc<(Mutex<Written>, Condvar)>);

#[derive(Default)]
struct Written {
    text: String,
    ended: bool,
}

/// How a command ended that is not a server.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Starts `tests/apps/<case>/app.{ts,tsx,js}`.
pub fn serve(case: &str) -> Server {
    serve_with(case, &[])
}

/// The same with flags.
pub fn serve_with(case: &str, flags: &[&str]) -> Server {
    serve_file(&app(case), flags)
}

/// With one worker, so that all requests find the same module state.
pub fn serve_alone(case: &str) -> Server {
    serve_with(case, &["--workers", "1"])
}

pub fn serve_file(file: &Path, flags: &[&str]) -> Server {
    Server::start(&[&["run", file.to_str().unwrap()], flags].concat(), &[])
}

/// All apps of a folder.
pub fn serve_folder(folder: &Path, flags: &[&str]) -> Server {
    Server::start(&[&["serve", folder.to_str().unwrap()], flags].concat(), &[])
}

/// A command of the program that ends by itself.
pub fn run(arguments: &[&str]) -> Ended {
    let output = command().args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { status: output.status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The entry of an app.
pub fn app(case: &str) -> PathBuf {
    let folder = apps().join(case);
    let entries = ["app.ts", "app.tsx", "app.js"].map(|name| folder.join(name));
    entries.iter().find(|entry| entry.is_file()).unwrap_or_else(|| panic!("{} has no app", folder.display())).clone()
}

pub fn apps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/apps").canonicalize().unwrap()
}

/// A folder for one test, empty, below `target/`.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// An environment with a secret in it that no app may ever see.
pub fn command() -> Command {
    command_at(Path::new(BINARY))
}

/// Another name of the program, which a test can give to another file later.
pub fn program_at(path: &Path) -> Command {
    std::fs::hard_link(BINARY, path).or_else(|_| std::fs::copy(BINARY, path).map(drop)).unwrap();
    command_at(path)
}

fn command_at(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("RUST_LOG").env("HEARTH_TEST_SECRET", "not for apps");
    // Dozens of servers run at once: only tests that are about it have a process that waits.
    command.env("HEARTH_STANDBY", "0");
    command
}

// === impl Server ===

impl Server {
    /// Starts the program on ports of its own, and waits until it listens. What it keeps is gone with it, unless the
    /// arguments say where to keep it.
    pub fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::start_as(command(), arguments, environment)
    }

    /// The same of a program that is the tests' own.
    pub fn start_as(mut command: Command, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        command.args(arguments).args(["--listen", "127.0.0.1:0"]);
        let data = (arguments[0] == "serve").then(|| Data::new(arguments));
        if let Some(data) = &data {
            command.args(["--admin", "127.0.0.1:0", "--admin-token", TOKEN]);
            if data.kept == Kept::WithTheServer {
                command.arg("--data").arg(&data.folder);
            }
        }
        command.envs(environment.iter().copied());
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::default();
        let (lines, written) = (BufReader::new(child.stderr.take().unwrap()).lines(), log.clone());
        std::thread::spawn(move || written.fill(lines.map_while(Result::ok)));
        let mut server = Server { child, address: String::new(), log, _data: data };
        server.address = server.logged_address(READY);
        server
    }

    fn logged_address(&self, before: &str) -> String {
        let line = self.wait_log(before);
        line.split_once(before).unwrap().1.split_whitespace().next().unwrap().to_owned()
    }

    /// Where the admin API listens.
    pub fn admin(&self) -> String {
        self.logged_address("Admin API on http://")
    }

    /// `GET /admin/pool`
    pub fn report(&self) -> serde_json::Value {
        self.ask_json("GET", "/admin/pool", "")
    }

    /// The process that runs JavaScript: the newest cell, or the program itself where that is one process.
    pub fn cell(&self) -> u32 {
        let log = self.log();
        let id = log.lines().filter_map(|line| line.split_once(": cell started cell=")).next_back();
        id.map_or(self.child.id(), |(_, id)| id.split_whitespace().next().unwrap().parse().unwrap())
    }

    /// The program itself.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.cell())).unwrap().count()
    }

    /// Open file descriptors.
    pub fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.cell())).unwrap().count()
    }

    /// A request of the admin API, with the token.
    pub fn ask(&self, method: &str, path: &str, body: impl AsRef<[u8]>) -> Reply {
        let body = body.as_ref();
        let mut client = Client::connect(&self.admin());
        let (token, length) = (format!("Bearer {TOKEN}"), body.len().to_string());
        client.start(method, path, &[("authorization", &token), ("content-length", &length)]);
        client.send(body);
        client.reply()
    }

    /// The same, answered with JSON.
    #[track_caller]
    pub fn ask_json(&self, method: &str, path: &str, body: impl AsRef<[u8]>) -> serde_json::Value {
        let reply = self.ask(method, path, body);
        assert!(reply.status < 300, "{method} {path}: {} {}; the log:\n{}", reply.status, reply.text(), self.log());
        serde_json::from_slice(&reply.body).unwrap()
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.address)
    }

    pub fn get(&self, path: &str) -> Reply {
        self.connect().get(path)
    }

    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.connect().post(path, body)
    }

    /// Status 200 and this body.
    #[track_caller]
    pub fn expect(&self, path: &str, body: &str) {
        let reply = self.get(path);
        assert_eq!((reply.status, reply.text()), (200, body), "GET {path}; the log:\n{}", self.log());
    }

    pub fn log(&self) -> String {
        self.log.0.0.lock().unwrap().text.clone()
    }

    /// The first line of the log with `text` in it, when it is there.
    #[track_caller]
    pub fn wait_log(&self, text: &str) -> String {
        match self.log.wait(text) {
            Some(line) => line,
            None => panic!("nothing in the log has {text:?}:\n{}", self.log()),
        }
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.cell())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What Ctrl-C does.
    pub fn interrupt(&self) {
        self.signal("-INT");
    }

    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// The end of the program, and all that it wrote.
    #[track_caller]
    pub fn wait(&mut self) -> (ExitStatus, String) {
        // Its log ends with it.
        assert!(self.log.wait_end(), "the program goes on:\n{}", self.log());
        (self.child.wait().unwrap(), self.log())
    }
}

// === impl Data ===

impl Data {
    fn new(arguments: &[&str]) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        match arguments.iter().position(|argument| *argument == "--data") {
            Some(at) => Self { folder: arguments[at + 1].into(), kept: Kept::Forever },
            None => {
                let folder = scratch(&format!("data-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
                Self { folder, kept: Kept::WithTheServer }
            }
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        if self.kept == Kept::WithTheServer {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl Log ===

impl Log {
    fn fill(&self, lines: impl Iterator<Item = String>) {
        let (written, changed) = &*self.0;
        for line in lines {
            writeln!(written.lock().unwrap().text, "{line}").unwrap();
            changed.notify_all();
        }
        written.lock().unwrap().ended = true;
        changed.notify_all();
    }

    fn wait(&self, text: &str) -> Option<String> {
        let find = |log: &str| log.lines().find(|line| line.contains(text)).map(str::to_owned);
        self.wait_until(|written| find(&written.text).is_some() || written.ended);
        find(&self.0.0.lock().unwrap().text)
    }

    fn wait_end(&self) -> bool {
        self.wait_until(|written| written.ended);
        self.0.0.lock().unwrap().ended
    }

    fn wait_until(&self, done: impl Fn(&Written) -> bool) {
        let (written, changed) = &*self.0;
        let deadline = Instant::now() + PATIENCE;
        let mut written = written.lock().unwrap();
        while !done(&written) && Instant::now() < deadline {
            written = changed.wait_timeout(written, Duration::from_secs(1)).unwrap().0;
        }
    }
}
