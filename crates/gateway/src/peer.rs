//! Who is at the other end of a connection: made once when it is accepted, so that requests only copy from it.

use std::net::{IpAddr, Ipv6Addr};

use hearth_core::Cidr;

use crate::config::Scheme;

#[derive(Debug)]
pub struct Peer {
    /// In canonical form: an IPv4 address that came in IPv6 clothes is an IPv4 address.
    pub address: IpAddr,
    /// The address as text.
    pub text: Box<str>,
    pub trust: Trust,
    /// What the urls of its requests begin with, unless a trusted proxy says otherwise.
    pub scheme: Scheme,
}

/// Whether what a peer says about others is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// One of the configured proxies.
    Proxy,
    Nobody,
}

impl Peer {
    pub fn new(address: IpAddr, scheme: Scheme, proxies: &[Cidr]) -> Self {
        let address = address.to_canonical();
        let trust = if is_proxy(address, proxies) { Trust::Proxy } else { Trust::Nobody };
        Self { address, text: address.to_string().into(), trust, scheme }
    }
}

pub fn is_proxy(address: IpAddr, proxies: &[Cidr]) -> bool {
    proxies.iter().any(|range| range.contains(address))
}

/// What counts as one client where clients are limited: an IPv4 address, or the /64 network of an IPv6 address, since
/// whoever has one address of such a network has all of them.
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
        assert_eq!((&*peer.text, peer.trust), ("10.1.2.3", Trust::Proxy));
        assert_eq!(Peer::new("11.1.2.3".parse().unwrap(), Scheme::Http, &proxies).trust, Trust::Nobody);
    }

    #[test]
    fn neighbours_in_an_ipv6_network_are_one_client() {
        let group = |text: &str| client_group(text.parse().unwrap()).to_string();
        assert_eq!(group("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(group("192.0.2.1"), "192.0.2.1");
        assert_eq!(group("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
