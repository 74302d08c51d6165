//! How long whoever runs may go on before one that wakes up gets its core.
//!
//! The kernel's scheduler (EEVDF) lets whoever runs finish its slice, and looks only when its clock ticks, so that a thread that
//! has an answer to carry may wait for four milliseconds; unless it asks for shorter slices than the others have. It gets no
//! more of the core for that, only sooner.
//!
//! Who has used more of the core than others since they met is not let before them, however short its slices. So a sandbox's
//! agent weighs more than its programs, and they let whoever runs go on.

use std::time::Duration;

/// The shortest that there is.
const SHORT: Duration = Duration::from_micros(100);

/// Nine times the weight of others.
const FIRST: i32 = -10;

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
    ask_for(SHORT, heirs);
}

/// For the calling thread, as if it had never asked: while it computes, those with short ones come first.
pub fn ask_for_ordinary_slices() {
    // What the kernel takes for no wish.
    ask_for(Duration::ZERO, Heirs::Alike);
}

fn ask_for(slice: Duration, heirs: Heirs) {
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
        runtime: slice.as_nanos() as u64,
        deadline: 0,
        period: 0,
    };
    // SAFETY: demands the kernel's layout of the structure with its size, both above; 0 names the calling thread.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
}

/// Makes a process come first among those that it shares limits with. What it starts later does not, if it asks for short slices
/// with [`Heirs::Ordinary`]. Takes the right to do so; without it, nothing changes.
pub fn put_first(process: i32) {
    // SAFETY: takes numbers.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, process as u32, FIRST) };
}

/// When the process wakes up, or one that it starts from now on, whoever runs on its core goes on, until it sleeps or has had
/// its share. For the first thread of a process of the caller's own user. Kernels that know no such thing (gVisor's) ignore it.
pub fn push_nobody(process: i32) {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: takes numbers and a structure of the kernel's layout, which lives to the end of the call.
    unsafe { libc::sched_setscheduler(process, libc::SCHED_BATCH, &raw const parameters) };
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    struct Sleeps(Child);

    impl Sleeps {
        fn start() -> Self {
            Self(Command::new("sleep").arg("1000").spawn().unwrap())
        }

        fn id(&self) -> i32 {
            i32::try_from(self.0.id()).unwrap()
        }
    }

    impl Drop for Sleeps {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_can_be_made_to_let_others_go_on() {
        let sleeps = Sleeps::start();
        push_nobody(sleeps.id());
        // SAFETY: asks, by number.
        assert_eq!(unsafe { libc::sched_getscheduler(sleeps.id()) }, libc::SCHED_BATCH);
    }

    #[test]
    fn a_process_comes_first_where_that_is_allowed() {
        let sleeps = Sleeps::start();
        // SAFETY: asks, by number.
        let nice = || unsafe { libc::getpriority(libc::PRIO_PROCESS, sleeps.0.id()) };
        let before = nice();
        put_first(sleeps.id());
        // SAFETY: asks.
        let is_allowed = unsafe { libc::geteuid() } == 0;
        assert_eq!(nice(), if is_allowed { FIRST } else { before });
    }
}
