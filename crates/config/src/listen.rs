//! An address to listen on: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or a port alone,
//! which means loopback. Ambiguous text is an error that names both readings.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    #[error(
        "{0:?} names no address: write 127.0.0.1{0} to be reached from this machine alone, or 0.0.0.0{0} to be reached from \
         its networks too"
    )]
    NoAddress(String),
    #[error("{text:?} has an IPv6 address without brackets: write [{address}]:{port}")]
    NoBrackets { text: String, address: Ipv6Addr, port: u16 },
    #[error("{text:?} has no port: write {}, for example", SocketAddr::new(*address, 8080))]
    NoPort { text: String, address: IpAddr },
    #[error("{0:?} is a URL: write ADDRESS:PORT alone, such as 127.0.0.1:8080")]
    Url(String),
    #[error("{0:?} is a name, and names are not looked up: write the address, such as 127.0.0.1:8080 or 0.0.0.0:8080")]
    Name(String),
    #[error("{0:?} is not an address to listen on: write ADDRESS:PORT, such as 127.0.0.1:8080 or [::]:8080")]
    Malformed(String),
}

/// Parses an address to listen on.
pub fn parse_listen(text: &str) -> Result<SocketAddr, ListenError> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let loopback = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    if let Some(port) = port(text) {
        return Ok(loopback(port));
    }
    if text.contains("://") {
        return Err(ListenError::Url(text.to_owned()));
    }
    let said = text.rsplit_once(':').and_then(|(host, digits)| Some((host, port(digits)?)));
    if let Some((host, port)) = said {
        if host.is_empty() {
            return Err(ListenError::NoAddress(text.to_owned()));
        }
        if host.eq_ignore_ascii_case("localhost") {
            return Ok(loopback(port));
        }
        // Checked before the address as a whole: `::1:8080` is a valid IPv6 address, but not the
        // intended one.
        if let Ok(address) = host.parse() {
            return Err(ListenError::NoBrackets { text: text.to_owned(), address, port });
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if host.bytes().all(is_name) && host.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            return Err(ListenError::Name(text.to_owned()));
        }
    }
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    match bare.parse() {
        Ok(address) => Err(ListenError::NoPort { text: text.to_owned(), address }),
        Err(_) => Err(ListenError::Malformed(text.to_owned())),
    }
}

/// Only digits: the standard library also accepts `+80`.
fn port(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        for (text, address) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:8080", "[::1]:8080"),
            ("8080", "127.0.0.1:8080"),
            ("0", "127.0.0.1:0"),
            ("localhost:8080", "127.0.0.1:8080"),
        ] {
            assert_eq!(parse_listen(text).unwrap(), address.parse().unwrap(), "{text}");
        }
    }

    #[test]
    fn errors_name_the_remedy() {
        for (text, part) in [
            (":8080", "127.0.0.1:8080 to be reached from this machine alone, or 0.0.0.0:8080"),
            ("::1:8080", "write [::1]:8080"),
            ("fe80::1:80", "write [fe80::1]:80"),
            ("127.0.0.1", "no port: write 127.0.0.1:8080"),
            ("::1", "no port: write [::1]:8080"),
            ("[::1]", "no port: write [::1]:8080"),
            ("http://127.0.0.1:8080", "is a URL"),
            ("example.com:80", "is a name"),
            ("70000", "is not an address"),
            ("127.0.0.1:+80", "is not an address"),
            ("nowhere", "is not an address"),
            ("", "is not an address"),
        ] {
            let told = parse_listen(text).unwrap_err().to_string();
            assert!(told.contains(part), "{text}: {told}");
        }
    }
}
