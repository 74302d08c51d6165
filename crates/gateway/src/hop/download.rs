//! The body of a hop's response. It is read as fast as its reader takes it, and the request's body is sent meanwhile.
//! Invariant: the connection is returned to the pool only when both bodies are complete, and then before the reader gets the last
//! piece, so that the reader's next request can use it.

use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream};

use super::MAX_BODY_READ;
use super::connection_pool::ReturnToPool;
use super::response::{InvalidResponse, ResponseFraming};
use super::upload::HopUpload;
use crate::body_in::split;
use crate::buffered_stream::BufferedStream;
use crate::chunked::{BodyProgress, ChunkedDecoder};

pub struct HopDownload {
    /// None at the end.
    stream: Option<BufferedStream>,
    upload: HopUpload,
    rest: Remaining,
    /// Where the connection goes; None if it cannot be used again.
    return_to_pool: Option<ReturnToPool>,
}

/// What is still to come.
enum Remaining {
    Length(u64),
    Chunked(ChunkedDecoder),
    Nothing,
}

impl HopDownload {
    /// The body behind a head that was just taken from the read buffer. A body that came with the head is not a stream.
    pub fn begin(
        stream: BufferedStream,
        upload: HopUpload,
        framing: ResponseFraming,
        return_to_pool: Option<ReturnToPool>,
    ) -> Result<Body, InvalidResponse> {
        let rest = match framing {
            ResponseFraming::Length(length) => Remaining::Length(length),
            ResponseFraming::Chunked => Remaining::Chunked(ChunkedDecoder::new(u64::MAX)),
        };
        let mut this = Self { stream: Some(stream), upload, rest, return_to_pool };
        let piece = this.take().map_err(|_| InvalidResponse::Body)?;
        if let Remaining::Nothing = this.rest {
            return Ok(Body::from(piece));
        }
        Ok(Body::Stream(Box::new(Started { first: piece, rest: this })))
    }

    /// Takes what the read buffer has of the body.
    fn take(&mut self) -> Result<Bytes, BodyError> {
        let Some(stream) = &mut self.stream else { return Ok(Bytes::new()) };
        let (piece, ended) = match &mut self.rest {
            Remaining::Length(left) => {
                let count = (*left).min(stream.read_buf.len() as u64);
                *left -= count;
                let ended = if *left == 0 { BodyProgress::Complete } else { BodyProgress::Incomplete };
                (split(&mut stream.read_buf, count as usize), ended)
            }
            Remaining::Chunked(decoder) => {
                decoder.take(&mut stream.read_buf).map_err(|error| BodyError::Failed(error.to_string()))?
            }
            Remaining::Nothing => (Bytes::new(), BodyProgress::Complete),
        };
        if ended == BodyProgress::Complete {
            self.finish();
        }
        Ok(piece)
    }

    /// Returns the connection, unless it cannot be used again: the request's body was not read to its end, or failed.
    fn finish(&mut self) {
        self.rest = Remaining::Nothing;
        if let (Some(stream), Some(return_to_pool)) = (self.stream.take(), self.return_to_pool.take())
            && self.upload.is_done()
            && stream.read_buf.is_empty()
            && stream.write_queue.is_empty()
        {
            return_to_pool.put(stream);
        }
        // The other side reads no more of the request.
        self.upload = HopUpload::Done;
    }
}

impl ByteStream for HopDownload {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(stream) = &mut self.stream else { return Poll::Ready(None) };
            // If this fails, the response may still be complete.
            let _ = self.upload.poll(cx, stream);
            if !stream.read_buf.is_empty() {
                match self.take() {
                    Ok(piece) if piece.is_empty() => continue,
                    piece => return Poll::Ready(Some(piece)),
                }
            }
            match stream.poll_fill(cx, MAX_BODY_READ) {
                Poll::Ready(Ok(1..)) => {}
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Some(Err(BodyError::Truncated))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn remaining(&self) -> Option<u64> {
        match self.rest {
            Remaining::Length(left) => Some(left),
            Remaining::Chunked(_) => None,
            Remaining::Nothing => Some(0),
        }
    }
}

/// A body of which a part came with the head.
struct Started {
    first: Bytes,
    rest: HopDownload,
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
