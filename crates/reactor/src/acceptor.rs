//! Accepts connections that a reactor is to serve. Tokio's own listener would register each with tokio's epoll, only for the
//! reactor to take it out again: two system calls for nothing, which a client that makes a connection per request would pay
//! each time.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A listening socket whose connections are not registered with tokio.
#[derive(Debug)]
pub struct RawAcceptor {
    socket: AsyncFd<TcpListener>,
}

impl RawAcceptor {
    /// Must be called on the runtime that is to serve.
    pub fn new(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe because of types that do not own their descriptor; this one does"
        )]
        let socket = AsyncFd::with_interest(listener, Interest::READABLE)?;
        Ok(Self { socket })
    }

    /// Ready when a client waits. The kernel is asked, since tokio's readiness stays set until an `accept` finds nothing.
    pub async fn readable(&self) -> io::Result<()> {
        loop {
            let mut ready = self.socket.readable().await?;
            let mut polled = [PollFd::new(self.socket.get_ref(), PollFlags::IN)];
            if poll(&mut polled, Some(&Timespec::default()))? > 0 {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    /// The next connection; its socket is non-blocking.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            let mut ready = self.socket.readable().await?;
            // Another acceptor may have taken the connection: then this one waits for the next.
            if let Ok(accepted) = ready.try_io(|socket| accept(socket.get_ref())) {
                return accepted;
            }
        }
    }
}

fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (socket, address) = acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    let address = address.ok_or(io::ErrorKind::ConnectionAborted)?;
    Ok((TcpStream::from(socket), SocketAddr::try_from(address)?))
}
