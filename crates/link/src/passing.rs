//! Listeners from one process to another: descriptors beside a byte of data, as Unix sockets have it. The receiver shares
//! the sender's queue of connections, so whoever of them goes away leaves what waits there to the other.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

/// Linux passes at most 253 at once.
const MOST: usize = 250;
/// So that a message with descriptors is told from any other.
const MARK: u8 = b'L';

#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("listeners cannot be passed on: {0}")]
    Io(#[from] io::Error),
    #[error("{0} listeners are more than can be passed on")]
    TooMany(usize),
    #[error("{wanted} listeners were promised and {got} came")]
    Missing { wanted: usize, got: usize },
}

/// Passes listeners on. Must be the first thing that is sent.
pub fn send(to: &UnixStream, listeners: &[TcpListener]) -> Result<(), PassError> {
    let count = u8::try_from(listeners.len()).ok().filter(|count| usize::from(*count) <= MOST);
    let Some(count) = count else { return Err(PassError::TooMany(listeners.len())) };
    let fds: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    }
    let text = [MARK, count];
    rustix::net::sendmsg(to, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL).map_err(io::Error::from)?;
    Ok(())
}

/// What [`send`] passed on.
pub fn receive(from: &UnixStream) -> Result<Vec<TcpListener>, PassError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut text = [0; 2];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let received = rustix::net::recvmsg(from, &mut [IoSliceMut::new(&mut text)], &mut ancillary, flags);
    if received.map_err(io::Error::from)?.bytes != text.len() || text[0] != MARK {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    let fds = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    let listeners: Vec<TcpListener> = fds.flatten().map(|fd: OwnedFd| TcpListener::from(fd)).collect();
    let wanted = usize::from(text[1]);
    if listeners.len() != wanted {
        return Err(PassError::Missing { wanted, got: listeners.len() });
    }
    Ok(listeners)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_listener_goes_on_when_its_first_owner_is_gone() {
        let (here, there) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send(&here, std::slice::from_ref(&listener)).unwrap();
        // It waits in the queue that both have.
        let mut client = TcpStream::connect(address).unwrap();
        drop(listener);
        let passed = receive(&there).unwrap();
        assert_eq!(passed.len(), 1);
        let (mut served, _) = passed[0].accept().unwrap();
        served.write_all(b"hello").unwrap();
        drop(served);
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn nothing_can_be_passed_and_an_end_is_an_error() {
        let (here, there) = UnixStream::pair().unwrap();
        send(&here, &[]).unwrap();
        assert!(receive(&there).unwrap().is_empty());
        drop(here);
        assert!(matches!(receive(&there), Err(PassError::Io(_))));
    }
}
