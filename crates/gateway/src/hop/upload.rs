//! The body of a hop's request, sent as fast as the other process reads it.
//!
//! ```text
//! Held --100--> Sending --last byte--> Done
//!                  `-----it failed, or the connection did--> Broken
//! ```
//! A body that fails while the app answers must not end the response: a body without a length is ended by an invalid chunk. One
//! with a length is cut off.

use std::io;
use std::task::{Context, Poll, ready};

use crate::body_out::{Delimiter, Outgoing, Step};
use crate::buffered_stream::BufferedStream;
use crate::exchange::HIGH_WATER;

/// Not a valid chunk.
const INVALID_CHUNK: &[u8] = b"-\r\n";

pub enum HopUpload {
    Held(Outgoing, Delimiter),
    Sending(Outgoing, Delimiter),
    Done,
    /// The connection cannot be used again after the response.
    Broken,
}

impl HopUpload {
    /// The other side has sent `100 Continue`.
    pub fn release(&mut self) {
        if let Self::Held(..) = self {
            let Self::Held(outgoing, delimiter) = std::mem::replace(self, Self::Done) else { return };
            *self = Self::Sending(outgoing, delimiter);
        }
    }

    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Sends what is there. Ready when all of the request was sent.
    pub fn poll(&mut self, cx: &mut Context<'_>, stream: &mut BufferedStream) -> Poll<io::Result<()>> {
        let sent = self.poll_sent(cx, stream);
        if let Poll::Ready(Err(_)) = sent {
            *self = Self::Broken;
        }
        sent
    }

    fn poll_sent(&mut self, cx: &mut Context<'_>, stream: &mut BufferedStream) -> Poll<io::Result<()>> {
        loop {
            while stream.write_queue.len() < HIGH_WATER {
                let Self::Sending(outgoing, delimiter) = self else { break };
                match outgoing.poll(cx, &mut stream.write_queue) {
                    Poll::Ready(Ok(Step::Piece)) => {}
                    Poll::Ready(Ok(Step::End)) => *self = Self::Done,
                    Poll::Ready(Err(_)) if *delimiter == Delimiter::Chunks => {
                        stream.write_queue.buffer().extend_from_slice(INVALID_CHUNK);
                        *self = Self::Broken;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                    Poll::Pending => break,
                }
            }
            if !stream.write_queue.is_empty() {
                ready!(stream.poll_write(cx))?;
                continue;
            }
            return match self {
                Self::Done | Self::Broken => Poll::Ready(Ok(())),
                Self::Held(..) | Self::Sending(..) => Poll::Pending,
            };
        }
    }
}
