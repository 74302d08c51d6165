//! A response's body on its way from the app to the write queue, a piece at a time.
//! Invariant: a body with a promised length never sends more than that, and one that sends less fails; the last chunk is
//! written only when the stream ended well.

use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{Body, BodyError};

use crate::chunked::{LAST_CHUNK, push_size};
use crate::write_queue::WriteQueue;

/// How a client finds the end of a streamed body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// So many bytes are still to come.
    Length(u64),
    Chunks,
    /// The connection's end: HTTP/1.0.
    Close,
}

pub struct Outgoing {
    body: Body,
    delimiter: Delimiter,
    sent: u64,
}

#[derive(Debug)]
pub enum Step {
    /// A piece was put into the write queue.
    Piece,
    End,
}

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error("the response's body failed: {0}")]
    Body(#[from] BodyError),
    #[error("the response's body ended {missing} bytes before its promised length")]
    Short { missing: u64 },
}

impl Outgoing {
    pub fn new(body: Body, delimiter: Delimiter) -> Self {
        Self { body, delimiter, sent: 0 }
    }

    /// Bytes of the body that were put into the write queue.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Puts the next piece into the write queue.
    pub fn poll(&mut self, cx: &mut Context<'_>, write_queue: &mut WriteQueue) -> Poll<Result<Step, SendError>> {
        Poll::Ready(match (self.body.poll_next(cx), &mut self.delimiter) {
            (Poll::Pending, _) => return Poll::Pending,
            // The client has the promised length, so the stream's own end is ignored.
            (Poll::Ready(_), Delimiter::Length(0)) => Ok(Step::End),
            (Poll::Ready(None), Delimiter::Length(missing)) => Err(SendError::Short { missing: *missing }),
            (Poll::Ready(None), Delimiter::Chunks) => {
                write_queue.buffer().extend_from_slice(LAST_CHUNK);
                Ok(Step::End)
            }
            (Poll::Ready(None), Delimiter::Close) => Ok(Step::End),
            (Poll::Ready(Some(Err(error))), _) => Err(error.into()),
            (Poll::Ready(Some(Ok(piece))), _) if piece.is_empty() => Ok(Step::Piece),
            (Poll::Ready(Some(Ok(piece))), Delimiter::Length(left)) => {
                let piece = cut(piece, left);
                self.sent += piece.len() as u64;
                write_queue.push(piece);
                Ok(Step::Piece)
            }
            (Poll::Ready(Some(Ok(piece))), Delimiter::Chunks) => {
                self.sent += piece.len() as u64;
                push_size(write_queue.buffer(), piece.len());
                write_queue.push(piece);
                write_queue.buffer().extend_from_slice(b"\r\n");
                Ok(Step::Piece)
            }
            (Poll::Ready(Some(Ok(piece))), Delimiter::Close) => {
                self.sent += piece.len() as u64;
                write_queue.push(piece);
                Ok(Step::Piece)
            }
        })
    }
}

/// The part of `piece` that fits into the promised length, of which `left` bytes are still to come.
pub fn cut(mut piece: Bytes, left: &mut u64) -> Bytes {
    if piece.len() as u64 > *left {
        tracing::debug!("response body cut off at its promised length");
        piece.truncate(*left as usize);
    }
    *left -= piece.len() as u64;
    piece
}
