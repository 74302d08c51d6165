//! Messages in a stream of bytes: a length of four bytes, little-endian, then the message. Nothing here waits: bytes go in
//! as they come and messages come out, so that an event loop and an async client use the same code.

use super::wire::{Malformed, Wire};

/// Longer messages are refused by either side. The longest that is sent is a program's source.
pub const LONGEST: usize = 16 << 20;

const HEAD: usize = 4;

/// Appends `message` to what is to be sent. A message that is too long is not written at all.
pub fn encode<M: Wire>(message: &M, to: &mut Vec<u8>) -> Result<(), Malformed> {
    let start = to.len();
    to.extend_from_slice(&[0; HEAD]);
    message.put(to);
    let length = to.len() - start - HEAD;
    if length > LONGEST {
        to.truncate(start);
        return Err(Malformed::TooLong(length));
    }
    // `LONGEST` is far below what four bytes can say.
    to[start..start + HEAD].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}

/// Takes a stream apart into messages. Holds at most one message and what was read with it.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// What of `bytes` has been given out.
    taken: usize,
}

impl Decoder {
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
        // A long message is over: its memory is given back.
        if self.bytes.is_empty() && self.bytes.capacity() > 1 << 20 {
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, `None` until more bytes came. After an error the stream is of no use.
    pub fn message<M: Wire>(&mut self) -> Result<Option<M>, Malformed> {
        let Some((head, rest)) = self.bytes[self.taken..].split_first_chunk::<HEAD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*head) as usize;
        if length > LONGEST {
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

    /// What came of a message that is not whole yet, once all that are whole were taken.
    pub fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// No bytes of an unfinished message are held: an end of the stream here is no cut.
    pub fn is_between_messages(&self) -> bool {
        self.taken == self.bytes.len()
    }
}

#[cfg(test)]
#[path = "frame/tests.rs"]
mod tests;
