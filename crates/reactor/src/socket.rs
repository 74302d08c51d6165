//! A connection's socket. The reactor's epoll watches it edge-triggered: each event is reported once, and remembered here until
//! it is used.

use std::io::{self, IoSlice};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::io_buffers::{ReadAhead, WriteOutcome, send_all};
use crate::poll_scope::{self, poll_budget};

/// A socket, and what epoll has reported about it.
#[derive(Debug)]
pub(crate) struct EpollSocket {
    socket: TcpStream,
    /// There may be something to read. Set by the driver that takes the event; unset before a read that takes all there is,
    /// never after it: an event that comes in between must stay.
    readable: AtomicBool,
    /// The client has closed its side, or the connection is broken: reads report it, at the latest after the remaining bytes.
    ended: AtomicBool,
}

/// What is known of the next read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadHint {
    /// It is done: so many bytes were read ahead.
    Bytes(usize),
    /// There is nothing to read. The connection is polled when there is.
    Nothing,
    /// The socket must be read to find out.
    Unknown,
}

/// The connection's end of its socket. Reads what the driver has read ahead first; small writes may be buffered for the driver.
#[derive(Debug)]
pub struct ReactorSocket {
    socket: Arc<EpollSocket>,
}

// === impl EpollSocket ===

impl EpollSocket {
    pub(crate) fn new(socket: TcpStream) -> Self {
        Self { socket, readable: AtomicBool::new(false), ended: AtomicBool::new(false) }
    }

    /// Epoll has reported an event.
    pub(crate) fn mark(&self, flags: EventFlags) {
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            self.ended.store(true, Ordering::Relaxed);
        }
        if flags.contains(EventFlags::IN) {
            self.mark_readable();
        }
    }

    pub(crate) fn mark_readable(&self) {
        self.readable.store(true, Ordering::Relaxed);
    }

    /// Nothing has come, and the connection has not ended.
    fn is_quiet(&self) -> bool {
        !self.readable.load(Ordering::Relaxed) && !self.ended.load(Ordering::Relaxed)
    }

    /// Whether there may be something to read. If so the flag is unset: the caller must read, and later bytes set it again.
    pub(crate) fn begin_read(&self) -> bool {
        let readable = self.readable.load(Ordering::Relaxed);
        if readable {
            // The kernel's lock of the socket orders this store before the events that it reports later.
            self.readable.store(false, Ordering::Relaxed);
        }
        readable || self.ended.load(Ordering::Relaxed)
    }
}

impl AsFd for EpollSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

// === impl ReactorSocket ===

impl ReactorSocket {
    pub(crate) fn new(socket: Arc<EpollSocket>) -> Self {
        Self { socket }
    }

    pub fn set_zero_linger(&self) -> io::Result<()> {
        Ok(sockopt::set_socket_linger(&*self.socket, Some(Duration::ZERO))?)
    }

    /// What is known of the next read without a system call. Bytes that were read ahead are all in `inbox` after this.
    #[inline]
    pub fn read_hint(&self, inbox: &mut BytesMut) -> ReadHint {
        match poll_scope::take_read_ahead() {
            ReadAhead::Bytes(mut bytes) => {
                inbox.extend_from_slice(&bytes);
                let count = bytes.len();
                bytes.clear();
                poll_scope::put_read_ahead(ReadAhead::Bytes(bytes));
                ReadHint::Bytes(count)
            }
            ReadAhead::Nothing if self.socket.is_quiet() => ReadHint::Nothing,
            other => {
                poll_scope::put_read_ahead(other);
                ReadHint::Unknown
            }
        }
    }

    /// Sends what was buffered. Must be ready before anything else is sent.
    fn poll_unsent(&self) -> Poll<io::Result<()>> {
        poll_scope::with_unsent(|unsent| {
            if unsent.is_empty() {
                return Poll::Ready(Ok(()));
            }
            match send_all(&self.socket, unsent) {
                Ok(WriteOutcome::All) => Poll::Ready(Ok(())),
                // The event that there is room wakes the connection.
                Ok(WriteOutcome::WouldBlock) => Poll::Pending,
                Err(errno) => Poll::Ready(Err(errno.into())),
            }
        })
    }
}

impl AsyncRead for ReactorSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(poll_budget(cx));
        match poll_scope::take_read_ahead() {
            ReadAhead::Bytes(mut bytes) => {
                let count = bytes.len().min(buf.remaining());
                buf.put_slice(&bytes[..count]);
                bytes.drain(..count);
                poll_scope::put_read_ahead(ReadAhead::Bytes(bytes));
                return Poll::Ready(Ok(()));
            }
            ReadAhead::Failed(errno) => return Poll::Ready(Err(errno.into())),
            ReadAhead::Nothing => {}
        }
        if !self.socket.begin_read() {
            return Poll::Pending;
        }
        let space = buf.initialize_unfilled();
        let wanted = space.len();
        match recv(&*self.socket, space, RecvFlags::empty()) {
            Ok((count, _)) => {
                // There may be more. The end of the stream can be read again.
                if count == wanted || count == 0 {
                    self.socket.mark_readable();
                }
                buf.advance(count);
                Poll::Ready(Ok(()))
            }
            Err(Errno::AGAIN) => Poll::Pending,
            Err(Errno::INTR) => {
                self.socket.mark_readable();
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Err(errno) => Poll::Ready(Err(errno.into())),
        }
    }
}

impl AsyncWrite for ReactorSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(poll_budget(cx));
        if poll_scope::buffer_write(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        ready!(self.poll_unsent())?;
        written(cx, send(&*self.socket, buf, SendFlags::NOSIGNAL))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(poll_budget(cx));
        ready!(self.poll_unsent())?;
        written(cx, rustix::io::writev(&*self.socket, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_unsent()
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent())?;
        Poll::Ready(self.socket.socket.shutdown(Shutdown::Write))
    }
}

/// The result of a write. Where the socket has no room, the event that there is some wakes the connection.
fn written(cx: &mut Context<'_>, result: rustix::io::Result<usize>) -> Poll<io::Result<usize>> {
    match result {
        Ok(count) => Poll::Ready(Ok(count)),
        Err(Errno::AGAIN) => Poll::Pending,
        Err(Errno::INTR) => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        Err(errno) => Poll::Ready(Err(errno.into())),
    }
}
