//! What a process does before it becomes a virtual machine monitor in a jail (`monitor_rootfs.rs`).
//! Like `init.rs` for sandboxes, and stricter: no network, no further programs, a few readable
//! folders and one writable one.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use super::init::{ChildReport, capped_fd_limit, set_hostname, wait_for_uid_map};
use super::monitor_rootfs::{LIBRARIES, MONITOR_DIR};
use super::protocol::MonitorJail;
use super::rootfs::RootfsTemplate;
use super::{SpawnError, Step, mounts, seqpacket};
use hearth_jail::landlock::{LandlockError, PathAccess, Ruleset, TcpAccess};
use hearth_jail::privileges;
use hearth_jail::seccomp::Filter;
use hearth_sys::fds::close_all_except;
use hearth_sys::rlimit::{self, Resource};

const MAX_FDS: u64 = 1_024;
/// Above all that the program is given.
const FIRST_FREE_FD: RawFd = 64;
/// What starts programs that are not whole in themselves.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// What the process finds prepared.
pub struct MonitorContext<'a> {
    pub root: &'a RootfsTemplate,
    pub filter: &'a Filter,
    /// The program's descriptors, from 0 on.
    pub fds: &'a [OwnedFd],
    /// No control group holds its memory: the process's own is held instead.
    pub limits_memory: bool,
}

/// Comes back only when it has failed.
pub fn run(jail: &MonitorJail, context: &MonitorContext<'_>, parent: BorrowedFd<'_>) -> SpawnError {
    // Its place may be one that the program's descriptors go to.
    let channel = match copy_above(parent.as_raw_fd()).step("the descriptors") {
        Ok(channel) => channel,
        Err(failed) => return failed,
    };
    let failed = match become_program(jail, context, channel.as_fd()) {
        Ok(never) => match never {},
        Err(failed) => failed,
    };
    // The spawner expects the error on the channel, in the descriptor's old place.
    // SAFETY: takes numbers. This process is about to end, and does not use the replaced descriptor.
    unsafe { libc::dup2(channel.as_raw_fd(), parent.as_raw_fd()) };
    failed
}

/// A copy of a descriptor, out of the way.
fn copy_above(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers, the first that of an open descriptor.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST_FREE_FD) };
    // SAFETY: the kernel has just made the descriptor; it has no other owner.
    if copy >= 0 { Ok(unsafe { OwnedFd::from_raw_fd(copy) }) } else { Err(io::Error::last_os_error()) }
}

fn become_program(
    jail: &MonitorJail,
    context: &MonitorContext<'_>,
    parent: BorrowedFd<'_>,
) -> Result<std::convert::Infallible, SpawnError> {
    wait_for_uid_map(parent)?;
    mount_root(jail, context.root, parent)?;
    set_hostname("enclosure").step("the host name")?;
    set_limits(jail, context.limits_memory).step("the limits of the process")?;
    let (program, arguments) = program_arguments(jail).step("the program")?;
    place_fds(context.fds).step("the descriptors")?;
    let mut kept: Vec<RawFd> = (0..).take(context.fds.len()).collect();
    kept.push(parent.as_raw_fd());
    // SAFETY: this process is about to become another program, and uses nothing but these.
    unsafe { close_all_except(&kept) }.step("the descriptors")?;
    // After the user has changed, which would undo it.
    privileges::end_with_parent().step("an end with the spawner")?;
    privileges::drop_capabilities().step("the capabilities")?;
    privileges::forbid_new_privileges().step("no new privileges")?;
    enter_landlock(jail).step("Landlock")?;
    context.filter.enter().step("the filter of system calls")?;
    Err(execute(&program, &arguments)).step("the program")
}

/// A copy of the template, with a `/proc` and a folder of its own, which those outside are given.
fn mount_root(jail: &MonitorJail, template: &RootfsTemplate, parent: BorrowedFd<'_>) -> Result<(), SpawnError> {
    mounts::make_private().step("mounts of its own")?;
    mounts::bind(&template.root, &template.stage).step("the root file system")?;
    mounts::proc(&template.stage.join("proc")).step("a /proc of its own")?;
    let folder = template.stage.join(MONITOR_DIR.trim_start_matches('/'));
    mounts::tmpfs(&folder, &format!("mode=700,size={}", jail.spec.disk)).step("a folder in memory")?;
    let folder = File::open(&folder).step("a folder in memory")?;
    seqpacket::send(parent, &ChildReport::Opened, &[folder.as_fd()]).step("a channel")?;
    mounts::pivot(&template.stage).step("the root file system")
}

fn set_limits(jail: &MonitorJail, limits_memory: bool) -> io::Result<()> {
    rlimit::set(Resource::Core, 0)?;
    rlimit::set(Resource::Descriptors, capped_fd_limit(MAX_FDS)?)?;
    rlimit::set(Resource::Processes, jail.spec.processes.into())?;
    rlimit::set(Resource::MessageQueues, 0)?;
    if limits_memory {
        rlimit::set(Resource::Data, jail.spec.memory)?;
    }
    Ok(())
}

fn program_arguments(jail: &MonitorJail) -> io::Result<(CString, Vec<CString>)> {
    let program = mounts::c_path(&jail.program)?;
    let mut arguments = vec![program.clone()];
    for argument in &jail.arguments {
        arguments.push(mounts::c_path(Path::new(argument))?);
    }
    Ok((program, arguments))
}

/// The program's descriptors at their places.
fn place_fds(fds: &[OwnedFd]) -> io::Result<()> {
    // All out of the way first: places are still taken by what is to be put elsewhere.
    let copies = fds.iter().map(|fd| copy_above(fd.as_raw_fd())).collect::<io::Result<Vec<_>>>()?;
    for (place, copy) in (0..).zip(&copies) {
        // SAFETY: takes numbers. The replaced descriptor has no owner that goes on.
        if unsafe { libc::dup2(copy.as_raw_fd(), place) } != place {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// What the mounts say, a second time, and more exactly: only the program itself can be started.
fn enter_landlock(jail: &MonitorJail) -> io::Result<()> {
    let mut rules = match Ruleset::new(TcpAccess::NoBindOrConnect) {
        Ok(rules) => rules,
        // The spawner has told that it is not there.
        Err(LandlockError::Missing(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    let mut allow = |path: &Path, access| match path.exists() {
        true => rules.allow(path, access).map_err(io::Error::other),
        false => Ok(()),
    };
    for folder in LIBRARIES.map(|name| Path::new("/").join(name)) {
        allow(&folder, PathAccess::Read)?;
    }
    for path in ["/etc", "/proc"] {
        allow(Path::new(path), PathAccess::Read)?;
    }
    for file in &jail.files {
        allow(file, PathAccess::Read)?;
    }
    for program in LOADERS.iter().map(Path::new).chain([jail.program.as_path()]) {
        allow(program, PathAccess::ReadExecute)?;
    }
    for device in &jail.devices {
        allow(device, PathAccess::All)?;
    }
    for folder in ["/dev", MONITOR_DIR] {
        allow(Path::new(folder), PathAccess::ReadWrite)?;
    }
    rules.enter()
}

fn execute(program: &CString, arguments: &[CString]) -> io::Error {
    let mut arguments: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    arguments.push(std::ptr::null());
    let environment = [std::ptr::null()];
    // SAFETY: the lists end in null, and hold strings that end in a zero; all live until this process is another program.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}
