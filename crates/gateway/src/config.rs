//! What an operator may set. A zero duration turns a timeout off.

use std::time::Duration;

use hearth_core::ByteSize;

#[derive(Clone, Debug)]
pub struct Config {
    /// The scheme of the urls that apps see. `Https` where a proxy in front ends TLS.
    pub scheme: Scheme,
    /// The authority of the url where an HTTP/1.0 client sent no `Host`.
    pub default_host: String,
    /// The longest request line with headers; beyond it 431. Each connection may hold that much while it waits.
    pub max_head: ByteSize,
    /// The longest request body; beyond it 413, before a byte of the excess is read.
    pub max_body: ByteSize,
    /// From the first byte of a request's head to its last; then 408.
    pub head_timeout: Duration,
    /// How long a connection without a request stays open; it is closed without a word, up to a second late.
    pub keep_alive_timeout: Duration,
    /// Longest silence of a request body that somebody waits for; then 408, or an error in the body where the response
    /// has begun.
    pub body_timeout: Duration,
    /// How long a client may leave what we send unread; then the connection is dropped.
    pub write_timeout: Duration,
    /// How long requests in flight may go on after the shutdown began.
    pub drain_timeout: Duration,
    /// Connections at once. Beyond it nothing is accepted: clients wait in the kernel's queue.
    pub max_connections: usize,
    pub half_close: HalfClose,
    pub errors: Errors,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// What it means when a client closes its sending side after a complete request that is still being handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfClose {
    /// The client is gone: the request is cancelled. A client that closes altogether looks exactly the same, and its
    /// requests should not go on.
    Disconnects,
    /// The client still waits for its answer, as `nc` does. Disconnects are then only seen by writing.
    Allowed,
}

/// What clients learn about an app's failure. The log has everything either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errors {
    /// That it failed.
    Brief,
    /// The app's own text and stack too: for development.
    Detailed,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheme: Scheme::Http,
            default_host: "localhost".to_owned(),
            max_head: ByteSize::kb(16),
            max_body: ByteSize::mb(10),
            head_timeout: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(300),
            drain_timeout: Duration::from_secs(10),
            max_connections: 10_000,
            half_close: HalfClose::Disconnects,
            errors: Errors::Brief,
        }
    }
}

// === impl Scheme ===

impl Scheme {
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Http => "http://",
            Self::Https => "https://",
        }
    }
}
