//! Builds a routing table: sorts versions, assigns hosts, and reports conflicts.
//!
//! The first entry wins everywhere: of two with the same name and version, of two that claim one
//! host, of two that are marked active. The order of the entries is thus the precedence, and one
//! list always gives the same table.

use std::cmp::Reverse;
use std::collections::hash_map::Entry as ClaimedHost;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use hearth_core::AppName;

use super::host::{self, Pattern};
use super::table::{App, Paths, RouteTable, Slot};
use crate::versions::AppVersion;

/// One version of one app.
#[derive(Clone, Debug)]
pub struct RouteEntry<T> {
    /// With its scope: `hello`, `@acme/hello`.
    pub name: AppName,
    pub version: AppVersion,
    /// As in the manifest: `example.com`, `*.example.com`.
    pub hosts: Vec<String>,
    pub active: RouteActivation,
    pub value: T,
}

/// Whether this version is activated for the bare name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteActivation {
    Yes,
    No,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteProblem {
    #[error("{name}@{version} is there twice; the first one is served")]
    Twice { name: AppName, version: AppVersion },
    #[error("hosts of {name}@{version}: {host:?} belongs to {owner} already")]
    HostTaken { name: AppName, version: AppVersion, host: String, owner: AppName },
    #[error(
        "hosts of {name}@{version}: {host:?} is no host name; hosts look like example.com, *.example.com or 203.0.113.5, without port, \
         international ones as xn--…, and are no addresses"
    )]
    BadHost { name: AppName, version: AppVersion, host: String },
    #[error("the name of {name} differs only in case from {owner}, to which the hosts of that name belong")]
    NameTaken { name: AppName, owner: AppName },
    #[error("domain {0:?} is no host name; domains look like example.com, without port")]
    BadDomain(String),
}

/// The facts of an entry whose value was moved into the table.
struct Claim {
    name: AppName,
    version: AppVersion,
    hosts: Vec<String>,
}

pub(super) fn build<T>(entries: Vec<RouteEntry<T>>, domains: &[String]) -> (RouteTable<T>, Vec<RouteProblem>) {
    let mut problems = Vec::new();
    let (mut values, mut claims) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    let mut apps: HashMap<Box<str>, App> = HashMap::new();
    let mut seen = HashSet::with_capacity(entries.len());
    for entry in entries {
        if !seen.insert((entry.name.clone(), entry.version.clone())) {
            problems.push(RouteProblem::Twice { name: entry.name, version: entry.version });
            continue;
        }
        let slot = Slot(values.len());
        let app = apps.entry(entry.name.as_str().into()).or_default();
        match &entry.version {
            AppVersion::Latest => app.latest = Some(slot),
            AppVersion::Number(version) => app.numbered.push((version.clone(), slot)),
        }
        if entry.active == RouteActivation::Yes && app.active.is_none() {
            app.active = Some(slot);
        }
        values.push(entry.value);
        claims.push(Claim { name: entry.name, version: entry.version, hosts: entry.hosts });
    }
    for app in apps.values_mut() {
        app.numbered.sort_by(|(a, _), (b, _)| b.cmp(a));
    }

    let mut table = RouteTable {
        values,
        apps,
        hosts: HashMap::new(),
        addresses: HashMap::new(),
        wildcards: HashMap::new(),
        labels: HashMap::new(),
        domains: suffixes(domains, &mut problems),
        paths: Paths::On,
    };
    for (at, claim) in claims.iter().enumerate() {
        // Hosts belong to the version that the bare name means.
        if table.apps.get(claim.name.as_str()).and_then(App::bare) == Some(Slot(at)) {
            give(&mut table, Slot(at), &claims, &mut problems);
        }
    }
    (table, problems)
}

/// Domains as suffixes of hosts, the longest first: `hello.eu.example.com` is `hello` of
/// `eu.example.com`.
fn suffixes(domains: &[String], problems: &mut Vec<RouteProblem>) -> Vec<Box<str>> {
    let mut suffixes = Vec::new();
    for domain in domains {
        match host::plain(domain) {
            Some(domain) => suffixes.push(format!(".{domain}").into_boxed_str()),
            None => problems.push(RouteProblem::BadDomain(domain.clone())),
        }
    }
    suffixes.sort_by_key(|suffix| Reverse(suffix.len()));
    suffixes.dedup();
    suffixes
}

fn give<T>(table: &mut RouteTable<T>, slot: Slot, claims: &[Claim], problems: &mut Vec<RouteProblem>) {
    let Claim { name, version, hosts } = &claims[slot.0];
    let owner = |slot: Slot| claims[slot.0].name.clone();
    for host in hosts {
        let taken = match Pattern::parse(host) {
            Some(Pattern::Exact(host)) => claim(&mut table.hosts, host.into_boxed_str(), slot),
            Some(Pattern::Below(suffix)) => claim(&mut table.wildcards, suffix.into_boxed_str(), slot),
            Some(Pattern::Address(address)) => claim(&mut table.addresses, address, slot),
            None => {
                let (name, version) = (name.clone(), version.clone());
                problems.push(RouteProblem::BadHost { name, version, host: host.clone() });
                None
            }
        };
        if let Some(first) = taken {
            let (name, version) = (name.clone(), version.clone());
            problems.push(RouteProblem::HostTaken { name, version, host: host.clone(), owner: owner(first) });
        }
    }
    // A scoped name has a slash, which no host has.
    if name.as_str().contains('/') {
        return;
    }
    if let Some(first) = claim(&mut table.labels, name.as_str().to_ascii_lowercase().into_boxed_str(), slot) {
        problems.push(RouteProblem::NameTaken { name: name.clone(), owner: owner(first) });
    }
}

/// The current owner of the host, unless it is the same entry.
fn claim<H: Eq + Hash>(claims: &mut HashMap<H, Slot>, host: H, slot: Slot) -> Option<Slot> {
    match claims.entry(host) {
        ClaimedHost::Vacant(place) => {
            place.insert(slot);
            None
        }
        ClaimedHost::Occupied(place) => Some(*place.get()).filter(|first| *first != slot),
    }
}
