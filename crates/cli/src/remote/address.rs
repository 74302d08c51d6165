//! Where the admin API is: `ADDRESS:PORT`, a name with a port, or a URL.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The default port of the admin API.
const DEFAULT_PORT: u16 = 9090;

/// A scheme, a host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminAddress {
    scheme: Scheme,
    /// An IPv6 address has its brackets.
    host: String,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the server was told to have no admin API: without one it cannot be asked")]
    Off,
    #[error(
        "{0:?} is no address: write ADDRESS:PORT, such as 127.0.0.1:9090, http://ADDRESS:PORT or https://ADDRESS:PORT"
    )]
    Malformed(String),
}

// === impl AdminAddress ===

impl AdminAddress {
    /// Without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&self.host)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Without a path.
    pub fn url(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

impl From<SocketAddr> for AdminAddress {
    fn from(address: SocketAddr) -> Self {
        let host = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Self { scheme: Scheme::Http, host, port: address.port() }
    }
}

impl FromStr for AdminAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let malformed = || AddressError::Malformed(text.to_owned());
        let (scheme, rest, default) = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest, 443),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest, 80),
            Some(_) => return Err(malformed()),
            None if text == "off" => return Err(AddressError::Off),
            None => (Scheme::Http, text, DEFAULT_PORT),
        };
        let rest = if default == DEFAULT_PORT { rest } else { rest.strip_suffix('/').unwrap_or(rest) };
        // A port alone, as in `--listen 8080`.
        if let (true, Ok(port @ 1..)) = (default == DEFAULT_PORT, rest.parse()) {
            return Ok(Self { scheme, host: "127.0.0.1".to_owned(), port });
        }
        let (host, port) = match rest.rfind(':') {
            Some(at) if !rest[at..].contains(']') => (&rest[..at], rest[at + 1..].parse().map_err(|_| malformed())?),
            _ => (rest, default),
        };
        let is_address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_good = match is_address {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)),
        };
        if is_good && port != 0 { Ok(Self { scheme, host: host.to_owned(), port }) } else { Err(malformed()) }
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scheme {
            Scheme::Http => write!(f, "{}:{}", self.host, self.port),
            Scheme::Https => f.write_str(&self.url()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_people_write_them() {
        for (text, host, port) in [
            ("127.0.0.1:9090", "127.0.0.1", 9090),
            ("127.0.0.1", "127.0.0.1", 9090),
            ("localhost:1", "localhost", 1),
            ("9191", "127.0.0.1", 9191),
            ("[::1]:9090", "::1", 9090),
            ("[::1]", "::1", 9090),
            ("http://10.0.0.1:8000/", "10.0.0.1", 8000),
            ("HTTP://admin.example", "admin.example", 80),
            ("https://admin.example", "admin.example", 443),
            ("https://[::1]:9443/", "::1", 9443),
        ] {
            let address: AdminAddress = text.parse().unwrap();
            assert_eq!((address.host(), address.port()), (host, port), "{text}");
        }
        assert_eq!("[::1]".parse::<AdminAddress>().unwrap().to_string(), "[::1]:9090");
        assert_eq!("https://x".parse::<AdminAddress>().unwrap().url(), "https://x:443");
    }

    #[test]
    fn malformed_addresses_are_refused() {
        let parse = |text: &str| text.parse::<AdminAddress>().unwrap_err();
        assert_eq!(parse("off"), AddressError::Off);
        for text in
            ["", ":9090", "a:b", "a:70000", "a:0", "::1", "[x]:1", "ftp://a", "http://a/b", "a b", "a\r\nb:1", "u@h:1"]
        {
            assert_eq!(parse(text), AddressError::Malformed(text.to_owned()));
        }
    }
}
