//! Compression and decompression in bounded steps: gzip, deflate, brotli and zstd, for the web's compression streams and for
//! Node's zlib. Knows nothing of V8.
//!
//! | file | content |
//! |---|---|
//! | `codec.rs` | one interface over all formats: a step takes a piece of input and fills a piece of output |
//! | `zlib.rs` | gzip, zlib and raw deflate, by zlib-rs |
//! | `brotli.rs` | brotli, by the `brotli` crate, whose memory a counting allocator measures |
//! | `zstd.rs` | zstd, by the reference library |
//! | `error.rs` | errors with the codes and messages that Node has for them |
//!
//! Invariants: a step reads and writes at most [`MAX_STEP`] bytes, so a caller can stop between two of them; a codec says
//! after each step how much memory it holds ([`Codec::memory`]).

#![forbid(unsafe_code)]

mod brotli;
mod codec;
mod error;
mod zlib;
mod zstd;

pub use codec::{Codec, CodecStep, Config, MAX_STEP};
pub use error::CodecError;
pub use zlib::{AfterMember, ZlibConfig, ZlibMode};

/// Continues the CRC-32 of gzip and zip.
pub fn crc32(value: u32, bytes: &[u8]) -> u32 {
    zlib_rs::crc32::crc32(value, bytes)
}
