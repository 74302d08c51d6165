//! Real agents, one for each connection that a fake Firecracker makes. They run beside the test, as it does: what the monitor
//! cannot do between its walls, which is to start a program, is done for it.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

pub struct Agents {
    started: Arc<Mutex<Vec<Child>>>,
}

impl Agents {
    /// Until the test program ends.
    pub fn listen(at: &Path) -> Self {
        let program = at.with_extension("agent");
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&program).unwrap();
        file.write_all(hearth_sandbox_guest_binaries::AGENT).unwrap();
        drop(file);
        let listener = UnixListener::bind(at).unwrap();
        // The connecting user exists only in the user namespace.
        fs::set_permissions(at, PermissionsExt::from_mode(0o777)).unwrap();
        let started = Arc::new(Mutex::new(Vec::new()));
        let all = started.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let mut command = Command::new(&program);
                command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/tmp").current_dir("/tmp");
                command.stdin(OwnedFd::from(connection)).stdout(Stdio::null()).stderr(Stdio::null());
                all.lock().unwrap().push(command.spawn().unwrap());
            }
        });
        Self { started }
    }

    pub fn count(&self) -> usize {
        self.started.lock().unwrap().len()
    }

    /// Each ends with its connection, and that with the monitor.
    pub fn end(self) {
        for agent in self.started.lock().unwrap().iter_mut() {
            agent.wait().unwrap();
        }
    }
}

/// Fakes that run, of that folder.
pub fn monitors(folder: &Path) -> usize {
    running(folder).len()
}

pub fn kill_monitors(folder: &Path) -> usize {
    let all = running(folder);
    for pid in &all {
        let pid = rustix::process::Pid::from_raw(*pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    all.len()
}

fn running(folder: &Path) -> Vec<i32> {
    let program: PathBuf = folder.canonicalize().unwrap().join("firecracker");
    let mark = format!("{}\0--api-sock", program.display());
    let all = fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_string_lossy().parse::<i32>().ok());
    let is_ours = |pid: &i32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).starts_with(&mark)
    };
    pids.filter(is_ours).collect()
}
