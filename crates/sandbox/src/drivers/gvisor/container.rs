//! One container of `runsc`: a name, a bundle, processes that `runsc` starts for it, and the
//! control groups that hold them all.

use std::fs;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_core::ByteSize;
use hearth_sandbox_spawner::SandboxSpec;
use hearth_sandbox_spawner::cgroup::SandboxCgroups;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::bundle;
use crate::driver::{BoxFuture, DestroyError, Instance, RootImage, Usage};
use crate::drivers::removal::remove_tree;

/// A shell that becomes `runsc` when it reads a line, which is sent once it is in its control
/// groups: then all that it starts is in them, too. Until then its output is the agent's
/// connection, since its input is the pipe it reads from. Its stderr is /dev/null, and what `runsc`
/// prints goes there, too: opening /dev/null by name would create a file where the device is
/// missing.
const GATE: &str = r#"read -r _ && exec "$0" "$@" <&1 >&2"#;

/// For a killed process to be gone.
const KILL_TIMEOUT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

#[derive(Clone)]
pub(super) struct Container {
    pub(super) runsc: PathBuf,
    pub(super) own: PathBuf,
    pub(super) name: String,
}

/// What a sandbox starts from.
pub(super) enum StartFrom<'a> {
    Scratch,
    /// A checkpoint in that folder.
    Checkpoint {
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
        image: &RootImage,
        plan: &SandboxSpec,
        groups: SandboxCgroups,
        start_from: &StartFrom<'_>,
    ) -> io::Result<(Running, UnixStream)> {
        bundle::write(&self.own, &self.bundle(), image, plan)?;
        let (ours, theirs) = UnixStream::pair()?;
        let (mut gate, waits) = UnixStream::pair()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GATE]).arg(&self.runsc).args(self.options());
        match start_from {
            StartFrom::Scratch => command.arg("run"),
            StartFrom::Checkpoint { of } => command.arg("restore").arg("--image-path").arg(of),
        };
        command.arg("--bundle").arg(self.bundle()).arg(&self.name).env_clear();
        command.stdin(OwnedFd::from(waits)).stdout(OwnedFd::from(theirs)).stderr(Stdio::null());
        let child = command.spawn();
        // The command holds the other ends of the sockets.
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

    /// The options of `runsc` before its subcommand.
    fn options(&self) -> Vec<std::ffi::OsString> {
        let fixed = ["--network=none", "--ignore-cgroups", "--platform=systrap", "--host-uds=none"];
        let mut options = vec!["--root".into(), self.own.join("state").into_os_string()];
        options.extend(fixed.map(Into::into));
        options
    }

    /// Runs a subcommand of `runsc` that ends soon.
    fn ask(&self, words: &[&str], files: &[&Path]) -> io::Result<()> {
        let mut command = Command::new(&self.runsc);
        command.env_clear().args(self.options()).args(words).args(files).arg(&self.name).stdin(Stdio::null());
        let done = command.output()?;
        match done.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned())),
        }
    }

    /// Deletes a container of a server that has ended, in whatever state it is.
    pub(super) fn delete(&self) -> io::Result<()> {
        let deleted = self.ask(&["delete", "--force"], &[]);
        self.remove_files();
        deleted
    }

    /// Removes its files.
    fn remove_files(&self) {
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
    /// Writes a checkpoint to that folder, and ends it. Uncompressed: reading it back must be fast.
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
        // The threads of gVisor's kernel are not processes of the sandbox.
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
            // Blocks, which dropping must not. What fails here is swept by the next server.
            std::thread::spawn(move || end(child, &container, &groups));
        }
    }
}

/// Kills all of it: `runsc` itself can take many seconds to do so.
fn end(mut child: Child, container: &Container, groups: &SandboxCgroups) -> io::Result<()> {
    let family = descendants(child.id());
    let family = family.into_iter().filter_map(|pid| Pid::from_raw(pid as i32));
    // A pidfd refers to that process even if its number is reused.
    let family: Vec<OwnedFd> = family.filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()).collect();
    // Fails where it has ended already.
    let _ = child.kill();
    for process in &family {
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
    for process in &family {
        let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&KILL_TIMEOUT));
    }
    child.wait()?;
    container.remove_files();
    groups.remove();
    Ok(())
}

/// The descendants of a process, parents first.
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
