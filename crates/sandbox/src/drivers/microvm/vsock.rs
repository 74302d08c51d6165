//! The way to an agent that listens on a vsock port, as Firecracker offers it: a Unix socket, and on it a line that names the
//! port. A connection to which nobody listens inside is ended without an answer; while a guest boots that is the usual case.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Where the agent listens.
pub(super) const PORT: u32 = 52;
/// `OK 4294967295` and the end of the line.
const LONGEST: usize = 14;

#[derive(Debug, thiserror::Error)]
pub(super) enum VsockError {
    #[error("the guest's socket cannot be reached: {0}")]
    Io(#[from] io::Error),
    #[error("the agent does not listen")]
    Nobody,
    #[error("the guest's socket answered {0:?} and not OK")]
    Malformed(String),
}

/// One attempt. `patience` is for each read.
pub(super) fn connect(path: &Path, patience: Duration) -> Result<UnixStream, VsockError> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
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
            Ok(0) => return Err(VsockError::Nobody),
            Ok(_) if byte[0] == b'\n' => break,
            Ok(_) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(VsockError::Nobody),
            Err(error) => return Err(error.into()),
        }
        if line.len() > LONGEST {
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
    fn the_answer_is_read_and_no_more() {
        let mut stream = &b"OK 1073741824\nagent"[..];
        assert!(greet(&mut stream).is_ok());
        assert_eq!(stream, b"agent");
        assert!(matches!(greet(&mut &b""[..]), Err(VsockError::Nobody)));
        assert!(matches!(greet(&mut &b"OK"[..]), Err(VsockError::Nobody)));
        for wrong in [&b"OK\n"[..], b"OK x\n", b"NO 3\n", b"OK 99999999999\n", b"aaaaaaaaaaaaaaaaaaaaaaaaa"] {
            assert!(matches!(greet(&mut &*wrong), Err(VsockError::Malformed(_))));
        }
    }
}
