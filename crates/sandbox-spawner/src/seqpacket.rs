//! Messages with descriptors between processes, over a socket that keeps them apart. One message is one JSON text; it comes
//! whole with its descriptors, or not at all.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longer messages are not sent.
const MAX_MESSAGE_BYTES: usize = 16 << 10;
/// At most so many descriptors with a message.
const MAX_FDS: usize = 8;
/// Space for their header and themselves, in words, which keeps it aligned.
const SPACE: usize = 8;

/// Two ends; both are closed on exec.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: socketpair writes two descriptors, and there is room for two.
    let made =
        unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made both descriptors; they have no other owner.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// From now on [`receive`] fails when nothing comes for so long.
pub fn set_receive_timeout(socket: BorrowedFd<'_>, time: Duration) -> io::Result<()> {
    let time = libc::timeval { tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX), tv_usec: 0 };
    let length = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: the call reads one time, which is as long as is said and lives to its end.
    let set = unsafe {
        let option = (&raw const time).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, option, length)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub fn send<M: Serialize>(to: BorrowedFd<'_>, message: &M, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut text = serde_json::to_vec(message)?;
    if text.len() > MAX_MESSAGE_BYTES || fds.len() > MAX_FDS {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut space = [0_u64; SPACE];
    let mut part = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: text.len() };
    // SAFETY: all zeros is a valid header: no address, no parts, no control data.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if !fds.is_empty() {
        let bytes = (fds.len() * size_of::<RawFd>()) as libc::c_uint;
        header.msg_control = space.as_mut_ptr().cast();
        // SAFETY: computes a number.
        header.msg_controllen = unsafe { libc::CMSG_SPACE(bytes) } as usize;
        // SAFETY: the control data is long enough for one header with `fds.len()` descriptors: `SPACE` words hold 16 bytes of
        // header and `MAX_FDS` descriptors. The first header is at its start, which is aligned, and is not null.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(bytes) as usize;
            let data = libc::CMSG_DATA(first).cast::<RawFd>();
            for (place, fd) in fds.iter().enumerate() {
                data.add(place).write_unaligned(fd.as_raw_fd());
            }
        }
    }
    // SAFETY: the header points to one part and to control data, all of which live to the end of the call.
    let sent = unsafe { libc::sendmsg(to.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The next message and its descriptors; `None` when the other end is closed.
pub fn receive<M: DeserializeOwned>(from: BorrowedFd<'_>) -> io::Result<Option<(M, Vec<OwnedFd>)>> {
    let mut text = vec![0; MAX_MESSAGE_BYTES];
    let mut space = [0_u64; SPACE];
    let mut part = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: text.len() };
    // SAFETY: all zeros is a valid header.
    let mut header: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = space.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&space);
    let count = loop {
        // SAFETY: the header points to one part and to control data, all of which live to the end of the call.
        let count = unsafe { libc::recvmsg(from.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
        match usize::try_from(count) {
            Ok(count) => break count,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    };
    let fds = received(&header);
    if count == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&text[..count])?, fds)))
}

fn received(header: &libc::msghdr) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    // SAFETY: the kernel has filled in the header; the walk over its control data stays within the
    // length that it gave. The descriptors in it were made by this very call and have no other
    // owner.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SCM_RIGHTS {
                let bytes = (*at).cmsg_len - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(at).cast::<RawFd>();
                for place in 0..bytes / size_of::<RawFd>() {
                    fds.push(OwnedFd::from_raw_fd(data.add(place).read_unaligned()));
                }
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
    }
    fds
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn messages_and_descriptors_come_as_they_went() {
        let (here, there) = pair().unwrap();
        let (mut a, b) = UnixStream::pair().unwrap();
        send(here.as_fd(), &"with", &[b.as_fd(), b.as_fd(), b.as_fd(), b.as_fd()]).unwrap();
        send(here.as_fd(), &"without", &[]).unwrap();
        drop(b);
        let (text, fds) = receive::<String>(there.as_fd()).unwrap().unwrap();
        assert_eq!((text.as_str(), fds.len()), ("with", 4));
        UnixStream::from(fds.into_iter().next().unwrap()).write_all(b"x").unwrap();
        let mut byte = Vec::new();
        a.read_to_end(&mut byte).unwrap();
        assert_eq!(byte, b"x");
        assert_eq!(receive::<String>(there.as_fd()).unwrap().unwrap().0, "without");
        set_receive_timeout(there.as_fd(), Duration::from_secs(1)).unwrap();
        assert_eq!(receive::<String>(there.as_fd()).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(here);
        assert!(receive::<String>(there.as_fd()).unwrap().is_none());
    }
}
