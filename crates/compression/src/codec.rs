//! One interface over all formats.

use crate::brotli::{BrotliDecoder, BrotliEncoder};
use crate::error::CodecError;
use crate::zlib::{Deflater, Inflater, ZlibConfig, ZlibMode};
use crate::zstd::{ZstdDecoder, ZstdEncoder};

/// Bytes that a step reads and writes at most.
pub const MAX_STEP: usize = 64 * 1024;

/// What to make. Parameters are pairs of numbers: those of brotli's and zstd's C interfaces, by which Node's options name them.
#[derive(Clone, Debug)]
pub enum Config {
    Zlib(ZlibConfig),
    BrotliEncoder { params: Vec<(u32, u32)> },
    BrotliDecoder { params: Vec<(u32, u32)> },
    ZstdEncoder { params: Vec<(u32, u32)>, source_size: Option<u64>, dictionary: Vec<u8> },
    ZstdDecoder { params: Vec<(u32, u32)>, dictionary: Vec<u8> },
}

/// A compressor or decompressor.
pub struct Codec(Kind);

enum Kind {
    Deflater(Deflater),
    Inflater(Inflater),
    BrotliEncoder(Box<BrotliEncoder>),
    BrotliDecoder(Box<BrotliDecoder>),
    ZstdEncoder(ZstdEncoder),
    ZstdDecoder(ZstdDecoder),
}

/// What a step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodecStep {
    pub read: usize,
    pub written: usize,
    /// The compressed stream is over.
    pub ended: bool,
    /// The step ended for its bound: there is more to do with what the caller gave.
    pub more: bool,
}

impl Codec {
    pub fn new(config: Config) -> Result<Self, CodecError> {
        Ok(Self(match config {
            Config::Zlib(config) => match config.mode {
                ZlibMode::Deflate | ZlibMode::Gzip | ZlibMode::DeflateRaw => Kind::Deflater(Deflater::new(config)?),
                ZlibMode::Inflate | ZlibMode::Gunzip | ZlibMode::InflateRaw | ZlibMode::Unzip => {
                    Kind::Inflater(Inflater::new(config)?)
                }
            },
            Config::BrotliEncoder { params } => Kind::BrotliEncoder(Box::new(BrotliEncoder::new(params)?)),
            Config::BrotliDecoder { params } => Kind::BrotliDecoder(Box::new(BrotliDecoder::new(params)?)),
            Config::ZstdEncoder { params, source_size, dictionary } => {
                Kind::ZstdEncoder(ZstdEncoder::new(params, source_size, dictionary)?)
            }
            Config::ZstdDecoder { params, dictionary } => Kind::ZstdDecoder(ZstdDecoder::new(params, dictionary)?),
        }))
    }

    /// Takes of `input` and writes to `output`, of both at most [`MAX_STEP`] bytes. `flush` is the format's own number (in all
    /// of them 0 is none); it counts once the last piece of the input is there.
    pub fn step(&mut self, input: &[u8], output: &mut [u8], flush: u32) -> Result<CodecStep, CodecError> {
        let (all_in, all_out) = (input.len(), output.len());
        let input = &input[..all_in.min(MAX_STEP)];
        let output = &mut output[..all_out.min(MAX_STEP)];
        let flush = if input.len() < all_in { 0 } else { flush };
        let mut step = match &mut self.0 {
            Kind::Deflater(codec) => codec.step(input, output, flush),
            Kind::Inflater(codec) => codec.step(input, output, flush),
            Kind::BrotliEncoder(codec) => codec.step(input, output, flush),
            Kind::BrotliDecoder(codec) => codec.step(input, output, flush),
            Kind::ZstdEncoder(codec) => codec.step(input, output, flush),
            Kind::ZstdDecoder(codec) => codec.step(input, output, flush),
        }?;
        let (out_full, in_used) = (step.written == output.len(), step.read == input.len());
        let bound_by_output = out_full && output.len() < all_out;
        let bound_by_input = in_used && !out_full && input.len() < all_in;
        step.more = !step.ended && (bound_by_output || bound_by_input);
        Ok(step)
    }

    /// Begins anew.
    pub fn reset(&mut self) -> Result<(), CodecError> {
        match &mut self.0 {
            Kind::Deflater(codec) => codec.reset(),
            Kind::Inflater(codec) => codec.reset(),
            Kind::BrotliEncoder(codec) => codec.reset(),
            Kind::BrotliDecoder(codec) => codec.reset(),
            Kind::ZstdEncoder(codec) => codec.reset(),
            Kind::ZstdDecoder(codec) => codec.reset(),
        }
    }

    /// Changes the level of a deflater whose input has been flushed; others have none.
    pub fn set_level(&mut self, level: i32) -> Result<(), CodecError> {
        match &mut self.0 {
            Kind::Deflater(codec) => codec.set_level(level),
            _ => Ok(()),
        }
    }

    /// Bytes that it holds.
    pub fn memory(&self) -> u64 {
        match &self.0 {
            Kind::Deflater(codec) => codec.memory(),
            Kind::Inflater(codec) => codec.memory(),
            Kind::BrotliEncoder(codec) => codec.memory(),
            Kind::BrotliDecoder(codec) => codec.memory(),
            Kind::ZstdEncoder(codec) => codec.memory(),
            Kind::ZstdDecoder(codec) => codec.memory(),
        }
    }

    /// Says that the input which `flush` ends is so long. What is about to begin needs no more memory than that much demands.
    pub fn expect_input(&mut self, length: u64, flush: u32) -> Result<(), CodecError> {
        match &mut self.0 {
            Kind::ZstdEncoder(codec) => codec.expect_input(length, flush),
            _ => Ok(()),
        }
    }

    /// What a step with this input may make of [`Codec::memory`], where that is much more than it says before it.
    pub fn expected_memory(&self, input: &[u8]) -> u64 {
        match &self.0 {
            Kind::ZstdEncoder(codec) => codec.expected_memory(),
            Kind::ZstdDecoder(codec) => codec.expected_memory(input),
            Kind::BrotliEncoder(codec) => codec.expected_memory(),
            _ => self.memory(),
        }
    }
}

#[cfg(test)]
mod tests;
