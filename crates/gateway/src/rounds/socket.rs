//! A connection's socket. It is watched by the rounds' epoll, edge by edge: what is told once is remembered here.

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

use super::luggage::{Early, Room, send_all};
use super::moment::{self, poll_allowance};

/// A socket, and what its watcher knows of it.
#[derive(Debug)]
pub(super) struct Watched {
    socket: TcpStream,
    /// There may be something to read. Set by whoever takes the event; unset before a read that takes all there is, never after
    /// it: what comes then is news.
    readable: AtomicBool,
    /// The other side has said its last, or the connection is broken: reads will say so, at the latest after what is still there.
    ended: AtomicBool,
}

/// What is known of the next read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreseen {
    /// It is done.
    Bytes(usize),
    /// There is nothing to read. Its connection is called when there is.
    Nothing,
    /// Ask.
    Something,
}

/// The connection's side of it.
#[derive(Debug)]
pub struct Socket {
    watched: Arc<Watched>,
}

// === impl Watched ===

impl Watched {
    pub(super) fn new(socket: TcpStream) -> Self {
        Self { socket, readable: AtomicBool::new(false), ended: AtomicBool::new(false) }
    }

    /// Something has happened.
    pub(super) fn note(&self, flags: EventFlags) {
        if flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR) {
            self.ended.store(true, Ordering::Relaxed);
        }
        if flags.contains(EventFlags::IN) {
            self.note_readable();
        }
    }

    pub(super) fn note_readable(&self) {
        self.readable.store(true, Ordering::Relaxed);
    }

    /// Nothing has come, and nothing has ended.
    fn is_quiet(&self) -> bool {
        !self.readable.load(Ordering::Relaxed) && !self.ended.load(Ordering::Relaxed)
    }

    /// Whether a read is worth while. If so it is begun: what comes from now on is told again.
    pub(super) fn begin_read(&self) -> bool {
        let readable = self.readable.load(Ordering::Relaxed);
        if readable {
            // The kernel's lock of the socket stands between this store and whatever it says later.
            self.readable.store(false, Ordering::Relaxed);
        }
        readable || self.ended.load(Ordering::Relaxed)
    }
}

impl AsFd for Watched {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

// === impl Socket ===

impl Socket {
    pub(super) fn new(watched: Arc<Watched>) -> Self {
        Self { watched }
    }

    pub fn set_zero_linger(&self) -> io::Result<()> {
        Ok(sockopt::set_socket_linger(&*self.watched, Some(Duration::ZERO))?)
    }

    /// What can be said of the next read without asking the kernel. What was read early is in the inbox after this, all of it.
    pub fn foresee(&self, inbox: &mut BytesMut) -> Foreseen {
        match moment::take_early() {
            Early::Bytes(mut bytes) => {
                inbox.extend_from_slice(&bytes);
                let count = bytes.len();
                bytes.clear();
                moment::put_early(Early::Bytes(bytes));
                Foreseen::Bytes(count)
            }
            Early::Nothing if self.watched.is_quiet() => Foreseen::Nothing,
            other => {
                moment::put_early(other);
                Foreseen::Something
            }
        }
    }

    /// Before anything else is sent: what was put off.
    fn poll_unsent(&self) -> Poll<io::Result<()>> {
        moment::with_unsent(|unsent| {
            if unsent.is_empty() {
                return Poll::Ready(Ok(()));
            }
            match send_all(&self.watched, unsent) {
                Ok(Room::Enough) => Poll::Ready(Ok(())),
                // Whoever finds no room is called when there is some.
                Ok(Room::None) => Poll::Pending,
                Err(errno) => Poll::Ready(Err(errno.into())),
            }
        })
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(poll_allowance(cx));
        match moment::take_early() {
            Early::Bytes(mut bytes) => {
                let count = bytes.len().min(buf.remaining());
                buf.put_slice(&bytes[..count]);
                bytes.drain(..count);
                moment::put_early(Early::Bytes(bytes));
                return Poll::Ready(Ok(()));
            }
            Early::Failed(errno) => return Poll::Ready(Err(errno.into())),
            Early::Nothing => {}
        }
        if !self.watched.begin_read() {
            return Poll::Pending;
        }
        let space = buf.initialize_unfilled();
        let room = space.len();
        match recv(&*self.watched, space, RecvFlags::empty()) {
            Ok((count, _)) => {
                // There may be more; and an end stays.
                if count == room || count == 0 {
                    self.watched.note_readable();
                }
                buf.advance(count);
                Poll::Ready(Ok(()))
            }
            Err(Errno::AGAIN) => Poll::Pending,
            Err(Errno::INTR) => {
                self.watched.note_readable();
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Err(errno) => Poll::Ready(Err(errno.into())),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(poll_allowance(cx));
        if moment::keep(buf) {
            return Poll::Ready(Ok(buf.len()));
        }
        ready!(self.poll_unsent())?;
        written(cx, send(&*self.watched, buf, SendFlags::NOSIGNAL))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(poll_allowance(cx));
        ready!(self.poll_unsent())?;
        written(cx, rustix::io::writev(&*self.watched, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_unsent()
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unsent())?;
        Poll::Ready(self.watched.socket.shutdown(Shutdown::Write))
    }
}

/// Whoever finds no room is called when there is some.
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
