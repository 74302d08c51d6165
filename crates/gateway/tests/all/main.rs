//! The gateway over real sockets, in front of handlers made for each test.
#![allow(clippy::unwrap_used)]

mod bodies;
mod differential;
mod disconnects;
mod errors;
mod framing;
mod lifecycle;
mod messages;
mod streams;
mod support;
