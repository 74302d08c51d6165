//! Who is shut away in a cell of its own, and why. An owner that brought a cell down, or got stuck twice, is: so nobody
//! hurts its neighbours more than once. What it served then is remembered; when it has something new, it gets another chance.
//!
//! Who is shut away stays so when the program ends, however it does: all of it is in a record that somebody keeps, with how
//! often its cell went down. Turns that were stuck once are known until the server ends, upgrades apart.
//!
//! Owners whose manifest or whose operator's configuration asks for it have a cell of their own from the start, and for as
//! long as that is so.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hearth_config::Isolation;
use hearth_core::Owner;
use hearth_ipc::{Kind, Placement, VersionSpec};
use hearth_store::Cordon as Record;
use serde::Serialize;

/// Turns that may be stuck before it is no accident any more.
const ACCIDENTS: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    Crashed,
    Stuck,
    /// Its isolates held most of a cell that became too large.
    Memory,
    Operator,
    /// `isolation: process`
    Manifest,
    /// `isolate_owners: true`
    Configuration,
}

/// Whether owners share cells where nothing speaks against it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owners {
    #[default]
    Together,
    Apart,
}

/// What came of letting an owner go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    Released,
    NotShutAway,
    /// It asks for it itself, or the configuration does.
    Meant(Why),
}

impl Why {
    const ALL: [Self; 6] =
        [Self::Crashed, Self::Stuck, Self::Memory, Self::Operator, Self::Manifest, Self::Configuration];

    /// As it is kept.
    fn word(self) -> &'static str {
        match self {
            Self::Crashed => "crashed",
            Self::Stuck => "stuck",
            Self::Memory => "memory",
            Self::Operator => "operator",
            Self::Manifest => "manifest",
            Self::Configuration => "configuration",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|why| why.word() == word)
    }
}

pub(super) struct Cordons {
    pub(super) owners: Owners,
    shut_away: BTreeMap<Owner, Sentence>,
    stuck: BTreeMap<Owner, u32>,
}

struct Sentence {
    why: Why,
    /// Milliseconds since 1970.
    since: u64,
    /// What it served then.
    known: BTreeSet<String>,
    fall: Fall,
}

/// How a cell of an owner's own went down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fall {
    /// How often, one time soon after the other.
    pub(super) losses: u32,
    /// Nobody is let in until then, in milliseconds since 1970.
    pub(super) until: Option<u64>,
}

impl Cordons {
    /// With those that a program before shut away, and what it knew of turns that were stuck.
    pub(super) fn new(owners: Owners, records: Vec<Record>, stuck: BTreeMap<Owner, u32>) -> Self {
        let sentence = |record: Record| {
            let Record { owner, why, since, known, losses, until } = record;
            let sentence = Sentence {
                // A word that is not known is no reason to let it go.
                why: Why::from_word(&why).unwrap_or(Why::Crashed),
                since,
                known: known.into_iter().collect(),
                fall: Fall { losses, until },
            };
            (owner, sentence)
        };
        Self { owners, shut_away: records.into_iter().map(sentence).collect(), stuck }
    }

    /// All who are shut away, for the program after this one.
    pub(super) fn records(&self) -> Vec<Record> {
        let record = |(owner, sentence): (&Owner, &Sentence)| Record {
            owner: owner.clone(),
            why: sentence.why.word().to_owned(),
            since: sentence.since,
            known: sentence.known.iter().cloned().collect(),
            losses: sentence.fall.losses,
            until: sentence.fall.until,
        };
        self.shut_away.iter().map(record).collect()
    }

    /// How its cell went down last, as far as that is remembered.
    pub(super) fn fall(&self, owner: &Owner) -> Fall {
        self.shut_away.get(owner).map_or(Fall::default(), |sentence| sentence.fall)
    }

    pub(super) fn note_fall(&mut self, owner: &Owner, fall: Fall) {
        if let Some(sentence) = self.shut_away.get_mut(owner) {
            sentence.fall = fall;
        }
    }

    /// Shuts it away, unless it is.
    pub(super) fn shut_away(&mut self, owner: &Owner, why: Why, versions: &[VersionSpec], now: u64) -> bool {
        if self.shut_away.contains_key(owner) {
            return false;
        }
        let known = versions.iter().filter(|spec| spec.owner == *owner).map(identity).collect();
        self.shut_away.insert(owner.clone(), Sentence { why, since: now, known, fall: Fall::default() });
        true
    }

    /// How many turns of each were stuck.
    pub(super) fn stuck(&self) -> &BTreeMap<Owner, u32> {
        &self.stuck
    }

    /// A turn of it is stuck; says whether that was once too often.
    pub(super) fn note_stuck(&mut self, owner: &Owner) -> bool {
        let count = self.stuck.entry(owner.clone()).or_default();
        *count += 1;
        *count > ACCIDENTS
    }

    pub(super) fn release(&mut self, owner: &Owner, versions: &[VersionSpec]) -> Release {
        self.stuck.remove(owner);
        let was_shut_away = self.shut_away.remove(owner).is_some();
        match (self.reason(owner, versions), was_shut_away) {
            (Some((why, _)), _) => Release::Meant(why),
            (None, true) => Release::Released,
            (None, false) => Release::NotShutAway,
        }
    }

    /// Lets those go who have something new to serve, or nothing at all. Says who they are.
    pub(super) fn give_another_chance(&mut self, versions: &[VersionSpec]) -> Vec<Owner> {
        // What is being installed is there, but what it is cannot be said yet.
        let mut now: HashMap<&Owner, Vec<Option<String>>> = HashMap::new();
        for spec in versions.iter().filter(|spec| self.shut_away.contains_key(&spec.owner)) {
            let identity = (spec.placement != Placement::Installing).then(|| identity(spec));
            now.entry(&spec.owner).or_default().push(identity);
        }
        let is_new = |owner: &Owner, sentence: &Sentence| match now.get(owner) {
            Some(identities) => identities.iter().flatten().any(|identity| !sentence.known.contains(identity)),
            None => true,
        };
        let improved = |(owner, sentence): (&Owner, &Sentence)| {
            (sentence.why != Why::Operator && is_new(owner, sentence)).then(|| owner.clone())
        };
        let gone: Vec<Owner> = self.shut_away.iter().filter_map(improved).collect();
        for owner in &gone {
            self.shut_away.remove(owner);
            self.stuck.remove(owner);
        }
        gone
    }

    /// All who need a cell of their own, why, and since when.
    pub(super) fn all(&self, versions: &[VersionSpec]) -> BTreeMap<Owner, (Why, u64)> {
        let owners: BTreeSet<&Owner> = versions.iter().filter(|spec| runs_code(spec)).map(|spec| &spec.owner).collect();
        let meant: BTreeSet<&Owner> = versions
            .iter()
            .filter(|spec| runs_code(spec) && spec.settings.isolation == Isolation::Process)
            .map(|spec| &spec.owner)
            .collect();
        let why = |owner: &Owner| match (self.shut_away.get(owner), meant.contains(owner), self.owners) {
            (Some(sentence), ..) => Some((sentence.why, sentence.since)),
            (None, true, _) => Some((Why::Manifest, 0)),
            (None, false, Owners::Apart) => Some((Why::Configuration, 0)),
            (None, false, Owners::Together) => None,
        };
        owners.into_iter().filter_map(|owner| Some((owner.clone(), why(owner)?))).collect()
    }

    fn reason(&self, owner: &Owner, versions: &[VersionSpec]) -> Option<(Why, u64)> {
        self.all(versions).remove(owner)
    }
}

/// Whether a cell that has it runs code of its owner's.
pub(super) fn runs_code(spec: &VersionSpec) -> bool {
    spec.placement == Placement::Here && matches!(spec.kind, Kind::Worker { .. })
}

fn identity(spec: &VersionSpec) -> String {
    format!("{}@{} {}", spec.app, spec.version, spec.identity)
}

#[cfg(test)]
#[path = "cordon/tests.rs"]
mod tests;
