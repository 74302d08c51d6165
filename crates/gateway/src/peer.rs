//! The other end of a connection: made once when it is accepted, so that requests only copy from it.

use std::net::{IpAddr, Ipv6Addr};

use hearth_core::{Cidr, Headers};

use crate::config::Scheme;

#[derive(Debug)]
pub struct Peer {
    /// In canonical form: an IPv4-mapped IPv6 address is the IPv4 address.
    pub address: IpAddr,
    /// Headers that its requests get, unless a trusted proxy claims otherwise: the client and the scheme.
    pub headers: Headers,
    pub trust: Trust,
    /// The scheme of its requests' urls, unless a trusted proxy claims otherwise.
    pub scheme: Scheme,
}

/// Whether a peer's claims about other clients are believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// One of the configured proxies.
    Proxy,
    /// A front gateway in another process: it has resolved the client already.
    Hop,
    None,
}

impl Peer {
    pub fn new(address: IpAddr, scheme: Scheme, proxies: &[Cidr]) -> Self {
        let address = address.to_canonical();
        let trust = if is_proxy(address, proxies) { Trust::Proxy } else { Trust::None };
        let headers = forwarded(address, scheme);
        Self { address, headers, trust, scheme }
    }

    /// The peer of a hop. It passes on requests of clients, and has no address itself.
    pub fn hop() -> Self {
        let address = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        Self { address, headers: Headers::new(), trust: Trust::Hop, scheme: Scheme::Http }
    }
}

/// `x-forwarded-for` and `x-forwarded-proto`.
pub fn forwarded(client: IpAddr, scheme: Scheme) -> Headers {
    let mut headers = Headers::with_capacity(2, 96);
    headers.push(b"x-forwarded-for", client.to_string().as_bytes());
    headers.push(b"x-forwarded-proto", scheme.name().as_bytes());
    headers
}

pub fn is_proxy(address: IpAddr, proxies: &[Cidr]) -> bool {
    proxies.iter().any(|range| range.contains(address))
}

/// What counts as one client where clients are limited: an IPv4 address, or the /64 network of an IPv6 address, since a client
/// with one address of such a network has all of them.
pub fn client_group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_known_by_their_canonical_address() {
        let proxies = ["10.0.0.0/8".parse().unwrap()];
        let peer = Peer::new("::ffff:10.1.2.3".parse().unwrap(), Scheme::Http, &proxies);
        let client = peer.headers.get("x-forwarded-for");
        assert_eq!((client, peer.trust), (Some(&b"10.1.2.3"[..]), Trust::Proxy));
        assert_eq!(Peer::new("11.1.2.3".parse().unwrap(), Scheme::Http, &proxies).trust, Trust::None);
    }

    #[test]
    fn neighbours_in_an_ipv6_network_are_one_client() {
        let group = |text: &str| client_group(text.parse().unwrap()).to_string();
        assert_eq!(group("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(group("192.0.2.1"), "192.0.2.1");
        assert_eq!(group("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
