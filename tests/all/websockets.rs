//! WebSockets: of clients, between parts of an app, and to other servers.

mod apps;
mod browser;
mod endings;
mod outgoing;
mod protocol;
pub mod socket;
