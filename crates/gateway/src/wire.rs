//! A socket with what was read and not yet used, what is to be written, and the two deadlines.
//! Invariant: nothing is read while something earlier waits to be written, except by an exchange that does both at
//! once; so a client that does not read cannot make us hold more than the outbox's mark and one buffer.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use crate::outbox::Outbox;
use crate::rounds::Foreseen;
use crate::stream::Stream;
use crate::timer::Timer;

/// What is read at once where nothing is known of what comes.
pub const READ: usize = 4 * 1024;
/// Buffers that grew beyond this are given back when the connection is idle.
const KEEP: usize = 16 * 1024;
/// What is read and thrown away after the last answer, so that the client gets to see it.
const LINGER_BYTES: usize = 256 * 1024;
const LINGER_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    pub inbox: BytesMut,
    pub outbox: Outbox,
    /// The client will send no more.
    pub eof: bool,
    /// Runs while something is awaited from the client: idle, head or body.
    pub read_timer: Timer,
    write_timer: Timer,
    write_timeout: Duration,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nobody is there to be told.
    Drop,
    /// After everything was sent.
    Close,
    /// After everything was sent and, within bounds, what the client still sends was read: closing a socket with unread
    /// input would destroy what we sent.
    Linger,
    /// So that the client notices that something is missing, where only the end of the connection ends a body.
    Reset,
}

impl Wire {
    pub fn new(stream: Stream, write_timeout: Duration) -> Self {
        Self {
            stream,
            inbox: BytesMut::new(),
            outbox: Outbox::default(),
            eof: false,
            read_timer: Timer::default(),
            write_timer: Timer::default(),
            write_timeout,
        }
    }

    /// Reads once: up to `want` bytes, or somewhat more. Ready with 0 at the end.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>, want: usize) -> Poll<io::Result<usize>> {
        if self.inbox.capacity() - self.inbox.len() < want / 4 {
            self.inbox.reserve(want);
        }
        match self.stream.foresee(&mut self.inbox) {
            Foreseen::Bytes(count) => return Poll::Ready(Ok(count)),
            Foreseen::Nothing => return Poll::Pending,
            Foreseen::Something => {}
        }
        // The future has no state: making it anew for each poll loses nothing.
        let count = ready!(pin!(self.stream.read_buf(&mut self.inbox)).poll(cx))?;
        self.eof |= count == 0;
        Poll::Ready(Ok(count))
    }

    /// Writes something of what waits; fails when the client has not read for too long.
    pub fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.outbox.poll_write(cx, Pin::new(&mut self.stream)) {
            Poll::Ready(result) => {
                self.write_timer.stop();
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(self.write_timer.poll(cx, self.write_timeout, Instant::now));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }

    /// Writes everything.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outbox.is_empty() {
            ready!(self.poll_write(cx))?;
        }
        if self.stream.is_tls() { self.poll_flush_stream(cx) } else { Poll::Ready(Ok(())) }
    }

    /// TLS has a buffer of its own; a plain socket may have put something off, which goes by itself before long.
    fn poll_flush_stream(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(cx) {
            Poll::Ready(result) => {
                self.write_timer.stop();
                Poll::Ready(result)
            }
            Poll::Pending => {
                ready!(self.write_timer.poll(cx, self.write_timeout, Instant::now));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }

    /// What was read and not used, and the stream, for another protocol.
    pub fn into_parts(self) -> (BytesMut, Stream) {
        (self.inbox, self.stream)
    }

    /// The same for as long as that other protocol takes.
    pub fn lend(&mut self) -> (BytesMut, &mut Stream) {
        (std::mem::take(&mut self.inbox), &mut self.stream)
    }

    pub fn is_tls(&self) -> bool {
        self.stream.is_tls()
    }

    /// Whether a process of ours is at the other end.
    pub fn is_hop(&self) -> bool {
        matches!(self.stream, Stream::Unix(_))
    }

    /// Gives a large buffer back.
    pub fn trim(&mut self) {
        if self.inbox.is_empty() && self.inbox.capacity() > KEEP {
            self.inbox = BytesMut::new();
        }
    }

    pub async fn end(mut self, ending: Ending) {
        let flushed = async {
            poll_fn(|cx| self.poll_flush(cx)).await?;
            poll_fn(|cx| self.poll_flush_stream(cx)).await
        };
        if ending == Ending::Drop || flushed.await.is_err() {
            return;
        }
        if ending == Ending::Reset {
            // Should it fail, the client sees an orderly end; nothing else can be done.
            let _ = self.stream.reset_on_drop();
        } else if (ending == Ending::Linger || !self.inbox.is_empty()) && !self.eof {
            let _ = tokio::time::timeout(LINGER_TIME, self.linger()).await;
        } else if self.stream.is_tls() {
            // Without a word of farewell the client could not tell the end from an attack.
            let _ = tokio::time::timeout(LINGER_TIME, self.stream.shutdown()).await;
        }
    }

    async fn linger(&mut self) {
        let mut left = LINGER_BYTES;
        if self.stream.shutdown().await.is_err() {
            return;
        }
        loop {
            self.inbox.clear();
            match poll_fn(|cx| self.poll_fill(cx, READ)).await {
                Ok(count @ 1..) if count <= left => left -= count,
                _ => return,
            }
        }
    }
}
