//! One connection of a program in the sandbox to the proxy, at the host's end: a byte stream for
//! the proxy, messages in the agent's stream below. Messages are made when there is room to send
//! them ([`TunnelConn::next_message`]), so that data waits here, within the window, and nowhere
//! else.
//!
//! ```text
//! guest side:  Sending -> Ended, or Sending -> Broken
//! host side:   Open -> Ending -> Ended -> Closing -> Closed
//! ```
//! The host side may skip any state but the last. Invariants: at most a window of bytes is buffered
//! that the proxy has not read, and at most one that the program has not received. A message that
//! breaks this is a [`ProtocolViolation`]. No message follows after `Closed`.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use hearth_sandbox_agent::{Blob, TUNNEL_WINDOW, ToGuest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::AgentConnection;
use super::calls::ProtocolViolation;

/// Bytes of one message: small, so that urgent messages never wait for long.
const MAX_DATA: usize = 16 << 10;
/// Bytes that were read are acknowledged when they are at least so many; the program has room
/// enough meanwhile.
const ACK_THRESHOLD: usize = TUNNEL_WINDOW / 4;

pub(super) struct TunnelConn {
    state: Mutex<State>,
}

struct State {
    guest: GuestSide,
    /// What the program may still send.
    allowance: usize,
    unread: VecDeque<u8>,
    /// Bytes that were read and not yet acknowledged.
    unacknowledged: usize,
    host: HostSide,
    /// What the proxy may still write.
    window: usize,
    unsent: VecDeque<u8>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GuestSide {
    Sending,
    Ended,
    Broken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HostSide {
    Open,
    /// The proxy has shut down its side; `End` is to be sent.
    Ending,
    Ended,
    /// The proxy has dropped the stream; `Close` is to be sent.
    Closing,
    /// `Close` was sent, or the agent has closed the connection.
    Closed,
}

/// The proxy's end of the stream. Dropping it closes the connection.
pub(super) struct TunnelStream {
    connection: Arc<AgentConnection>,
    conn: Arc<TunnelConn>,
}

// === impl TunnelConn ===

impl TunnelConn {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                guest: GuestSide::Sending,
                allowance: TUNNEL_WINDOW,
                unread: VecDeque::new(),
                unacknowledged: 0,
                host: HostSide::Open,
                window: TUNNEL_WINDOW,
                unsent: VecDeque::new(),
                reader: None,
                writer: None,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Data from the program.
    pub(super) fn data(&self, bytes: &[u8]) -> Result<(), ProtocolViolation> {
        let mut state = self.lock();
        if state.guest != GuestSide::Sending || bytes.is_empty() {
            return Err(ProtocolViolation);
        }
        state.allowance = state.allowance.checked_sub(bytes.len()).ok_or(ProtocolViolation)?;
        // Data that was under way when the proxy dropped the stream is discarded.
        if state.host < HostSide::Closing {
            state.unread.extend(bytes);
            state.wake_reader();
        }
        Ok(())
    }

    /// The program has shut down its side.
    pub(super) fn end(&self) -> Result<(), ProtocolViolation> {
        let mut state = self.lock();
        if state.guest != GuestSide::Sending {
            return Err(ProtocolViolation);
        }
        state.guest = GuestSide::Ended;
        state.wake_reader();
        Ok(())
    }

    /// The program has received so many bytes.
    pub(super) fn acknowledged(&self, bytes: u32) -> Result<(), ProtocolViolation> {
        let mut state = self.lock();
        let under_way = TUNNEL_WINDOW - state.window - state.unsent.len();
        if bytes as usize > under_way {
            return Err(ProtocolViolation);
        }
        state.window += bytes as usize;
        state.wake_writer();
        Ok(())
    }

    /// The connection is closed on both sides. What came before can still be read.
    pub(super) fn gone(&self) {
        let mut state = self.lock();
        if state.guest == GuestSide::Sending {
            state.guest = GuestSide::Broken;
        }
        state.host = HostSide::Closed;
        state.unsent = VecDeque::new();
        state.wake_reader();
        state.wake_writer();
    }

    /// The next message to send, if any.
    pub(super) fn next_message(&self) -> Option<ToGuest> {
        let mut state = self.lock();
        if state.unacknowledged >= ACK_THRESHOLD && state.guest == GuestSide::Sending && state.host < HostSide::Closing
        {
            let bytes = std::mem::take(&mut state.unacknowledged);
            state.allowance += bytes;
            return Some(ToGuest::Taken { bytes: bytes as u32 });
        }
        if !state.unsent.is_empty() {
            let count = state.unsent.len().min(MAX_DATA);
            return Some(ToGuest::Data { bytes: Blob(state.unsent.drain(..count).collect()) });
        }
        match state.host {
            HostSide::Ending => {
                state.host = HostSide::Ended;
                Some(ToGuest::End {})
            }
            HostSide::Closing => {
                state.host = HostSide::Closed;
                Some(ToGuest::Close {})
            }
            HostSide::Open | HostSide::Ended | HostSide::Closed => None,
        }
    }

    /// Bytes that are buffered, the larger of both directions.
    #[cfg(test)]
    pub(super) fn buffered(&self) -> usize {
        let state = self.lock();
        state.unread.len().max(state.unsent.len())
    }
}

// === impl State ===

impl State {
    fn wake_reader(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}

// === impl TunnelStream ===

impl TunnelStream {
    pub(super) fn new(connection: Arc<AgentConnection>, conn: Arc<TunnelConn>) -> Self {
        Self { connection, conn }
    }

    /// There is a message to send.
    fn request_write(&self) {
        self.connection.write_queue.request_write();
    }
}

impl AsyncRead for TunnelStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut state = self.conn.lock();
        if state.unread.is_empty() {
            return match state.guest {
                GuestSide::Sending => {
                    state.reader = Some(context.waker().clone());
                    Poll::Pending
                }
                GuestSide::Ended => Poll::Ready(Ok(())),
                GuestSide::Broken => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            };
        }
        let piece = state.unread.as_slices().0;
        let count = piece.len().min(buffer.remaining());
        buffer.put_slice(&piece[..count]);
        state.unread.drain(..count);
        state.unacknowledged += count;
        let acknowledge = state.unacknowledged >= ACK_THRESHOLD;
        drop(state);
        if acknowledge {
            self.request_write();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TunnelStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.conn.lock();
        if state.host != HostSide::Open {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let count = bytes.len().min(state.window);
        if count == 0 {
            state.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.window -= count;
        state.unsent.extend(&bytes[..count]);
        drop(state);
        self.request_write();
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.conn.lock();
        if state.host == HostSide::Open {
            state.host = HostSide::Ending;
            drop(state);
            self.request_write();
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for TunnelStream {
    fn drop(&mut self) {
        let mut state = self.conn.lock();
        state.unread = VecDeque::new();
        if state.host != HostSide::Closed {
            state.host = HostSide::Closing;
            drop(state);
            self.request_write();
        }
    }
}
