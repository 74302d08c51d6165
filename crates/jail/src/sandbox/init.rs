//! What a sandbox's first process does until it is the agent. Each step takes something away for good; the order matters:
//! what needs rights comes first, and the filter of system calls last.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::birth::{Go, USER};
use super::mounts::{self, Refuses};
use super::plan::{Network, Plan};
use super::template::{EMPTY, OWN, SHARED, Template};
use super::{Failed, Step, channel, network};
use crate::descriptors::close_all_but;
use crate::landlock::{Access, LandlockError, Ruleset, Tcp};
use crate::limits::{Resource, limit, limits};
use crate::privileges;
use crate::seccomp::{Filter, MemoryLimit};

/// Open files of one process.
const DESCRIPTORS: u64 = 4_096;
/// The same where no control group counts what lies in sockets and pipes.
const FEWER_DESCRIPTORS: u64 = 1_024;
/// Address space of a process whose memory no control group counts: tables of pages grow with it. Interpreters reserve
/// tens of gigabytes that they never use.
const ADDRESSES: u64 = 64 << 30;
/// What of `/proc` tells about the machine and is of no use to programs.
const HIDDEN: [&str; 5] = ["cmdline", "partitions", "diskstats", "swaps", "mdstat"];
const LOCKED: u64 = 64 << 10;
const QUEUES: u64 = 800 << 10;
/// Bytes for each file that a disk may have: about what a file costs.
const BYTES_PER_FILE: u64 = 4 << 10;
/// All that programs find there of the machine's: nothing. What is installed goes into the home folder, which can be written to.
const ENVIRONMENT: [&str; 12] = [
    "PATH=/home/sandbox/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME=/home/sandbox",
    "USER=sandbox",
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
pub struct Birthplace<'a> {
    pub template: &'a Template,
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
pub enum Report {
    /// With what it has opened inside for those outside: a listener, a folder.
    Opened,
    Failed {
        reason: String,
    },
}

/// Comes back only when it has failed.
pub fn run(plan: &Plan, place: &Birthplace<'_>, parent: BorrowedFd<'_>) -> Failed {
    match become_agent(plan, place, parent) {
        Ok(never) => match never {},
        Err(failed) => failed,
    }
}

fn become_agent(
    plan: &Plan,
    place: &Birthplace<'_>,
    parent: BorrowedFd<'_>,
) -> Result<std::convert::Infallible, Failed> {
    wait_to_be_somebody(parent)?;
    if plan.network == Network::Loopback {
        let listener = network::open().step("the loopback")?;
        channel::send(parent, &Report::Opened, &[std::os::fd::AsFd::as_fd(&listener)]).step("a channel")?;
    }
    root(plan, place)?;
    name("sandbox").step("the host name")?;
    bounds(plan, place.memory).step("the limits of each process")?;
    let agent = standard(place).step("the descriptors")?;
    // SAFETY: this process is about to become another program, and uses nothing but these.
    unsafe { close_all_but(&sorted([0, 1, 2, agent, parent.as_raw_fd()])) }.step("the descriptors")?;
    // After the user has changed, which would undo it.
    privileges::end_with_parent().step("an end with the spawner")?;
    privileges::drop_capabilities().step("the capabilities")?;
    privileges::forbid_new_privileges().step("no new privileges")?;
    landlock().step("Landlock")?;
    place.filter.enter().step("the filter of system calls")?;
    Err(execute(agent, plan, place.memory)).step("the agent")
}

/// Waits until the parent has mapped the user, and becomes it.
pub fn wait_to_be_somebody(parent: BorrowedFd<'_>) -> Result<(), Failed> {
    let go = match channel::receive::<Go>(parent).step("a channel")? {
        Some((go, _)) => go,
        None => return Err(Failed { step: "a channel", error: io::ErrorKind::UnexpectedEof.into() }),
    };
    reset_signals();
    // SAFETY: takes nothing, and concerns this process, which leads no group yet. The server's terminal is not its own then.
    if unsafe { libc::setsid() } < 0 {
        return Err(io::Error::last_os_error()).step("a session of its own");
    }
    become_user(go).step("the user")?;
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

fn become_user(go: Go) -> io::Result<()> {
    let nobody: *const libc::gid_t = std::ptr::null();
    // SAFETY: the calls take numbers; the first an empty list, which may be null. They concern this thread, the only one.
    unsafe {
        // Forbidden where the mapping was made without rights: the groups then stay, which are the server's own.
        if libc::syscall(libc::SYS_setgroups, 0, nobody) != 0 && go == Go::WithoutGroups {
            return Err(io::Error::last_os_error());
        }
        let is_done = libc::syscall(libc::SYS_setresgid, USER, USER, USER) == 0
            && libc::syscall(libc::SYS_setresuid, USER, USER, USER) == 0;
        if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// A copy of the template, with what is this sandbox's own.
fn root(plan: &Plan, place: &Birthplace<'_>) -> Result<(), Failed> {
    let template = place.template;
    mounts::part().step("mounts of its own")?;
    mounts::bind(&template.root, &template.stage).step("the root file system")?;
    let proc = template.stage.join("proc");
    mounts::proc(&proc).step("a /proc of its own")?;
    for hidden in HIDDEN.map(|name| proc.join(name)).iter().filter(|path| path.exists()) {
        mounts::bind(&template.stage.join(EMPTY), hidden).step("a /proc of its own")?;
    }
    match place.disk {
        Some(disk) => on_disk(plan, template, disk).step("a disk")?,
        None => in_memory(plan, template).step("a disk in memory")?,
    }
    mounts::refuse(&template.stage.join("work"), Refuses::Devices).step("a disk in memory")?;
    mounts::pivot(&template.stage).step("the root file system")
}

/// Its folders are there, and its user's. Memory that is shared is memory.
fn on_disk(plan: &Plan, template: &Template, disk: &Path) -> io::Result<()> {
    for folder in OWN.into_iter().filter(|folder| *folder != SHARED) {
        mounts::bind(&disk.join(folder), &template.stage.join(folder))?;
    }
    mounts::tmpfs(&template.stage.join(SHARED), &format!("mode=1777,size={}", plan.memory / 2))
}

fn in_memory(plan: &Plan, template: &Template) -> io::Result<()> {
    let size = plan.disk_in_memory();
    let files = (size / BYTES_PER_FILE).max(1_000);
    mounts::tmpfs(&template.disk, &format!("mode=755,size={size},nr_inodes={files}"))?;
    for folder in OWN {
        let own = template.disk.join(folder.replace('/', "-"));
        let inner = if folder == "home" { own.join("sandbox") } else { own.clone() };
        fs::create_dir_all(inner)?;
        mounts::bind(&own, &template.stage.join(folder))?;
    }
    Ok(())
}

pub fn name(name: &str) -> io::Result<()> {
    // SAFETY: the name lives to the end of the call, and is as long as is said.
    let done = unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn bounds(plan: &Plan, memory: MemoryLimit) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(
        Resource::Descriptors,
        at_most_allowed(match memory {
            MemoryLimit::Group => DESCRIPTORS,
            MemoryLimit::Process => FEWER_DESCRIPTORS,
        })?,
    )?;
    limit(Resource::Processes, plan.processes.into())?;
    limit(Resource::LockedMemory, LOCKED)?;
    limit(Resource::MessageQueues, QUEUES)?;
    if memory == MemoryLimit::Process {
        limit(Resource::Data, plan.memory)?;
        limit(Resource::AddressSpace, ADDRESSES)?;
    }
    Ok(())
}

/// So many descriptors, or as many as this process may have at all.
pub fn at_most_allowed(descriptors: u64) -> io::Result<u64> {
    limits(Resource::Descriptors).map(|(_, hard)| descriptors.min(hard))
}

/// The connection as descriptor 0, nothing as 1 and 2. Gives the agent's program, which is none of the three.
fn standard(place: &Birthplace<'_>) -> io::Result<RawFd> {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    // SAFETY: the calls take numbers of open descriptors. 0, 1 and 2 belong to nobody in this process.
    unsafe {
        let agent = libc::fcntl(place.agent.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 10);
        let is_done = agent >= 0
            && libc::dup2(place.connection.as_raw_fd(), 0) == 0
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
fn landlock() -> io::Result<()> {
    let mut rules = match Ruleset::new(Tcp::Free) {
        Ok(rules) => rules,
        // The spawner has told that it is not there.
        Err(LandlockError::Missing(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let allow = [("/", Access::ReadExecute), ("/dev", Access::ReadWrite), ("/proc", Access::ReadWrite)];
    let own = ["/work", "/tmp", "/home", "/dev/shm"].map(|folder| (folder, Access::All));
    for (path, access) in allow.into_iter().chain(own) {
        rules.allow(Path::new(path), access).map_err(io::Error::other)?;
    }
    rules.enter()
}

fn execute(agent: RawFd, plan: &Plan, memory: MemoryLimit) -> io::Error {
    let environment = ENVIRONMENT.map(|variable| CString::new(variable).expect("has no zero byte"));
    let mut pointers = environment.each_ref().map(|variable| variable.as_ptr()).to_vec();
    pointers.push(std::ptr::null());
    // Where nothing else holds the memory of all its processes together, the agent does.
    let limit = CString::new(format!("--memory={}", plan.memory)).expect("has no zero byte");
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
