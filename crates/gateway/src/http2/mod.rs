//! HTTP/2, on the `h2` crate: the same requests, limits, errors, ids, log and counts as HTTP/1.
//!
//! | file | |
//! |---|---|
//! | `connection.rs` | serves a connection: streams in, idle time, the drain |
//! | `exchange.rs` | one request and its answer, on a task of its own |
//! | `head.rs` | heads in both directions |
//! | `upload.rs`, `download.rs` | bodies, with flow control |
//! | `extended_connect.rs` | WebSockets over HTTP/2 |
//!
//! `h2` itself refuses malformed frames and pseudo-headers, headers that concern the connection, heads beyond the limit
//! (431), bodies that do not fit their `content-length`, and floods (resets, settings, pings, empty frames,
//! continuations).

mod connection;
mod download;
mod exchange;
mod extended_connect;
mod head;
mod upload;

pub use connection::{is_preface, serve};
