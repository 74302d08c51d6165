//! Parses a policy. An ambiguous entry is an error that names the unambiguous form, since a policy that is misread allows or denies
//! the wrong hosts.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use hearth_core::Cidr;

use super::{Public, Rules, ports};
use crate::parse_port;

/// An entry with a host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HostRule {
    /// In lower case, without the final dot.
    name: Box<str>,
    scope: Scope,
    port: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Itself,
    Subdomains,
}

/// An entry with addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RangeRule {
    pub(super) range: Cidr,
    pub(super) port: Option<u16>,
}

/// Why a policy is invalid, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("the egress policy is empty: write none, public, all, or a list of hosts and address ranges")]
    Empty,
    #[error("{keyword:?} cannot stand in an egress list: it must be the only entry")]
    NotAlone { keyword: &'static str },
    #[error("{entry:?} is no egress entry: {reason}")]
    Entry { entry: String, reason: String },
}

pub(super) fn rules(text: &str) -> Result<Rules, PolicyError> {
    let mut entries = text.split(|c: char| c == ',' || c.is_ascii_whitespace()).filter(|e| !e.is_empty()).peekable();
    if entries.peek().is_none() {
        return Err(PolicyError::Empty);
    }
    let (mut public, mut hosts, mut ranges, mut lone) = (Public::Unlisted, Vec::new(), Vec::new(), None);
    let mut count = 0;
    for entry in entries {
        count += 1;
        match entry.to_ascii_lowercase().as_str() {
            "none" => lone = Some(("none", Rules::None)),
            "all" => lone = Some(("all", Rules::All)),
            "public" => public = Public::Listed,
            lower => match rule(lower).map_err(|reason| PolicyError::Entry { entry: entry.to_owned(), reason })? {
                Rule::Host(rule) if hosts.contains(&rule) => {}
                Rule::Range(rule) if ranges.contains(&rule) => {}
                Rule::Host(rule) => hosts.push(rule),
                Rule::Range(rule) => ranges.push(rule),
            },
        }
    }
    match lone {
        Some((_, rules)) if count == 1 => Ok(rules),
        Some((keyword, _)) => Err(PolicyError::NotAlone { keyword }),
        None => Ok(Rules::List { public, hosts, ranges }),
    }
}

enum Rule {
    Host(HostRule),
    Range(RangeRule),
}

fn rule(entry: &str) -> Result<Rule, String> {
    if entry.contains("://") {
        return Err("it looks like a URL; write its host alone, such as example.com or example.com:8080".into());
    }
    // An IPv6 address without brackets, alone or as a range: no port can follow.
    if let Some(range) = bare_v6(entry) {
        return Ok(Rule::Range(RangeRule { range: range?, port: None }));
    }
    let (host, port) = split_port(entry)?;
    if let Some(inside) = host.strip_prefix('[') {
        let inside = inside.strip_suffix(']').ok_or("a [ has no ] at the end of the address")?;
        let range = bare_v6(inside).ok_or("there is no IPv6 address between [ and ]")??;
        return Ok(Rule::Range(RangeRule { range, port }));
    }
    if let Some((address, prefix)) = host.split_once('/') {
        let address = address.parse().map_err(|_| "before the / there must be an address, such as 10.0.0.0/8")?;
        return Ok(Rule::Range(RangeRule { range: range(IpAddr::V4(address), prefix)?, port }));
    }
    if let Ok(address) = host.parse() {
        return Ok(Rule::Range(RangeRule { range: Cidr::one(IpAddr::V4(address)), port }));
    }
    Ok(Rule::Host(host_rule(host, port)?))
}

fn split_port(entry: &str) -> Result<(&str, Option<u16>), String> {
    match entry.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => {
            let port = parse_port(port).ok_or("after the last : there must be a port from 1 to 65535")?;
            Ok((host, Some(port)))
        }
        _ => Ok((entry, None)),
    }
}

/// `None` where the text is not an IPv6 address.
fn bare_v6(text: &str) -> Option<Result<Cidr, String>> {
    let (address, prefix) = match text.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix)),
        None => (text, None),
    };
    let address = IpAddr::V6(address.parse::<Ipv6Addr>().ok()?);
    Some(match prefix {
        Some(prefix) => range(address, prefix),
        None => Ok(Cidr::one(address)),
    })
}

fn range(address: IpAddr, prefix: &str) -> Result<Cidr, String> {
    let digits = !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_digit());
    let prefix = prefix.parse().ok().filter(|_| digits).ok_or("after the / there must be a number of bits")?;
    Cidr::new(address, prefix).map_err(|error| error.to_string())
}

fn host_rule(host: &str, port: Option<u16>) -> Result<HostRule, String> {
    if host == "*" {
        return Err("write all to allow every host, or public for every public one".into());
    }
    let (name, scope) = match host.strip_prefix("*.") {
        Some(name) => (name, Scope::Subdomains),
        None => (host, Scope::Itself),
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    if scope == Scope::Itself && matches!(name, "none" | "public" | "all") {
        return Err("that word is a policy of its own, and takes neither port nor dot".into());
    }
    if name.contains('*') {
        return Err("a * can only be the first label, as in *.example.com".into());
    }
    if !name.is_ascii() {
        return Err("write the name in its ASCII form, such as xn--bcher-kva.example".into());
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if name.len() > 253 || !name.split('.').all(label) {
        return Err("it is neither a host name nor an address nor a range".into());
    }
    // The URL parser reads 0177.1 and 127.0.0.0x1 as addresses, so as a name it would never match.
    let last = name.rsplit('.').next().unwrap_or(name);
    let hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
    if last.bytes().all(|b| b.is_ascii_digit()) || last.strip_prefix("0x").is_some_and(hex) {
        return Err("it looks like an address; write it as four decimal numbers, such as 127.0.0.1".into());
    }
    Ok(HostRule { name: name.into(), scope, port })
}

// === impl HostRule ===

impl HostRule {
    pub(super) fn allows(&self, host: &str, port: u16) -> bool {
        self.names(host) && ports::allows(self.port, port)
    }

    pub(super) fn names(&self, host: &str) -> bool {
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
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.scope == Scope::Subdomains { "*." } else { "" };
        write!(f, "{star}{}", self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

// === impl RangeRule ===

impl fmt::Display for RangeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = self.range.to_string();
        match self.port {
            None => f.write_str(&range),
            Some(port) if range.contains(':') => write!(f, "[{range}]:{port}"),
            Some(port) => write!(f, "{range}:{port}"),
        }
    }
}
