//! A range of addresses: `10.0.0.0/8`, `fd00::/8`, or one address alone.
//! Invariant: bits behind the prefix are zero, and an IPv4-mapped IPv6 range is kept as the IPv4 range it means, so that
//! each range has one form. Addresses are compared in the same canonical form.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cidr {
    network: IpAddr,
    prefix: u8,
}

/// Why an address and a prefix length are not a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CidrError {
    /// The prefix is longer than the address.
    Prefix { longest: u8 },
    /// The address has bits behind the prefix; this is the range that contains it.
    HostBits { range: Cidr },
}

/// A text that is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a range of addresses: {reason}")]
pub struct NotCidr {
    text: String,
    reason: String,
}

impl Cidr {
    pub fn one(address: IpAddr) -> Self {
        let network = address.to_canonical();
        Self { network, prefix: longest(network) }
    }

    pub fn new(address: IpAddr, prefix: u8) -> Result<Self, CidrError> {
        if prefix > longest(address) {
            return Err(CidrError::Prefix { longest: longest(address) });
        }
        let network = mask(address, prefix);
        let range = match (network, network.to_canonical()) {
            (IpAddr::V6(_), v4 @ IpAddr::V4(_)) if prefix >= 96 => Self { network: v4, prefix: prefix - 96 },
            _ => Self { network, prefix },
        };
        if network == address { Ok(range) } else { Err(CidrError::HostBits { range }) }
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.network.is_ipv4() && mask(address, self.prefix) == self.network
    }
}

fn longest(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with all bits behind the prefix cleared. The prefix fits the address.
fn mask(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let bits = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & bits))
        }
        IpAddr::V6(v6) => {
            let bits = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & bits))
        }
    }
}

impl fmt::Display for CidrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix { longest } => write!(f, "an address has only {longest} bits"),
            Self::HostBits { range } => write!(f, "the range that contains it is written {range}"),
        }
    }
}

impl std::error::Error for CidrError {}

impl FromStr for Cidr {
    type Err = NotCidr;

    fn from_str(text: &str) -> Result<Self, NotCidr> {
        let wrong = |reason: String| NotCidr { text: text.to_owned(), reason };
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address = address.parse().map_err(|_| wrong("write it as 10.0.0.0/8, fd00::/8 or 192.0.2.1".into()))?;
        let Some(prefix) = prefix else { return Ok(Self::one(address)) };
        let digits = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|_| digits);
        let prefix = prefix.ok_or_else(|| wrong("after the / there must be a number of bits".into()))?;
        Self::new(address, prefix).map_err(|error| wrong(error.to_string()))
    }
}

impl TryFrom<String> for Cidr {
    type Error = NotCidr;

    fn try_from(text: String) -> Result<Self, NotCidr> {
        text.parse()
    }
}

impl From<Cidr> for String {
    fn from(range: Cidr) -> Self {
        range.to_string()
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.network)?;
        if self.prefix == longest(self.network) { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn range(address: &str, prefix: u8) -> Cidr {
        Cidr::new(address.parse().unwrap(), prefix).unwrap()
    }

    #[test]
    fn ranges_contain_what_they_should() {
        for (network, prefix, inside, outside) in [
            ("10.0.0.0", 8, "10.255.255.255", "11.0.0.0"),
            ("192.168.4.0", 22, "192.168.7.255", "192.168.8.0"),
            ("0.0.0.0", 0, "255.255.255.255", "::"),
            ("1.2.3.4", 32, "1.2.3.4", "1.2.3.5"),
            ("fd00::", 8, "fdff::1", "fe00::"),
            ("::", 0, "2001:db8::1", "1.2.3.4"),
            ("::", 0, "::1", "::ffff:1.2.3.4"),
            ("::1", 128, "::1", "::2"),
            ("::ffff:10.0.0.0", 104, "10.1.2.3", "11.0.0.1"),
            ("::ffff:10.0.0.0", 104, "::ffff:10.1.2.3", "::ffff:11.0.0.1"),
        ] {
            let range = range(network, prefix);
            assert!(range.contains(inside.parse().unwrap()), "{range} contains {inside}");
            assert!(!range.contains(outside.parse().unwrap()), "{range} does not contain {outside}");
        }
    }

    #[test]
    fn errors_name_the_right_form() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(Cidr::new(ip("10.0.0.0"), 33), Err(CidrError::Prefix { longest: 32 }));
        assert_eq!(Cidr::new(ip("::"), 129), Err(CidrError::Prefix { longest: 128 }));
        assert_eq!(Cidr::new(ip("10.1.2.3"), 8), Err(CidrError::HostBits { range: range("10.0.0.0", 8) }));
    }

    #[test]
    fn texts_become_ranges_and_back() {
        for text in ["10.0.0.0/8", "192.0.2.1", "fd00::/8", "::1", "0.0.0.0/0"] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
        }
        for (text, reason) in [
            ("x", "write it as"),
            ("10.0.0.0/", "number of bits"),
            ("10.0.0.0/+8", "number of bits"),
            ("10.0.0.0/33", "only 32 bits"),
            ("10.1.0.0/8", "written 10.0.0.0/8"),
        ] {
            let error = text.parse::<Cidr>().unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(text), "{error}");
        }
    }
}
