//! Where connections of the rounds come in. Tokio's own listener would register each with tokio, only to take it out again
//! when it gets its seat: two system calls for nothing, which whoever makes a connection for each request pays each time.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

#[derive(Debug)]
pub struct Doorway {
    socket: AsyncFd<TcpListener>,
}

impl Doorway {
    /// Must be called on the runtime that is to serve.
    pub fn open(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for the sake of types that are not what they own, as this one is"
        )]
        let socket = AsyncFd::with_interest(listener, Interest::READABLE)?;
        Ok(Self { socket })
    }

    /// Ready when a client waits. Tokio's word alone is not enough: it stands until somebody accepts in vain.
    pub async fn knock(&self) -> io::Result<()> {
        loop {
            let mut ready = self.socket.readable().await?;
            let mut polled = [PollFd::new(self.socket.get_ref(), PollFlags::IN)];
            if poll(&mut polled, Some(&Timespec::default()))? > 0 {
                return Ok(());
            }
            ready.clear_ready();
        }
    }

    /// The next connection, which does not block.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        loop {
            let mut ready = self.socket.readable().await?;
            // Where others were quicker there is nothing, and the next one is told anew.
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
