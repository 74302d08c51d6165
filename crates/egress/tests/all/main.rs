//! The client against servers on loopback, seen from both ends of the wire. Nothing here touches another address.
#![allow(clippy::unwrap_used)]

mod bodies;
mod headers;
mod policy;
mod pool;
mod redirects;
mod support;
mod tls;
mod upgrades;
