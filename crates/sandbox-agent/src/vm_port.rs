//! The port of a virtual machine, as a connection. There are two kinds.
//!
//! A serial port has a file name, which exists before the port can be opened, and it can be opened
//! before the other end is: it then reads as if the other end had closed. So the agent waits, first
//! for the one and then for the other.
//!
//! On a vsock port the agent listens. A snapshot of the machine ends all connections, and a copy of
//! it is reached over a new one; the agent and its spares must not end with the old. So clients
//! come one after the other, and their data is relayed to one end of a socket pair, which stays.
//! Only the machine's end ends it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use hearth_sys::vsock;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::dup2_stdin;

/// Time for the host to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(120);
const RETRY_DELAY: Duration = Duration::from_millis(5);
const VSOCK: &str = "vsock:";

/// Makes the port descriptor 0: a path, or `vsock:` and a number.
pub fn attach(name: &str) -> io::Result<()> {
    match name.strip_prefix(VSOCK) {
        Some(number) => listen(number.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?),
        None => open(name),
    }
}

/// Returns when the port is readable.
fn open(path: &str) -> io::Result<()> {
    let began = Instant::now();
    // Opened only once: closing it would lose what has come.
    let port = loop {
        match File::options().read(true).write(true).open(path) {
            Err(_) if began.elapsed() < CONNECT_TIMEOUT => std::thread::sleep(RETRY_DELAY),
            opened => break opened?,
        }
    };
    while began.elapsed() < CONNECT_TIMEOUT {
        let mut fds = [PollFd::new(port.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::from(100u8))?;
        match fds[0].revents() {
            Some(seen) if seen.contains(PollFlags::POLLHUP) => std::thread::sleep(RETRY_DELAY),
            Some(seen) if seen.contains(PollFlags::POLLIN) => break,
            _ => {}
        }
    }
    Ok(dup2_stdin(port)?)
}

fn listen(port: u32) -> io::Result<()> {
    let listener = vsock::listen(port)?;
    let (inner, outer) = UnixStream::pair()?;
    // SIGCHLD must go to the main thread, not to the relaying one.
    let mut deaths = SigSet::empty();
    deaths.add(Signal::SIGCHLD);
    deaths.thread_block()?;
    std::thread::Builder::new().name("hearth-port".to_owned()).spawn(move || serve(&listener, &outer))?;
    Ok(dup2_stdin(inner)?)
}

/// Serves one client after the other.
fn serve(listener: &OwnedFd, agent: &UnixStream) {
    while let Ok(client) = vsock::accept(listener.as_fd()) {
        // However it ended, the next client is waited for.
        let _ = relay(&File::from(client), agent);
    }
}

/// Relays until the client is gone.
fn relay(client: &File, agent: &UnixStream) -> io::Result<()> {
    let (mut client, mut agent) = (client, agent);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let mut fds = [PollFd::new(client.as_fd(), PollFlags::POLLIN), PollFd::new(agent.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::NONE)?;
        let [from_client, from_agent] = fds.map(|fd| fd.any().unwrap_or(true));
        if from_client {
            match client.read(&mut buffer)? {
                0 => return Ok(()),
                count => agent.write_all(&buffer[..count])?,
            }
        }
        if from_agent {
            match agent.read(&mut buffer)? {
                0 => return Ok(()),
                count => client.write_all(&buffer[..count])?,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn clients_come_one_after_the_other_and_the_agent_stays() {
        let path = std::env::temp_dir().join(format!("hearth-port-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let (mut inner, outer) = UnixStream::pair().unwrap();
        std::thread::spawn(move || serve(&OwnedFd::from(listener), &outer));
        for round in 0..3u8 {
            let mut client = UnixStream::connect(&path).unwrap();
            client.write_all(&[round; 5]).unwrap();
            let mut heard = [0; 5];
            inner.read_exact(&mut heard).unwrap();
            assert_eq!(heard, [round; 5]);
            inner.write_all(b"answer").unwrap();
            let mut answer = [0; 6];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"answer");
        }
        std::fs::remove_file(path).unwrap();
    }
}
