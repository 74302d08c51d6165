//! The buffers between a connection and the driver that serves it: bytes that the driver read before the connection asked for
//! them, and bytes that the connection has written and the driver sends at the end of the batch.

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::socket::EpollSocket;

/// How much is read ahead at once, and how much may be written behind.
pub(crate) const BUFFER_SIZE: usize = 4 * 1024;
/// Unused buffers that a driver keeps.
const MAX_CACHED_BUFFERS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct IoBuffers {
    pub(crate) read_ahead: ReadAhead,
    /// Written by the connection and not yet given to the kernel.
    pub(crate) unsent: Vec<u8>,
}

/// What was read before the connection asked for it.
#[derive(Debug, Default)]
pub(crate) enum ReadAhead {
    #[default]
    Nothing,
    Bytes(Vec<u8>),
    /// The kernel reports an error once, so it is kept for the connection's next read.
    Failed(Errno),
}

/// A driver's unused buffers, each with a capacity of [`BUFFER_SIZE`]. Idle connections hold no buffers.
#[derive(Debug, Default)]
pub(crate) struct BufferCache(Vec<Vec<u8>>);

/// How far the kernel took what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    All,
    WouldBlock,
}

// === impl IoBuffers ===

impl IoBuffers {
    /// There is an error that the connection must be polled for.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.read_ahead, ReadAhead::Failed(_))
    }

    /// Sends what is buffered, as far as the kernel takes it. The connection gets an error with its next read.
    pub(crate) fn flush(&mut self, socket: &EpollSocket, buffers: &mut BufferCache) {
        match send_all(socket, &mut self.unsent) {
            Ok(WriteOutcome::All) => buffers.put(std::mem::take(&mut self.unsent)),
            Ok(WriteOutcome::WouldBlock) => {}
            Err(errno) => {
                self.unsent.clear();
                self.read_ahead = ReadAhead::Failed(errno);
            }
        }
    }
}

// === impl ReadAhead ===

impl ReadAhead {
    /// Reads once, unless something was read before and not yet used.
    pub(crate) fn read(&mut self, socket: &EpollSocket, buffers: &mut BufferCache) {
        let Self::Nothing = self else { return };
        if !socket.begin_read() {
            return;
        }
        let mut bytes = buffers.take();
        *self = match recv(socket, spare_capacity(&mut bytes), RecvFlags::empty()) {
            Ok((count @ 1.., _)) => {
                if count >= BUFFER_SIZE {
                    socket.mark_readable();
                }
                Self::Bytes(bytes)
            }
            Ok((0, _)) => {
                // The end of the stream can be read again: the connection will find it itself.
                socket.mark_readable();
                buffers.put(bytes);
                Self::Nothing
            }
            Err(Errno::AGAIN) => {
                buffers.put(bytes);
                Self::Nothing
            }
            Err(errno) => Self::Failed(errno),
        };
    }
}

// === impl BufferCache ===

impl BufferCache {
    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| Vec::with_capacity(BUFFER_SIZE))
    }

    pub(crate) fn put(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        if buffer.capacity() >= BUFFER_SIZE && self.0.len() < MAX_CACHED_BUFFERS {
            self.0.push(buffer);
        }
    }
}

/// Sends what the kernel takes; the rest stays in `bytes`.
pub(crate) fn send_all(socket: &EpollSocket, bytes: &mut Vec<u8>) -> Result<WriteOutcome, Errno> {
    let mut sent = 0;
    let outcome = loop {
        match send(socket, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(count) if sent + count == bytes.len() => {
                bytes.clear();
                return Ok(WriteOutcome::All);
            }
            Ok(count) => sent += count,
            Err(Errno::AGAIN) => break Ok(WriteOutcome::WouldBlock),
            Err(Errno::INTR) => {}
            Err(errno) => break Err(errno),
        }
    };
    bytes.drain(..sent);
    outcome
}
