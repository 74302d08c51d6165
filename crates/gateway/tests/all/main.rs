//! The gateway over real sockets, in front of handlers made for each test.
#![allow(clippy::unwrap_used)]

mod access;
mod batches;
mod bodies;
mod compression;
mod differential;
mod disconnects;
mod errors;
mod forwarded;
mod framing;
mod hop;
mod http2;
mod lifecycle;
mod limits;
mod messages;
mod sockets;
mod streams;
mod support;
mod tls;
