//! A connection's stream with its read buffer, its write queue, and the deadlines of both directions.
//! Invariant: nothing is read while something earlier waits to be written, except by an exchange that does both at once. So for
//! a client that does not read no more is held than the write queue's mark and one read buffer.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

use crate::lazy_deadline::LazyDeadline;
use crate::stream::ClientStream;
use crate::write_queue::WriteQueue;
use hearth_reactor::ReadHint;

/// How much is read at once where the length of the next data is unknown.
pub const READ_SIZE: usize = 4 * 1024;
/// A read buffer that grew beyond this is freed when the connection is idle.
const MAX_IDLE_CAPACITY: usize = 16 * 1024;
/// How much is read and discarded after the last answer, so that closing the socket does not destroy the answer.
const LINGER_BYTES: usize = 256 * 1024;
const LINGER_TIME: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct BufferedStream {
    stream: ClientStream,
    pub read_buf: BytesMut,
    pub write_queue: WriteQueue,
    /// The client has closed its side.
    pub eof: bool,
    /// Runs while the connection waits for the client: idle, for a head or for a body.
    pub read_timer: LazyDeadline,
    write_timer: LazyDeadline,
    write_timeout: Duration,
}

/// How a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseMode {
    /// At once: the client is gone.
    Drop,
    /// After everything was sent.
    Close,
    /// After everything was sent and, within bounds, what the client still sends was read: closing a socket with unread input
    /// would destroy what was sent.
    Linger,
    /// With a reset, where the end of the connection would mark the end of a body that is incomplete.
    Reset,
}

impl BufferedStream {
    pub fn new(stream: ClientStream, write_timeout: Duration) -> Self {
        Self {
            stream,
            read_buf: BytesMut::new(),
            write_queue: WriteQueue::default(),
            eof: false,
            read_timer: LazyDeadline::default(),
            write_timer: LazyDeadline::default(),
            write_timeout,
        }
    }

    /// Reads once: up to `want` bytes, or somewhat more. Ready with 0 at the end.
    pub fn poll_fill(&mut self, cx: &mut Context<'_>, want: usize) -> Poll<io::Result<usize>> {
        if self.read_buf.capacity() - self.read_buf.len() < want / 4 {
            self.read_buf.reserve(want);
        }
        match self.stream.read_hint(&mut self.read_buf) {
            ReadHint::Bytes(count) => return Poll::Ready(Ok(count)),
            ReadHint::Nothing => return Poll::Pending,
            ReadHint::Unknown => {}
        }
        // The future has no state: making it anew for each poll loses nothing.
        let count = ready!(pin!(self.stream.read_buf(&mut self.read_buf)).poll(cx))?;
        self.eof |= count == 0;
        Poll::Ready(Ok(count))
    }

    /// Writes some of the queue; fails when the client has not read for too long.
    pub fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.write_queue.poll_write(cx, Pin::new(&mut self.stream)) {
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
        while !self.write_queue.is_empty() {
            ready!(self.poll_write(cx))?;
        }
        if self.stream.is_tls() { self.poll_flush_stream(cx) } else { Poll::Ready(Ok(())) }
    }

    /// Flushes the stream's own buffer. TLS has one; a plain socket may have deferred a write, which the reactor sends at the end
    /// of the batch.
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

    /// The read buffer and the stream, for another protocol.
    pub fn into_parts(self) -> (BytesMut, ClientStream) {
        (self.read_buf, self.stream)
    }

    /// The read buffer and the stream, lent to another protocol.
    pub fn lend(&mut self) -> (BytesMut, &mut ClientStream) {
        (std::mem::take(&mut self.read_buf), &mut self.stream)
    }

    pub fn is_tls(&self) -> bool {
        self.stream.is_tls()
    }

    /// Whether another process of this server is at the other end.
    pub fn is_hop(&self) -> bool {
        matches!(self.stream, ClientStream::Unix(_))
    }

    /// Frees a large read buffer.
    pub fn trim(&mut self) {
        if self.read_buf.is_empty() && self.read_buf.capacity() > MAX_IDLE_CAPACITY {
            self.read_buf = BytesMut::new();
        }
    }

    pub async fn close(mut self, mode: CloseMode) {
        let flushed = async {
            poll_fn(|cx| self.poll_flush(cx)).await?;
            poll_fn(|cx| self.poll_flush_stream(cx)).await
        };
        if mode == CloseMode::Drop || flushed.await.is_err() {
            return;
        }
        if mode == CloseMode::Reset {
            // Should it fail, the client sees an orderly end; nothing else can be done.
            let _ = self.stream.reset_on_drop();
        } else if (mode == CloseMode::Linger || !self.read_buf.is_empty()) && !self.eof {
            let _ = tokio::time::timeout(LINGER_TIME, self.linger()).await;
        } else if self.stream.is_tls() {
            // Without TLS's close_notify the client cannot tell the end from a truncation attack.
            let _ = tokio::time::timeout(LINGER_TIME, self.stream.shutdown()).await;
        }
    }

    async fn linger(&mut self) {
        let mut left = LINGER_BYTES;
        if self.stream.shutdown().await.is_err() {
            return;
        }
        loop {
            self.read_buf.clear();
            match poll_fn(|cx| self.poll_fill(cx, READ_SIZE)).await {
                Ok(count @ 1..) if count <= left => left -= count,
                _ => return,
            }
        }
    }
}
