//! The port of a virtual machine, as a connection. Unlike a socket it has a name, which is there before the port itself can be
//! opened, and it can be open before anybody is at its other end: it reads then as if somebody had left. So the agent waits,
//! for the one and then for the other.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::dup2_stdin;

/// Nobody who starts a machine takes longer to speak to it.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(5);

/// Makes the port descriptor 0. Returns when there is something to be read from it.
pub fn take(path: &str) -> io::Result<()> {
    let began = Instant::now();
    // Once only: who closes it loses what has come.
    let port = loop {
        match File::options().read(true).write(true).open(path) {
            Err(_) if began.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            opened => break opened?,
        }
    };
    while began.elapsed() < PATIENCE {
        let mut fds = [PollFd::new(port.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(100u8))?;
        match fds[0].revents() {
            Some(seen) if seen.contains(PollFlags::POLLHUP) => std::thread::sleep(PAUSE),
            Some(seen) if seen.contains(PollFlags::POLLIN) => break,
            _ => {}
        }
    }
    Ok(dup2_stdin(port)?)
}
