//! Which owners are cordoned (have a cell of their own), and why. An owner is cordoned when its code crashed a shared cell,
//! or was stuck twice, so that it harms other owners at most once. The identities of its versions are recorded then; when it
//! deploys anything new, the cordon is released.
//!
//! Cordons are saved through the observer, with the crashes of each cordon's cell, and survive restarts. Counts of stuck
//! turns are kept in memory, and handed over in an upgrade.
//!
//! Owners that are isolated by their manifest or by the operator's configuration have a cell of their own for as long as
//! that setting stands.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hearth_config::Isolation;
use hearth_core::Owner;
use hearth_ipc::{Kind, Placement, VersionSpec};
use hearth_store::Cordon as Record;
use serde::Serialize;

/// Stuck turns of an owner that are tolerated.
const TOLERATED_STUCK_TURNS: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CordonReason {
    Crashed,
    Stuck,
    /// The owner's isolates held most of a cell that became too large.
    Memory,
    Operator,
    /// `isolation: process`
    Manifest,
    /// `isolate_owners: true`
    Configuration,
}

/// Whether owners share the main cells by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnerIsolation {
    #[default]
    Shared,
    Separate,
}

/// The outcome of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    Released,
    NotCordoned,
    /// The owner's manifest or the configuration isolates it.
    Configured(CordonReason),
}

impl CordonReason {
    const ALL: [Self; 6] =
        [Self::Crashed, Self::Stuck, Self::Memory, Self::Operator, Self::Manifest, Self::Configuration];

    /// The form in the store.
    fn as_str(self) -> &'static str {
        match self {
            Self::Crashed => "crashed",
            Self::Stuck => "stuck",
            Self::Memory => "memory",
            Self::Operator => "operator",
            Self::Manifest => "manifest",
            Self::Configuration => "configuration",
        }
    }

    fn from_str(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.as_str() == text)
    }
}

pub(super) struct CordonRegistry {
    pub(super) owners: OwnerIsolation,
    entries: BTreeMap<Owner, CordonEntry>,
    stuck: BTreeMap<Owner, u32>,
}

struct CordonEntry {
    why: CordonReason,
    /// Milliseconds since 1970.
    since: u64,
    /// Identities of the versions that it had then.
    known: BTreeSet<String>,
    failure: CordonFailure,
}

/// Crashes of a cordon's cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CordonFailure {
    /// Consecutive losses, each soon after the last.
    pub(super) losses: u32,
    /// Requests are refused until then, in milliseconds since 1970.
    pub(super) until: Option<u64>,
}

impl CordonRegistry {
    /// With the saved cordons, and the previous program's counts of stuck turns.
    pub(super) fn new(owners: OwnerIsolation, records: Vec<Record>, stuck: BTreeMap<Owner, u32>) -> Self {
        let entry = |record: Record| {
            let Record { owner, why, since, known, losses, until } = record;
            let entry = CordonEntry {
                // An unknown reason must not release the owner.
                why: CordonReason::from_str(&why).unwrap_or(CordonReason::Crashed),
                since,
                known: known.into_iter().collect(),
                failure: CordonFailure { losses, until },
            };
            (owner, entry)
        };
        Self { owners, entries: records.into_iter().map(entry).collect(), stuck }
    }

    /// All cordons, to be saved.
    pub(super) fn records(&self) -> Vec<Record> {
        let record = |(owner, entry): (&Owner, &CordonEntry)| Record {
            owner: owner.clone(),
            why: entry.why.as_str().to_owned(),
            since: entry.since,
            known: entry.known.iter().cloned().collect(),
            losses: entry.failure.losses,
            until: entry.failure.until,
        };
        self.entries.iter().map(record).collect()
    }

    /// The recorded crashes of the owner's cell.
    pub(super) fn failure(&self, owner: &Owner) -> CordonFailure {
        self.entries.get(owner).map_or(CordonFailure::default(), |entry| entry.failure)
    }

    pub(super) fn record_failure(&mut self, owner: &Owner, failure: CordonFailure) {
        if let Some(entry) = self.entries.get_mut(owner) {
            entry.failure = failure;
        }
    }

    /// Cordons an owner; `false` if it was already.
    pub(super) fn insert(&mut self, owner: &Owner, why: CordonReason, versions: &[VersionSpec], now: u64) -> bool {
        if self.entries.contains_key(owner) {
            return false;
        }
        let known = versions.iter().filter(|spec| spec.owner == *owner).map(identity).collect();
        self.entries.insert(owner.clone(), CordonEntry { why, since: now, known, failure: CordonFailure::default() });
        true
    }

    /// Number of stuck turns by owner.
    pub(super) fn stuck(&self) -> &BTreeMap<Owner, u32> {
        &self.stuck
    }

    /// Counts a stuck turn; `true` if the owner is to be cordoned for it.
    pub(super) fn record_stuck(&mut self, owner: &Owner) -> bool {
        let count = self.stuck.entry(owner.clone()).or_default();
        *count += 1;
        *count > TOLERATED_STUCK_TURNS
    }

    pub(super) fn release(&mut self, owner: &Owner, versions: &[VersionSpec]) -> Release {
        self.stuck.remove(owner);
        let was_cordoned = self.entries.remove(owner).is_some();
        match (self.reason(owner, versions), was_cordoned) {
            (Some((why, _)), _) => Release::Configured(why),
            (None, true) => Release::Released,
            (None, false) => Release::NotCordoned,
        }
    }

    /// Releases owners that have a new version, or none any more, and returns them. Cordons by the operator stay.
    pub(super) fn release_changed(&mut self, versions: &[VersionSpec]) -> Vec<Owner> {
        // A version that is being installed has no identity yet.
        let mut now: HashMap<&Owner, Vec<Option<String>>> = HashMap::new();
        for spec in versions.iter().filter(|spec| self.entries.contains_key(&spec.owner)) {
            let identity = (spec.placement != Placement::Installing).then(|| identity(spec));
            now.entry(&spec.owner).or_default().push(identity);
        }
        let is_new = |owner: &Owner, entry: &CordonEntry| match now.get(owner) {
            Some(identities) => identities.iter().flatten().any(|identity| !entry.known.contains(identity)),
            None => true,
        };
        let improved = |(owner, entry): (&Owner, &CordonEntry)| {
            (entry.why != CordonReason::Operator && is_new(owner, entry)).then(|| owner.clone())
        };
        let gone: Vec<Owner> = self.entries.iter().filter_map(improved).collect();
        for owner in &gone {
            self.entries.remove(owner);
            self.stuck.remove(owner);
        }
        gone
    }

    /// All owners that need a cell of their own, why, and since when (0 where configured).
    pub(super) fn all(&self, versions: &[VersionSpec]) -> BTreeMap<Owner, (CordonReason, u64)> {
        let owners: BTreeSet<&Owner> = versions.iter().filter(|spec| runs_code(spec)).map(|spec| &spec.owner).collect();
        let configured: BTreeSet<&Owner> = versions
            .iter()
            .filter(|spec| runs_code(spec) && spec.settings.isolation == Isolation::Process)
            .map(|spec| &spec.owner)
            .collect();
        let why = |owner: &Owner| match (self.entries.get(owner), configured.contains(owner), self.owners) {
            (Some(entry), ..) => Some((entry.why, entry.since)),
            (None, true, _) => Some((CordonReason::Manifest, 0)),
            (None, false, OwnerIsolation::Separate) => Some((CordonReason::Configuration, 0)),
            (None, false, OwnerIsolation::Shared) => None,
        };
        owners.into_iter().filter_map(|owner| Some((owner.clone(), why(owner)?))).collect()
    }

    fn reason(&self, owner: &Owner, versions: &[VersionSpec]) -> Option<(CordonReason, u64)> {
        self.all(versions).remove(owner)
    }
}

/// Whether a cell that serves this version runs code of its owner.
pub(super) fn runs_code(spec: &VersionSpec) -> bool {
    spec.placement == Placement::Here && matches!(spec.kind, Kind::Worker { .. })
}

fn identity(spec: &VersionSpec) -> String {
    format!("{}@{} {}", spec.app, spec.version, spec.identity)
}

#[cfg(test)]
#[path = "cordon/tests.rs"]
mod tests;
