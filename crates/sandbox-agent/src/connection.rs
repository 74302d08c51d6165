//! The connection to the client: requests in, replies out. Replies that the socket does not take at
//! once are queued; while more than [`HIGH_WATER`] bytes are queued the agent reads no more output
//! of programs, which then block on their pipes: that is the back-pressure. Tunnel data stops far
//! sooner, so that replies do not wait for it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hearth_sandbox_agent::{AgentReply, AgentRequest, FrameDecoder, Malformed, encode};
use nix::errno::Errno;
use nix::unistd::write;

use crate::tunnel_stream::QueueLoad;

/// With more bytes queued, output is not read.
const HIGH_WATER: usize = 1 << 20;
/// With more bytes queued, tunnel connections are not read.
const TUNNEL_HIGH_WATER: usize = 64 << 10;
const READ_BUFFER: usize = 64 << 10;

pub struct HostConnection {
    socket: OwnedFd,
    decoder: FrameDecoder,
    out: Vec<u8>,
    /// Bytes of `out` that are sent.
    sent: usize,
    /// Buffer for requests.
    buffer: Vec<u8>,
}

/// The end of the connection.
#[derive(Debug)]
pub enum Lost {
    Closed,
    Broken(Errno),
    Malformed(Malformed),
}

impl HostConnection {
    /// `socket` must not block.
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, decoder: FrameDecoder::new(), out: Vec::new(), sent: 0, buffer: vec![0; READ_BUFFER] }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads what has come. The requests are then returned by [`request`](Self::request).
    pub fn read(&mut self) -> Result<(), Lost> {
        match nix::unistd::read(&self.socket, &mut self.buffer) {
            Ok(0) => Err(Lost::Closed),
            Ok(count) => {
                self.decoder.push(&self.buffer[..count]);
                Ok(())
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(()),
            Err(error) => Err(Lost::Broken(error)),
        }
    }

    pub fn request(&mut self) -> Result<Option<AgentRequest>, Lost> {
        self.decoder.message().map_err(Lost::Malformed)
    }

    pub fn send(&mut self, answer: &AgentReply) {
        // Replies are made in chunks far below the limit.
        let written = encode(answer, &mut self.out);
        debug_assert!(written.is_ok(), "{answer:?}");
    }

    /// Discards what is not sent yet: it was for a client that is gone. Only whole messages follow.
    pub fn discard_unsent(&mut self) {
        // A message that is partly sent must be completed, or the next would be read as its rest.
        if self.sent == 0 {
            self.out.clear();
        }
    }

    pub fn flush(&mut self) -> Result<(), Lost> {
        while self.sent < self.out.len() {
            match write(&self.socket, &self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(Errno::EPIPE | Errno::ECONNRESET) => return Err(Lost::Closed),
                Err(error) => return Err(Lost::Broken(error)),
            }
        }
        if self.sent == self.out.len() {
            self.sent = 0;
            self.out.clear();
            self.out.shrink_to(HIGH_WATER / 4);
        } else if self.sent > HIGH_WATER / 4 {
            // Keeps a queue that is never empty from growing for ever. One byte stays, as the sign
            // of a message that has begun.
            self.out.drain(..self.sent - 1);
            self.sent = 1;
        }
        Ok(())
    }

    pub fn has_unsent(&self) -> bool {
        self.sent < self.out.len()
    }

    /// For tunnel data.
    pub fn queue_load(&self) -> QueueLoad {
        if self.out.len() - self.sent > TUNNEL_HIGH_WATER { QueueLoad::Heavy } else { QueueLoad::Light }
    }

    /// More is queued than output may add to.
    pub fn is_full(&self) -> bool {
        self.out.len() - self.sent > HIGH_WATER
    }
}
