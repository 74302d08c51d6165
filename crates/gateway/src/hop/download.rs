//! An answer's body on its way back. It is read as fast as its reader wants, and keeps the request's body going meanwhile.
//! Invariant: the connection goes back only when both bodies are complete, and then before the reader gets the last piece: its
//! next request finds it.

use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream};

use super::MOST_READ;
use super::answer::{InvalidResponse, ResponseFraming};
use super::idle::WayBack;
use super::upload::Upload;
use crate::body_in::split;
use crate::chunked::{BodyProgress, ChunkedDecoder};
use crate::wire::Wire;

pub struct Download {
    /// Gone at the end.
    wire: Option<Wire>,
    upload: Upload,
    rest: Rest,
    /// Where the connection can be used again.
    way_back: Option<WayBack>,
}

/// What is still to come.
enum Rest {
    Length(u64),
    Chunked(ChunkedDecoder),
    Nothing,
}

impl Download {
    /// The body behind a head that was just taken from the inbox: what came with it need not be a stream.
    pub fn begin(
        wire: Wire,
        upload: Upload,
        framing: ResponseFraming,
        way_back: Option<WayBack>,
    ) -> Result<Body, InvalidResponse> {
        let rest = match framing {
            ResponseFraming::Length(length) => Rest::Length(length),
            ResponseFraming::Chunked => Rest::Chunked(ChunkedDecoder::new(u64::MAX)),
        };
        let mut this = Self { wire: Some(wire), upload, rest, way_back };
        let piece = this.take().map_err(|_| InvalidResponse::Body)?;
        if let Rest::Nothing = this.rest {
            return Ok(Body::from(piece));
        }
        Ok(Body::Stream(Box::new(Started { first: piece, rest: this })))
    }

    /// What the inbox has of the body.
    fn take(&mut self) -> Result<Bytes, BodyError> {
        let Some(wire) = &mut self.wire else { return Ok(Bytes::new()) };
        let (piece, ended) = match &mut self.rest {
            Rest::Length(left) => {
                let count = (*left).min(wire.inbox.len() as u64);
                *left -= count;
                let ended = if *left == 0 { BodyProgress::Complete } else { BodyProgress::Incomplete };
                (split(&mut wire.inbox, count as usize), ended)
            }
            Rest::Chunked(decoder) => {
                decoder.take(&mut wire.inbox).map_err(|error| BodyError::Failed(error.to_string()))?
            }
            Rest::Nothing => (Bytes::new(), BodyProgress::Complete),
        };
        if ended == BodyProgress::Complete {
            self.finish();
        }
        Ok(piece)
    }

    /// The connection goes back, unless it is of no use any more: the request's body was not wanted to its end, or failed.
    fn finish(&mut self) {
        self.rest = Rest::Nothing;
        if let (Some(wire), Some(way_back)) = (self.wire.take(), self.way_back.take()) {
            if self.upload.is_done() && wire.inbox.is_empty() && wire.outbox.is_empty() {
                way_back.go(wire);
            }
        }
        // Nobody reads the request any more.
        self.upload = Upload::Done;
    }
}

impl ByteStream for Download {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(wire) = &mut self.wire else { return Poll::Ready(None) };
            // Should it fail, the answer may go on all the same.
            let _ = self.upload.poll(cx, wire);
            if !wire.inbox.is_empty() {
                match self.take() {
                    Ok(piece) if piece.is_empty() => continue,
                    piece => return Poll::Ready(Some(piece)),
                }
            }
            match wire.poll_fill(cx, MOST_READ) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Some(Err(BodyError::Truncated))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        match self.rest {
            Rest::Length(left) => Some(left),
            Rest::Chunked(_) => None,
            Rest::Nothing => Some(0),
        }
    }
}

/// A body of which something came with the head.
struct Started {
    first: Bytes,
    rest: Download,
}

impl ByteStream for Started {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if self.first.is_empty() {
            return self.rest.poll_next(cx);
        }
        Poll::Ready(Some(Ok(std::mem::take(&mut self.first))))
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.first.len() as u64 + self.rest.remaining()?)
    }
}
