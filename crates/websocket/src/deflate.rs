//! `permessage-deflate` (RFC 7692): messages compressed, each for itself.
//!
//! Neither side keeps anything from one message to the next ("no context takeover"): that compresses a little less, and a
//! connection that is silent costs nothing, where it would hold a third of a megabyte for as long as it lives. Messages that
//! are short, or that compress badly, go as they are; so do very long ones, which would hold up others while they are
//! compressed. What comes is inflated piece by piece, with rests for others, and never beyond the limit of a message, however
//! little came.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use hearth_core::{ByteSize, Headers};

use crate::budget::Budget;
use crate::violation::Violation;

/// What is said to a client whose offer is taken.
pub const ANSWER: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// Shorter messages are not worth it.
const LEAST: usize = 1024;
/// Longer ones take too long: some milliseconds.
const MOST: usize = 1024 * 1024;
/// Room for output, at a time. It is the same room for a whole message: flate2 clears all of the room that it is given.
const PIECE: usize = 16 * 1024;
/// Least growth of a message, where it is not near its limit.
const GROWTH: usize = 32 * 1024;
/// Blocks of one message that may say that they are the last. Each makes the decompressor anew, which takes a microsecond.
const MAX_LAST_BLOCKS: u32 = 256;
/// What a byte that is decompressed takes from a [`Budget`]: blocks without content cost far more than they have bytes.
const INPUT_COST: usize = 16;
/// What ends a message on its way, and is left out.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// Whether the two sides agreed on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deflate {
    #[default]
    Off,
    On,
}

/// Whether the client offers it in a way that can be had. Of several offers one is enough.
pub fn is_offered(headers: &Headers) -> bool {
    let offers = headers.get_all("sec-websocket-extensions").filter_map(|value| std::str::from_utf8(value).ok());
    offers.flat_map(|value| value.split(',')).any(is_acceptable)
}

/// `server_max_window_bits` asks for a smaller window than there is here: that offer is declined, and clients that need it
/// make another without it.
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
                // How far back it looks is its own business: all of it is kept here.
                ("client_max_window_bits", Some(bits)) => {
                    matches!(bits.trim_matches('"').parse::<u8>(), Ok(8..=15)) && !bits.starts_with(['+', '0'])
                }
                _ => false,
            }
    })
}

/// The message compressed, where that is worth it.
pub(crate) fn deflate(message: &[u8]) -> Option<Vec<u8>> {
    if !(LEAST..=MOST).contains(&message.len()) {
        return None;
    }
    let mut compress = Compress::new(flate2::Compression::fast(), false);
    // What does not fit into it is not worth sending.
    let mut out = Vec::with_capacity(message.len());
    compress.compress_vec(message, &mut out, FlushCompress::Sync).ok()?;
    let is_whole = compress.total_in() == message.len() as u64 && out.ends_with(&TAIL) && out.len() < out.capacity();
    out.truncate(out.len().saturating_sub(TAIL.len()));
    is_whole.then_some(out)
}

/// One message on its way in.
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

    /// Adds what `input` stands for, as far as the budget goes. Says how much of `input` was taken: at least a byte, if there
    /// is one.
    pub(crate) fn push(&mut self, input: &[u8], out: &mut Vec<u8>, budget: &mut Budget) -> Result<usize, Violation> {
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

    /// The message has come to its end.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Violation> {
        self.push(&TAIL, out, &mut Budget::unlimited()).map(|_| ())
    }

    /// Bytes taken and bytes made.
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>, budget: &mut Budget) -> Result<(usize, usize), Violation> {
        let (before_in, before_out) = (self.stream.total_in(), self.stream.total_out());
        let status =
            self.stream.decompress(input, &mut self.piece, FlushDecompress::None).map_err(|_| Violation::Deflate)?;
        let taken = (self.stream.total_in() - before_in) as usize;
        let made = (self.stream.total_out() - before_out) as usize;
        budget.spend(taken * INPUT_COST + made);
        self.append(made, out)?;
        if status == Status::StreamEnd {
            // A block that says that it is the last need not be: another may follow it.
            self.last_blocks += 1;
            if self.last_blocks > MAX_LAST_BLOCKS {
                return Err(Violation::LastBlocks);
            }
            self.stream.reset(false);
        } else if taken == 0 && made == 0 && !input.is_empty() {
            return Err(Violation::Deflate);
        }
        Ok((taken, made))
    }

    fn append(&self, made: usize, out: &mut Vec<u8>) -> Result<(), Violation> {
        let most = usize::try_from(self.limit.bytes()).unwrap_or(usize::MAX);
        if made > most.saturating_sub(out.len()) {
            return Err(Violation::TooLarge { limit: self.limit });
        }
        if out.capacity() - out.len() < made {
            // Twice as much each time, up to what may be.
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
