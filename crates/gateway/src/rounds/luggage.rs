//! What a connection and the hand that serves it give each other: bytes that were read before the connection asked for them, and
//! bytes that it has written and that go out in company.

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::socket::Watched;

/// What is read at once before a connection asks, and what may wait to be sent.
pub(super) const SIZE: usize = 4 * 1024;
/// Buffers that are kept for the next round.
const BUFFERS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Luggage {
    pub(super) early: Early,
    /// Written, and not yet seen by the kernel.
    pub(super) unsent: Vec<u8>,
}

/// What was read before the connection asked.
#[derive(Debug, Default)]
pub(super) enum Early {
    #[default]
    Nothing,
    Bytes(Vec<u8>),
    /// The kernel says it once.
    Failed(Errno),
}

/// Buffers of a hand, all with room for [`SIZE`], so that connections at rest have none.
#[derive(Debug, Default)]
pub(super) struct Buffers(Vec<Vec<u8>>);

/// Whether the kernel had room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Enough,
    None,
}

// === impl Luggage ===

impl Luggage {
    /// There is something bad to be heard.
    pub(super) fn is_broken(&self) -> bool {
        matches!(self.early, Early::Failed(_))
    }

    /// Sends what waits, as far as there is room. What goes wrong the connection hears when it next reads.
    pub(super) fn send(&mut self, watched: &Watched, buffers: &mut Buffers) {
        match send_all(watched, &mut self.unsent) {
            Ok(Room::Enough) => buffers.give(std::mem::take(&mut self.unsent)),
            Ok(Room::None) => {}
            Err(errno) => {
                self.unsent.clear();
                self.early = Early::Failed(errno);
            }
        }
    }
}

// === impl Early ===

impl Early {
    /// Reads what is there, unless something was read before and not yet used.
    pub(super) fn read(&mut self, watched: &Watched, buffers: &mut Buffers) {
        let Self::Nothing = self else { return };
        if !watched.begin_read() {
            return;
        }
        let mut bytes = buffers.take();
        *self = match recv(watched, spare_capacity(&mut bytes), RecvFlags::empty()) {
            Ok((count @ 1.., _)) => {
                if count >= SIZE {
                    watched.note_readable();
                }
                Self::Bytes(bytes)
            }
            Ok((0, _)) => {
                // The end stays: the connection will see it for itself.
                watched.note_readable();
                buffers.give(bytes);
                Self::Nothing
            }
            Err(Errno::AGAIN) => {
                buffers.give(bytes);
                Self::Nothing
            }
            Err(errno) => Self::Failed(errno),
        };
    }
}

// === impl Buffers ===

impl Buffers {
    fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| Vec::with_capacity(SIZE))
    }

    pub(super) fn give(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        if buffer.capacity() >= SIZE && self.0.len() < BUFFERS {
            self.0.push(buffer);
        }
    }
}

/// Sends what it can, and keeps the rest.
pub(super) fn send_all(watched: &Watched, bytes: &mut Vec<u8>) -> Result<Room, Errno> {
    let mut sent = 0;
    let room = loop {
        match send(watched, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(count) if sent + count == bytes.len() => {
                bytes.clear();
                return Ok(Room::Enough);
            }
            Ok(count) => sent += count,
            Err(Errno::AGAIN) => break Ok(Room::None),
            Err(Errno::INTR) => {}
            Err(errno) => break Err(errno),
        }
    };
    bytes.drain(..sent);
    room
}
