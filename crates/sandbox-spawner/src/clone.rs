//! A process in new namespaces. It is born without rights, goes under its limits and waits; its parent maps it to a user and
//! lets it go. What it reports before it becomes another program comes over a channel that closes when it does.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cgroup::SandboxCgroups;
use super::init::ChildReport;
use super::protocol::{SandboxNetwork, SandboxSpec};
use super::seqpacket;
use super::{SpawnError, Step};

/// User ids without an account: above those that systemd gives to containers, below those that are
/// negative as signed numbers.
const FIRST_UID: u32 = 1_900_000_000;
const UID_COUNT: u32 = 100_000_000;
/// A child that has not become another program by then never will; others wait for the spawner.
const CHILD_TIMEOUT: Duration = Duration::from_secs(30);
const LIMITS_STEP: &str = "limits by control groups";
/// The kernel's; what `libc` has of that name does not fit into its type.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
/// What is killed is gone soon, unless it waits for a disk: nothing else can be made meanwhile.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// In the sandbox.
pub const SANDBOX_UID: u32 = 1_000;

/// The user outside that a sandbox's user is mapped to.
#[derive(Clone, Copy, Debug)]
pub struct MappedUser {
    pub user: u32,
    pub group: u32,
    go: UidMapped,
}

/// How sandboxes' users are mapped to users outside.
#[derive(Clone, Copy, Debug)]
pub enum UidMapping {
    /// An id without an account, a new one for each sandbox.
    Unused { next: u32 },
    /// The spawner's own.
    Own { user: u32, group: u32 },
}

/// The parent's word that the child has its user by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UidMapped {
    /// The groups of this process must go; the child may let go of them.
    DropGroups,
    /// The groups stay: a process that was mapped without privileges may not change them. They are
    /// the user's own.
    KeepGroups,
}

pub struct Spawned {
    pub pid: i32,
    pub pidfd: OwnedFd,
    /// What it opened inside for those outside.
    pub opened: Option<OwnedFd>,
}

/// Makes a sandbox's first process, and waits until it is another program. `init` makes it that, and comes back only when it
/// has failed; it is given the channel to report over.
pub fn spawn_in_namespaces(
    plan: &SandboxSpec,
    groups: &SandboxCgroups,
    owner: MappedUser,
    init: impl FnOnce(BorrowedFd<'_>) -> SpawnError,
) -> Result<Spawned, SpawnError> {
    let (ours, theirs) = seqpacket::pair().step("a channel")?;
    seqpacket::set_receive_timeout(ours.as_fd(), CHILD_TIMEOUT).step("a channel")?;
    let mut namespaces =
        libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
    if plan.network == SandboxNetwork::Loopback {
        namespaces |= libc::CLONE_NEWNET;
    }
    let entry = groups.make(plan).step(LIMITS_STEP)?;
    // SAFETY: this process has one thread, as `serve` demands, so the child finds all of its memory in a usable state.
    let born =
        unsafe { clone(namespaces, entry.clone_target()) }.step("new namespaces").inspect_err(|_| groups.remove())?;
    let Some((pid, pidfd)) = born else {
        drop(ours);
        let failed = match entry.enter().step(LIMITS_STEP) {
            Ok(()) => init(theirs.as_fd()),
            Err(failed) => {
                // Its parent listens when it has said go, and would take an early end for another failure.
                let _ = seqpacket::receive::<UidMapped>(theirs.as_fd());
                failed
            }
        };
        let report = ChildReport::Failed { reason: failed.to_string() };
        // Fails where the spawner has gone, which then needs no report.
        let _ = seqpacket::send(theirs.as_fd(), &report, &[]);
        // SAFETY: ends this process at once; nothing of its parent's, of which it is a copy, is run.
        unsafe { libc::_exit(1) };
    };
    drop((theirs, entry));
    let born = write_uid_map(pid, owner)
        .step("a user of its own")
        .and_then(|go| seqpacket::send(ours.as_fd(), &go, &[]).step("a channel"))
        .and_then(|()| read_reports(&ours));
    match born {
        Ok(opened) => Ok(Spawned { pid, pidfd, opened }),
        Err(failed) => {
            kill_and_wait(&pidfd);
            groups.remove();
            Err(failed)
        }
    }
}

/// What the child reports, until it is another program and its end closes by itself.
fn read_reports(channel: &OwnedFd) -> Result<Option<OwnedFd>, SpawnError> {
    let mut opened = None;
    loop {
        match seqpacket::receive::<ChildReport>(channel.as_fd()).step("a channel")? {
            None => return Ok(opened),
            Some((ChildReport::Opened, fds)) => opened = fds.into_iter().next(),
            Some((ChildReport::Failed { reason }, _)) => {
                return Err(SpawnError { step: "in the sandbox", error: io::Error::other(reason) });
            }
        }
    }
}

fn write_uid_map(pid: i32, owner: MappedUser) -> io::Result<UidMapped> {
    let MappedUser { user, group, go } = owner;
    if go == UidMapped::KeepGroups {
        // A process without the right to change groups must give up that right to be mapped.
        fs::write(format!("/proc/{pid}/setgroups"), "deny")?;
    }
    fs::write(format!("/proc/{pid}/uid_map"), format!("{SANDBOX_UID} {user} 1"))?;
    fs::write(format!("/proc/{pid}/gid_map"), format!("{SANDBOX_UID} {group} 1"))?;
    Ok(go)
}

impl UidMapping {
    /// Of the next sandbox.
    pub fn take(&mut self) -> MappedUser {
        match self {
            UidMapping::Unused { next } => {
                let user = FIRST_UID + *next % UID_COUNT;
                *next = next.wrapping_add(1);
                MappedUser { user, group: user, go: UidMapped::DropGroups }
            }
            UidMapping::Own { user, group } => MappedUser { user: *user, group: *group, go: UidMapped::KeepGroups },
        }
    }
}

/// Runs a function in a forked copy of this process, which then ends without being waited for.
///
/// # Safety
/// The process must have one thread only, and its children must be reaped by the kernel.
pub unsafe fn run_in_child(what: impl FnOnce()) -> io::Result<()> {
    // SAFETY: as the caller promises.
    if unsafe { clone(0, None) }?.is_none() {
        what();
        // SAFETY: ends this process at once; nothing of its parent's, of which it is a copy, is run.
        unsafe { libc::_exit(0) };
    }
    Ok(())
}

/// Kills, and waits a while until it is gone, so that its groups can be removed.
fn kill_and_wait(pidfd: &OwnedFd) {
    let nothing: *const libc::siginfo_t = std::ptr::null();
    // SAFETY: the call takes numbers and a null pointer, which stands for no information.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), libc::SIGKILL, nothing, 0) };
    wait_for_end(pidfd, KILL_TIMEOUT);
}

/// Whether the process was gone within that time. Signals that come meanwhile do not end the wait, nor make it longer.
fn wait_for_end(pidfd: &OwnedFd, timeout: Duration) -> bool {
    let until = Instant::now() + timeout;
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
        // SAFETY: the kernel has just made the descriptor; it has no other owner.
        1.. => Ok(Some((pid as i32, unsafe { OwnedFd::from_raw_fd(pidfd) }))),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "clone/tests.rs"]
mod tests;
