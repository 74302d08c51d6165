//! Closes file descriptors that a process was not meant to have: inherited ones at its start, all others after a fork.

use std::io;
use std::os::fd::RawFd;

/// Closes the descriptors that the program was started with beyond its three standard ones, and returns how many those were.
/// To be called first of all: what is open then without close-on-exec came from the parent process, since all that Rust opens
/// is closed on exec.
pub fn close_inherited() -> io::Result<usize> {
    let mut inherited = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let descriptor = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        let Some(descriptor) = descriptor.filter(|descriptor| *descriptor > libc::STDERR_FILENO) else { continue };
        // SAFETY: fcntl is given numbers, and touches no memory of ours.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
            inherited.push(descriptor);
        }
    }
    for descriptor in &inherited {
        // SAFETY: no code in this process owns it: what is opened here is closed on exec, and this one is not.
        unsafe { libc::close(*descriptor) };
    }
    Ok(inherited.len())
}

/// How many descriptors this process may have open; `None` where nothing limits it.
pub fn max_open() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit writes one rlimit, for which there is room: a local.
    let done = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (done == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

/// Closes every descriptor that is not in `keep`, which must be sorted and may repeat. Allocates nothing.
///
/// # Safety
/// No code in this process may use a descriptor that is closed here, which holds right after a fork and at the very beginning
/// of a program.
pub unsafe fn close_all_except(keep: &[RawFd]) -> io::Result<()> {
    debug_assert!(keep.is_sorted());
    let mut first: RawFd = 0;
    for kept in keep {
        if *kept > first {
            // SAFETY: as the caller promises.
            unsafe { close_range(first, *kept - 1)? };
        }
        first = first.max(*kept + 1);
    }
    // SAFETY: as the caller promises.
    unsafe { close_range(first, RawFd::MAX) }
}

/// # Safety
/// As [`close_all_except`].
unsafe fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    // SAFETY: close_range takes three numbers; that no code uses what it closes is the caller's promise.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::ENOSYS) {
        return Err(error);
    }
    // Before Linux 5.9: one by one, up to the hard limit of the process.
    let (_, max) = crate::rlimit::get(crate::rlimit::Resource::Descriptors)?;
    let end = last.min(RawFd::try_from(max).unwrap_or(1 << 20));
    for descriptor in first..=end {
        // SAFETY: as the caller promises. The kernel refuses a number that is not open, which is fine.
        unsafe { libc::close(descriptor) };
    }
    Ok(())
}
