//! Which hosts and addresses an app's requests may reach. Pure rules without I/O, below `config`, which reads them from
//! settings, and `egress`, which applies them to connections.
#![forbid(unsafe_code)]

mod address;
mod policy;

pub use address::AddressKind;
pub use policy::{Denied, EgressPolicy, PolicyError};

/// A port in decimal digits, from 1 to 65535.
pub fn parse_port(text: &str) -> Option<u16> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}
