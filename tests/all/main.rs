//! The integration tests: real apps (`tests/apps/`) in the real program. One binary, since linking is slow.
#![allow(clippy::unwrap_used)]

mod client;
mod server;

mod handlers;
mod limits;
mod streams_in;
mod streams_out;
mod wait_until;
mod warm;
