//! Decodes bytes into messages and control frames. Holds at most one message, and no more of it than was received: a frame that
//! claims to be long costs nothing until its bytes arrive.
//!
//! States: `Header -> Payload -> Header ...`, and `Broken` for ever after an error.

use bytes::{Buf, Bytes, BytesMut};
use hearth_core::ByteSize;
use hearth_core::websocket::{Close, Message};

use crate::Role;
use crate::budget::Budget;
use crate::close::parse_close;
use crate::deflate::{Deflate, Inflate};
use crate::frame::{Coding, Header, Opcode, Position};
use crate::mask::mask;
use crate::protocol_error::ProtocolError;
use crate::utf8::Utf8;

/// What a peer has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    Message(Message),
    Ping(Bytes),
    Pong(Bytes),
    Close(Close),
}

/// Frames of a message that may have no content. Clients do not need them, and each costs as much as one with content.
const MAX_EMPTY_FRAMES: u32 = 1000;
/// What a frame takes from a [`Budget`], besides its bytes.
const FRAME_COST: usize = 64;
/// Compressed bytes that are unmasked at once.
const UNMASKED: usize = 4 * 1024;

/// The result of decoding the received bytes.
#[derive(Debug)]
pub(crate) enum Decoded {
    Received(Received),
    /// More bytes are needed.
    NeedsInput,
    /// The budget is used up, and there are more bytes to decode.
    Yield,
}

#[derive(Debug)]
pub struct Decoder {
    role: Role,
    limit: ByteSize,
    deflate: Deflate,
    state: State,
    message: Option<Partial>,
    /// The payload of a control frame, which may come between the fragments of a message.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Header,
    Payload { header: Header, done: u64 },
    Broken(ProtocolError),
}

/// A message that is incomplete.
#[derive(Debug)]
struct Partial {
    kind: Kind,
    bytes: Vec<u8>,
    /// For a compressed message; `bytes` has the decompressed content.
    inflate: Option<Box<Inflate>>,
    empty_frames: u32,
}

#[derive(Debug)]
enum Kind {
    /// In one frame: checked when it is complete.
    WholeText,
    /// In fragments: checked piece by piece.
    Text(Utf8),
    Binary,
}

// === impl Decoder ===

impl Decoder {
    /// A decoder for what `role` receives; messages may have up to `limit` bytes.
    pub fn new(role: Role, limit: ByteSize) -> Self {
        Self { role, limit, deflate: Deflate::Off, state: State::Header, message: None, control: Vec::new() }
    }

    /// Whether messages may be compressed.
    pub fn with(self, deflate: Deflate) -> Self {
        Self { deflate, ..self }
    }

    /// Decodes what it can of `read_buf`. `None`: more bytes are needed.
    pub fn decode(&mut self, read_buf: &mut BytesMut) -> Result<Option<Received>, ProtocolError> {
        match self.decode_with_budget(read_buf, &mut Budget::unlimited())? {
            Decoded::Received(received) => Ok(Some(received)),
            Decoded::NeedsInput | Decoded::Yield => Ok(None),
        }
    }

    /// The same, within a budget.
    pub(crate) fn decode_with_budget(
        &mut self,
        read_buf: &mut BytesMut,
        budget: &mut Budget,
    ) -> Result<Decoded, ProtocolError> {
        let decoded = self.step(read_buf, budget);
        if let Err(violation) = decoded {
            self.state = State::Broken(violation);
            self.message = None;
        }
        decoded
    }

    /// Bytes that the current frame still lacks.
    pub fn missing(&self) -> u64 {
        match self.state {
            State::Payload { header, done } => header.length - done,
            State::Header | State::Broken(_) => 0,
        }
    }

    /// Bytes of the current message so far.
    pub fn held(&self) -> u64 {
        self.message.as_ref().map_or(0, |partial| partial.bytes.len() as u64)
    }

    fn step(&mut self, read_buf: &mut BytesMut, budget: &mut Budget) -> Result<Decoded, ProtocolError> {
        loop {
            match self.state {
                State::Broken(violation) => return Err(violation),
                _ if budget.is_spent() && !read_buf.is_empty() => return Ok(Decoded::Yield),
                State::Header => {
                    let Some(header) = Header::parse(read_buf, self.role, self.deflate)? else {
                        return Ok(Decoded::NeedsInput);
                    };
                    self.begin(&header)?;
                    read_buf.advance(header.size);
                    budget.spend(FRAME_COST);
                    self.state = State::Payload { header, done: 0 };
                }
                State::Payload { header, done } => {
                    let there = (header.length - done).min(read_buf.len() as u64);
                    let taken = self.take(&header, done, &read_buf[..there as usize], budget)?;
                    read_buf.advance(taken);
                    let done = done + taken as u64;
                    if done < header.length {
                        self.state = State::Payload { header, done };
                        if read_buf.is_empty() {
                            return Ok(Decoded::NeedsInput);
                        }
                        continue;
                    }
                    self.state = State::Header;
                    if let Some(received) = self.finish(&header)? {
                        return Ok(Decoded::Received(received));
                    }
                }
            }
        }
    }

    /// Begins a frame: it must be in order, and its message within the limit.
    fn begin(&mut self, header: &Header) -> Result<(), ProtocolError> {
        if header.opcode.is_control() {
            self.control.clear();
            return Ok(());
        }
        let so_far = match (&self.message, header.opcode) {
            (None, Opcode::Continuation) => return Err(ProtocolError::LooseContinuation),
            (None, opcode) => {
                let kind = match (opcode, header.position) {
                    (Opcode::Text, Position::Last) => Kind::WholeText,
                    (Opcode::Text, Position::More) => Kind::Text(Utf8::default()),
                    _ => Kind::Binary,
                };
                let inflate = match header.coding {
                    Coding::Plain => None,
                    Coding::Deflated => Some(Box::new(Inflate::new(self.limit))),
                };
                self.message = Some(Partial { kind, bytes: Vec::new(), inflate, empty_frames: 0 });
                0
            }
            // The decompressed length is checked as it arrives.
            (Some(Partial { inflate: Some(_), .. }), Opcode::Continuation) => 0,
            (Some(partial), Opcode::Continuation) => partial.bytes.len() as u64,
            (Some(_), _) => return Err(ProtocolError::Interrupted),
        };
        if so_far.saturating_add(header.length) > self.limit.bytes() {
            return Err(ProtocolError::TooLarge { limit: self.limit });
        }
        match &mut self.message {
            Some(partial) if header.length == 0 => partial.count_empty_frame(),
            _ => Ok(()),
        }
    }

    /// Takes more of a frame's payload, behind `done` bytes of it. Gives how much of `piece` was taken: all of it, unless it must be
    /// decompressed.
    fn take(&mut self, header: &Header, done: u64, piece: &[u8], budget: &mut Budget) -> Result<usize, ProtocolError> {
        let unmask = |bytes: &mut [u8]| {
            if let Some(key) = header.key {
                mask(bytes, key, (done % 4) as usize);
            }
        };
        let partial = match (&mut self.message, header.opcode.is_control()) {
            (_, true) => {
                let start = self.control.len();
                self.control.extend_from_slice(piece);
                unmask(&mut self.control[start..]);
                return Ok(piece.len());
            }
            (Some(partial), false) => partial,
            (None, false) => return Err(ProtocolError::LooseContinuation),
        };
        let start = partial.bytes.len();
        let taken = match &mut partial.inflate {
            None => {
                partial.bytes.extend_from_slice(piece);
                unmask(&mut partial.bytes[start..]);
                budget.spend(piece.len());
                piece.len()
            }
            Some(inflate) => {
                let mut plain = [0; UNMASKED];
                let plain = &mut plain[..piece.len().min(UNMASKED)];
                plain.copy_from_slice(&piece[..plain.len()]);
                unmask(plain);
                inflate.push(plain, &mut partial.bytes, budget)?
            }
        };
        partial.check(start).map(|()| taken)
    }

    /// Ends a frame, and its message if it is the last.
    fn finish(&mut self, header: &Header) -> Result<Option<Received>, ProtocolError> {
        match header.opcode {
            Opcode::Close => return parse_close(&self.control).map(|close| Some(Received::Close(close))),
            Opcode::Ping => return Ok(Some(Received::Ping(Bytes::copy_from_slice(&self.control)))),
            Opcode::Pong => return Ok(Some(Received::Pong(Bytes::copy_from_slice(&self.control)))),
            Opcode::Continuation | Opcode::Text | Opcode::Binary => {}
        }
        if header.position == Position::More {
            return Ok(None);
        }
        let Some(mut partial) = self.message.take() else { return Ok(None) };
        if let Some(mut inflate) = partial.inflate.take() {
            let start = partial.bytes.len();
            inflate.finish(&mut partial.bytes)?;
            partial.check(start)?;
        }
        let Partial { kind, bytes, .. } = partial;
        Ok(Some(Received::Message(match kind {
            Kind::Binary => Message::Binary(bytes.into()),
            // A text that ends within a character is invalid, too.
            Kind::WholeText | Kind::Text(_) => {
                Message::Text(String::from_utf8(bytes).map_err(|_| ProtocolError::Utf8)?)
            }
        })))
    }
}

// === impl Partial ===

impl Partial {
    fn count_empty_frame(&mut self) -> Result<(), ProtocolError> {
        self.empty_frames += 1;
        if self.empty_frames > MAX_EMPTY_FRAMES { Err(ProtocolError::EmptyFrames) } else { Ok(()) }
    }

    /// Checks the bytes from `start` on.
    fn check(&mut self, start: usize) -> Result<(), ProtocolError> {
        let is_good = match &mut self.kind {
            Kind::Text(utf8) => utf8.accepts(&self.bytes[start..]),
            Kind::WholeText | Kind::Binary => true,
        };
        is_good.then_some(()).ok_or(ProtocolError::Utf8)
    }
}

#[cfg(test)]
#[path = "decoder/tests.rs"]
mod tests;
