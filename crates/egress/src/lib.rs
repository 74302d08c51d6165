//! What apps send out. `fetch()` ends here: a [`Client`] sends one app's requests under one [`EgressPolicy`], follows
//! redirects as the Fetch standard says, and hands back a response whose body is read as fast as the app wants it.
//!
//! Where to look:
//!
//! | question | file |
//! |---|---|
//! | may this host, this address be reached? | `policy.rs`, `address.rs` (what kind of address) |
//! | what does a URL say? | `target.rs` |
//! | one request from start to end | `client.rs` (the list of steps), `redirect.rs`, `exchange.rs` (one hop) |
//! | how a request becomes a WebSocket | `upgrade.rs` |
//! | what goes over the wire | `headers.rs`, `upload.rs`, `download.rs`, `decode.rs`, `gzip.rs` |
//! | how a connection comes and goes | `connect.rs` (look-up, dial), `tls.rs`, `connection.rs`, `pool.rs` |
//! | connections for a proxy | `dialer.rs` |
//!
//! Invariants that hold across files:
//! - A connection is made only to an address that the policy allowed in the same look-up; nothing resolves a name twice.
//! - A [`Client`] has one policy and its own connections, so none is ever reused under another policy or by another app.
//! - Dropping the future of [`Client::send`], or the body it gave, closes the connection.
#![forbid(unsafe_code)]

mod address;
mod client;
mod config;
mod connect;
mod connection;
mod decode;
mod dialer;
mod download;
mod error;
mod exchange;
mod gzip;
mod headers;
mod policy;
mod pool;
mod redirect;
mod target;
mod tls;
mod upgrade;
mod upload;

pub use address::AddressKind;
pub use client::{Client, Incoming, Outgoing};
pub use config::{Config, Egress, ResolveUrl};
pub use connect::{Addresses, Resolve, SystemDns};
pub use dialer::Dialer;
pub use error::FetchError;
pub use policy::{Denied, EgressPolicy, PolicyError};
pub use redirect::{RedirectError, RedirectMode};
pub use tls::{RootError, certificates_from_pem};
pub use tokio_rustls::rustls::pki_types::CertificateDer;
