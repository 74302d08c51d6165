//! Listeners (TCP or Unix) and pages of memory from one process to another: descriptors beside a byte of data, as Unix
//! sockets have it. The receiver of a listener shares the sender's queue of connections, so whoever of them goes away leaves
//! what waits there to the other. Which descriptor is what is agreed on elsewhere: they come in the order in which they went.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
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
    #[error("descriptors cannot be passed on: {0}")]
    Io(#[from] io::Error),
    #[error("{0} descriptors are more than can be passed on")]
    TooMany(usize),
    #[error("{wanted} descriptors were promised and {got} came")]
    Missing { wanted: usize, got: usize },
}

/// The process that made this pair of sockets, as the kernel recorded it.
pub fn maker(socket: &UnixStream) -> io::Result<u32> {
    let maker = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(maker.pid.as_raw_nonzero().get().unsigned_abs())
}

/// Passes descriptors on. Must be the first thing that is sent.
pub fn send(to: &UnixStream, fds: &[BorrowedFd<'_>]) -> Result<(), PassError> {
    let count = u8::try_from(fds.len()).ok().filter(|count| usize::from(*count) <= MOST);
    let Some(count) = count else { return Err(PassError::TooMany(fds.len())) };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    let text = [MARK, count];
    rustix::net::sendmsg(to, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL).map_err(io::Error::from)?;
    Ok(())
}

/// What [`send`] passed on.
pub fn receive(from: &UnixStream) -> Result<Vec<OwnedFd>, PassError> {
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
    let fds: Vec<OwnedFd> = fds.flatten().collect();
    let wanted = usize::from(text[1]);
    if fds.len() != wanted {
        return Err(PassError::Missing { wanted, got: fds.len() });
    }
    Ok(fds)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_listener_goes_on_when_its_first_owner_is_gone() {
        let (here, there) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send(&here, &[listener.as_fd()]).unwrap();
        // It waits in the queue that both have.
        let mut client = TcpStream::connect(address).unwrap();
        drop(listener);
        let passed = receive(&there).unwrap();
        assert_eq!(passed.len(), 1);
        let passed = TcpListener::from(passed.into_iter().next().unwrap());
        let (mut served, _) = passed.accept().unwrap();
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
