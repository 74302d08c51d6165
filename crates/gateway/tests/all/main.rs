//! The gateway over real sockets, in front of handlers made for each test.
#![allow(clippy::unwrap_used)]

mod access;
mod bodies;
mod compression;
mod differential;
mod disconnects;
mod errors;
mod framing;
mod hop;
mod http2;
mod identity;
mod lifecycle;
mod limits;
mod messages;
mod rounds;
mod sockets;
mod streams;
mod support;
mod tls;
