//! systemd's socket activation: takes the listening sockets that a service manager opened for this process. They are the
//! descriptors from 3 on, as many as `LISTEN_FDS` says, meant for the process that `LISTEN_PID` names.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

const FIRST_FD: RawFd = 3;
/// More than any service opens, and few enough to check each.
const MAX_SOCKETS: u32 = 250;

#[derive(Debug, thiserror::Error)]
pub enum ActivationError {
    #[error("LISTEN_FDS is {0:?}, and should be a number up to {MAX_SOCKETS}")]
    Count(String),
    #[error("LISTEN_FDS promises descriptor {0}, which is not open: {1}")]
    Closed(RawFd, #[source] io::Error),
    #[error("the descriptors were taken already")]
    Taken,
}

/// Takes what the service manager passed on, each socket with its name or an empty one. `pid`, `count` and `names` are the
/// values of `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`. Returns nothing where they are meant for another process.
pub fn take(
    pid: Option<&str>,
    count: Option<&str>,
    names: Option<&str>,
) -> Result<Vec<(String, OwnedFd)>, ActivationError> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    let (Some(pid), Some(text)) = (pid, count) else { return Ok(Vec::new()) };
    if pid.parse() != Ok(std::process::id()) {
        return Ok(Vec::new());
    }
    let count = text.parse::<u32>().ok().filter(|count| *count <= MAX_SOCKETS);
    let Some(count) = count else { return Err(ActivationError::Count(text.to_owned())) };
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(ActivationError::Taken);
    }
    let mut names = names.unwrap_or_default().split(':');
    let numbers = FIRST_FD..FIRST_FD + count as RawFd;
    numbers.map(|fd| Ok((names.next().unwrap_or_default().to_owned(), own(fd)?))).collect()
}

fn own(fd: RawFd) -> Result<OwnedFd, ActivationError> {
    // SAFETY: fcntl takes numbers and touches no memory of ours; it fails if the number is not an open descriptor.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(ActivationError::Closed(fd, io::Error::last_os_error()));
    }
    // SAFETY: the descriptor must be open and without another owner. It was open in the line above; the service manager says
    // that it is meant for this process, so no code here has opened it, and `TAKEN` lets only one caller have it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_another_process_are_left_alone_and_a_bad_count_is_an_error() {
        assert!(take(None, Some("1"), None).unwrap().is_empty());
        assert!(take(Some("1"), Some("1"), None).unwrap().is_empty(), "process 1 is another");
        let me = std::process::id().to_string();
        for count in ["", "x", "-1", "251"] {
            assert!(matches!(take(Some(&me), Some(count), None), Err(ActivationError::Count(_))), "{count}");
        }
    }
}
