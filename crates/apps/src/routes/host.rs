//! Hosts of requests and of manifests.
//!
//! Both are normalised: lower case, without port, without the final dot. An address is no name and
//! never parsed as `name.DOMAIN`; an IPv4 address can be claimed as a whole.

use std::net::Ipv4Addr;

/// The longest name in DNS.
const MAX_HOST: usize = 253;

/// A request's host in lower case, on the stack, since every request needs one.
pub(super) struct Host {
    bytes: [u8; MAX_HOST],
    length: usize,
}

/// A host as written in a manifest or by the operator.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Exact(String),
    /// `*.example.com`, without the `*.`.
    Below(String),
    Address(Ipv4Addr),
}

// === impl Host ===

impl Host {
    /// `None` for addresses and invalid hosts.
    pub fn from_request(sent: &str) -> Option<Self> {
        let before = without_number(sent);
        let name = match before.strip_suffix(':') {
            Some(name) => name,
            None if before.contains(':') => return None,
            None => sent,
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        if name.is_empty() || name.len() > MAX_HOST || !name.is_ascii() || is_address(name) {
            return None;
        }
        let mut host = Self { bytes: [0; MAX_HOST], length: name.len() };
        let bytes = &mut host.bytes[..name.len()];
        bytes.copy_from_slice(name.as_bytes());
        bytes.make_ascii_lowercase();
        Some(host)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("only ASCII was copied")
    }
}

// === impl Pattern ===

impl Pattern {
    /// `None` if it could never match.
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("*.") {
            Some(suffix) => plain(suffix).map(Self::Below),
            None => plain(text).map(Self::Exact).or_else(|| text.parse().ok().map(Self::Address)),
        }
    }
}

/// A host without port or wildcard, normalised like those of requests.
pub(super) fn plain(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        matches!(label.len(), 1..=63) && label.bytes().all(fits)
    };
    let fits = name.len() <= MAX_HOST && name.split('.').all(is_label) && !is_address(name);
    fits.then(|| name.to_ascii_lowercase())
}

/// The address, if a request's host is one.
pub(super) fn address(sent: &str) -> Option<Ipv4Addr> {
    sent.split_once(':').map_or(sent, |(address, _)| address).parse().ok()
}

/// IPv6 in brackets, or a numeric last label, which browsers take for IPv4 regardless of the number
/// of labels.
fn is_address(name: &str) -> bool {
    let before = without_number(name);
    name.starts_with('[') || (before.len() < name.len() && (before.is_empty() || before.ends_with('.')))
}

/// The part before the final digits, if there are any.
fn without_number(text: &str) -> &str {
    &text[..text.len() - text.bytes().rev().take_while(u8::is_ascii_digit).count()]
}
