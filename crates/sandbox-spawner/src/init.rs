//! What a sandbox's first process does until it is the agent. Each step takes something away for good; the order matters:
//! what needs rights comes first, and the filter of system calls last.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::clone::{SANDBOX_UID, UidMapped};
use super::mounts::{self, MountRestriction};
use super::protocol::{SandboxNetwork, SandboxSpec};
use super::rootfs::{EMPTY_FILE, PRIVATE_DIRS, RootfsTemplate, SHM_DIR};
use super::{SpawnError, Step, loopback, seqpacket};
use hearth_jail::landlock::{LandlockError, PathAccess, Ruleset, TcpAccess};
use hearth_jail::privileges;
use hearth_jail::seccomp::{Filter, MemoryLimit};
use hearth_sys::fds::close_all_except;
use hearth_sys::rlimit::{self, Resource};

/// Open files of one process.
const MAX_FDS: u64 = 4_096;
/// The same where no control group counts what lies in sockets and pipes.
const MAX_FDS_UNCOUNTED: u64 = 1_024;
/// Address space of a process whose memory no control group counts: tables of pages grow with it. Interpreters reserve
/// tens of gigabytes that they never use.
const MAX_ADDRESS_SPACE: u64 = 64 << 30;
/// What of `/proc` tells about the machine and is of no use to programs.
const HIDDEN_PROC_FILES: [&str; 5] = ["cmdline", "partitions", "diskstats", "swaps", "mdstat"];
const MAX_LOCKED_MEMORY: u64 = 64 << 10;
const MAX_QUEUE_BYTES: u64 = 800 << 10;
/// Bytes for each file that a disk may have: about what a file costs.
const BYTES_PER_FILE: u64 = 4 << 10;
/// All that programs find there of the machine's: nothing. What is installed goes into the home folder, which can be written to.
const ENVIRONMENT: [&str; 12] = [
    "PATH=/home/sandbox/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/home/sandbox",
    "SANDBOX_UID=sandbox",
    "LOGNAME=sandbox",
    "SHELL=/bin/bash",
    "LANG=C.UTF-8",
    "TERM=dumb",
    "TMPDIR=/tmp",
    "PIP_BREAK_SYSTEM_PACKAGES=1",
    "PIP_DISABLE_PIP_VERSION_CHECK=1",
    "NPM_CONFIG_UPDATE_NOTIFIER=false",
    "NPM_CONFIG_PREFIX=/home/sandbox/.local",
];

/// What a child finds prepared.
pub struct InitContext<'a> {
    pub template: &'a RootfsTemplate,
    pub filter: &'a Filter,
    /// The agent's program.
    pub agent: &'a OwnedFd,
    /// The agent's end of its connection.
    pub connection: &'a OwnedFd,
    /// What holds the sandbox's memory.
    pub memory: MemoryLimit,
    /// Where its disk is mounted; without one it writes into memory.
    pub disk: Option<&'a Path>,
}

/// What a child says before it is another program.
#[derive(Debug, Serialize, Deserialize)]
pub enum ChildReport {
    /// With what it has opened inside for those outside: a listener, a folder.
    Opened,
    Failed {
        reason: String,
    },
}

/// Comes back only when it has failed.
pub fn run(spec: &SandboxSpec, context: &InitContext<'_>, parent: BorrowedFd<'_>) -> SpawnError {
    match become_agent(spec, context, parent) {
        Ok(never) => match never {},
        Err(failed) => failed,
    }
}

fn become_agent(
    spec: &SandboxSpec,
    context: &InitContext<'_>,
    parent: BorrowedFd<'_>,
) -> Result<std::convert::Infallible, SpawnError> {
    wait_for_uid_map(parent)?;
    if spec.network == SandboxNetwork::Loopback {
        let listener = loopback::open().step("the loopback")?;
        seqpacket::send(parent, &ChildReport::Opened, &[std::os::fd::AsFd::as_fd(&listener)]).step("a channel")?;
    }
    mount_root(spec, context)?;
    set_hostname("sandbox").step("the host name")?;
    set_limits(spec, context.memory).step("the limits of each process")?;
    let agent = place_fds(context).step("the descriptors")?;
    // SAFETY: this process is about to become another program, and uses nothing but these.
    unsafe { close_all_except(&sorted([0, 1, 2, agent, parent.as_raw_fd()])) }.step("the descriptors")?;
    // After the user has changed, which would undo it.
    privileges::end_with_parent().step("an end with the spawner")?;
    privileges::drop_capabilities().step("the capabilities")?;
    privileges::forbid_new_privileges().step("no new privileges")?;
    enter_landlock().step("Landlock")?;
    context.filter.enter().step("the filter of system calls")?;
    Err(execute(agent, spec, context.memory)).step("the agent")
}

/// Waits until the parent has mapped the user, and becomes it.
pub fn wait_for_uid_map(parent: BorrowedFd<'_>) -> Result<(), SpawnError> {
    let go = match seqpacket::receive::<UidMapped>(parent).step("a channel")? {
        Some((go, _)) => go,
        None => return Err(SpawnError { step: "a channel", error: io::ErrorKind::UnexpectedEof.into() }),
    };
    reset_signals();
    // SAFETY: takes nothing, and concerns this process, which leads no group yet. The server's terminal is not its own then.
    if unsafe { libc::setsid() } < 0 {
        return Err(io::Error::last_os_error()).step("a session of its own");
    }
    set_user(go).step("the user")?;
    // By now it is in its groups, which so become the root of all that it sees.
    // SAFETY: takes a number, and concerns this thread, the only one.
    match unsafe { libc::unshare(libc::CLONE_NEWCGROUP) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()).step("a view of control groups of its own"),
    }
}

/// Handlers do not outlive an exec, but what is ignored stays so.
fn reset_signals() {
    // SAFETY: sets the default for two signals, which the spawner ignores; no handler is involved.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}

fn set_user(go: UidMapped) -> io::Result<()> {
    let no_groups: *const libc::gid_t = std::ptr::null();
    // SAFETY: the calls take numbers; the first an empty list, which may be null. They concern this thread, the only one.
    unsafe {
        // Forbidden where the mapping was made without rights: the groups then stay, which are the server's own.
        if libc::syscall(libc::SYS_setgroups, 0, no_groups) != 0 && go == UidMapped::DropGroups {
            return Err(io::Error::last_os_error());
        }
        let is_done = libc::syscall(libc::SYS_setresgid, SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) == 0
            && libc::syscall(libc::SYS_setresuid, SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) == 0;
        if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// A copy of the template, with what is this sandbox's own.
fn mount_root(spec: &SandboxSpec, context: &InitContext<'_>) -> Result<(), SpawnError> {
    let template = context.template;
    mounts::make_private().step("mounts of its own")?;
    mounts::bind(&template.root, &template.stage).step("the root file system")?;
    let proc = template.stage.join("proc");
    mounts::proc(&proc).step("a /proc of its own")?;
    for hidden in HIDDEN_PROC_FILES.map(|name| proc.join(name)).iter().filter(|path| path.exists()) {
        mounts::bind(&template.stage.join(EMPTY_FILE), hidden).step("a /proc of its own")?;
    }
    match context.disk {
        Some(disk) => on_disk(spec, template, disk).step("a disk")?,
        None => in_memory(spec, template).step("a disk in memory")?,
    }
    mounts::restrict(&template.stage.join("work"), MountRestriction::NoDevices).step("a disk in memory")?;
    mounts::pivot(&template.stage).step("the root file system")
}

/// Its folders are there, and its user's. Memory that is shared is memory.
fn on_disk(spec: &SandboxSpec, template: &RootfsTemplate, disk: &Path) -> io::Result<()> {
    for folder in PRIVATE_DIRS.into_iter().filter(|folder| *folder != SHM_DIR) {
        mounts::bind(&disk.join(folder), &template.stage.join(folder))?;
    }
    mounts::tmpfs(&template.stage.join(SHM_DIR), &format!("mode=1777,size={}", spec.memory / 2))
}

fn in_memory(spec: &SandboxSpec, template: &RootfsTemplate) -> io::Result<()> {
    let size = spec.disk_in_memory();
    let files = (size / BYTES_PER_FILE).max(1_000);
    mounts::tmpfs(&template.disk, &format!("mode=755,size={size},nr_inodes={files}"))?;
    for folder in PRIVATE_DIRS {
        let own = template.disk.join(folder.replace('/', "-"));
        let inner = if folder == "home" { own.join("sandbox") } else { own.clone() };
        fs::create_dir_all(inner)?;
        mounts::bind(&own, &template.stage.join(folder))?;
    }
    Ok(())
}

pub fn set_hostname(name: &str) -> io::Result<()> {
    // SAFETY: the name lives to the end of the call, and is as long as is said.
    let done = unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn set_limits(spec: &SandboxSpec, memory: MemoryLimit) -> io::Result<()> {
    rlimit::set(Resource::Core, 0)?;
    rlimit::set(
        Resource::Descriptors,
        capped_fd_limit(match memory {
            MemoryLimit::Group => MAX_FDS,
            MemoryLimit::Process => MAX_FDS_UNCOUNTED,
        })?,
    )?;
    rlimit::set(Resource::Processes, spec.processes.into())?;
    rlimit::set(Resource::LockedMemory, MAX_LOCKED_MEMORY)?;
    rlimit::set(Resource::MessageQueues, MAX_QUEUE_BYTES)?;
    if memory == MemoryLimit::Process {
        rlimit::set(Resource::Data, spec.memory)?;
        rlimit::set(Resource::AddressSpace, MAX_ADDRESS_SPACE)?;
    }
    Ok(())
}

/// So many descriptors, or as many as this process may have at all.
pub fn capped_fd_limit(descriptors: u64) -> io::Result<u64> {
    rlimit::get(Resource::Descriptors).map(|(_, hard)| descriptors.min(hard))
}

/// The connection as descriptor 0, nothing as 1 and 2. Gives the agent's program, which is none of the three.
fn place_fds(context: &InitContext<'_>) -> io::Result<RawFd> {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // SAFETY: the calls take numbers of open descriptors. 0, 1 and 2 have no owner in this process.
    unsafe {
        let agent = libc::fcntl(context.agent.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 10);
        let is_done = agent >= 0
            && libc::dup2(context.connection.as_raw_fd(), 0) == 0
            && libc::dup2(null.as_raw_fd(), 1) == 1
            && libc::dup2(null.as_raw_fd(), 2) == 2;
        if is_done { Ok(agent) } else { Err(io::Error::last_os_error()) }
    }
}

fn sorted<const N: usize>(mut fds: [RawFd; N]) -> [RawFd; N] {
    fds.sort_unstable();
    fds
}

/// What the mounts say, a second time: everything can be read, the sandbox's own folders can be written to. And no signals
/// and no abstract sockets beyond the sandbox.
fn enter_landlock() -> io::Result<()> {
    let mut rules = match Ruleset::new(TcpAccess::Unrestricted) {
        Ok(rules) => rules,
        // The spawner has told that it is not there.
        Err(LandlockError::Missing(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let allow = [("/", PathAccess::ReadExecute), ("/dev", PathAccess::ReadWrite), ("/proc", PathAccess::ReadWrite)];
    let own = ["/work", "/tmp", "/home", "/dev/shm"].map(|folder| (folder, PathAccess::All));
    for (path, access) in allow.into_iter().chain(own) {
        rules.allow(Path::new(path), access).map_err(io::Error::other)?;
    }
    rules.enter()
}

fn execute(agent: RawFd, spec: &SandboxSpec, memory: MemoryLimit) -> io::Error {
    let environment = ENVIRONMENT.map(|variable| CString::new(variable).expect("has no zero byte"));
    let mut pointers = environment.each_ref().map(|variable| variable.as_ptr()).to_vec();
    pointers.push(std::ptr::null());
    // Where nothing else holds the memory of all its processes together, the agent does.
    let limit = CString::new(format!("--memory={}", spec.memory)).expect("has no zero byte");
    let arguments = match memory {
        MemoryLimit::Group => [c"hearth-agent".as_ptr(), std::ptr::null(), std::ptr::null()],
        MemoryLimit::Process => [c"hearth-agent".as_ptr(), limit.as_ptr(), std::ptr::null()],
    };
    // SAFETY: the lists end in null, and hold strings that end in a zero; all live until this process is another program.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            agent,
            c"".as_ptr(),
            arguments.as_ptr(),
            pointers.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
    }
    io::Error::last_os_error()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A thread that has the sandbox's user already, and so no right to change its groups: `setgroups` alone fails.
    #[test]
    fn groups_that_cannot_be_dropped_are_an_error_where_they_must_be() {
        let results = std::thread::spawn(|| {
            // SAFETY: the system calls take numbers, and concern this thread alone, which ends.
            let is_unprivileged = unsafe {
                libc::syscall(libc::SYS_setresgid, SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) == 0
                    && libc::syscall(libc::SYS_setresuid, SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) == 0
            };
            is_unprivileged.then(|| (set_user(UidMapped::DropGroups), set_user(UidMapped::KeepGroups)))
        })
        .join()
        .unwrap();
        let Some((dropped, kept)) = results else {
            eprintln!("another user can be taken by root alone");
            return;
        };
        assert_eq!(dropped.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        kept.unwrap();
    }
}
