//! A server ends with the terminal that it was started in, unless SIGHUP is ignored.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::folder::{Folder, says};
use crate::server::PATIENCE;

/// A server that was started in a terminal of its own.
struct Session {
    child: Child,
    /// Dropping it closes the terminal.
    terminal: Option<OwnedFd>,
    log: PathBuf,
}

impl Session {
    /// `shell` runs the program, which is `$@`.
    fn start(folder: &Folder, shell: &str) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let log = folder.of("log");
        // Child processes inherit ignored signals, and a shell cannot reset them: `nohup make test`.
        let child = Command::new("env")
            .args([
                "--default-signal=HUP",
                "setsid",
                "--ctty",
                "sh",
                "-c",
                shell,
                "sh",
                env!("CARGO_BIN_EXE_hearth"),
                "serve",
            ])
            .arg(folder.of("apps"))
            .args(["--listen", "127.0.0.1:0", "--admin", "off", "--data"])
            .arg(folder.of("data"))
            .stdin(std::fs::File::options().read(true).write(true).open(name).unwrap())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .expect("this test needs env and setsid");
        let this = Self { child, terminal: Some(terminal), log };
        this.wait_log("Listening on");
        this
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    #[track_caller]
    fn wait_log(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.text().contains(text) {
            assert!(Instant::now() < deadline, "nothing in the log has {text:?}:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    /// The exit code.
    #[track_caller]
    fn wait(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "the server goes on:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_ends_with_its_terminal() {
    let folder = Folder::with("hangup", &[("apps/hello/index.js", &says("hello"))]);
    let mut session = Session::start(&folder, "exec \"$@\"");
    // While the terminal exists, SIGHUP means a reload.
    session.signal("-HUP");
    session.wait_log("configuration reloaded");
    session.terminal = None;
    assert_eq!(session.wait(), Some(0), "{}", session.text());
    assert!(session.text().contains("Stopping: requests in flight are finished first"), "{}", session.text());
}

#[test]
fn a_server_that_ignores_sighup_survives_its_terminal() {
    let folder = Folder::with("hangup-not", &[("apps/hello/index.js", &says("hello"))]);
    // Like nohup.
    let mut session = Session::start(&folder, "trap '' HUP; exec \"$@\"");
    session.terminal = None;
    session.wait_log("configuration reloaded");
    session.signal("-TERM");
    assert_eq!(session.wait(), Some(0), "{}", session.text());
}
