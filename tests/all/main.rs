//! The integration tests: real apps (`tests/apps/`) in the real program. One binary, since linking is slow.
#![allow(clippy::unwrap_used)]

mod client;
mod server;

mod apis;
mod cli;
mod crash;
mod fetch;
mod handlers;
mod http;
mod isolation;
mod limits;
mod modules;
mod npm;
mod pools;
mod shutdown;
mod streams_in;
mod streams_out;
mod wait_until;
mod warm;
