//! Compresses bodies with gzip or brotli, in steps between which the thread serves other tasks.
//!
//! A step is [`STEP`] bytes of input, well below a millisecond of work; after each the stream yields. When the source has nothing
//! more for now, what the encoder holds back is flushed, so that a stream still streams.

use std::io::Write;
use std::task::{Context, Poll};

use brotli::CompressorWriter;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hearth_core::{Body, BodyError, ByteStream};

use crate::encoding::Coding;

/// How much is compressed in one step.
pub const STEP: usize = 16 * 1024;
/// Of nine. Higher levels take more time than they save bytes.
const GZIP_LEVEL: u32 = 4;
/// Of eleven. As fast as gzip's, and smaller.
const BROTLI_QUALITY: u32 = 4;
/// The window, as a power of two: 256 KB. More would cost memory for each response under way.
const BROTLI_WINDOW: u32 = 18;
const BROTLI_BUFFER: usize = 4 * 1024;
const MEMORY: &str = "writing to memory does not fail";

pub enum BodyEncoder {
    Gzip(Box<GzEncoder<Vec<u8>>>),
    Brotli(Box<CompressorWriter<Vec<u8>>>),
}

/// A body on its way through an encoder.
pub struct Compressed {
    source: Body,
    /// None at the end.
    encoder: Option<BodyEncoder>,
    /// Of the source, and not yet in the encoder.
    piece: Bytes,
    /// Input since the last flush: what a client might wait for.
    held: usize,
    /// Input since the last yield.
    worked: usize,
}

// === impl BodyEncoder ===

impl BodyEncoder {
    pub fn new(coding: Coding) -> Self {
        match coding {
            Coding::Gzip => Self::Gzip(Box::new(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL)))),
            Coding::Brotli => {
                let writer = CompressorWriter::new(Vec::new(), BROTLI_BUFFER, BROTLI_QUALITY, BROTLI_WINDOW);
                Self::Brotli(Box::new(writer))
            }
        }
    }

    /// Compresses all of a body.
    pub fn whole(mut self, bytes: &[u8]) -> Bytes {
        self.push(bytes);
        self.finish()
    }

    fn push(&mut self, step: &[u8]) {
        self.writer().write_all(step).expect(MEMORY);
    }

    /// Brotli's encoder collects much more than a step before it compresses, and then compresses all of it at once.
    fn gathers(&self) -> bool {
        matches!(self, Self::Brotli(_))
    }

    fn flush(&mut self) {
        self.writer().flush().expect(MEMORY);
    }

    fn finish(self) -> Bytes {
        match self {
            Self::Gzip(encoder) => encoder.finish().expect(MEMORY).into(),
            Self::Brotli(writer) => writer.into_inner().into(),
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(encoder) => &mut **encoder,
            Self::Brotli(writer) => writer,
        }
    }

    /// What has come out so far; perhaps nothing.
    fn take(&mut self) -> Bytes {
        let out = match self {
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Brotli(writer) => writer.get_mut(),
        };
        std::mem::take(out).into()
    }
}

// === impl Compressed ===

impl Compressed {
    pub fn new(source: Body, coding: Coding) -> Self {
        let encoder = Some(BodyEncoder::new(coding));
        Self { source, encoder, piece: Bytes::new(), held: 0, worked: 0 }
    }
}

impl ByteStream for Compressed {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(encoder) = &mut self.encoder else { return Poll::Ready(None) };
            if self.piece.is_empty() {
                match self.source.poll_next(cx) {
                    Poll::Ready(Some(Ok(piece))) => self.piece = piece,
                    Poll::Ready(Some(Err(error))) => {
                        self.encoder = None;
                        return Poll::Ready(Some(Err(error)));
                    }
                    Poll::Ready(None) => {
                        let rest = self.encoder.take().map(BodyEncoder::finish).filter(|rest| !rest.is_empty());
                        return Poll::Ready(rest.map(Ok));
                    }
                    Poll::Pending if self.held > 0 => {
                        self.held = 0;
                        encoder.flush();
                        let out = encoder.take();
                        return if out.is_empty() { Poll::Pending } else { Poll::Ready(Some(Ok(out))) };
                    }
                    Poll::Pending => return Poll::Pending,
                }
                continue;
            }
            if self.worked >= STEP {
                self.worked = 0;
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            let step = self.piece.split_to(self.piece.len().min(STEP));
            self.worked += step.len();
            self.held += step.len();
            encoder.push(&step);
            if self.held >= STEP && encoder.gathers() {
                self.held = 0;
                encoder.flush();
            }
            let out = encoder.take();
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out)));
            }
        }
    }
}

#[cfg(test)]
#[path = "encoder/tests.rs"]
mod tests;
