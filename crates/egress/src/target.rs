//! The target of a request: scheme, host, port and path, parsed once from the URL, so that the policy, the socket and the `host`
//! header always refer to the same host.
//!
//! URLs come as the URL parser serialised them (lower-case scheme, percent-encoded, hosts in ASCII, IPv4 addresses as four
//! decimal numbers). This parser is strict: other forms are rejected. A name that a resolver would take for an address (`0177.0.0.1`) stays a name here, and its address is checked after the look-up.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use hearth_egress_policy::{Denied, EgressPolicy, parse_port};

use crate::error::FetchError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) origin: Origin,
    /// Path and query, as in the request line.
    pub(crate) path: String,
}

/// Scheme, host and port: what a connection is made to, and what "cross-origin" compares.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) scheme: Scheme,
    pub(crate) host: Host,
    pub(crate) port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Http,
    Https,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Host {
    /// In lower case.
    Name(Box<str>),
    Address(IpAddr),
}

// === impl Target ===

impl Target {
    pub(crate) fn parse(url: &str) -> Result<Self, FetchError> {
        Self::split(url).map_err(|reason| FetchError::Url { url: url.to_owned(), reason })
    }

    fn split(url: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = if let Some(rest) = url.strip_prefix("http://") {
            (Scheme::Http, rest)
        } else if let Some(rest) = url.strip_prefix("https://") {
            (Scheme::Https, rest)
        } else {
            return Err("only http and https can be fetched");
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        // Credentials in a URL are not sent, as the Fetch standard has it.
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = Host::split(authority)?;
        let port = match port {
            None => scheme.default_port(),
            Some(port) => parse_port(port).ok_or("the port is not a number from 1 to 65535")?,
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { origin: Origin { scheme, host, port }, path })
    }
}

/// The fragment of a URL, with its `#`.
pub(crate) fn fragment(url: &str) -> Option<&str> {
    url.find('#').map(|at| &url[at..])
}

// === impl Origin ===

impl fmt::Display for Origin {
    /// The value of the `host` header.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.host)?;
        if self.port == self.scheme.default_port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

// === impl Scheme ===

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

// === impl Host ===

impl Host {
    /// A host alone: a name, or an address without brackets.
    pub(crate) fn parse(host: &str) -> Result<Self, &'static str> {
        if let Ok(address) = host.parse() {
            return Ok(Self::Address(address));
        }
        match Self::split(host)? {
            (host @ Self::Name(_), None) => Ok(host),
            _ => Err("the host is no name and no address"),
        }
    }

    /// The host and what follows its colon.
    fn split(authority: &str) -> Result<(Self, Option<&str>), &'static str> {
        if let Some(rest) = authority.strip_prefix('[') {
            let (inside, after) = rest.split_once(']').ok_or("the host has a [ without a ]")?;
            let address = inside.parse::<Ipv6Addr>().map_err(|_| "the host in brackets is no IPv6 address")?;
            let port = match after {
                "" => None,
                _ => Some(after.strip_prefix(':').ok_or("something follows the host's ]")?),
            };
            return Ok((Self::Address(address.into()), port));
        }
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        if let Ok(address) = host.parse() {
            return Ok((Self::Address(IpAddr::V4(address)), port));
        }
        if host.is_empty() || host.len() > 254 {
            return Err("the host is empty or too long");
        }
        // The characters that the URL standard leaves in a host, without those that have a meaning elsewhere.
        if !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&b)) {
            return Err("the host has a character that hosts cannot have");
        }
        Ok((Self::Name(host.to_ascii_lowercase().into()), port))
    }
}

impl Host {
    /// Whether the host may be looked up; for an address, whether it may be connected to.
    pub(crate) fn check(&self, policy: &EgressPolicy, port: u16) -> Result<(), Denied> {
        match self {
            Self::Name(name) => policy.before_lookup(name, port),
            Self::Address(address) => policy.check(&address.to_string(), *address, port),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(v4)) => write!(f, "{v4}"),
            Self::Address(IpAddr::V6(v6)) => write!(f, "[{v6}]"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split_into_what_is_connected_to_and_what_is_asked_for() {
        for (url, origin, port, path) in [
            ("http://example.com/", "example.com", 80, "/"),
            ("https://example.com/a?b#c", "example.com", 443, "/a?b"),
            ("https://example.com:8443//a//?", "example.com:8443", 8443, "//a//?"),
            ("http://user:p%40ss@example.com/", "example.com", 80, "/"),
            ("http://127.0.0.1:9000/x", "127.0.0.1:9000", 9000, "/x"),
            ("http://[::1]:80/", "[::1]", 80, "/"),
            ("http://[2001:db8::1]:81/", "[2001:db8::1]:81", 81, "/"),
            ("https://[::ffff:7f00:1]/", "[::ffff:127.0.0.1]", 443, "/"),
            ("http://0177.0.0.1/", "0177.0.0.1", 80, "/"),
            ("http://a_b.example./", "a_b.example.", 80, "/"),
            ("http://EXAMPLE.com", "example.com", 80, "/"),
            ("http://example.com?q=/", "example.com", 80, "/?q=/"),
            ("http://example.com#f", "example.com", 80, "/"),
            ("http://a@b@127.0.0.1/", "127.0.0.1", 80, "/"),
        ] {
            let target = Target::parse(url).unwrap();
            assert_eq!((target.origin.to_string().as_str(), target.origin.port), (origin, port), "{url}");
            assert_eq!(target.path, path, "{url}");
        }
    }

    #[test]
    fn what_is_not_plain_is_refused() {
        for url in [
            "ftp://example.com/",
            "HTTP://example.com/",
            "file:///etc/passwd",
            "//example.com/",
            "http:/example.com/",
            "http:///x",
            "http://",
            "http://:80/",
            "http://a:0/",
            "http://a:65536/",
            "http://a:+1/",
            "http://a:/",
            "http://a:b:1/",
            "http://[::1/",
            "http://[::1]x/",
            "http://[fe80::1%25eth0]/",
            "http://[fe80::1%eth0]/",
            "http://[127.0.0.1]/",
            "http://a b/",
            "http://a\\b/",
            "http://a%2eb/",
            "http://bücher.example/",
            "http://a\r\nx: y/",
        ] {
            assert!(matches!(Target::parse(url), Err(FetchError::Url { .. })), "{url}");
        }
    }
}
