//! WebSockets (RFC 6455), written by hand: the protocol between a stream of bytes and a [`hearth_core::SocketEnd`].
//!
//! | file | |
//! |---|---|
//! | `handshake.rs` | the opening handshake, of the server and of the client |
//! | `frame.rs`, `mask.rs` | a frame's header; the masking of what clients send |
//! | `decoder.rs`, `utf8.rs` | from bytes to messages and control frames; checks every rule of the protocol |
//! | `encoder.rs` | from messages to bytes |
//! | `deflate.rs` | compression of messages |
//! | `close.rs`, `protocol_error.rs` | close frames; violations of the protocol |
//! | `connection.rs`, `connection/closing.rs`, `config.rs`, `write_queue.rs`, `deadline.rs`, `budget.rs` | a connection over a stream: pings, the closing handshake, time limits, back-pressure, yielding |
//!
//! The one extension is `permessage-deflate` (`deflate.rs`), where both sides accept it; else reserved bits are errors.
#![forbid(unsafe_code)]

mod budget;
mod close;
mod config;
mod connection;
mod deadline;
mod decoder;
pub mod deflate;
mod encoder;
mod frame;
pub mod handshake;
mod mask;
mod protocol_error;
mod utf8;
mod write_queue;

pub use close::{is_sendable, parse_close};
pub use config::Config;
pub use connection::{Connection, Ended};
pub use decoder::{Decoder, Received};
pub use deflate::Deflate;
pub use encoder::Encoder;
pub use mask::mask;
pub use protocol_error::ProtocolError;
pub use write_queue::FrameQueue;

/// Which side of a connection this is: clients mask what they send, servers do not, and each checks the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}
