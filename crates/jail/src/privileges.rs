//! Gives up privileges for good: capabilities, new privileges, inspection by other processes. All of it concerns the calling
//! thread and what it starts from then on, so it belongs at the beginning of a process, before its threads, or between fork
//! and exec. That is why nothing here allocates.
//!
//! Order: capabilities first (dropping the bounding set is itself a privilege), then no new privileges, which Landlock and
//! seccomp demand of an unprivileged process.

use std::io;

/// One more than the highest capability; the kernel rejects those that it does not know.
const NO_SUCH_CAPABILITY: libc::c_ulong = 64;
/// The version with two words for each set.
const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    thread: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Programs started from now on gain no privileges: set-user-id bits and file capabilities are ignored.
pub fn forbid_new_privileges() -> io::Result<()> {
    control(libc::PR_SET_NO_NEW_PRIVS, 1)
}

/// Gives up all capabilities, also for anything started from here: the effective, permitted, inheritable, ambient and bounding
/// sets are empty afterwards. A process without the privilege to empty the bounding set has no capabilities to lose, and keeps
/// that set: it only bounds what a program could gain, which [`forbid_new_privileges`] forbids.
pub fn drop_capabilities() -> io::Result<()> {
    for capability in 0..NO_SUCH_CAPABILITY {
        match control(libc::PR_CAPBSET_DROP, capability) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => break,
            Err(error) => return Err(error),
        }
    }
    match control(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong) {
        Ok(()) => {}
        // Before Linux 4.3 there was no such set.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
        Err(error) => return Err(error),
    }
    let header = Header { version: VERSION_3, thread: 0 };
    let none = [Sets { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: capset reads a header and, for version 3, two sets; both live to the end of the call.
    let done = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// No process of the same user can read this process's memory, and no core of it is written. The owner of its files in `/proc`
/// is root from now on; those that are readable for all users (`stat`, `statm`, `status`) stay readable.
pub fn forbid_inspection() -> io::Result<()> {
    control(libc::PR_SET_DUMPABLE, 0)
}

/// The kernel kills this process when the thread that started it ends: the thread, not its process. Executing a program with
/// more privileges undoes it, and it must be set again after a fork. It does not notice a parent that ended before.
pub fn end_with_parent() -> io::Result<()> {
    control(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)
}

/// Undoes [`end_with_parent`].
pub fn outlive_parent() -> io::Result<()> {
    control(libc::PR_SET_PDEATHSIG, 0)
}

fn control(option: libc::c_int, argument: libc::c_ulong) -> io::Result<()> {
    const NONE: libc::c_ulong = 0;
    // SAFETY: the options above take numbers, no pointers; those that are not used must be zero.
    let done = unsafe { libc::prctl(option, argument, NONE, NONE, NONE) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A line of this thread's own status.
    fn status(key: &str) -> String {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
        line.trim().to_owned()
    }

    #[test]
    fn dropped_privileges_are_gone_and_only_for_this_thread() {
        let given_up = || {
            let had_any = status("CapEff") != "0000000000000000";
            drop_capabilities().unwrap();
            forbid_new_privileges().unwrap();
            for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
                assert_eq!(status(set), "0000000000000000", "{set}");
            }
            if had_any {
                assert_eq!(status("CapBnd"), "0000000000000000");
            }
            assert_eq!(status("NoNewPrivs"), "1");
        };
        let before = status("NoNewPrivs");
        std::thread::spawn(given_up).join().unwrap();
        assert_eq!(status("NoNewPrivs"), before, "the other threads are as they were");
    }
}
