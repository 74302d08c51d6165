//! Which system calls a process may make: allow-lists, one for cells and one for sandboxes. What is not on the list fails
//! with an error; it kills nothing, because a library that asks for something new should be told, not shot.
//!
//! | file | |
//! |---|---|
//! | `cell.rs` | what a cell needs: threads, memory, sockets, files that it reads |
//! | `sandbox.rs` | what programs of all kinds need, without what only the kernel's attackers do |
//! | `monitor.rs` | what a virtual machine's monitor needs: of that, what one process does |
//! | `program.rs` | rules, compiled to what the kernel runs |
//!
//! A filter is made beforehand and entered later: [`Filter::enter`] allocates nothing.

mod cell;
mod monitor;
mod program;
mod sandbox;

use std::io;

use libc::sock_filter;

use self::program::{Check, Half, Must, Verdict};

/// Made, and not yet entered.
#[derive(Clone, Debug)]
pub struct Filter {
    layers: Vec<Layer>,
}

/// A program that is asked at each call; the strictest of all answers counts.
#[derive(Clone, Debug)]
struct Layer {
    program: Box<[sock_filter]>,
    /// Whether what it refuses is told in the kernel's log.
    flags: libc::c_ulong,
}

/// Whether a cell may make Unix sockets that lead elsewhere. A pair of sockets that are connected to each other is always
/// allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnixSockets {
    Allowed,
    Forbidden,
}

/// What holds the memory of a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// A control group: whatever its processes get is counted.
    Group,
    /// Limits of each process alone: what these do not count must not be had.
    Process,
}

// === impl Filter ===

impl Filter {
    /// For the calling process, to be entered by it: its own number is part of the rules. What is refused is told in the
    /// kernel's log, for it is an attack or a mistake of ours; but not `clone3`, which every new thread tries first.
    pub fn for_cell(sockets: UnixSockets) -> Self {
        let rules = program::compile(cell::rules(std::process::id(), sockets));
        let mut filter = Self::without(libc::SYS_clone3);
        // In this order: behind the rules no filter can be entered any more.
        filter.layers.push(Layer { program: rules, flags: libc::SECCOMP_FILTER_FLAG_LOG });
        filter
    }

    /// As on a kernel that does not have this call, and has all others.
    pub fn without(call: libc::c_long) -> Self {
        Self { layers: vec![Layer { program: program::refuse(call, libc::ENOSYS), flags: 0 }] }
    }

    /// For an agent in a sandbox, and the programs that it starts. `clone3` is not there, as on an old kernel: its arguments
    /// cannot be looked at, those of `clone` can.
    pub fn for_sandbox(limit: MemoryLimit) -> Self {
        Self { layers: vec![Layer { program: program::compile(sandbox::rules(limit)), flags: 0 }] }
    }

    /// For the monitor of a virtual machine.
    pub fn for_monitor() -> Self {
        Self { layers: vec![Layer { program: program::compile(monitor::rules()), flags: 0 }] }
    }

    /// From now on this thread, and all that it starts, makes only the calls that the filter allows. There is no way back.
    /// Needs [`crate::privileges::forbid_new_privileges`] before.
    pub fn enter(&self) -> io::Result<()> {
        self.layers.iter().try_for_each(Layer::enter)
    }
}

// === impl Layer ===

impl Layer {
    fn enter(&self) -> io::Result<()> {
        match self.set(self.flags) {
            // The log is more than Linux before 4.14 can offer.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && self.flags != 0 => self.set(0),
            done => done,
        }
    }

    fn set(&self, flags: libc::c_ulong) -> io::Result<()> {
        let length = u16::try_from(self.program.len()).expect("the kernel takes at most 4096 instructions");
        let program = libc::sock_fprog { len: length, filter: self.program.as_ptr().cast_mut() };
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        // SAFETY: the call reads a program of `len` instructions, which live to its end and are not written to.
        let done = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const program) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

/// Whether the kernel has filters at all.
pub fn is_supported() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads one number, which lives to its end, and changes nothing.
    unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) == 0 }
}

fn all(calls: &[libc::c_long]) -> impl Iterator<Item = (libc::c_long, Verdict)> {
    calls.iter().map(|call| (*call, Verdict::Allow))
}

/// The argument, as a whole, is one of these.
fn is(argument: u8, values: &[u32]) -> Check {
    Check { argument, half: Half::Lower, mask: u32::MAX, must: Must::BeOneOf(values.to_vec()) }
}

/// The argument is a pointer that leads nowhere.
fn null(argument: u8) -> [Check; 2] {
    [is(argument, &[0]), Check { half: Half::Upper, ..is(argument, &[0]) }]
}

fn family(families: &[libc::c_int]) -> Check {
    is(0, &families.iter().map(|family| *family as u32).collect::<Vec<_>>())
}

/// The kind of a socket, beside which there are flags. No raw ones.
fn stream_or_datagram() -> Check {
    Check {
        argument: 1,
        half: Half::Lower,
        mask: 0xf,
        must: Must::BeOneOf(vec![libc::SOCK_STREAM as u32, libc::SOCK_DGRAM as u32]),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
