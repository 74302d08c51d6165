//! Passes file descriptors (TCP or Unix listeners, memory files) between processes with SCM_RIGHTS. A received listener
//! shares its accept queue with the sender's, so connections that wait there survive the end of either process. Order is
//! kept; what each descriptor is follows from the protocol of the callers.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

/// Linux passes at most 253 descriptors in one message.
const MAX_FDS: usize = 250;
/// First byte of a message that carries descriptors.
const MESSAGE_TAG: u8 = b'L';

#[derive(Debug, thiserror::Error)]
pub enum PassError {
    #[error("descriptors cannot be passed on: {0}")]
    Io(#[from] io::Error),
    #[error("{0} descriptors are more than can be passed on")]
    TooMany(usize),
    #[error("{wanted} descriptors were promised and {got} came")]
    Missing { wanted: usize, got: usize },
}

/// The process that created this socket pair, as the kernel recorded it (SO_PEERCRED).
pub fn creator_pid(socket: &UnixStream) -> io::Result<u32> {
    let creator = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(creator.pid.as_raw_nonzero().get().unsigned_abs())
}

/// Sends descriptors. They must be the first thing that is sent over the socket.
pub fn send(to: &UnixStream, fds: &[BorrowedFd<'_>]) -> Result<(), PassError> {
    let count = u8::try_from(fds.len()).ok().filter(|count| usize::from(*count) <= MAX_FDS);
    let Some(count) = count else { return Err(PassError::TooMany(fds.len())) };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    let text = [MESSAGE_TAG, count];
    rustix::net::sendmsg(to, &[IoSlice::new(&text)], &mut ancillary, SendFlags::NOSIGNAL).map_err(io::Error::from)?;
    Ok(())
}

/// Receives the descriptors of one [`send`].
pub fn receive(from: &UnixStream) -> Result<Vec<OwnedFd>, PassError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut text = [0; 2];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let received = rustix::net::recvmsg(from, &mut [IoSliceMut::new(&mut text)], &mut ancillary, flags);
    if received.map_err(io::Error::from)?.bytes != text.len() || text[0] != MESSAGE_TAG {
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
    fn a_received_listener_accepts_after_the_sender_closed_its_own() {
        let (here, there) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        send(&here, &[listener.as_fd()]).unwrap();
        // The connection waits in the accept queue that both descriptors share.
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
    fn an_empty_list_can_be_sent_and_a_closed_socket_is_an_error() {
        let (here, there) = UnixStream::pair().unwrap();
        send(&here, &[]).unwrap();
        assert!(receive(&there).unwrap().is_empty());
        drop(here);
        assert!(matches!(receive(&there), Err(PassError::Io(_))));
    }
}
