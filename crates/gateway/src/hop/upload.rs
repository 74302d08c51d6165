//! A request's body on its way to the other process, as fast as that takes it.
//!
//! ```text
//! Held --100--> Sending --last byte--> Done
//!                  `-----it failed, or nobody takes it--> Broken
//! ```
//! A body that fails while the app answers must not end the answer: one without a length says so in its framing. One with a
//! length cannot, and is cut off.

use std::io;
use std::task::{Context, Poll, ready};

use crate::body_out::{Delimiter, Outgoing, Step};
use crate::exchange::HIGH_WATER;
use crate::wire::Wire;

/// What no reader of chunks can take for one.
const NO_CHUNK: &[u8] = b"-\r\n";

pub enum Upload {
    Held(Outgoing, Delimiter),
    Sending(Outgoing, Delimiter),
    Done,
    /// The connection is of no further use once the answer is here.
    Broken,
}

impl Upload {
    /// The other side wants it.
    pub fn release(&mut self) {
        if let Self::Held(..) = self {
            let Self::Held(outgoing, delimiter) = std::mem::replace(self, Self::Done) else { return };
            *self = Self::Sending(outgoing, delimiter);
        }
    }

    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Sends what there is. Ready when all of the request is out; fails when that cannot be.
    pub fn poll(&mut self, cx: &mut Context<'_>, wire: &mut Wire) -> Poll<io::Result<()>> {
        let sent = self.poll_sent(cx, wire);
        if let Poll::Ready(Err(_)) = sent {
            *self = Self::Broken;
        }
        sent
    }

    fn poll_sent(&mut self, cx: &mut Context<'_>, wire: &mut Wire) -> Poll<io::Result<()>> {
        loop {
            while wire.outbox.len() < HIGH_WATER {
                let Self::Sending(outgoing, delimiter) = self else { break };
                match outgoing.poll(cx, &mut wire.outbox) {
                    Poll::Ready(Ok(Step::Piece)) => {}
                    Poll::Ready(Ok(Step::End)) => *self = Self::Done,
                    Poll::Ready(Err(_)) if *delimiter == Delimiter::Chunks => {
                        wire.outbox.text().extend_from_slice(NO_CHUNK);
                        *self = Self::Broken;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                    Poll::Pending => break,
                }
            }
            if !wire.outbox.is_empty() {
                ready!(wire.poll_write(cx))?;
                continue;
            }
            return match self {
                Self::Done | Self::Broken => Poll::Ready(Ok(())),
                Self::Held(..) | Self::Sending(..) => Poll::Pending,
            };
        }
    }
}
