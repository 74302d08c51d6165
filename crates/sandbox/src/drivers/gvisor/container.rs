//! One sandbox, as `runsc` knows it: a name, a bundle, processes that `runsc` starts for it, and the groups that hold them all.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_core::ByteSize;
use hearth_jail::sandbox::SandboxSpec;
use hearth_jail::sandbox::cgroup::SandboxCgroups;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::bundle;
use crate::driver::{BoxFuture, DestroyError, Image, Instance, Usage};
use crate::drivers::removal::remove_tree;

/// Becomes `runsc` when it is told so, which is when it is in its control groups: what it starts is then, too. The agent's
/// connection is its output until then, because its input is what it waits for. Its complaints go nowhere, and what it prints
/// from then on goes where they go: opening a file for that would make one, were the device not there.
const GATE: &str = r#"read -r _ && exec "$0" "$@" <&1 >&2"#;

/// For a process that was killed to be gone.
const KILL_TIMEOUT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

#[derive(Clone)]
pub(super) struct Container {
    pub(super) runsc: PathBuf,
    pub(super) own: PathBuf,
    pub(super) name: String,
}

/// What a sandbox begins with.
pub(super) enum Beginning<'a> {
    Anew,
    /// What was written to that folder.
    Copy {
        of: &'a Path,
    },
}

/// Dropping it ends it, too.
pub(super) struct Running {
    child: Mutex<Option<Child>>,
    container: Container,
    groups: SandboxCgroups,
}

impl Container {
    pub(super) fn start(
        self,
        image: &Image,
        plan: &SandboxSpec,
        groups: SandboxCgroups,
        beginning: &Beginning<'_>,
    ) -> io::Result<(Running, UnixStream)> {
        bundle::write(&self.own, &self.bundle(), image, plan)?;
        let (ours, theirs) = UnixStream::pair()?;
        let (mut gate, waits) = UnixStream::pair()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GATE]).arg(&self.runsc).args(self.options());
        match beginning {
            Beginning::Anew => command.arg("run"),
            Beginning::Copy { of } => command.arg("restore").arg("--image-path").arg(of),
        };
        command.arg("--bundle").arg(self.bundle()).arg(&self.name).env_clear();
        command.stdin(OwnedFd::from(waits)).stdout(OwnedFd::from(theirs)).stderr(Stdio::null());
        let child = command.spawn();
        // It holds the other sides of our sockets.
        drop(command);
        let running = Running { child: Mutex::new(Some(child?)), container: self, groups };
        running.groups.make(plan)?;
        running.lock().as_ref().map_or(Ok(()), |child| running.groups.add_process(child.id()))?;
        gate.write_all(b"go\n")?;
        Ok((running, ours))
    }

    fn bundle(&self) -> PathBuf {
        self.own.join("bundles").join(&self.name)
    }

    /// What is said to `runsc` before what it is to do.
    fn options(&self) -> Vec<std::ffi::OsString> {
        let fixed = ["--network=none", "--ignore-cgroups", "--platform=systrap", "--host-uds=none"];
        let mut options = vec!["--root".into(), self.own.join("state").into_os_string()];
        options.extend(fixed.map(Into::into));
        options
    }

    /// Has `runsc` do something that ends soon.
    fn ask(&self, words: &[&str], files: &[&Path]) -> io::Result<()> {
        let mut command = Command::new(&self.runsc);
        command.env_clear().args(self.options()).args(words).args(files).arg(&self.name).stdin(Stdio::null());
        let done = command.output()?;
        match done.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned())),
        }
    }

    /// Ends what a server that is no more has left, whatever state it is in.
    pub(super) fn delete(&self) -> io::Result<()> {
        let deleted = self.ask(&["delete", "--force"], &[]);
        self.forget();
        deleted
    }

    /// Removes what is kept of it.
    fn forget(&self) {
        // There may be none.
        let _ = remove_tree(&self.bundle());
        for file in fs::read_dir(self.own.join("state")).into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().starts_with(&self.name) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

impl Running {
    /// Writes all that it is to that folder, and ends it. Uncompressed: reading it back is what counts.
    pub(super) fn checkpoint(self, to: &Path) -> io::Result<()> {
        self.container.ask(&["checkpoint", "--compression=none", "--image-path"], &[to])?;
        let child = self.lock().take();
        child.map_or(Ok(()), |child| end(child, &self.container, &self.groups))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Child>> {
        // Nothing that can panic runs under this lock.
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Instance for Running {
    fn is_alive(&self) -> bool {
        self.lock().as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    fn usage(&self) -> Usage {
        let used = self.groups.usage();
        let memory = used.memory.map(|bytes| ByteSize::kb(bytes >> 10));
        // Threads of the kernel in Go are no processes of the sandbox's.
        Usage { memory, processes: None, cpu: used.cpu }
    }

    fn destroy(&self) -> BoxFuture<'_, Result<(), DestroyError>> {
        let child = self.lock().take();
        let (container, groups) = (self.container.clone(), self.groups.clone());
        Box::pin(async move {
            let Some(child) = child else { return Ok(()) };
            let ended = tokio::task::spawn_blocking(move || end(child, &container, &groups)).await;
            let wrong = |reason: String| DestroyError { reason };
            ended.map_err(|error| wrong(error.to_string()))?.map_err(|error| wrong(error.to_string()))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = self.lock().take() {
            let (container, groups) = (self.container.clone(), self.groups.clone());
            // Takes its time, and who drops it has none. What goes wrong is swept by the next server.
            std::thread::spawn(move || end(child, &container, &groups));
        }
    }
}

/// Kills all of it: `runsc` itself can take many seconds over it.
fn end(mut child: Child, container: &Container, groups: &SandboxCgroups) -> io::Result<()> {
    let family = descendants(child.id());
    let family = family.into_iter().filter_map(|pid| Pid::from_raw(pid as i32));
    // A descriptor is of that process, also when its number is another's by now.
    let family: Vec<OwnedFd> = family.filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).collect();
    // Those that have ended already need not be killed.
    let _ = child.kill();
    for process in &family {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
    for process in &family {
        let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&KILL_TIMEOUT));
    }
    child.wait()?;
    container.forget();
    groups.remove();
    Ok(())
}

/// The processes below this one, children before their own.
fn descendants(of: u32) -> Vec<u32> {
    let mut found = vec![of];
    let mut at = 0;
    while at < found.len() {
        let children = format!("/proc/{0}/task/{0}/children", found[at]);
        let children = fs::read_to_string(children).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        at += 1;
    }
    found.split_off(1)
}
