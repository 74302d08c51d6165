//! Outgoing requests of apps. `fetch()` ends here: a [`Client`] sends one app's requests under one [`EgressPolicy`], follows
//! redirects as the Fetch standard says, and returns a response whose body is read as fast as the app reads it.
//!
//! Where to look:
//!
//! | question | file |
//! |---|---|
//! | may this host, this address be reached? | the crate `hearth-egress-policy` |
//! | how a URL is taken apart | `target.rs` |
//! | one request from start to end | `client.rs` (the list of steps), `redirect.rs`, `send.rs` (one hop) |
//! | how a request becomes a WebSocket | `upgrade.rs` |
//! | headers and bodies | `headers.rs`, `request_body.rs`, `response_body.rs`, `decode.rs`, `gzip.rs` |
//! | how a connection is opened, kept and closed | `connect.rs` (look-up, dial), `tls.rs`, `connection.rs`, `pool.rs` |
//! | connections for a proxy | `dialer.rs` |
//! | apps' sockets | `socket.rs` (connect, look-up), `socket_tls.rs` (TLS as an app sets it up), `certificate_check.rs` |
//!
//! Invariants that hold across files:
//! - A connection is made only to an address that the policy allowed in the same look-up; nothing resolves a name twice.
//! - A [`Client`] has one policy and its own connections, so none is ever reused under another policy or by another app.
//! - Dropping the future of [`Client::send`], or the body it gave, closes the connection.
#![forbid(unsafe_code)]

mod certificate_check;
mod client;
mod config;
mod connect;
mod connection;
mod decode;
mod dialer;
mod error;
mod gzip;
mod headers;
mod pool;
mod redirect;
mod request_body;
mod response_body;
mod send;
mod socket;
mod socket_tls;
mod target;
mod tls;
mod upgrade;

pub use client::{Client, FetchRequest, FetchResponse};
pub use config::{Config, Egress, ResolveUrl};
pub use connect::{Addresses, Resolve, SystemDns};
pub use dialer::Dialer;
pub use error::FetchError;
pub use hearth_egress_policy::{AddressKind, Denied, EgressPolicy, PolicyError};
pub use redirect::{RedirectError, RedirectMode};
pub use socket_tls::{IoStream, Secured, TlsFault, TlsSettings, TlsSetup, TlsVersions};
pub use tls::{RootError, certificates_from_pem};
pub use tokio_rustls::rustls::pki_types::CertificateDer;
