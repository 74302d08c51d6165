//! Undoes `content-encoding`: gzip, deflate (zlib, or raw as some servers send it) and brotli, while the body streams.
//! Invariants: a poll gives at most [`MAX_PIECE`] bytes however much they were compressed, and no more input is read until all
//! output of the last was taken; so a "bomb" costs the app what it reads, and the process one piece.
//!
//! As in Deno, a response that is decoded here loses its `content-encoding` and `content-length` headers: they describe
//! bytes that the app never sees, and would be wrong if it passed the response on.

use std::task::{Context, Poll, ready};

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use bytes::{Buf, Bytes, BytesMut};
use flate2::Decompress;
use hearth_core::{Body, BodyError, ByteStream};

use crate::gzip::{Gzip, inflate};

/// The largest piece that comes out at once.
pub(crate) const MAX_PIECE: usize = 64 * 1024;

/// The smallest buffer that is worth asking for.
const MIN_PIECE: usize = 4 * 1024;

/// A body with more codings on top of each other is not decoded.
const MAX_CODINGS: usize = 4;

/// Pieces of input without any output before the task yields.
const MAX_EMPTY_STEPS: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
}

/// What one step of a decoder did.
pub(crate) struct Progress {
    pub(crate) read: usize,
    pub(crate) written: usize,
    pub(crate) ended: bool,
}

/// Invalid compressed data.
#[derive(Debug)]
pub(crate) struct Corrupt(pub(crate) &'static str);

struct Decode {
    source: Body,
    coding: Coding,
    decoder: Decoder,
    input: Bytes,
    backlog: Backlog,
}

/// Whether the decoder may hold output that did not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backlog {
    None,
    Some,
}

enum Decoder {
    Gzip(Box<Gzip>),
    /// zlib or raw: the first byte decides.
    Unknown,
    Deflate(Decompress),
    Brotli(Box<Brotli>),
    /// The stream has ended; further input is ignored.
    Over,
}

struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    started: bool,
}

/// The codings of a body, the outermost last; `None` where one is unknown, so that the body has to stay as it is.
pub(crate) fn codings<'a>(values: impl Iterator<Item = &'a [u8]>) -> Option<Vec<Coding>> {
    let mut codings = Vec::new();
    for name in values.flat_map(|value| value.split(|b| *b == b',')).map(<[u8]>::trim_ascii) {
        match name.to_ascii_lowercase().as_slice() {
            b"" | b"identity" => {}
            b"gzip" | b"x-gzip" => codings.push(Coding::Gzip),
            b"deflate" => codings.push(Coding::Deflate),
            b"br" => codings.push(Coding::Brotli),
            _ => return None,
        }
    }
    (codings.len() <= MAX_CODINGS).then_some(codings)
}

/// The body behind these codings.
pub(crate) fn decode(body: Body, codings: &[Coding]) -> Body {
    codings.iter().rev().fold(body, |source, coding| {
        let (decoder, input) = (Decoder::new(*coding), Bytes::new());
        Body::Stream(Box::new(Decode { source, coding: *coding, decoder, input, backlog: Backlog::None }))
    })
}

// === impl Decode ===

impl Decode {
    /// The next output of the input that is here; `None` when there is nothing more in it.
    fn step(&mut self) -> Result<Option<Bytes>, Corrupt> {
        let size = match self.backlog {
            Backlog::Some => MAX_PIECE,
            Backlog::None if self.input.is_empty() => return Ok(None),
            Backlog::None => (self.input.len() * 4).clamp(MIN_PIECE, MAX_PIECE),
        };
        let mut output = BytesMut::zeroed(size);
        while !self.input.is_empty() || self.backlog == Backlog::Some {
            let progress = self.decoder.step(&self.input, &mut output)?;
            self.input.advance(progress.read);
            self.backlog = if progress.written == size { Backlog::Some } else { Backlog::None };
            if progress.written > 0 {
                output.truncate(progress.written);
                return Ok(Some(output.freeze()));
            }
            if progress.read == 0 && !self.input.is_empty() {
                return Err(Corrupt("it makes no sense"));
            }
        }
        Ok(None)
    }
}

impl ByteStream for Decode {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        for _ in 0..MAX_EMPTY_STEPS {
            match self.step() {
                Ok(None) => {}
                Ok(Some(piece)) => return Poll::Ready(Some(Ok(piece))),
                Err(Corrupt(reason)) => {
                    self.source = Body::Empty;
                    let message = format!("the {} body cannot be decoded: {reason}", self.coding.name());
                    return Poll::Ready(Some(Err(BodyError::Failed(message))));
                }
            }
            match ready!(self.source.poll_next(cx)) {
                Some(Ok(piece)) => self.input = piece,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None if self.decoder.may_end() => return Poll::Ready(None),
                None => return Poll::Ready(Some(Err(BodyError::Truncated))),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

// === impl Coding ===

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
        }
    }
}

// === impl Decoder ===

impl Decoder {
    fn new(coding: Coding) -> Self {
        match coding {
            Coding::Gzip => Self::Gzip(Box::new(Gzip::new())),
            Coding::Deflate => Self::Unknown,
            Coding::Brotli => Self::Brotli(Box::new(Brotli::new())),
        }
    }

    /// Whether the input may end here. No input at all is an empty body in any coding.
    fn may_end(&self) -> bool {
        match self {
            Self::Gzip(gzip) => gzip.may_end(),
            Self::Unknown | Self::Over => true,
            Self::Deflate(_) => false,
            Self::Brotli(brotli) => !brotli.started,
        }
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, Corrupt> {
        if let (Self::Unknown, Some(first)) = (&*self, input.first()) {
            // A zlib header's low bits are 8; raw data that begins so would be a stored block with non-zero padding.
            *self = Self::Deflate(Decompress::new(first & 0x0f == 8));
        }
        let progress = match self {
            Self::Gzip(gzip) => gzip.step(input, output)?,
            Self::Deflate(decompress) => inflate(decompress, input, output)?,
            Self::Brotli(brotli) => brotli.step(input, output)?,
            Self::Unknown | Self::Over => Progress { read: input.len(), written: 0, ended: false },
        };
        if progress.ended {
            *self = Self::Over;
        }
        Ok(progress)
    }
}

// === impl Brotli ===

impl Brotli {
    fn new() -> Self {
        // Strict: no windows beyond the 16 MB of RFC 7932.
        let memory = StandardAlloc::default;
        Self { state: BrotliState::new_strict(memory(), memory(), memory()), started: false }
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Progress, Corrupt> {
        self.started |= !input.is_empty();
        let (mut unread, mut read, mut room, mut written, mut total) = (input.len(), 0, output.len(), 0, 0);
        let state = &mut self.state;
        let result =
            BrotliDecompressStream(&mut unread, &mut read, input, &mut room, &mut written, output, &mut total, state);
        match result {
            BrotliResult::ResultFailure => Err(Corrupt("its brotli data is damaged")),
            BrotliResult::ResultSuccess => Ok(Progress { read, written, ended: true }),
            _ => Ok(Progress { read, written, ended: false }),
        }
    }
}

#[cfg(test)]
mod tests;
