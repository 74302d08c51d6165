//! A process in new namespaces. It is born without rights, goes under its limits and waits; its parent maps it to a user and
//! lets it go. What it reports before it becomes another program comes over a channel that closes when it does.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cgroup::Groups;
use super::channel;
use super::init::Report;
use super::plan::{Network, Plan};
use super::{Failed, Step};

/// Users that nobody has: above those that systemd gives to containers, below those that are signed.
const FIRST_USER: u32 = 1_900_000_000;
const USERS: u32 = 100_000_000;
/// A child that has not become another program by then never will; others wait for the spawner.
const PATIENCE: Duration = Duration::from_secs(30);
const LIMITS: &str = "limits by control groups";
/// The kernel's; what `libc` has of that name does not fit into its type.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// What is killed is gone soon, unless it waits for a disk: nothing else can be made meanwhile.
const LAST_MOMENTS: Duration = Duration::from_secs(5);
/// In the sandbox.
pub const USER: u32 = 1_000;

/// Whom a sandbox's user is outside.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    pub user: u32,
    pub group: u32,
    go: Go,
}

/// To whom sandboxes' users are mapped outside.
#[derive(Clone, Copy, Debug)]
pub enum Users {
    /// One that nobody has, a new one for each sandbox.
    Unused { next: u32 },
    /// The spawner's own.
    Own { user: u32, group: u32 },
}

/// The parent's word that the child has its user by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Go {
    /// The groups of this process must go; the child may let go of them.
    WithoutGroups,
    /// They stay, since who was mapped without rights may not change them. They are the user's own.
    WithGroups,
}

pub struct Born {
    pub pid: i32,
    pub pidfd: OwnedFd,
    /// What it opened inside for those outside.
    pub opened: Option<OwnedFd>,
}

/// Makes a sandbox's first process, and waits until it is another program. `init` makes it that, and comes back only when it
/// has failed; it is given the channel to report over.
pub fn bear(
    plan: &Plan,
    groups: &Groups,
    owner: Owner,
    init: impl FnOnce(BorrowedFd<'_>) -> Failed,
) -> Result<Born, Failed> {
    let (ours, theirs) = channel::pair().step("a channel")?;
    channel::wait_at_most(ours.as_fd(), PATIENCE).step("a channel")?;
    let mut namespaces =
        libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    if plan.network == Network::Loopback {
        namespaces |= libc::CLONE_NEWNET;
    }
    let doors = groups.make(plan).step(LIMITS)?;
    // SAFETY: this process has one thread, as `serve` demands, so the child finds all of its memory in a usable state.
    let born = unsafe { clone(namespaces, doors.birth()) }.step("new namespaces").inspect_err(|_| groups.remove())?;
    let Some((pid, pidfd)) = born else {
        drop(ours);
        let failed = match doors.enter().step(LIMITS) {
            Ok(()) => init(theirs.as_fd()),
            Err(failed) => {
                // Its parent listens when it has said go, and would take an early end for another failure.
                let _ = channel::receive::<Go>(theirs.as_fd());
                failed
            }
        };
        let report = Report::Failed { reason: failed.to_string() };
        // Nobody listens any more: there is nobody to tell.
        let _ = channel::send(theirs.as_fd(), &report, &[]);
        // SAFETY: ends this process at once; nothing of its parent's, of which it is a copy, is run.
        unsafe { libc::_exit(1) };
    };
    drop((theirs, doors));
    let born = map(pid, owner)
        .step("a user of its own")
        .and_then(|go| channel::send(ours.as_fd(), &go, &[]).step("a channel"))
        .and_then(|()| listen(&ours));
    match born {
        Ok(opened) => Ok(Born { pid, pidfd, opened }),
        Err(failed) => {
            kill(&pidfd);
            groups.remove();
            Err(failed)
        }
    }
}

/// What the child reports, until it is another program and its end closes by itself.
fn listen(channel: &OwnedFd) -> Result<Option<OwnedFd>, Failed> {
    let mut opened = None;
    loop {
        match channel::receive::<Report>(channel.as_fd()).step("a channel")? {
            None => return Ok(opened),
            Some((Report::Opened, fds)) => opened = fds.into_iter().next(),
            Some((Report::Failed { reason }, _)) => {
                return Err(Failed { step: "in the sandbox", error: io::Error::other(reason) });
            }
        }
    }
}

fn map(pid: i32, owner: Owner) -> io::Result<Go> {
    let Owner { user, group, go } = owner;
    if go == Go::WithGroups {
        // Who has no right to change groups must give up that right to be mapped.
        fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
    }
    fs::write(format!("/proc/{pid}/uid_map"), format!("{USER} {user} 1"))?;
    fs::write(format!("/proc/{pid}/gid_map"), format!("{USER} {group} 1"))?;
    Ok(go)
}

impl Users {
    /// Of the next sandbox.
    pub fn take(&mut self) -> Owner {
        match self {
            Users::Unused { next } => {
                let user = FIRST_USER + *next % USERS;
                *next = next.wrapping_add(1);
                Owner { user, group: user, go: Go::WithoutGroups }
            }
            Users::Own { user, group } => Owner { user: *user, group: *group, go: Go::WithGroups },
        }
    }
}

/// Does something in a copy of this process, which then ends; nobody waits for it.
///
/// # Safety
/// The process must have one thread only, and its children must be reaped by the kernel.
pub unsafe fn aside(what: impl FnOnce()) -> io::Result<()> {
    // SAFETY: as the caller promises.
    if unsafe { clone(0, None) }?.is_none() {
        what();
        // SAFETY: ends this process at once; nothing of its parent's, of which it is a copy, is run.
        unsafe { libc::_exit(0) };
    }
    Ok(())
}

/// Kills, and waits a while until it is gone, so that its groups can be removed.
fn kill(pidfd: &OwnedFd) {
    let nothing: *const libc::siginfo_t = std::ptr::null();
    // SAFETY: the call takes numbers and a null pointer, which stands for no information.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), libc::SIGKILL, nothing, 0) };
    wait_for_end(pidfd, LAST_MOMENTS);
}

/// Whether the process was gone within that time. Signals that come meanwhile do not end the wait, nor make it longer.
fn wait_for_end(pidfd: &OwnedFd, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left_ms = libc::c_int::try_from(left.as_millis()).unwrap_or(libc::c_int::MAX);
        let mut poll = libc::pollfd { fd: pidfd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the call writes to one entry, which lives to its end.
        match unsafe { libc::poll(&raw mut poll, 1, left_ms) } {
            1 => return true,
            0 => return false,
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted && !left.is_zero() => {}
            _ => return false,
        }
    }
}

/// Like `fork`, in new namespaces and in the group, with a descriptor of the child. `None` in the child.
///
/// # Safety
/// The process must have one thread only.
unsafe fn clone(namespaces: libc::c_int, group: Option<BorrowedFd<'_>>) -> io::Result<Option<(i32, OwnedFd)>> {
    let mut pidfd: libc::c_int = -1;
    // SAFETY: all zeros is valid: no new stack, no identifiers to be written.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = (namespaces | libc::CLONE_PIDFD) as u64;
    arguments.pidfd = &raw mut pidfd as u64;
    arguments.exit_signal = libc::SIGCHLD as u64;
    if let Some(group) = group {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = group.as_raw_fd() as u64;
    }
    // SAFETY: without a stack of its own and without shared memory the child goes on here with a copy of everything, as after
    // a fork; the kernel writes one descriptor, for which there is room. One thread: as the caller promises.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>()) };
    match pid {
        0 => Ok(None),
        // SAFETY: the kernel has just made it for us, and nobody else knows of it.
        1.. => Ok(Some((pid as i32, unsafe { OwnedFd::from_raw_fd(pidfd) }))),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "birth/tests.rs"]
mod tests;
