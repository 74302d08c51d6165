//! What a process does until it is a program of somebody else's between walls (`enclosure.rs`). Like `init.rs` for sandboxes,
//! and stricter: no network, nothing to be started, a few folders to be read and one to be written to.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use super::enclosure::{FOLDER, LIBRARIES};
use super::init::{Report, at_most_allowed, name, wait_to_be_somebody};
use super::plan::Enclosure;
use super::template::Template;
use super::{Failed, Step, channel, mounts};
use crate::descriptors::close_all_but;
use crate::landlock::{Access, LandlockError, Ruleset, Tcp};
use crate::limits::{Resource, limit};
use crate::privileges;
use crate::seccomp::Filter;

const DESCRIPTORS: u64 = 1_024;
/// Above all that the program is given.
const FREE: RawFd = 64;
/// What starts programs that are not whole in themselves.
const LOADERS: [&str; 2] = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];

/// What the process finds prepared.
pub struct Cell<'a> {
    pub root: &'a Template,
    pub filter: &'a Filter,
    /// The program's descriptors, from 0 on.
    pub fds: &'a [OwnedFd],
    /// No control group holds its memory: the process's own is held instead.
    pub limits_memory: bool,
}

/// Comes back only when it has failed.
pub fn run(enclosure: &Enclosure, cell: &Cell<'_>, parent: BorrowedFd<'_>) -> Failed {
    // Its place may be one that the program's descriptors go to.
    let channel = match above(parent.as_raw_fd()).step("the descriptors") {
        Ok(channel) => channel,
        Err(failed) => return failed,
    };
    let failed = match become_program(enclosure, cell, channel.as_fd()) {
        Ok(never) => match never {},
        Err(failed) => failed,
    };
    // Whoever asked is told over the channel where it was.
    // SAFETY: takes numbers. This process is about to end, and nobody uses what is at that place by now.
    unsafe { libc::dup2(channel.as_raw_fd(), parent.as_raw_fd()) };
    failed
}

/// A copy of a descriptor, out of the way.
fn above(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers, the first that of an open descriptor.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, FREE) };
    // SAFETY: the kernel has just made it for us, and nobody else knows of it.
    if copy >= 0 { Ok(unsafe { OwnedFd::from_raw_fd(copy) }) } else { Err(io::Error::last_os_error()) }
}

fn become_program(
    enclosure: &Enclosure,
    cell: &Cell<'_>,
    parent: BorrowedFd<'_>,
) -> Result<std::convert::Infallible, Failed> {
    wait_to_be_somebody(parent)?;
    root(enclosure, cell.root, parent)?;
    name("enclosure").step("the host name")?;
    bounds(enclosure, cell.limits_memory).step("the limits of the process")?;
    let (program, arguments) = words(enclosure).step("the program")?;
    standard(cell.fds).step("the descriptors")?;
    let mut kept: Vec<RawFd> = (0..).take(cell.fds.len()).collect();
    kept.push(parent.as_raw_fd());
    // SAFETY: this process is about to become another program, and uses nothing but these.
    unsafe { close_all_but(&kept) }.step("the descriptors")?;
    // After the user has changed, which would undo it.
    privileges::end_with_parent().step("an end with the spawner")?;
    privileges::drop_capabilities().step("the capabilities")?;
    privileges::forbid_new_privileges().step("no new privileges")?;
    landlock(enclosure).step("Landlock")?;
    cell.filter.enter().step("the filter of system calls")?;
    Err(execute(&program, &arguments)).step("the program")
}

/// A copy of the template, with a `/proc` and a folder of its own, which those outside are given.
fn root(enclosure: &Enclosure, template: &Template, parent: BorrowedFd<'_>) -> Result<(), Failed> {
    mounts::part().step("mounts of its own")?;
    mounts::bind(&template.root, &template.stage).step("the root file system")?;
    mounts::proc(&template.stage.join("proc")).step("a /proc of its own")?;
    let folder = template.stage.join(FOLDER.trim_start_matches('/'));
    mounts::tmpfs(&folder, &format!("mode=700,size={}", enclosure.plan.disk)).step("a folder in memory")?;
    let folder = File::open(&folder).step("a folder in memory")?;
    channel::send(parent, &Report::Opened, &[folder.as_fd()]).step("a channel")?;
    mounts::pivot(&template.stage).step("the root file system")
}

fn bounds(enclosure: &Enclosure, limits_memory: bool) -> io::Result<()> {
    limit(Resource::Core, 0)?;
    limit(Resource::Descriptors, at_most_allowed(DESCRIPTORS)?)?;
    limit(Resource::Processes, enclosure.plan.processes.into())?;
    limit(Resource::MessageQueues, 0)?;
    if limits_memory {
        limit(Resource::Data, enclosure.plan.memory)?;
    }
    Ok(())
}

fn words(enclosure: &Enclosure) -> io::Result<(CString, Vec<CString>)> {
    let program = mounts::text(&enclosure.program)?;
    let mut arguments = vec![program.clone()];
    for argument in &enclosure.arguments {
        arguments.push(mounts::text(Path::new(argument))?);
    }
    Ok((program, arguments))
}

/// The program's descriptors at their places.
fn standard(fds: &[OwnedFd]) -> io::Result<()> {
    // All out of the way first: places are still taken by what is to be put elsewhere.
    let copies = fds.iter().map(|fd| above(fd.as_raw_fd())).collect::<io::Result<Vec<_>>>()?;
    for (place, copy) in (0..).zip(&copies) {
        // SAFETY: takes numbers. What was at this place belongs to nobody that goes on.
        if unsafe { libc::dup2(copy.as_raw_fd(), place) } != place {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// What the mounts say, a second time, and more exactly: only the program itself can be started.
fn landlock(enclosure: &Enclosure) -> io::Result<()> {
    let mut rules = match Ruleset::new(Tcp::None) {
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
        allow(&folder, Access::Read)?;
    }
    for path in ["/etc", "/proc"] {
        allow(Path::new(path), Access::Read)?;
    }
    for file in &enclosure.files {
        allow(file, Access::Read)?;
    }
    for program in LOADERS.iter().map(Path::new).chain([enclosure.program.as_path()]) {
        allow(program, Access::ReadExecute)?;
    }
    for device in &enclosure.devices {
        allow(device, Access::All)?;
    }
    for folder in ["/dev", FOLDER] {
        allow(Path::new(folder), Access::ReadWrite)?;
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
