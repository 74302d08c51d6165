//! The chunked transfer coding (RFC 9112, section 7.1): a decoder that takes bytes as they come, and the frames that the
//! encoder puts around a piece.
//!
//! ```text
//! Size -> Extension -> SizeLf -> Data -> DataCr -> DataLf -> Size ...
//!   `--(size 0)--> TrailerStart -> TrailerName -> Trailer -> TrailerLf -> TrailerStart ... -> EndLf -> End
//! ```
//! Strict: CR LF everywhere, no space around sizes, at most 16 hex digits. Extensions and trailers are read and ignored,
//! and bounded: a line of extensions, all trailers together, and framing in proportion to data.
//! Invariant: never yields data beyond the limit, and fails before the first byte of a chunk that would go beyond it.

use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

use crate::ascii::is_token;

/// The longest extensions of one chunk.
const MAX_EXTENSION: u32 = 1024;
/// The longest trailers in all.
const MAX_TRAILERS: u32 = 8 * 1024;
/// Bytes of framing beyond what chunks of a sensible size need.
const MAX_EXCESS: u64 = 16 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("a chunk's size is invalid")]
    Size,
    #[error("a chunk's extensions are invalid or too long")]
    Extension,
    #[error("a chunk does not end where it should")]
    Frame,
    #[error("the trailers are invalid or too long")]
    Trailer,
    #[error("there is too much framing for too little data")]
    Excess,
    #[error("the body is longer than allowed")]
    TooLarge,
}

#[derive(Clone, Debug)]
pub struct ChunkedDecoder {
    state: State,
    /// How much data may still come.
    allowed: u64,
    /// Framing beyond what is sensible.
    excess: u64,
    /// Bytes of the current extensions, or of all trailers.
    line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkEvent {
    /// All of the input was taken, and the body goes on.
    More,
    /// Data of the body, as a range of the input.
    Data(Range<usize>),
    /// The body is complete; the rest of the input does not belong to it.
    End,
}

/// Whether all of a body was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyProgress {
    Complete,
    Incomplete,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Size { size: u64, digits: u8 },
    Extension { size: u64 },
    SizeLf { size: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    Trailer,
    TrailerLf,
    EndLf,
    End,
}

impl ChunkedDecoder {
    /// For a body of at most `limit` bytes of data.
    pub fn new(limit: u64) -> Self {
        Self { state: State::Size { size: 0, digits: 0 }, allowed: limit, excess: 0, line: 0 }
    }

    /// Decodes `input[*at..]` and moves `at` past what it took.
    pub fn next(&mut self, input: &[u8], at: &mut usize) -> Result<ChunkEvent, ChunkError> {
        while let Some(&byte) = input.get(*at) {
            if let State::Data { left } = self.state {
                let take = left.min((input.len() - *at) as u64);
                let data = *at..*at + take as usize;
                *at = data.end;
                self.state = if take == left { State::DataCr } else { State::Data { left: left - take } };
                return Ok(ChunkEvent::Data(data));
            }
            if let State::End = self.state {
                return Ok(ChunkEvent::End);
            }
            self.state = self.step(byte)?;
            *at += 1;
        }
        Ok(if let State::End = self.state { ChunkEvent::End } else { ChunkEvent::More })
    }

    /// Takes the data in `input`, in one piece, and whether the body is complete. What follows the body's end is left there.
    pub fn take(&mut self, input: &mut BytesMut) -> Result<(Bytes, BodyProgress), ChunkError> {
        let (mut at, mut data) = (0, Vec::new());
        let ended = loop {
            match self.next(input, &mut at)? {
                ChunkEvent::Data(range) => data.extend_from_slice(&input[range]),
                ChunkEvent::More => break BodyProgress::Incomplete,
                ChunkEvent::End => break BodyProgress::Complete,
            }
        };
        input.advance(at);
        Ok((Bytes::from(data), ended))
    }

    /// One byte of framing.
    fn step(&mut self, byte: u8) -> Result<State, ChunkError> {
        Ok(match self.state {
            State::Size { size, digits } => match (byte, digits) {
                (b'\r', 1..) => State::SizeLf { size },
                (b';', 1..) => State::Extension { size },
                (_, 16..) => return Err(ChunkError::Size),
                _ => {
                    let digit = char::from(byte).to_digit(16).ok_or(ChunkError::Size)?;
                    State::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
                }
            },
            State::Extension { size } => match byte {
                b'\r' => State::SizeLf { size },
                b'\t' | b' '..=b'~' | 0x80.. if self.line < MAX_EXTENSION => {
                    self.line += 1;
                    State::Extension { size }
                }
                _ => return Err(ChunkError::Extension),
            },
            State::SizeLf { size } => {
                expect(byte, b'\n', ChunkError::Size)?;
                self.begin_chunk(size)?
            }
            State::DataCr => {
                expect(byte, b'\r', ChunkError::Frame)?;
                State::DataLf
            }
            State::DataLf => {
                expect(byte, b'\n', ChunkError::Frame)?;
                State::Size { size: 0, digits: 0 }
            }
            State::TrailerStart if byte == b'\r' => State::EndLf,
            State::Trailer if byte == b'\r' => State::TrailerLf,
            State::TrailerName if byte == b':' => {
                self.count_trailer(true)?;
                State::Trailer
            }
            State::TrailerStart | State::TrailerName => {
                self.count_trailer(is_token(byte))?;
                State::TrailerName
            }
            State::Trailer => {
                self.count_trailer(matches!(byte, b'\t' | b' '..=b'~' | 0x80..))?;
                State::Trailer
            }
            State::TrailerLf => {
                expect(byte, b'\n', ChunkError::Trailer)?;
                State::TrailerStart
            }
            State::EndLf => {
                expect(byte, b'\n', ChunkError::Trailer)?;
                State::End
            }
            State::Data { .. } | State::End => self.state,
        })
    }

    fn count_trailer(&mut self, valid: bool) -> Result<(), ChunkError> {
        self.line += 1;
        if valid && self.line <= MAX_TRAILERS { Ok(()) } else { Err(ChunkError::Trailer) }
    }

    fn begin_chunk(&mut self, size: u64) -> Result<State, ChunkError> {
        let framing = u64::from(std::mem::take(&mut self.line)) + 12;
        self.excess = (self.excess + framing).saturating_sub(size.saturating_mul(2).saturating_add(16));
        if self.excess > MAX_EXCESS {
            return Err(ChunkError::Excess);
        }
        self.allowed = self.allowed.checked_sub(size).ok_or(ChunkError::TooLarge)?;
        Ok(if size == 0 { State::TrailerStart } else { State::Data { left: size } })
    }
}

fn expect(byte: u8, wanted: u8, error: ChunkError) -> Result<(), ChunkError> {
    if byte == wanted { Ok(()) } else { Err(error) }
}

// === The encoder ===

/// What follows the last chunk.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The line before a chunk of `size` bytes. Sizes are never 0, which would end the body.
pub fn push_size(out: &mut Vec<u8>, size: usize) {
    debug_assert!(size > 0);
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digits = (usize::BITS - size.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(HEX[size >> (digit * 4) & 15]);
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
#[path = "chunked/tests.rs"]
mod tests;
