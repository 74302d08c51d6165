//! Scheduling attributes of threads and processes: EEVDF slices, nice values and the batch policy. They decide how soon a
//! thread that wakes up gets a core on which another thread runs.
//!
//! The kernel's scheduler (EEVDF) lets the running thread finish its slice, and decides anew only when its clock ticks. A
//! thread that has an answer to deliver may so wait for four milliseconds, unless it asks for shorter slices than the other
//! threads have. That does not give it more of the core, only sooner.
//!
//! A thread that has used more of the core than the others on it does not preempt them, however short its slices are. That
//! is why a sandbox's agent has a higher weight than its programs ([`raise_priority`]), and why the programs do not preempt
//! the agent ([`set_batch`]).

use std::time::Duration;

/// The shortest slice that the kernel grants.
const SHORT_SLICE: Duration = Duration::from_micros(100);

/// A nice value that has nine times the default weight.
const RAISED_NICE: i32 = -10;

/// The slice of threads and processes that the calling thread starts later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildSlice {
    /// The slice of their parent.
    Inherit,
    /// The kernel's default.
    Default,
}

/// The kernel's `sched_attr`, first version.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Asks for short slices for the calling thread. Kernels before 6.12 ignore it: they prefer the thread that has run less.
pub fn set_short_slice(children: ChildSlice) {
    set_slice(SHORT_SLICE, children);
}

/// Undoes [`set_short_slice`] for the calling thread: while it computes, threads with short slices preempt it.
pub fn set_default_slice() {
    // Zero stands for the kernel's default slice.
    set_slice(Duration::ZERO, ChildSlice::Inherit);
}

fn set_slice(slice: Duration, children: ChildSlice) {
    // SAFETY: demands nothing of memory; 0 names the calling thread.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
    let attributes = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: match children {
            ChildSlice::Inherit => 0,
            ChildSlice::Default => libc::SCHED_FLAG_RESET_ON_FORK as u64,
        },
        nice,
        priority: 0,
        runtime: slice.as_nanos() as u64,
        deadline: 0,
        period: 0,
    };
    // SAFETY: demands the kernel's layout of the structure with its size, both above; 0 names the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Raises the weight of a process among those in the same control group. Its children do not inherit that if it calls
/// [`set_short_slice`] with [`ChildSlice::Default`]. Needs `CAP_SYS_NICE`; without it, nothing changes.
pub fn raise_priority(process: i32) {
    // SAFETY: takes numbers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, process as u32, RAISED_NICE) };
}

/// Gives a process, and what it starts from now on, the batch policy: when it wakes up it does not preempt the thread that
/// runs on its core. Applies to the first thread of a process of the caller's own user. Kernels without that policy (gVisor's)
/// ignore it.
pub fn set_batch(process: i32) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: takes numbers and a structure of the kernel's layout, which lives to the end of the call.
    unsafe { libc::sched_setscheduler(process, libc::SCHED_BATCH, &raw const parameters) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct SleepingChild(Child);

    impl SleepingChild {
        fn start() -> Self {
            Self(Command::new("sleep").arg("1000").spawn().unwrap())
        }

        fn id(&self) -> i32 {
            i32::try_from(self.0.id()).unwrap()
        }
    }

    impl Drop for SleepingChild {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_gets_the_batch_policy() {
        let sleeps = SleepingChild::start();
        set_batch(sleeps.id());
        // SAFETY: asks, by number.
        assert_eq!(unsafe { libc::sched_getscheduler(sleeps.id()) }, libc::SCHED_BATCH);
    }

    #[test]
    fn a_process_gets_a_higher_priority_where_that_is_allowed() {
        let sleeps = SleepingChild::start();
        // SAFETY: asks, by number.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, sleeps.0.id()) };
        let before = nice();
        raise_priority(sleeps.id());
        // SAFETY: asks.
        let is_allowed = unsafe { libc::geteuid() } == 0;
        assert_eq!(nice(), if is_allowed { RAISED_NICE } else { before });
    }
}
