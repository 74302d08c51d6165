//! The HTTP front: connections in, [`hearth_core::Request`]s out to a [`hearth_core::Dispatch`], its responses and
//! failures back. HTTP/1.1 is written by hand on `httparse` because CPU per request decides: in the usual case a request
//! is one read, one parse, one poll of the handler and one write, without timers, tasks or channels of its own.
//!
//! What a request goes through, in this order; what is off costs a branch:
//!
//! | step | file | refused with |
//! |---|---|---|
//! | a slot for the connection (`max_connections`) | `server.rs` | waits in the kernel's queue |
//! | a place among its client's (`max_connections_per_client`) | `crowd.rs` | closed |
//! | TLS: certificate by name, HTTP/2 or HTTP/1 | `tls.rs` | closed |
//! | head: grammar, framing, limits, time; hop-by-hop headers go | `head.rs`, `repeats.rs`, `connection.rs`; `http2/` | 400, 408, 431, 501, 505 |
//! | who it is: client, scheme, host; identity headers go or count; the admin's cookie goes | `identity.rs`, `cookies.rs` | |
//! | `x-request-id`; `traceparent`, where it is traced; all others as they came | `asked.rs`, `request_id.rs`, `traces.rs` | |
//! | body: the smaller of the server's and the app's limit | `body_in.rs`; `http2/upload.rs` | 408, 413 |
//! | rate of its client (`rate_limit`) | `rate_limit.rs` | 429 |
//! | **the app** | | |
//! | failures become responses | `rescue.rs` | 4xx, 5xx |
//! | the part that the client wants, of a file that the app gave | `parts.rs` | 416 |
//! | compression, where the client wants it and the app did not | `compress.rs`, `encoder.rs` | |
//! | head out: header limits, `date`, `x-request-id`, framing | `response.rs`, `opening.rs`; `http2/head.rs` | |
//! | body out, as fast as the client reads | `reply.rs`, `body_out.rs`; `http2/download.rs` | dropped, reset |
//! | access log, trace, counts | `access.rs`, `traces.rs`, `stats.rs` | |
//!
//! | file | |
//! |---|---|
//! | `config.rs` | what an operator may set, with defaults and their costs |
//! | `server.rs`, `slots.rs`, `tls.rs`, `crowd.rs`, `peer.rs` | listeners, the limits of connections, shutdown; who is there |
//! | `drain.rs`, `stats.rs`, `ledger.rs`, `access.rs` | how the end is told; counts and the access log |
//! | `rounds/` | plain connections that are ready together are read, served and sent together |
//! | `connection.rs`, `exchange.rs`, `reply.rs` | HTTP/1: a connection's life; one request; its answer |
//! | `websocket.rs` | what becomes of a connection whose client and app agree on a WebSocket |
//! | `http2/` | the same for HTTP/2 |
//! | `hop.rs`, `hop/` | requests that another process of ours answers |
//! | `asked.rs`, `identity.rs`, `rate_limit.rs` | what both have in common: from head to app, from answer to response |
//! | `stream.rs`, `wire.rs`, `outbox.rs`, `timer.rs`, `clock.rs` | a socket with its buffers, and time |
//! | `head.rs`, `repeats.rs`, `target.rs`, `chunked.rs`, `encoding.rs`, `ascii.rs` | parsers: pure functions of bytes |
//! | `body_in.rs`, `continuation.rs`, `body_out.rs` | bodies |
//! | `response.rs`, `opening.rs`, `date.rs`, `request_id.rs`, `text.rs`, `parts.rs`, `compress.rs`, `encoder.rs` | what is written |
//! | `reject.rs`, `rescue.rs` | what we refuse, and every error response |
#![forbid(unsafe_code)]

mod access;
mod ascii;
mod asked;
mod body_in;
mod body_out;
mod chunked;
mod clock;
mod compress;
mod config;
mod connection;
mod continuation;
mod cookies;
mod crowd;
mod date;
mod drain;
mod encoder;
mod encoding;
mod exchange;
mod head;
mod hop;
mod http2;
mod identity;
mod ledger;
mod opening;
mod outbox;
mod parts;
mod peer;
mod rate_limit;
mod reject;
mod repeats;
mod reply;
mod request_id;
mod rescue;
mod response;
mod rounds;
mod server;
mod slots;
mod stats;
mod stream;
mod target;
mod text;
mod timer;
mod tls;
mod traces;
mod websocket;
mod wire;

pub use access::{AccessLine, AccessLogOutput, AccessLogSink, RequestOutcome};
pub use config::{Compression, Config, ErrorDetail, HalfClose, Scheme};
pub use hop::{HOP_HEADER, Hop, HopError};
pub use peer::client_group;
pub use rate_limit::{KeyedRateLimiter, Rate, RateDecision};
pub use rescue::status_and_code;
pub use server::{Listener, Server};
pub use stats::{ResponseCounts, Stats, Summary};
pub use tls::{Certificates, PemFile, PemPair, TlsError, read_pem};
pub use traces::{Trace, Traces};

/// The parsers, for fuzzing: bytes in, a verdict out, no I/O and no state but their own.
pub mod parse {
    pub use crate::chunked::{ChunkError, ChunkEvent, ChunkedDecoder};
    pub use crate::head::{BodyFraming, Head, HeadRules, HttpVersion, parse as head};
    pub use crate::reject::Reject;
    pub use crate::request_id::IdText;
}
