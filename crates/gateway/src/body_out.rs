//! A response's body on its way from the app to the outbox, a piece at a time.
//! Invariant: a body with a promised length never sends more than that, and one that sends less fails; the last chunk is
//! written only when the stream ended well.

use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{Body, BodyError};

use crate::chunked::{LAST_CHUNK, push_size};
use crate::outbox::Outbox;

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
    /// A piece was put into the outbox.
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

    /// Bytes of the body that were put into the outbox.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Puts the next piece into the outbox.
    pub fn poll(&mut self, cx: &mut Context<'_>, outbox: &mut Outbox) -> Poll<Result<Step, SendError>> {
        Poll::Ready(match (self.body.poll_next(cx), &mut self.delimiter) {
            (Poll::Pending, _) => return Poll::Pending,
            // The client has all that was promised; how the stream ends does not matter any more.
            (Poll::Ready(_), Delimiter::Length(0)) => Ok(Step::End),
            (Poll::Ready(None), Delimiter::Length(missing)) => Err(SendError::Short { missing: *missing }),
            (Poll::Ready(None), Delimiter::Chunks) => {
                outbox.text().extend_from_slice(LAST_CHUNK);
                Ok(Step::End)
            }
            (Poll::Ready(None), Delimiter::Close) => Ok(Step::End),
            (Poll::Ready(Some(Err(error))), _) => Err(error.into()),
            (Poll::Ready(Some(Ok(piece))), _) if piece.is_empty() => Ok(Step::Piece),
            (Poll::Ready(Some(Ok(piece))), Delimiter::Length(left)) => {
                let piece = cut(piece, left);
                self.sent += piece.len() as u64;
                outbox.push(piece);
                Ok(Step::Piece)
            }
            (Poll::Ready(Some(Ok(piece))), Delimiter::Chunks) => {
                self.sent += piece.len() as u64;
                push_size(outbox.text(), piece.len());
                outbox.push(piece);
                outbox.text().extend_from_slice(b"\r\n");
                Ok(Step::Piece)
            }
            (Poll::Ready(Some(Ok(piece))), Delimiter::Close) => {
                self.sent += piece.len() as u64;
                outbox.push(piece);
                Ok(Step::Piece)
            }
        })
    }
}

pub fn cut(mut piece: Bytes, left: &mut u64) -> Bytes {
    if piece.len() as u64 > *left {
        tracing::debug!("A response's body is longer than it promised");
        piece.truncate(*left as usize);
    }
    *left -= piece.len() as u64;
    piece
}
