//! WebSockets, RFC 6455, by hand: the least between a stream of bytes and a [`hearth_core::SocketEnd`].
//!
//! | file | |
//! |---|---|
//! | `handshake.rs`, `base64.rs` | which requests ask for a WebSocket, and what is answered; the asking side too |
//! | `frame.rs`, `mask.rs` | a frame's header; the masking of what clients send |
//! | `decoder.rs`, `utf8.rs` | bytes in, messages and control frames out; every rule of the protocol is checked there |
//! | `encoder.rs` | messages in, bytes out |
//! | `deflate.rs` | messages compressed |
//! | `close.rs`, `violation.rs` | codes of goodbyes; what a peer can do wrong |
//! | `connection.rs`, `config.rs`, `outbox.rs`, `clock.rs`, `budget.rs` | both over a stream: pings, the closing handshake, time limits, back-pressure, giving way |
//!
//! The one extension is `permessage-deflate` (`deflate.rs`), where both sides agree on it; else reserved bits are violations.
#![forbid(unsafe_code)]

mod base64;
mod budget;
mod clock;
mod close;
mod config;
mod connection;
mod decoder;
pub mod deflate;
mod encoder;
mod frame;
pub mod handshake;
mod mask;
mod outbox;
mod utf8;
mod violation;

pub use close::{is_sendable, parse_close};
pub use config::Config;
pub use connection::{Connection, Ended};
pub use decoder::{Decoder, Received};
pub use deflate::Deflate;
pub use encoder::Encoder;
pub use mask::mask;
pub use outbox::Outbox;
pub use violation::Violation;

/// Which side of a connection this is: clients mask what they send, servers do not, and each insists that the other does
/// as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}
