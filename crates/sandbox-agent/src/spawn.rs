//! Starts processes. Each leads a session of its own, has exactly the descriptors that it is given,
//! and no blocked or ignored signals. The agent changes its own working directory for a moment to
//! start a process elsewhere: it has one thread, and resolves no relative path in between.
//!
//! Processes get the batch policy, so that they do not preempt a running process when they wake up,
//! above all the agent. Otherwise the kernel would give the agent's core to the process that it has
//! just written to; the agent would then be runnable instead of sleeping, so that no event wakes it
//! when that process prints, and output would wait until the process sleeps or the kernel's clock
//! ticks: milliseconds, even beside an idle core.

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::path::Path;

use hearth_sys::sched::set_batch;
use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::signal::SigSet;
use nix::unistd::{Pid, chdir};

/// A program and everything that it is started with.
pub struct Program<'a> {
    /// The first is searched in `PATH` of `env`, unless it has a slash.
    pub argv: &'a [String],
    pub env: &'a [(String, String)],
    pub cwd: &'a str,
    /// Descriptor 0, 1, 2 and perhaps 3.
    pub fds: &'a [BorrowedFd<'a>],
}

/// Why no process was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotSpawned {
    /// The working directory.
    Folder(Errno),
    /// The program does not exist.
    NotFound,
    Program(Errno),
    /// A zero byte in an argument, a variable or a name.
    Zero,
}

impl Program<'_> {
    pub fn spawn(&self) -> Result<Pid, NotSpawned> {
        let text = |text: &str| CString::new(text).map_err(|_| NotSpawned::Zero);
        let argv = self.argv.iter().map(|argument| text(argument)).collect::<Result<Vec<_>, _>>()?;
        let env =
            self.env.iter().map(|(name, value)| text(&format!("{name}={value}"))).collect::<Result<Vec<_>, _>>()?;
        let fds: Vec<RawFd> = self.fds.iter().map(AsRawFd::as_raw_fd).collect();
        chdir(Path::new(self.cwd)).map_err(NotSpawned::Folder)?;
        let spawned = self.found().and_then(|path| {
            start(&text(&path)?, &fds, &argv, &env).map_err(|error| match error {
                Errno::ENOENT => NotSpawned::NotFound,
                error => NotSpawned::Program(error),
            })
        });
        // The root always exists.
        let _ = chdir("/");
        spawned.inspect(|pid| set_batch(pid.as_raw()))
    }

    /// The program's path. Searched from the new process's working directory.
    fn found(&self) -> Result<String, NotSpawned> {
        let name = self.argv.first().filter(|name| !name.is_empty()).ok_or(NotSpawned::NotFound)?;
        if name.contains('/') {
            return Ok(name.clone());
        }
        let path = self.env.iter().rev().find(|(key, _)| key == "PATH").map_or("", |(_, value)| value.as_str());
        let mut last = NotSpawned::NotFound;
        for folder in path.split(':').filter(|folder| !folder.is_empty()) {
            let candidate = format!("{folder}/{name}");
            match std::fs::metadata(&candidate) {
                Ok(file) if file.is_file() => {
                    if nix::unistd::access(candidate.as_str(), nix::unistd::AccessFlags::X_OK).is_ok() {
                        return Ok(candidate);
                    }
                    last = NotSpawned::Program(Errno::EACCES);
                }
                _ => {}
            }
        }
        Err(last)
    }
}

fn start(path: &CString, fds: &[RawFd], argv: &[CString], env: &[CString]) -> Result<Pid, Errno> {
    let mut actions = PosixSpawnFileActions::init()?;
    for (place, fd) in fds.iter().enumerate() {
        actions.add_dup2(*fd, place as RawFd)?;
    }
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_sigdefault(&SigSet::all())?;
    // glibc's flag for a new session, which nix does not have.
    let own_session = PosixSpawnFlags::from_bits_retain(nix::libc::POSIX_SPAWN_SETSID as nix::libc::c_int);
    let reset = PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK;
    attributes.set_flags(own_session | reset)?;
    posix_spawn(path.as_c_str(), &actions, &attributes, argv, env)
}
