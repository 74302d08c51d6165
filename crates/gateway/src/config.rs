//! What an operator can configure. A zero duration turns a timeout off.

use std::borrow::Cow;
use std::time::Duration;

use hearth_core::{ByteSize, Cidr};

use crate::access::AccessLogOutput;
use crate::hop;
use crate::traces::Traces;
use hearth_core::rate_limit::Rate;

#[derive(Clone, Debug)]
pub struct Config {
    /// The scheme of the urls that apps see on listeners without TLS. `Https` where a proxy in front ends TLS and does
    /// not say so itself (see `trusted_proxies`).
    pub scheme: Scheme,
    /// The authority of the url where an HTTP/1.0 client sent no `Host`.
    pub default_host: String,
    /// The longest request line with headers; beyond it 431. Each connection may hold that much while it waits.
    pub max_head: ByteSize,
    /// A cookie that is removed from requests: one that Hearth's own pages under this host, such as the admin API's, have set in
    /// browsers.
    pub private_cookie: Option<Cow<'static, str>>,
    /// Peers that are believed about the client's address, and the scheme and host it asked for: `x-forwarded-for` (or
    /// `forwarded`), `x-forwarded-proto`, `x-forwarded-host`. A proxy that is listed here must set `x-forwarded-for`, or
    /// take out what clients send under that name.
    pub trusted_proxies: Vec<Cidr>,
    /// The longest request body; beyond it 413, before a byte of the excess is read. An app may want less.
    pub max_body: ByteSize,
    /// From the first byte of a request's head to its last; then 408. Also how long a new connection may be silent.
    pub head_timeout: Duration,
    /// For a TLS handshake; then the connection is dropped.
    pub handshake_timeout: Duration,
    /// How long a connection without a request stays open; it is closed without a response, up to a second late.
    pub keep_alive_timeout: Duration,
    /// Longest silence of a request body that the app reads; then 408, or an error in the body where the response has begun.
    pub body_timeout: Duration,
    /// How long a client may read nothing while something waits to be sent; then the connection is dropped.
    pub write_timeout: Duration,
    /// How long requests in flight may go on after the shutdown began.
    pub drain_timeout: Duration,
    /// Connections at once. Beyond it nothing is accepted: clients wait in the kernel's queue, and for each of them the connection
    /// with the longest idle time is closed.
    pub max_connections: usize,
    /// How long a connection must have been idle before it is closed to make room.
    pub evict_idle_after: Duration,
    /// Connections at once of one client (an IPv4 address, an IPv6 /64 network); one more is closed at once. Zero: no
    /// limit. Trusted proxies have none. Raise it, or trust the proxy, where many clients share one address.
    pub max_connections_per_client: usize,
    /// Requests at once on one HTTP/2 connection.
    pub max_streams: u32,
    /// Requests of one client; beyond it 429. It costs a clock reading and a table lookup for each request.
    pub rate_limit: Option<Rate>,
    /// Clients that the rate limit remembers, about 100 bytes each.
    pub rate_limit_clients: usize,
    pub compression: Compression,
    pub access_log: AccessLogOutput,
    /// Which requests are traced, and what receives the traces.
    pub traces: Traces,
    pub half_close: HalfClose,
    pub errors: ErrorDetail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

/// Whether responses are compressed that an app left as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Off,
    /// Texts of at least 1 KB, for clients that take brotli or gzip.
    On,
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
pub enum ErrorDetail {
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
            trusted_proxies: Vec::new(),
            max_head: ByteSize::kb(16),
            private_cookie: None,
            max_body: ByteSize::mb(10),
            head_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(10),
            keep_alive_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(300),
            drain_timeout: Duration::from_secs(10),
            max_connections: 10_000,
            evict_idle_after: Duration::from_secs(1),
            max_connections_per_client: 1000,
            max_streams: 128,
            rate_limit: None,
            rate_limit_clients: 100_000,
            compression: Compression::On,
            access_log: AccessLogOutput::Off,
            traces: Traces::Off,
            half_close: HalfClose::Disconnects,
            errors: ErrorDetail::Brief,
        }
    }
}

// === impl Config ===

impl Config {
    /// How long a connection may be silent; `is_fresh` before its first request. Zero: for ever.
    pub(crate) fn idle_timeout(&self, is_fresh: bool) -> Duration {
        match (self.head_timeout, self.keep_alive_timeout) {
            (head, kept) if is_fresh && !head.is_zero() && (kept.is_zero() || head < kept) => head,
            (_, kept) => kept,
        }
    }

    /// For a server that serves hops alone ([`Listener::Hop`](crate::Listener)): what the front gateway has done to a request is
    /// not done again, and what it has admitted is admitted.
    pub fn behind_hop(self) -> Self {
        Self {
            // The same head has a longer url and a few more headers here.
            max_head: ByteSize(self.max_head.bytes() * 2),
            max_body: ByteSize(u64::MAX),
            trusted_proxies: Vec::new(),
            body_timeout: Duration::ZERO,
            write_timeout: Duration::ZERO,
            keep_alive_timeout: hop::PEER_KEEP_ALIVE,
            max_connections: usize::MAX,
            max_connections_per_client: 0,
            rate_limit: None,
            compression: Compression::Off,
            access_log: AccessLogOutput::Off,
            traces: Traces::Off,
            half_close: HalfClose::Disconnects,
            ..self
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

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|scheme| text.eq_ignore_ascii_case(scheme.name()))
    }
}
