//! The program with nothing added to what a test says, and both of its outputs in files. Killed when dropped.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::server::{PATIENCE, scratch};

pub struct Program {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Program {
    /// `name` is that of the test.
    pub fn start(name: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        command.args(arguments);
        Self::spawn(name, command)
    }

    /// A command that becomes the program.
    pub fn spawn(name: &str, mut command: Command) -> Self {
        let folder = scratch(&format!("{name}-output"));
        let (out, err) = (folder.join("out"), folder.join("err"));
        let file = |path| Stdio::from(std::fs::File::create(path).unwrap());
        command.env_remove("RUST_LOG").stdin(Stdio::null());
        let child = command.stdout(file(&out)).stderr(file(&err)).spawn().unwrap();
        Self { child, out, err }
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.err).unwrap()
    }

    /// What it wrote to standard output.
    pub fn output(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap()
    }

    /// A line of the log with `text` in it, and with its end.
    #[track_caller]
    pub fn wait_log(&self, text: &str) -> String {
        wait_line(text, || self.log())
    }

    #[track_caller]
    pub fn wait_output(&self, text: &str) -> String {
        wait_line(text, || self.output())
    }

    /// The address that follows `before` in the log.
    #[track_caller]
    pub fn address(&self, before: &str) -> String {
        let line = self.wait_log(before);
        let rest = line.split_once(before).unwrap().1;
        rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
    }

    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the program goes on:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[track_caller]
fn wait_line(text: &str, read: impl Fn() -> String) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let all = read();
        let whole = all.rsplit_once('\n').map_or("", |(lines, _)| lines);
        if let Some(line) = whole.lines().find(|line| line.contains(text)) {
            return line.to_owned();
        }
        assert!(Instant::now() < deadline, "nothing has {text:?}:\n{all}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(folder) = self.out.parent() {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
