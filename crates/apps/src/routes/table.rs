//! The routing table and its lookups.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use super::build::{self, RouteEntry, RouteProblem};
use super::host::{self, Host};
use super::path::Named;
use crate::versions::{Range, RangeError, Version};

/// The path prefix reserved for Hearth.
const RESERVED: &str = "/_hearth";

/// Maps hosts and names to versions of apps. `T` is the caller's value for a version.
pub struct RouteTable<T> {
    pub(super) values: Vec<T>,
    pub(super) apps: HashMap<Box<str>, App>,
    pub(super) hosts: HashMap<Box<str>, Slot>,
    /// Empty in most tables.
    pub(super) addresses: HashMap<Ipv4Addr, Slot>,
    /// By the part after `*.`.
    pub(super) wildcards: HashMap<Box<str>, Slot>,
    /// Names that are valid before a domain, in lower case.
    pub(super) labels: HashMap<Box<str>, Slot>,
    /// With a leading dot each, longest first.
    pub(super) domains: Vec<Box<str>>,
    pub(super) paths: Paths,
}

/// Whether apps are reached by path, as `/name/`, if no host names one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paths {
    #[default]
    On,
    Off,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Resolution<'t, T> {
    /// The first `prefix` bytes of the path are the app's base, without a final slash; 0 if the
    /// host named the app.
    App {
        value: &'t T,
        prefix: usize,
    },
    /// The path is an app's base without the slash: `/name`. The caller redirects to the same path
    /// with a slash and keeps the query, since relative links would otherwise lead to the next app.
    AddSlash,
    NoApp,
    /// No version is in the range; without a range, the app has pre-releases only.
    NoVersion {
        name: &'t str,
        range: Option<String>,
    },
    BadRange {
        name: &'t str,
        error: RangeError,
    },
    /// Below `/_hearth`.
    Reserved,
}

/// The index of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub usize);

/// The versions of one name.
#[derive(Debug, Default)]
pub(super) struct App {
    pub active: Option<Slot>,
    pub latest: Option<Slot>,
    /// Highest first.
    pub numbered: Vec<(Version, Slot)>,
}

// === impl RouteTable ===

impl<T> RouteTable<T> {
    /// `domains` are those below which every app has a host, as in `hello.localhost`. Entries that
    /// cannot be served are omitted and reported; the others are served.
    pub fn build(entries: Vec<RouteEntry<T>>, domains: &[String]) -> (Self, Vec<RouteProblem>) {
        build::build(entries, domains)
    }

    pub fn with_paths(self, paths: Paths) -> Self {
        Self { paths, ..self }
    }

    /// `path` is the request's path as sent, without the query.
    pub fn resolve(&self, host: &str, path: &str) -> Resolution<'_, T> {
        if path.starts_with(RESERVED) {
            return Resolution::Reserved;
        }
        match Host::from_request(host).and_then(|host| self.by_host(host.as_str())) {
            Some(slot) => Resolution::App { value: self.value(slot), prefix: 0 },
            None => match self.by_address(host) {
                Some(slot) => Resolution::App { value: self.value(slot), prefix: 0 },
                None if self.paths == Paths::Off => Resolution::NoApp,
                None => self.by_path(path),
            },
        }
    }

    fn by_address(&self, host: &str) -> Option<Slot> {
        if self.addresses.is_empty() {
            return None;
        }
        host::address(host).and_then(|address| self.addresses.get(&address).copied())
    }

    fn by_host(&self, host: &str) -> Option<Slot> {
        if let Some(slot) = self.hosts.get(host) {
            return Some(*slot);
        }
        if !self.wildcards.is_empty() {
            let suffixes = host.match_indices('.').filter(|(dot, _)| *dot > 0).map(|(dot, _)| &host[dot + 1..]);
            if let Some(slot) = suffixes.filter_map(|suffix| self.wildcards.get(suffix)).next() {
                return Some(*slot);
            }
        }
        let mut names = self.domains.iter().filter_map(|domain| host.strip_suffix(&**domain));
        names.find_map(|name| self.labels.get(name).copied())
    }

    fn by_path(&self, path: &str) -> Resolution<'_, T> {
        let Some(named) = Named::of(path) else { return Resolution::NoApp };
        let Some((name, app)) = self.apps.get_key_value(&*named.name) else { return Resolution::NoApp };
        let found = match named.range.as_deref() {
            None => app.bare(),
            Some("latest") => app.latest(),
            Some(range) => match range.parse::<Range>() {
                Ok(range) => app.highest(&range),
                Err(error) => return Resolution::BadRange { name, error },
            },
        };
        match found {
            None => Resolution::NoVersion { name, range: named.range.map(|range| range.into_owned()) },
            Some(_) if named.end == path.len() => Resolution::AddSlash,
            Some(slot) => Resolution::App { value: self.value(slot), prefix: named.end },
        }
    }

    fn value(&self, slot: Slot) -> &T {
        &self.values[slot.0]
    }
}

// === impl App ===

impl App {
    /// The version that a name without a range means.
    pub fn bare(&self) -> Option<Slot> {
        self.active.or_else(|| self.latest())
    }

    fn latest(&self) -> Option<Slot> {
        let release = || self.numbered.iter().find(|(version, _)| !version.is_pre_release());
        self.latest.or_else(|| release().map(|(_, slot)| *slot))
    }

    fn highest(&self, range: &Range) -> Option<Slot> {
        self.numbered.iter().find(|(version, _)| range.matches(version)).map(|(_, slot)| *slot)
    }
}
