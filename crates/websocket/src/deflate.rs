//! `permessage-deflate` (RFC 7692): messages compressed, each for itself.
//!
//! Neither side keeps anything from one message to the next ("no context takeover"): that compresses a little less, and a
//! connection that is silent costs nothing, where it would hold a third of a megabyte for as long as it lives. Messages that
//! are short, or that compress badly, go as they are; so do very long ones, which would hold up others while they are
//! compressed. What comes is inflated piece by piece, and never beyond the limit of a message, however little came.

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use hearth_core::{ByteSize, Headers};

use crate::violation::Violation;

/// What is said to a client whose offer is taken.
pub const ANSWER: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// Shorter messages are not worth it.
const LEAST: usize = 1024;
/// Longer ones take too long: some milliseconds.
const MOST: usize = 1024 * 1024;
/// Room for output, at a time.
const PIECE: usize = 32 * 1024;
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
}

impl Inflate {
    pub(crate) fn new(limit: ByteSize) -> Self {
        Self { stream: Decompress::new(false), limit }
    }

    /// Adds what `piece` stands for.
    pub(crate) fn push(&mut self, mut piece: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
        loop {
            let most = usize::try_from(self.limit.bytes()).unwrap_or(usize::MAX);
            // Twice as much each time, up to one byte more than may be: to see that there is more.
            out.reserve_exact(out.len().max(PIECE).min(most.saturating_sub(out.len()).saturating_add(1)));
            let (before, room) = (self.stream.total_in(), out.capacity() - out.len());
            let length = out.len();
            let status =
                self.stream.decompress_vec(piece, out, FlushDecompress::None).map_err(|_| Violation::Deflate)?;
            let (taken, made) = ((self.stream.total_in() - before) as usize, out.len() - length);
            piece = &piece[taken..];
            if out.len() > most {
                return Err(Violation::TooLarge { limit: self.limit });
            }
            if status == Status::StreamEnd {
                // A block that says that it is the last need not be: another may follow it.
                self.stream.reset(false);
            } else if taken == 0 && made == 0 && !piece.is_empty() {
                return Err(Violation::Deflate);
            }
            // With room to spare there is nothing left inside.
            if piece.is_empty() && made < room {
                return Ok(());
            }
        }
    }

    /// The message has come to its end.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Violation> {
        self.push(&TAIL, out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "deflate/tests.rs"]
mod tests;
