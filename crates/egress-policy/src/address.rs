//! Classifies addresses: public ones, and those that lead into the operator's own machine or network.
//!
//! The lists follow IANA's special-purpose registries. IPv6 is closed by default: only global unicast (`2000::/3`) and the
//! well-known NAT64 prefix can be public. An IPv6 form that carries an IPv4 address (mapped, NAT64, 6to4) is what that
//! IPv4 address is, since a router on the way may unwrap it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    Public,
    Loopback,
    /// `169.254.0.0/16`, `fe80::/10`: neighbours, and the metadata service of most clouds.
    LinkLocal,
    /// A cloud's metadata service with an address outside of the link-local range.
    Metadata,
    /// RFC 1918, carrier-grade NAT, unique local.
    Private,
    Multicast,
    Broadcast,
    /// `0.0.0.0/8`, `::`: on most systems a way to say "this machine".
    Unspecified,
    /// Documentation and benchmark ranges.
    Documentation,
    /// All other special-purpose ranges.
    Reserved,
}

impl AddressKind {
    pub fn from_ip(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self::from_v4(v4),
            IpAddr::V6(v6) => Self::from_v6(v6),
        }
    }

    fn from_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [0, ..] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            [169, 254, ..] => Self::LinkLocal,
            // Azure's host agent: a public number that every guest of it can reach.
            [168, 63, 129, 16] => Self::Metadata,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [198, 18..=19, ..] => Self::Documentation,
            // IETF protocol assignments, and the retired 6to4 relays.
            [192, 0, 0, _] | [192, 88, 99, _] => Self::Reserved,
            [224..=239, ..] => Self::Multicast,
            [255, 255, 255, 255] => Self::Broadcast,
            [240..=255, ..] => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn from_v6(address: Ipv6Addr) -> Self {
        let embedded = |high: u16, low: u16| Self::from_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)));
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
            // NAT64 of local use.
            [0x64, 0xff9b, 1, ..] => Self::Private,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            [0xfc00..=0xfdff, ..] => Self::Private,
            // Site-local: retired, still routed by some.
            [0xfec0..=0xfeff, ..] => Self::Private,
            [0xff00..=0xffff, ..] => Self::Multicast,
            [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Self::Documentation,
            // IETF protocol assignments: Teredo, benchmarking, ORCHID and others.
            [0x2001, 0..=0x1ff, ..] => Self::Reserved,
            [0x2002, high, low, ..] => embedded(high, low),
            [0x2000..=0x3fff, ..] => Self::Public,
            // IPv4-compatible, IPv4-translated, discard-only and unassigned ranges.
            _ => Self::Reserved,
        }
    }
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Metadata => "cloud metadata",
            Self::Private => "private",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Unspecified => "unspecified",
            Self::Documentation => "documentation or benchmark",
            Self::Reserved => "reserved",
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::AddressKind::{self, *};

    #[test]
    fn every_form_of_an_address_has_the_right_kind() {
        for (kind, addresses) in [
            (Public, "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0"),
            (Public, "169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0"),
            (Public, "198.17.255.255 198.20.0.0 223.255.255.255 168.63.129.17 2606:4700::1 2a00:1450::1 2001:200::1"),
            (
                Public,
                "2000::1 3ffe::1 3fff:1000::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1 2001:4860:4860::8888",
            ),
            (Loopback, "127.0.0.1 127.0.0.0 127.255.255.255 ::1 ::ffff:127.0.0.1 64:ff9b::7f00:1 2002:7f00:1::1"),
            (LinkLocal, "169.254.169.254 169.254.0.0 fe80::1 febf::1 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe"),
            (LinkLocal, "2002:a9fe:a9fe::"),
            (Metadata, "168.63.129.16 ::ffff:168.63.129.16"),
            (Private, "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 100.64.0.0"),
            (Private, "100.127.255.255 100.100.100.200 fc00:: fdff::1 fd00:ec2::254 fec0::1 ::ffff:10.1.2.3"),
            (Private, "64:ff9b::a00:1 64:ff9b:1::1 2002:c0a8:101::1 2002:0a00:1::1"),
            (Multicast, "224.0.0.1 239.255.255.255 ff02::1 ffff::1 ::ffff:224.0.0.1"),
            (Broadcast, "255.255.255.255 ::ffff:255.255.255.255"),
            (Unspecified, "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0 64:ff9b:: 2002::1"),
            (Documentation, "192.0.2.1 198.51.100.1 203.0.113.1 198.18.0.0 198.19.255.255 2001:db8::1 3fff:fff::1"),
            (Reserved, "192.0.0.192 192.88.99.1 240.0.0.1 255.255.255.254 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::2"),
            (Reserved, "::ffff:0:127.0.0.1 100::1 2001::1 2001:0:4136:e378::1 2001:10::1 2001:1ff::1 4000::1 5f00::1"),
            (Reserved, "e000::1 fbff::1 fe00::1 fe7f::1"),
        ] {
            for address in addresses.split(' ') {
                assert_eq!(AddressKind::from_ip(address.parse().unwrap()), kind, "{address}");
            }
        }
    }

    /// An IPv4 address is never public in a wrapped form when it is not public by itself.
    #[test]
    fn no_wrapping_makes_an_address_public() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let v4 = std::net::Ipv4Addr::from_bits(random as u32);
            let [a, b, c, d] = v4.octets();
            let plain = AddressKind::from_ip(v4.into()) == Public;
            let wrapped = |text: String| AddressKind::from_ip(text.parse().unwrap()) == Public;
            assert_eq!(wrapped(format!("::ffff:{v4}")), plain, "{v4}");
            assert_eq!(wrapped(format!("64:ff9b::{v4}")), plain, "{v4}");
            assert_eq!(wrapped(format!("2002:{a:02x}{b:02x}:{c:02x}{d:02x}::1")), plain, "{v4}");
            assert!(!wrapped(format!("::{v4}")), "{v4}");
            assert!(!wrapped(format!("::ffff:0:{v4}")), "{v4}");
        }
    }
}
