//! Framing: a length of four bytes, little-endian, then the message. Nothing here waits: bytes go
//! in as they come and messages come out, so that an event loop and an async client use the same
//! code.

use super::wire::{Malformed, WireValue};

/// Longer messages are refused by either side. The largest in use is a program's source.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

const HEAD: usize = 4;

/// Appends `message` to `to`. A message that is too long is not written at all.
pub fn encode<M: WireValue>(message: &M, to: &mut Vec<u8>) -> Result<(), Malformed> {
    let start = to.len();
    to.extend_from_slice(&[0; HEAD]);
    message.put(to);
    let length = to.len() - start - HEAD;
    if length > MAX_MESSAGE_BYTES {
        to.truncate(start);
        return Err(Malformed::TooLong(length));
    }
    // `MAX_MESSAGE_BYTES` is far below what four bytes can say.
    to[start..start + HEAD].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}

/// Splits a stream into messages. Holds at most one message and what was read with it.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    bytes: Vec<u8>,
    /// Bytes that were consumed.
    taken: usize,
}

impl FrameDecoder {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        } else if self.taken > 64 << 10 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        // Frees the memory of a long message.
        if self.bytes.is_empty() && self.bytes.capacity() > 1 << 20 {
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete message, `None` until more bytes came. After an error the stream is
    /// unusable.
    pub fn message<M: WireValue>(&mut self) -> Result<Option<M>, Malformed> {
        let Some((head, rest)) = self.bytes[self.taken..].split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(Malformed::TooLong(length));
        }
        let Some(mut body) = rest.get(..length) else { return Ok(None) };
        let message = M::take(&mut body)?;
        if !body.is_empty() {
            return Err(Malformed::Surplus(body.len()));
        }
        self.taken += HEAD + length;
        Ok(Some(message))
    }

    /// The bytes of an incomplete message, once all complete ones were taken.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// No bytes of an incomplete message are held: the stream may end here.
    pub fn is_between_messages(&self) -> bool {
        self.taken == self.bytes.len()
    }
}

#[cfg(test)]
#[path = "frame/tests.rs"]
mod tests;
