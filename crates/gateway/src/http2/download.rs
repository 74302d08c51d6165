//! Sends a response's body from the app to a stream, as fast as the client's window allows.
//! Invariant: a body with a promised length never sends more than that, and one that sends less fails; the stream is
//! ended only when the body ended well. A stream that is dropped before is reset (CANCEL), so that the client knows that the body
//! is incomplete; frames of it that were queued are not sent any more.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::SendStream;
use hearth_core::Body;
use tokio::time::Instant;

use crate::body_out::{SendError, cut};
use crate::lazy_deadline::LazyDeadline;

pub struct H2Download {
    stream: SendStream<Bytes>,
    body: Body,
    /// The part of the promised length that was not yet sent.
    left: Option<u64>,
    /// A piece of the body that was not yet sent.
    piece: Bytes,
    sent: u64,
    timer: LazyDeadline,
}

/// Why a body did not come to its end.
pub enum Broken {
    /// The client went away, or did not read for too long.
    Gone,
    Failed(SendError),
}

impl H2Download {
    pub fn new(stream: SendStream<Bytes>, body: Body) -> Self {
        let left = body.length();
        Self { stream, body, left, piece: Bytes::new(), sent: 0, timer: LazyDeadline::default() }
    }

    /// Bytes that were handed to the connection.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends until the end, or until the client resets the stream.
    pub fn poll(&mut self, cx: &mut Context<'_>, write_timeout: Duration) -> Poll<Result<(), Broken>> {
        if self.stream.poll_reset(cx).is_ready() {
            return Poll::Ready(Err(Broken::Gone));
        }
        loop {
            if !self.piece.is_empty() {
                ready!(self.poll_send(cx, write_timeout))?;
                continue;
            }
            match (ready!(self.body.poll_next(cx)), &mut self.left) {
                // The client has the promised length, so the body's own end is ignored.
                (_, Some(0)) => break,
                (None, Some(missing)) => return failed(SendError::Short { missing: *missing }),
                (None, None) => break,
                (Some(Err(error)), _) => return failed(error.into()),
                (Some(Ok(piece)), Some(left)) => self.piece = cut(piece, left),
                (Some(Ok(piece)), None) => self.piece = piece,
            }
        }
        let ended = self.stream.send_data(Bytes::new(), true);
        Poll::Ready(ended.map_err(|_| Broken::Gone))
    }

    /// Sends as much of the piece as the window allows.
    fn poll_send(&mut self, cx: &mut Context<'_>, write_timeout: Duration) -> Poll<Result<(), Broken>> {
        self.stream.reserve_capacity(self.piece.len());
        while self.stream.capacity() == 0 {
            match self.stream.poll_capacity(cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(Err(Broken::Gone)),
                Poll::Pending => {
                    ready!(self.timer.poll(cx, write_timeout, Instant::now));
                    return Poll::Ready(Err(Broken::Gone));
                }
            }
        }
        self.timer.stop();
        let part = self.piece.split_to(self.piece.len().min(self.stream.capacity()));
        self.sent += part.len() as u64;
        Poll::Ready(self.stream.send_data(part, false).map_err(|_| Broken::Gone))
    }
}

fn failed(error: SendError) -> Poll<Result<(), Broken>> {
    Poll::Ready(Err(Broken::Failed(error)))
}
