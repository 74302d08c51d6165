//! Hosts of an app: `shop.example.com`, `*.example.com` for all hosts below it but not itself, or
//! an IPv4 address.
//! Invariant: lower case, no final dot, no port.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::as_text;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPattern {
    name: String,
    scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Scope {
    Itself,
    Subdomains,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host:?} is not a host name: {reason}")]
pub struct HostError {
    pub host: String,
    pub reason: HostReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostReason {
    #[error("write its name alone, such as shop.example.com, without a scheme or a path")]
    Url,
    #[error("leave the port out: an app answers on all of them")]
    Port,
    #[error("a * can only be the first label, as in *.example.com")]
    Star,
    #[error("a domain has no *: names of apps stand before it anyway")]
    Domain,
    #[error("names of apps stand before a domain, and cannot stand before an address")]
    AddressDomain,
    #[error("write it in its ASCII form, such as xn--bcher-kva.example")]
    NotAscii,
    #[error("it is neither a name nor an IPv4 address")]
    Address,
    #[error(
        "labels have 1 to 63 letters, digits and hyphens, with no hyphen at either end, and all together at most 253"
    )]
    Labels,
}

// === impl HostPattern ===

impl HostPattern {
    /// Whether a host, without its port, matches.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        match self.scope {
            Scope::Itself => host.eq_ignore_ascii_case(&self.name),
            Scope::Subdomains => {
                let (host, name) = (host.as_bytes(), self.name.as_bytes());
                host.len() > name.len() + 1
                    && host[host.len() - name.len()..].eq_ignore_ascii_case(name)
                    && host[host.len() - name.len() - 1] == b'.'
            }
        }
    }

    /// Without the `*.`, if present.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_address(&self) -> bool {
        self.name.parse::<std::net::Ipv4Addr>().is_ok()
    }

    pub fn is_wildcard(&self) -> bool {
        self.scope == Scope::Subdomains
    }
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        parse(text).map_err(|reason| HostError { host: text.to_owned(), reason })
    }
}

fn parse(text: &str) -> Result<HostPattern, HostReason> {
    if text.contains('/') {
        return Err(HostReason::Url);
    }
    if text.starts_with('[') || text.matches(':').count() > 1 {
        return Err(HostReason::Address);
    }
    if text.contains(':') {
        return Err(HostReason::Port);
    }
    let (name, scope) = match text.strip_prefix("*.") {
        Some(name) => (name, Scope::Subdomains),
        None => (text, Scope::Itself),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.contains('*') {
        return Err(HostReason::Star);
    }
    if !name.is_ascii() {
        return Err(HostReason::NotAscii);
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return Err(HostReason::Labels);
    }
    // No host name ends in a number: clients would take it for an address.
    if name.rsplit('.').next().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
        let is_whole = scope == Scope::Itself && name.parse::<std::net::Ipv4Addr>().is_ok();
        return if is_whole { Ok(HostPattern { name: name.to_owned(), scope }) } else { Err(HostReason::Address) };
    }
    Ok(HostPattern { name: name.to_ascii_lowercase(), scope })
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_wildcard() { "*." } else { "" }, self.name)
    }
}

impl Serialize for HostPattern {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        as_text::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        as_text::deserialize(from)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names() {
        for (text, shown) in [
            ("Shop.Example.COM", "shop.example.com"),
            ("example.com.", "example.com"),
            ("*.example.com", "*.example.com"),
            ("localhost", "localhost"),
            ("a_b.x-y.example", "a_b.x-y.example"),
            ("127.0.0.1", "127.0.0.1"),
        ] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), shown);
        }
        let long = format!("{}.example", "a".repeat(64));
        for (text, reason) in [
            ("example.com:8080", HostReason::Port),
            ("https://example.com", HostReason::Url),
            ("example.com/x", HostReason::Url),
            ("*", HostReason::Star),
            ("a.*.com", HostReason::Star),
            ("*a.com", HostReason::Star),
            ("bücher.example", HostReason::NotAscii),
            ("127.1", HostReason::Address),
            ("*.127.0.0.1", HostReason::Address),
            ("1.2.3.4.5", HostReason::Address),
            ("[::1]", HostReason::Address),
            ("", HostReason::Labels),
            ("*.", HostReason::Labels),
            ("a..b", HostReason::Labels),
            ("-a.b", HostReason::Labels),
            ("a b.c", HostReason::Labels),
            (&long, HostReason::Labels),
        ] {
            assert_eq!(text.parse::<HostPattern>().unwrap_err().reason, reason, "{text}");
        }
    }

    #[test]
    fn a_star_matches_hosts_below() {
        let host = |text: &str| text.parse::<HostPattern>().unwrap();
        assert!(host("example.com").matches("EXAMPLE.com."));
        assert!(!host("example.com").matches("a.example.com"));
        for (text, matches) in [
            ("a.example.com", true),
            ("a.b.example.com", true),
            ("example.com", false),
            (".example.com", false),
            ("badexample.com", false),
        ] {
            assert_eq!(host("*.example.com").matches(text), matches, "{text}");
        }
    }
}
