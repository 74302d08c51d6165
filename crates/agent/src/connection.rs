//! To the client: requests in, answers out. Answers that the socket does not take at once are kept; while more than
//! [`HIGH`] are kept the agent reads no more output of programs, which then wait for their pipes: that is the back-pressure.
//! What programs send to the proxy outside waits far sooner, so that answers do not wait for it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use hearth_agent::{Answer, Decoder, Malformed, Request, encode};
use nix::errno::Errno;
use nix::unistd::{read, write};

use crate::passage::Way;

/// With so many bytes waiting, programs are made to wait.
const HIGH: usize = 1 << 20;
/// With so many, connections to the proxy are.
const BUSY: usize = 64 << 10;
const READ: usize = 64 << 10;

pub struct Connection {
    socket: OwnedFd,
    decoder: Decoder,
    out: Vec<u8>,
    /// What of `out` is sent.
    sent: usize,
    /// Where requests are read to.
    buffer: Vec<u8>,
}

/// The end of the connection.
#[derive(Debug)]
pub enum Lost {
    Closed,
    Broken(Errno),
    Malformed(Malformed),
}

impl Connection {
    /// `socket` must not block.
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, decoder: Decoder::new(), out: Vec::new(), sent: 0, buffer: vec![0; READ] }
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes what has come. The requests are then had from [`request`](Self::request).
    pub fn fill(&mut self) -> Result<(), Lost> {
        match read(&self.socket, &mut self.buffer) {
            Ok(0) => Err(Lost::Closed),
            Ok(count) => {
                self.decoder.push(&self.buffer[..count]);
                Ok(())
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(()),
            Err(error) => Err(Lost::Broken(error)),
        }
    }

    pub fn request(&mut self) -> Result<Option<Request>, Lost> {
        self.decoder.message().map_err(Lost::Malformed)
    }

    pub fn send(&mut self, answer: &Answer) {
        // The agent makes its answers in pieces far below the longest.
        let written = encode(answer, &mut self.out);
        debug_assert!(written.is_ok(), "{answer:?}");
    }

    /// Forgets what has not been sent: it was for a client that is gone. Only whole messages begin after it.
    pub fn forget(&mut self) {
        // A message that is half sent must be ended, or the next would be read as its rest.
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
            self.out.shrink_to(HIGH / 4);
        } else if self.sent > HIGH / 4 {
            // A stream that is never empty must not keep all that it ever was. One byte stays, as the sign of a message that is begun.
            self.out.drain(..self.sent - 1);
            self.sent = 1;
        }
        Ok(())
    }

    pub fn has_unsent(&self) -> bool {
        self.sent < self.out.len()
    }

    /// For what passages carry.
    pub fn way(&self) -> Way {
        if self.out.len() - self.sent > BUSY { Way::Busy } else { Way::Free }
    }

    /// More is waiting than programs may add to.
    pub fn is_full(&self) -> bool {
        self.out.len() - self.sent > HIGH
    }
}
