//! Connects to an agent that listens on a vsock port, as Firecracker offers it: a Unix socket, and
//! on it a line that names the port. A connection to a port without a listener is closed without an
//! answer, which is usual while a guest boots.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The port that the agent listens on.
pub(super) const PORT: u32 = 52;
/// `OK 4294967295` and the end of the line.
const MAX_RESPONSE_BYTES: usize = 14;

#[derive(Debug, thiserror::Error)]
pub(super) enum VsockError {
    #[error("the guest's socket cannot be reached: {0}")]
    Io(#[from] io::Error),
    #[error("the agent does not listen")]
    NotListening,
    #[error("the guest's socket answered {0:?} and not OK")]
    Malformed(String),
}

/// One attempt. `timeout` is for each read.
pub(super) fn connect(path: &Path, timeout: Duration) -> Result<UnixStream, VsockError> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(format!("CONNECT {PORT}\n").as_bytes())?;
    greet(&mut stream)?;
    Ok(stream)
}

/// Reads the answer and not a byte more: what follows is the agent's.
fn greet(stream: &mut impl Read) -> Result<(), VsockError> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return Err(VsockError::NotListening),
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(VsockError::NotListening),
            Err(error) => return Err(error.into()),
        }
        if line.len() > MAX_RESPONSE_BYTES {
            break;
        }
    }
    let text = String::from_utf8_lossy(&line);
    match text.strip_prefix("OK ").map(str::parse::<u32>) {
        Some(Ok(_)) => Ok(()),
        _ => Err(VsockError::Malformed(text.into_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_line_is_read() {
        let mut stream = &b"OK 1073741824\nagent"[..];
        assert!(greet(&mut stream).is_ok());
        assert_eq!(stream, b"agent");
        assert!(matches!(greet(&mut &b""[..]), Err(VsockError::NotListening)));
        assert!(matches!(greet(&mut &b"OK"[..]), Err(VsockError::NotListening)));
        for wrong in [&b"OK\n"[..], b"OK x\n", b"NO 3\n", b"OK 99999999999\n", b"aaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert!(matches!(greet(&mut &*wrong), Err(VsockError::Malformed(_))));
        }
    }
}
