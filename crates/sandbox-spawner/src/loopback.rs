//! A loopback with one listener. The listener is made inside and accepted from outside: a connection to it is, for the
//! driver, a socket like any other, and the only thing that leads out of the sandbox.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};

/// Where the sandbox's programs find the way out.
pub const PROXY_ADDR: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128));

/// Turns the loopback of the calling process's network namespace on, and listens. Needs the rights over that namespace.
pub fn open() -> io::Result<OwnedFd> {
    // Any socket will do to ask for the loopback.
    let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: all zeros is a valid request: an empty name.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the call reads one request, which names an interface and its flags and lives to the end of the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    TcpListener::bind(PROXY_ADDR).map(OwnedFd::from)
}
