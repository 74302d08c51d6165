//! The HTTP/1.1 front: connections in, [`hearth_core::Request`]s out to a [`hearth_core::Dispatch`], its responses and
//! failures back. Written by hand on `httparse` because CPU per request decides: in the usual case a request is one
//! read, one parse, one poll of the handler and one write, without timers, tasks or channels of its own.
//!
//! | file | |
//! |---|---|
//! | `config.rs` | what an operator may set, with defaults and their costs |
//! | `server.rs`, `drain.rs`, `stats.rs` | listeners, the limit of connections, shutdown, counts |
//! | `connection.rs`, `exchange.rs` | a connection's life; one request and its answer |
//! | `wire.rs`, `outbox.rs`, `timer.rs`, `clock.rs` | a socket with its buffers, and time |
//! | `head.rs`, `target.rs`, `chunked.rs`, `ascii.rs` | parsers: pure functions of bytes |
//! | `body_in.rs`, `body_out.rs`, `response.rs`, `date.rs`, `request_id.rs` | bodies, and what is written |
//! | `reject.rs`, `rescue.rs` | what we refuse, and every error response |
#![forbid(unsafe_code)]

mod ascii;
mod body_in;
mod body_out;

mod chunked;
mod clock;
mod config;
mod connection;
mod date;
mod drain;
mod exchange;
mod head;
mod outbox;
mod reject;
mod request_id;
mod rescue;
mod response;
mod server;
mod stats;
mod target;
mod timer;
mod wire;

pub use config::{Config, Errors, HalfClose, Scheme};
pub use server::Server;
pub use stats::Summary;

/// The parsers, for fuzzing: bytes in, a verdict out, no I/O and no state but their own.
pub mod parse {
    pub use crate::chunked::{ChunkError, Decoder, Event};
    pub use crate::head::{Framing, Head, Rules, Version, parse as head};
    pub use crate::reject::Reject;
    pub use crate::request_id::IdText;
}
