//! vsock: sockets between a virtual machine and its host, which the standard library does not have.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Listens on this port of the virtual machine. One connection can wait.
pub fn listen(port: u32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers.
    let socket = owned(unsafe { libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: all zeros is a valid address.
    let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    address.svm_cid = libc::VMADDR_CID_ANY;
    address.svm_port = port;
    let length = size_of::<libc::sockaddr_vm>() as libc::socklen_t;
    // SAFETY: the first call reads an address that is as long as is said and lives to its end; the second takes numbers.
    let is_done = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) == 0
            && libc::listen(socket.as_raw_fd(), 1) == 0
    };
    if is_done { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// The next connection of a listening socket of any kind, without the address of its peer.
pub fn accept(listener: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    // SAFETY: a null address means that none is wanted.
    let accepted = || unsafe {
        libc::accept4(listener.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC)
    };
    loop {
        match owned(accepted()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: demands a descriptor without another owner: the kernel has just created it for this call.
    if fd >= 0 { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) } else { Err(io::Error::last_os_error()) }
}
