//! Where an app's requests may go.
//!
//! A policy is one or more rule sets, and all of them must allow a connection: the app's own, and the operator's ceiling above it
//! ([`EgressPolicy::within`]). It is evaluated twice, and both must pass:
//!
//! 1. [`before_lookup`](EgressPolicy::before_lookup), so that a name which cannot be allowed is not even looked up
//!    (a look-up can carry data out, too);
//! 2. [`check`](EgressPolicy::check), for every address that the look-up found.
//!
//! What an entry of a list allows:
//! - `example.com`, `*.example.com` (its subdomains, not itself): that host, at **any** address it resolves to. The operator
//!   named it, so it may be internal; list only names whose DNS you trust.
//! - `10.0.0.0/8`, `192.0.2.7`, `[::1]`: those addresses, by whatever name they were found.
//! - `public`: every public address (see [`AddressKind`]), so that `public,10.0.0.5` reads as it should.
//! - each but `public` may end in `:port`, and then allows that port alone.
//!
//! Ports that the Fetch standard blocks (25, 6667 and the like) are reached only where an entry names the port.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use crate::address::AddressKind;

mod parse;
mod ports;
#[cfg(test)]
mod tests;

pub use parse::PolicyError;
use parse::{HostRule, RangeRule};

/// The port that a refused look-up names.
const HTTPS: u16 = 443;

/// `none`, `public` (the default), `all`, or a list. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct EgressPolicy {
    /// Never empty. The first is the app's own, those after it are ceilings.
    layers: Arc<[Rules]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rules {
    None,
    All,
    List { public: Public, hosts: Vec<HostRule>, ranges: Vec<RangeRule> },
}

/// Whether a list has the entry `public`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Public {
    Listed,
    Unlisted,
}

/// A host that the policy denies: the host, the rules that denied it, and the setting that would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    pub host: String,
    pub port: u16,
    /// The address that was denied; `None` where the host was denied before any look-up.
    pub address: Option<IpAddr>,
    /// The rules that denied it, as text.
    pub policy: String,
    by: Layer,
}

/// Which of a policy's rule sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Own,
    Ceiling,
}

// === impl EgressPolicy ===

impl EgressPolicy {
    pub fn none() -> Self {
        Self::from_rules(Rules::None)
    }

    pub fn public() -> Self {
        Self::from_rules(Rules::List { public: Public::Listed, hosts: Vec::new(), ranges: Vec::new() })
    }

    pub fn all() -> Self {
        Self::from_rules(Rules::All)
    }

    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        parse::rules(text).map(Self::from_rules)
    }

    fn from_rules(rules: Rules) -> Self {
        Self { layers: Arc::new([rules]) }
    }

    /// This policy under a ceiling: only what both allow is allowed. `all` is no ceiling: a blocked port that this policy
    /// names stays open.
    pub fn within(&self, ceiling: &Self) -> Self {
        let above = ceiling.layers.iter().filter(|rules| **rules != Rules::All && !self.layers.contains(rules));
        Self { layers: self.layers.iter().chain(above).cloned().collect() }
    }

    /// Whether the host may be looked up (or, as an address, tried) at all. `host` as in a URL, without brackets.
    pub fn before_lookup(&self, host: &str, port: u16) -> Result<(), Denied> {
        self.evaluate(host, port, None, |rules| rules.may_allow(host, port))
    }

    /// Whether the host may be looked up for its own sake: a connection to it may be allowed, to one port at least.
    pub fn look_up(&self, host: &str) -> Result<(), Denied> {
        self.evaluate(host, HTTPS, None, |rules| rules.may_look_up(host))
    }

    /// Whether an address that a look-up found may be told: a connection to it may be allowed, to one port at least. The refusal does
    /// not name it.
    pub fn check_found(&self, host: &str, address: IpAddr) -> Result<(), Denied> {
        self.evaluate(host, HTTPS, None, |rules| rules.reaches(host, address))
    }

    /// Whether a connection to this address may be made for this host.
    pub fn check(&self, host: &str, address: IpAddr, port: u16) -> Result<(), Denied> {
        self.evaluate(host, port, Some(address), |rules| rules.allows(host, address, port))
    }

    fn evaluate(
        &self,
        host: &str,
        port: u16,
        address: Option<IpAddr>,
        agrees: impl Fn(&Rules) -> bool,
    ) -> Result<(), Denied> {
        let Some(at) = self.layers.iter().position(|rules| !agrees(rules)) else { return Ok(()) };
        let by = if at == 0 { Layer::Own } else { Layer::Ceiling };
        Err(Denied { host: host.to_owned(), port, address, policy: self.layers[at].to_string(), by })
    }
}

impl Default for EgressPolicy {
    fn default() -> Self {
        Self::public()
    }
}

impl FromStr for EgressPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Self::parse(text)
    }
}

impl fmt::Display for EgressPolicy {
    /// What [`EgressPolicy::parse`] reads, as long as there is no ceiling.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rules) in self.layers.iter().enumerate() {
            write!(f, "{}{rules}", if at == 0 { "" } else { " within " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for EgressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EgressPolicy({self})")
    }
}

// === impl Rules ===

impl Rules {
    fn may_allow(&self, host: &str, port: u16) -> bool {
        match self {
            Self::None => false,
            Self::All => ports::is_open(port),
            Self::List { public, hosts, ranges } => {
                hosts.iter().any(|rule| rule.allows(host, port))
                    || ranges.iter().any(|rule| ports::allows(rule.port, port))
                    || (*public == Public::Listed && ports::is_open(port))
            }
        }
    }

    fn may_look_up(&self, host: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::List { public, hosts, ranges } => {
                *public == Public::Listed || !ranges.is_empty() || hosts.iter().any(|rule| rule.names(host))
            }
        }
    }

    fn reaches(&self, host: &str, address: IpAddr) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::List { public, hosts, ranges } => {
                hosts.iter().any(|rule| rule.names(host))
                    || ranges.iter().any(|rule| rule.range.contains(address))
                    || (*public == Public::Listed && AddressKind::from_ip(address) == AddressKind::Public)
            }
        }
    }

    fn allows(&self, host: &str, address: IpAddr, port: u16) -> bool {
        match self {
            Self::None => false,
            Self::All => ports::is_open(port),
            Self::List { public, hosts, ranges } => {
                hosts.iter().any(|rule| rule.allows(host, port))
                    || ranges.iter().any(|rule| rule.range.contains(address) && ports::allows(rule.port, port))
                    || (*public == Public::Listed
                        && ports::is_open(port)
                        && AddressKind::from_ip(address) == AddressKind::Public)
            }
        }
    }
}

impl fmt::Display for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (public, hosts, ranges) = match self {
            Self::None => return f.write_str("none"),
            Self::All => return f.write_str("all"),
            Self::List { public, hosts, ranges } => (public, hosts, ranges),
        };
        let public = (*public == Public::Listed).then(|| "public".to_owned());
        let hosts = hosts.iter().map(HostRule::to_string);
        let ranges = ranges.iter().map(RangeRule::to_string);
        let entries: Vec<String> = public.into_iter().chain(hosts).chain(ranges).collect();
        f.write_str(&entries.join(","))
    }
}

// === impl Denied ===

impl Denied {
    /// The entry that would allow this.
    fn entry(&self) -> String {
        let host = match self.host.parse::<IpAddr>() {
            Ok(IpAddr::V6(v6)) => format!("[{v6}]"),
            _ => self.host.clone(),
        };
        if ports::is_open(self.port) { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, address, policy, by } = self;
        let entry = self.entry();
        let address = address.map(IpAddr::from);
        write!(f, "egress to {host} (port {port}) is denied by the policy {policy:?}: ")?;
        match address.map(|address| (address, AddressKind::from_ip(address))) {
            _ if policy == "none" => f.write_str("it allows no network at all")?,
            _ if !ports::is_open(*port) => write!(f, "port {port} is blocked unless an entry names it")?,
            Some((_, AddressKind::Public)) | None => f.write_str("it is not listed")?,
            Some((address, kind)) if address.to_string() == *host => write!(f, "it is a {kind} address")?,
            Some((address, kind)) => write!(f, "it resolves to {address}, a {kind} address")?,
        }
        let setting = match by {
            Layer::Own => "the app's egress setting",
            Layer::Ceiling => "the operator's egress ceiling (--egress)",
        };
        match policy.as_str() {
            "none" => write!(f, "; to allow it, set {setting} to \"{entry}\""),
            // `all` must be the only entry; written as ranges it can be followed by others.
            "all" => write!(f, "; to allow it, set {setting} to \"0.0.0.0/0,::/0,{entry}\""),
            _ => write!(f, "; to allow it, set {setting} to \"{policy},{entry}\""),
        }
    }
}

impl std::error::Error for Denied {}
