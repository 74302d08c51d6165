//! The HTTP gateway: accepts connections, gives [`hearth_core::Request`]s to a [`hearth_core::Dispatch`], and sends its responses
//! and failures. HTTP/1.1 is written by hand on `httparse`, since the CPU time per request matters most: in the usual case a
//! request is one read, one parse, one call of the handler and one write, without timers, tasks or channels of its own.
//!
//! The steps of a request, in this order; a step that is turned off costs a branch:
//!
//! | step | file | rejected with |
//! |---|---|---|
//! | a slot for the connection (`max_connections`) | `server.rs`, `slots.rs` | waits in the kernel's queue |
//! | a permit of its client (`max_connections_per_client`) | `client_limit.rs` | closed |
//! | TLS: certificate by name, HTTP/2 or HTTP/1 | `tls.rs` | closed |
//! | head: grammar, framing, limits, time; hop-by-hop headers are removed | `head.rs`, `request_head_cache.rs`, `connection.rs`; `http2/` | 400, 408, 431, 501, 505 |
//! | client, scheme and host, behind proxies; the admin's cookie is removed | `forwarded.rs`, `cookies.rs` | |
//! | `x-request-id`; `traceparent`, where the request is traced | `request_context.rs`, `request_id.rs`, `traces.rs` | |
//! | body: the smaller of the server's and the app's limit | `body_in.rs`; `http2/upload.rs` | 408, 413 |
//! | rate of its client (`rate_limit`) | `request_context.rs` | 429 |
//! | **the app** | | |
//! | failures become responses | `error_response.rs` | 4xx, 5xx |
//! | the requested range, of a file | `range.rs` | 416 |
//! | compression, where the client accepts it and the app did not do it | `compress.rs`, `encoder.rs` | |
//! | head out: header limits, `date`, `x-request-id`, framing | `response.rs`, `response_head_cache.rs`; `http2/head.rs` | |
//! | body out, as fast as the client reads | `reply.rs`, `body_out.rs`; `http2/download.rs` | dropped, reset |
//! | access log, trace, counts | `access.rs`, `traces.rs`, `stats.rs` | |
//!
//! Plain connections are served by `hearth-reactor`, which reads, polls and writes those that are ready together in batches; TLS
//! connections and hops are tokio tasks. docs/design/request.md follows a request through the files.
//!
//! | file | |
//! |---|---|
//! | `config.rs` | what an operator can configure, with defaults and their costs |
//! | `server.rs`, `slots.rs`, `client_limit.rs`, `accept_backoff.rs`, `tls.rs`, `peer.rs` | listeners, connection limits, shutdown; the other end of a connection |
//! | `drain.rs`, `stats.rs`, `counters.rs`, `access.rs`, `log_throttle.rs` | the shutdown's phases; counts and the access log |
//! | `connection.rs`, `exchange.rs`, `reply.rs` | HTTP/1: a connection; one request; its answer |
//! | `websocket.rs` | connections that become WebSockets |
//! | `http2/` | the same for HTTP/2 |
//! | `hop.rs`, `hop/` | requests that another process of the server answers |
//! | `request_context.rs`, `forwarded.rs` | what both protocols share: from head to app, from answer to response |
//! | `stream.rs`, `buffered_stream.rs`, `write_queue.rs`, `lazy_deadline.rs`, `clock.rs` | a socket with its buffers, and time |
//! | `head.rs`, `request_head_cache.rs`, `target.rs`, `chunked.rs`, `encoding.rs`, `ascii.rs` | parsers: pure functions of bytes |
//! | `body_in.rs`, `expect_continue.rs`, `body_out.rs` | bodies |
//! | `response.rs`, `response_head_cache.rs`, `date.rs`, `request_id.rs`, `range.rs`, `compress.rs`, `encoder.rs` | what is written |
//! | `repeat_cache.rs` | the policy of both head caches |
//! | `reject.rs`, `error_response.rs` | rejected requests, and every error response |
#![forbid(unsafe_code)]

mod accept_backoff;
mod access;
mod ascii;
mod body_in;
mod body_out;
mod buffered_stream;
mod chunked;
mod client_limit;
mod clock;
mod compress;
mod config;
mod connection;
mod cookies;
mod counters;
mod date;
mod drain;
mod encoder;
mod encoding;
mod error_response;
mod escape;
mod exchange;
mod expect_continue;
mod forwarded;
mod head;
mod hop;
mod http2;
mod lazy_deadline;
mod log_throttle;
mod peer;
mod range;
mod reject;
mod repeat_cache;
mod reply;
mod request_context;
mod request_head_cache;
mod request_id;
mod response;
mod response_head_cache;
mod server;
mod slots;
mod stats;
mod stream;
mod target;
mod tls;
mod traces;
mod websocket;
mod write_queue;

pub use access::{AccessLine, AccessLogOutput, AccessLogSink, RequestOutcome};
pub use config::{Compression, Config, ErrorDetail, HalfClose, Scheme};
pub use error_response::status_and_code;
pub use hearth_core::rate_limit::{KeyedRateLimiter, Rate, RateDecision};
pub use hop::{HOP_HEADER, Hop, HopError};
pub use peer::client_group;
pub use server::{Listener, Server};
pub use stats::{ResponseCounts, Stats, Summary};
pub use tls::{Certificates, PemFile, PemPair, TlsError, read_pem};
pub use traces::{Trace, Traces};

/// The parsers, for fuzzing: pure functions of bytes.
pub mod parse {
    pub use crate::chunked::{ChunkError, ChunkEvent, ChunkedDecoder};
    pub use crate::head::{BodyFraming, Head, HeadRules, HttpVersion, parse as head};
    pub use crate::reject::Reject;
    pub use crate::request_id::IdText;
}
