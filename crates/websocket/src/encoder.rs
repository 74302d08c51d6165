//! Encodes messages and control frames. Each message is sent in one frame.

use bytes::Bytes;
use hearth_core::websocket::{Close, Message};

use crate::Role;
use crate::close::close_payload;
use crate::deflate::{Deflate, deflate};
use crate::frame::{Coding, Header, MOST_CONTROL, Opcode, Position};
use crate::mask::mask;
use crate::write_queue::FrameQueue;

#[derive(Debug)]
pub struct Encoder {
    /// For a client, which masks.
    keys: Option<Keys>,
    deflate: Deflate,
}

/// Unpredictable masking keys (RFC 6455, 10.3), fetched in batches.
#[derive(Debug)]
struct Keys {
    fresh: [u8; 64],
    used: usize,
}

// === impl Encoder ===

impl Encoder {
    /// An encoder for what `role` sends.
    pub fn new(role: Role) -> Self {
        let keys = match role {
            Role::Client => Some(Keys { fresh: [0; 64], used: 64 }),
            Role::Server => None,
        };
        Self { keys, deflate: Deflate::Off }
    }

    /// Whether messages are compressed where they get smaller.
    pub fn with(self, deflate: Deflate) -> Self {
        Self { deflate, ..self }
    }

    pub fn message(&mut self, message: Message, out: &mut FrameQueue) {
        let (opcode, payload) = match message {
            Message::Text(text) => (Opcode::Text, Bytes::from(text)),
            Message::Binary(bytes) => (Opcode::Binary, bytes),
        };
        let small = match self.deflate {
            Deflate::On => deflate(&payload),
            Deflate::Off => None,
        };
        match small {
            Some(small) => self.frame(opcode, Coding::Deflated, small.into(), out),
            None => self.frame(opcode, Coding::Plain, payload, out),
        }
    }

    /// `payload` is cut to what fits.
    pub fn ping(&mut self, payload: &[u8], out: &mut FrameQueue) {
        self.control(Opcode::Ping, payload, out);
    }

    pub fn pong(&mut self, payload: &[u8], out: &mut FrameQueue) {
        self.control(Opcode::Pong, payload, out);
    }

    pub fn close(&mut self, close: &Close, out: &mut FrameQueue) {
        self.control(Opcode::Close, &close_payload(close), out);
    }

    fn control(&mut self, opcode: Opcode, payload: &[u8], out: &mut FrameQueue) {
        let payload = &payload[..payload.len().min(MOST_CONTROL)];
        self.frame(opcode, Coding::Plain, Bytes::copy_from_slice(payload), out);
    }

    fn frame(&mut self, opcode: Opcode, coding: Coding, payload: Bytes, out: &mut FrameQueue) {
        let key = self.keys.as_mut().map(Keys::next);
        let length = payload.len() as u64;
        Header { position: Position::Last, opcode, coding, key, length, size: 0 }.write(out.buffer());
        let payload = match key {
            None => payload,
            Some(key) => {
                let mut masked = Vec::from(payload);
                mask(&mut masked, key, 0);
                masked.into()
            }
        };
        out.push(payload);
    }
}

// === impl Keys ===

impl Keys {
    fn next(&mut self) -> [u8; 4] {
        if self.used == self.fresh.len() {
            getrandom::fill(&mut self.fresh).expect("the system gives randomness to every process");
            self.used = 0;
        }
        let mut key = [0; 4];
        key.copy_from_slice(&self.fresh[self.used..self.used + 4]);
        self.used += 4;
        key
    }
}
