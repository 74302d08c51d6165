//! `permessage-deflate` (RFC 7692): each message is compressed by itself.
//!
//! Neither side keeps a context from one message to the next ("no context takeover"): that compresses a little less, but an idle
//! connection holds nothing, where it would hold a third of a megabyte with a context. Messages that are short, or that compress
//! badly, are sent uncompressed; so are very long ones, since compressing them would block other connections. Received messages are
//! inflated piece by piece within a budget, and never beyond the limit of a message.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use hearth_core::{ByteSize, Headers};

use crate::budget::Budget;
use crate::protocol_error::ProtocolError;

/// The header's value for a client whose offer is accepted.
pub const ANSWER: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// Shorter messages are sent uncompressed.
const MIN_COMPRESSED: usize = 1024;
/// Longer ones are sent uncompressed, since compressing them takes milliseconds.
const MAX_COMPRESSED: usize = 1024 * 1024;
/// The size of the output buffer, which is reused for a whole message: flate2 clears all of the buffer that it is given.
const PIECE: usize = 16 * 1024;
/// The least growth of a message's buffer, unless it is near its limit.
const GROWTH: usize = 32 * 1024;
/// Blocks of one message that may be marked as the last. Each resets the decompressor, which takes a microsecond.
const MAX_LAST_BLOCKS: u32 = 256;
/// What a compressed byte takes from a [`Budget`]: blocks without content cost far more than they have bytes.
const INPUT_COST: usize = 16;
/// The end of a compressed message, which is not sent.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// Whether both sides have accepted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deflate {
    #[default]
    Off,
    On,
}

/// Whether one of the client's offers can be accepted.
pub fn is_offered(headers: &Headers) -> bool {
    let offers = headers.get_all("sec-websocket-extensions").filter_map(|value| std::str::from_utf8(value).ok());
    offers.flat_map(|value| value.split(',')).any(is_acceptable)
}

/// An offer with `server_max_window_bits` asks for a smaller window than is supported, and is declined; clients add another offer
/// without it.
fn is_acceptable(offer: &str) -> bool {
    let mut parts = offer.split(';').map(str::trim);
    if !parts.next().is_some_and(|name| name.eq_ignore_ascii_case("permessage-deflate")) {
        return false;
    }
    let mut seen: Vec<&str> = Vec::new();
    parts.all(|part| {
        let (name, value) =
            part.split_once('=').map_or((part, None), |(name, value)| (name.trim(), Some(value.trim())));
        let is_new = !seen.contains(&name);
        seen.push(name);
        is_new
            && match (name, value) {
                ("server_no_context_takeover" | "client_no_context_takeover" | "client_max_window_bits", None) => true,
                // The client's window size does not matter: the full window is kept here.
                ("client_max_window_bits", Some(bits)) => {
                    matches!(bits.trim_matches('"').parse::<u8>(), Ok(8..=15)) && !bits.starts_with(['+', '0'])
                }
                _ => false,
            }
    })
}

/// The compressed message, where it is smaller.
pub(crate) fn deflate(message: &[u8]) -> Option<Vec<u8>> {
    if !(MIN_COMPRESSED..=MAX_COMPRESSED).contains(&message.len()) {
        return None;
    }
    let mut compress = Compress::new(flate2::Compression::fast(), false);
    // A message that does not get smaller does not fit, and is sent uncompressed.
    let mut out = Vec::with_capacity(message.len());
    compress.compress_vec(message, &mut out, FlushCompress::Sync).ok()?;
    let is_whole = compress.total_in() == message.len() as u64 && out.ends_with(&TAIL) && out.len() < out.capacity();
    out.truncate(out.len().saturating_sub(TAIL.len()));
    is_whole.then_some(out)
}

/// Decompresses one message.
#[derive(Debug)]
pub(crate) struct Inflate {
    stream: Decompress,
    limit: ByteSize,
    piece: Box<[u8]>,
    last_blocks: u32,
}

impl Inflate {
    pub(crate) fn new(limit: ByteSize) -> Self {
        Self { stream: Decompress::new(false), limit, piece: vec![0; PIECE].into(), last_blocks: 0 }
    }

    /// Appends the decompressed `input`, within the budget. Gives how much of `input` was taken: at least a byte, if there is one.
    pub(crate) fn push(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        budget: &mut Budget,
    ) -> Result<usize, ProtocolError> {
        let (mut done, mut made) = (0, 0);
        // With room to spare nothing is left inside; what is left at the end of the input is a window at most.
        while done < input.len() || made == PIECE {
            if done > 0 && done < input.len() && budget.is_spent() {
                break;
            }
            let taken;
            (taken, made) = self.step(&input[done..], out, budget)?;
            done += taken;
        }
        Ok(done)
    }

    /// Ends the message.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        self.push(&TAIL, out, &mut Budget::unlimited()).map(|_| ())
    }

    /// One step: bytes taken and bytes produced.
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>, budget: &mut Budget) -> Result<(usize, usize), ProtocolError> {
        let (before_in, before_out) = (self.stream.total_in(), self.stream.total_out());
        let status = self
            .stream
            .decompress(input, &mut self.piece, FlushDecompress::None)
            .map_err(|_| ProtocolError::Deflate)?;
        let taken = (self.stream.total_in() - before_in) as usize;
        let made = (self.stream.total_out() - before_out) as usize;
        budget.spend(taken * INPUT_COST + made);
        self.append(made, out)?;
        if status == Status::StreamEnd {
            // Another block may follow one that is marked as the last.
            self.last_blocks += 1;
            if self.last_blocks > MAX_LAST_BLOCKS {
                return Err(ProtocolError::LastBlocks);
            }
            self.stream.reset(false);
        } else if taken == 0 && made == 0 && !input.is_empty() {
            return Err(ProtocolError::Deflate);
        }
        Ok((taken, made))
    }

    fn append(&self, made: usize, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        let most = usize::try_from(self.limit.bytes()).unwrap_or(usize::MAX);
        if made > most.saturating_sub(out.len()) {
            return Err(ProtocolError::TooLarge { limit: self.limit });
        }
        if out.capacity() - out.len() < made {
            // Doubles the buffer each time, up to the limit.
            out.reserve_exact(out.len().max(GROWTH).min(most - out.len()));
        }
        out.extend_from_slice(&self.piece[..made]);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "deflate/tests.rs"]
mod tests;
