//! Where a sandbox's code may connect to: nowhere by default.
//!
//! `None` and `AllowList` sandboxes have a network of their own with nothing in it but a loopback.
//! With a list, a proxy on the host's side (`proxy.rs`) carries connections to the listed hosts,
//! and only where they have public addresses. `*` lists every host: then everything within the
//! operator's ceiling can be reached.

use std::fmt;

use hearth_egress::EgressPolicy;

use crate::error::SandboxError;

/// In place of a list: every host.
const ANY: &str = "*";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NetworkPolicy {
    #[default]
    None,
    /// Hosts that can be reached, through the proxy: `pypi.org`, `*.npmjs.org`, each with `:port`
    /// or without; or `*`.
    AllowList(AllowList),
    /// The host's network as it is, with everything that listens there. Only where the operator
    /// allows it.
    Full,
}

/// A list of hosts. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct AllowList {
    hosts: Vec<String>,
    policy: EgressPolicy,
}

/// The part of a policy that a driver needs at boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NetworkShape {
    /// Nothing but a loopback, and where there is a proxy, the way to it.
    Isolated,
    Host,
}

// === impl NetworkPolicy ===

impl NetworkPolicy {
    pub fn allow_list(hosts: impl IntoIterator<Item = impl Into<String>>) -> Result<Self, SandboxError> {
        AllowList::new(hosts.into_iter().map(Into::into).collect()).map(Self::AllowList)
    }

    pub fn shape(&self) -> NetworkShape {
        match self {
            Self::None | Self::AllowList(_) => NetworkShape::Isolated,
            Self::Full => NetworkShape::Host,
        }
    }
}

// === impl AllowList ===

impl AllowList {
    fn new(hosts: Vec<String>) -> Result<Self, SandboxError> {
        let wrong = |reason: String| SandboxError::invalid("network", reason);
        if hosts.is_empty() {
            return Err(wrong("the list of hosts is empty: name hosts, or leave the network off".to_owned()));
        }
        // Keywords of egress policies are not hosts; a separator would smuggle several hosts in.
        let is_host = |host: &&String| {
            let plain = !host.contains(|c: char| c == ',' || c.is_whitespace());
            plain && !matches!(host.as_str(), "none" | "public" | "all")
        };
        if let Some(host) = hosts.iter().find(|host| !is_host(host)) {
            return Err(wrong(format!("{host:?} is no host")));
        }
        let policy = match hosts.iter().any(|host| host == ANY) {
            true if hosts.len() == 1 => EgressPolicy::all(),
            true => return Err(wrong(format!("{ANY:?} lists every host: list no other beside it"))),
            false => EgressPolicy::parse(&hosts.join(",")).map_err(|error| wrong(error.to_string()))?,
        };
        Ok(Self { hosts, policy })
    }

    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// What the proxy lets through: the listed hosts, as far as the operator's ceiling allows,
    /// public addresses for example.
    pub(crate) fn policy(&self, ceiling: &EgressPolicy) -> EgressPolicy {
        self.policy.within(ceiling)
    }
}

impl fmt::Debug for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AllowList").field(&self.hosts).finish()
    }
}
