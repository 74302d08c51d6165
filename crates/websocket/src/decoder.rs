//! Bytes in, messages and control frames out. Holds one message at most, and no more of it than has come: a frame that
//! claims to be long costs nothing until it is.
//!
//! States: `Header -> Payload -> Header ...`, and `Broken` for good after a violation.

use bytes::{Buf, Bytes, BytesMut};
use hearth_core::ByteSize;
use hearth_core::websocket::{Close, Message};

use crate::Role;
use crate::budget::Budget;
use crate::close::parse_close;
use crate::deflate::{Deflate, Inflate};
use crate::frame::{Coding, Header, Opcode, Position};
use crate::mask::mask;
use crate::utf8::Utf8;
use crate::violation::Violation;

/// What a peer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    Message(Message),
    Ping(Bytes),
    Pong(Bytes),
    Close(Close),
}

/// Frames of a message that may have no content. A client has no use for them, and each costs as much as one that has some.
const MAX_EMPTY_FRAMES: u32 = 1000;
/// What a frame takes from a [`Budget`], beside its bytes.
const FRAME_COST: usize = 64;
/// Compressed bytes that are unmasked at once.
const UNMASKED: usize = 4 * 1024;

/// What came of the bytes at hand.
#[derive(Debug)]
pub(crate) enum Decoded {
    Received(Received),
    /// More must come.
    NeedsInput,
    /// The budget is spent, and there is more to do.
    GivesWay,
}

#[derive(Debug)]
pub struct Decoder {
    role: Role,
    limit: ByteSize,
    deflate: Deflate,
    state: State,
    message: Option<Partial>,
    /// Of a control frame, which may come between the fragments of a message.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Header,
    Payload { header: Header, done: u64 },
    Broken(Violation),
}

/// A message of which something has come.
#[derive(Debug)]
struct Partial {
    kind: Kind,
    bytes: Vec<u8>,
    /// Where it comes compressed: what is in `bytes` is what it stands for.
    inflate: Option<Box<Inflate>>,
    empty_frames: u32,
}

#[derive(Debug)]
enum Kind {
    /// In one frame: judged when it is there.
    WholeText,
    /// In fragments: judged piece by piece.
    Text(Utf8),
    Binary,
}

// === impl Decoder ===

impl Decoder {
    /// For what `role` receives; messages may have up to `limit` bytes.
    pub fn new(role: Role, limit: ByteSize) -> Self {
        Self { role, limit, deflate: Deflate::Off, state: State::Header, message: None, control: Vec::new() }
    }

    /// Messages may come compressed.
    pub fn with(self, deflate: Deflate) -> Self {
        Self { deflate, ..self }
    }

    /// Takes what it can from `inbox`. `None`: more must come.
    pub fn decode(&mut self, inbox: &mut BytesMut) -> Result<Option<Received>, Violation> {
        match self.decode_within(inbox, &mut Budget::unlimited())? {
            Decoded::Received(received) => Ok(Some(received)),
            Decoded::NeedsInput | Decoded::GivesWay => Ok(None),
        }
    }

    /// The same, as far as the budget goes.
    pub(crate) fn decode_within(&mut self, inbox: &mut BytesMut, budget: &mut Budget) -> Result<Decoded, Violation> {
        let decoded = self.step(inbox, budget);
        if let Err(violation) = decoded {
            self.state = State::Broken(violation);
            self.message = None;
        }
        decoded
    }

    /// Bytes that the frame at hand still lacks, behind what `decode` has taken.
    pub fn wants(&self) -> u64 {
        match self.state {
            State::Payload { header, done } => header.length - done,
            State::Header | State::Broken(_) => 0,
        }
    }

    /// Bytes that the message at hand takes so far.
    pub fn held(&self) -> u64 {
        self.message.as_ref().map_or(0, |partial| partial.bytes.len() as u64)
    }

    fn step(&mut self, inbox: &mut BytesMut, budget: &mut Budget) -> Result<Decoded, Violation> {
        loop {
            match self.state {
                State::Broken(violation) => return Err(violation),
                _ if budget.is_spent() && !inbox.is_empty() => return Ok(Decoded::GivesWay),
                State::Header => {
                    let Some(header) = Header::parse(inbox, self.role, self.deflate)? else {
                        return Ok(Decoded::NeedsInput);
                    };
                    self.begin(&header)?;
                    inbox.advance(header.size);
                    budget.spend(FRAME_COST);
                    self.state = State::Payload { header, done: 0 };
                }
                State::Payload { header, done } => {
                    let there = (header.length - done).min(inbox.len() as u64);
                    let taken = self.take(&header, done, &inbox[..there as usize], budget)?;
                    inbox.advance(taken);
                    let done = done + taken as u64;
                    if done < header.length {
                        self.state = State::Payload { header, done };
                        if inbox.is_empty() {
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

    /// A frame begins: it must fit what came before, and its message the limit.
    fn begin(&mut self, header: &Header) -> Result<(), Violation> {
        if header.opcode.is_control() {
            self.control.clear();
            return Ok(());
        }
        let so_far = match (&self.message, header.opcode) {
            (None, Opcode::Continuation) => return Err(Violation::LooseContinuation),
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
            // What it will be is seen when it comes.
            (Some(Partial { inflate: Some(_), .. }), Opcode::Continuation) => 0,
            (Some(partial), Opcode::Continuation) => partial.bytes.len() as u64,
            (Some(_), _) => return Err(Violation::Interrupted),
        };
        if so_far.saturating_add(header.length) > self.limit.bytes() {
            return Err(Violation::TooLarge { limit: self.limit });
        }
        match &mut self.message {
            Some(partial) if header.length == 0 => partial.count_empty_frame(),
            _ => Ok(()),
        }
    }

    /// More of a frame's payload, `done` bytes of which were there before. Says how much of `piece` was taken: all of it, unless
    /// it must be decompressed.
    fn take(&mut self, header: &Header, done: u64, piece: &[u8], budget: &mut Budget) -> Result<usize, Violation> {
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
            (None, false) => return Err(Violation::LooseContinuation),
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
        partial.judge(start).map(|()| taken)
    }

    /// A frame is complete; perhaps a message is, too.
    fn finish(&mut self, header: &Header) -> Result<Option<Received>, Violation> {
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
            partial.judge(start)?;
        }
        let Partial { kind, bytes, .. } = partial;
        Ok(Some(Received::Message(match kind {
            Kind::Binary => Message::Binary(bytes.into()),
            // What was cut off within a character is no text either.
            Kind::WholeText | Kind::Text(_) => Message::Text(String::from_utf8(bytes).map_err(|_| Violation::Utf8)?),
        })))
    }
}

// === impl Partial ===

impl Partial {
    fn count_empty_frame(&mut self) -> Result<(), Violation> {
        self.empty_frames += 1;
        if self.empty_frames > MAX_EMPTY_FRAMES { Err(Violation::EmptyFrames) } else { Ok(()) }
    }

    /// What has come since there were `start` bytes.
    fn judge(&mut self, start: usize) -> Result<(), Violation> {
        let is_good = match &mut self.kind {
            Kind::Text(utf8) => utf8.accepts(&self.bytes[start..]),
            Kind::WholeText | Kind::Binary => true,
        };
        is_good.then_some(()).ok_or(Violation::Utf8)
    }
}

#[cfg(test)]
#[path = "decoder/tests.rs"]
mod tests;
