//! How long whoever runs may go on before one that wakes up gets its core.
//!
//! The kernel's scheduler (EEVDF) lets whoever runs finish its slice, and looks only when its clock ticks, so that a thread that
//! has an answer to carry may wait for four milliseconds; unless it asks for shorter slices than the others have. It gets no
//! more of the core for that, only sooner.

use std::time::Duration;

/// The shortest that there is.
const SHORT: Duration = Duration::from_micros(100);

/// The threads and processes that a thread starts later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heirs {
    /// Have short slices, too.
    Alike,
    /// Are like all others.
    Ordinary,
}

/// What the kernel is told (`sched_attr`, the first version).
#[repr(C)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// For the calling thread. Kernels before 6.12 do not know it and ignore it; theirs look at who had less.
pub fn ask_for_short_slices(heirs: Heirs) {
    // SAFETY: demands nothing of memory; 0 names the calling thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: match heirs {
            Heirs::Alike => 0,
            Heirs::Ordinary => libc::SCHED_FLAG_RESET_ON_FORK as u64,
        },
        nice,
        priority: 0,
        runtime: SHORT.as_nanos() as u64,
        deadline: 0,
        period: 0,
    };
    // SAFETY: demands the kernel's layout of the structure with its size, both above; 0 names the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}
