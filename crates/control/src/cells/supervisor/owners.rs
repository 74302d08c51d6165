//! Which owner is served where: in the main cells, or in one of its own.
//!
//! ```text
//! main: all versions, those of who is apart at a socket -> socket -> their cell: their versions
//! ```
//! Who comes back is served by the main cells before its own cell leaves, and that serves on for a moment: requests that are
//! on their way there arrive, even if it was only being started.

use std::path::PathBuf;
use std::time::Duration;

use hearth_core::Owner;
use hearth_ipc::{AccessFormat, CellPlan, EVALUATED, ListenerPlan, MemoryHolder, Placement, Role, VersionSpec};
use tokio::time::Instant;

use super::Supervisor;
use crate::cells::cordon::{Fall, Why, runs_code};
use crate::cells::group::{Group, Whose};
use crate::cells::member::Member;
use crate::cells::process::CellId;
use crate::cells::steps::{Stage, Wanted};
use crate::cells::{CordonState, CordonView, News, Reason};

/// For what the main cells had sent on its way before they knew better.
const ON_ITS_WAY: Duration = Duration::from_secs(2);
/// Of a cell that serves one owner.
const THREADS: usize = 2;
const SPARES: usize = 1;
const FIRST_SHUT: Duration = Duration::from_secs(1);
const LONGEST_SHUT: Duration = Duration::from_secs(60);
/// A younger cell is as large as it must be: another one would be no smaller.
const GROWN_UP: Duration = Duration::from_secs(5);
/// Owners that are named where a cell has become too large.
const HEAVIEST: usize = 3;
/// A cell that lived this long begins anew.
const PROBATION: Duration = Duration::from_secs(60);

/// One owner's own cell, and the way to it.
pub(super) struct Cordon {
    pub(super) group: Group,
    socket: PathBuf,
    /// How often it went down, one time soon after the other.
    losses: u32,
    /// Nobody is let in until then. The second is for clients: milliseconds since 1970.
    shut: Option<(Instant, u64)>,
    /// It is not needed any more once the main cells know this.
    leaves_at: Option<u64>,
    /// Since when nobody is sent there any more.
    unneeded: Option<Instant>,
}

impl Cordon {
    pub(super) fn is_shut(&self) -> bool {
        self.shut.is_some()
    }

    pub(super) fn fall(&self) -> Fall {
        Fall { losses: self.losses, until: self.shut.map(|(_, until)| until) }
    }

    /// As it went down in the program before.
    fn remember(&mut self, fall: Fall, now: Instant) {
        self.losses = fall.losses;
        let Some(until) = fall.until else { return };
        // A clock that was set back shuts nobody out for longer than ever.
        let left = Duration::from_millis(until.saturating_sub(hearth_core::time::unix_millis())).min(LONGEST_SHUT);
        if !left.is_zero() {
            self.shut = Some((now + left, until));
            self.group.start_at = now + left;
        }
    }

    fn place(&self) -> Placement {
        match self.shut {
            Some((_, until)) => Placement::Shut { until },
            None => Placement::Cordon(self.socket.clone()),
        }
    }

    /// It went down again. Once may happen; after that it is shut for a while, each time for longer.
    pub(super) fn note_loss(&mut self, life: Duration, now: Instant) {
        self.losses = if life >= PROBATION { 1 } else { self.losses + 1 };
        match shut_for(self.losses) {
            Some(time) => {
                let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                self.shut = Some((now + time, hearth_core::time::unix_millis() + milliseconds));
                self.group.start_at = now + time;
            }
            None => self.group.absolve(now),
        }
    }
}

/// How long nobody is let in after so many losses.
fn shut_for(losses: u32) -> Option<Duration> {
    let doublings = losses.checked_sub(2)?;
    Some(FIRST_SHUT.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_SHUT))
}

impl Supervisor {
    /// Tells all cells what is theirs, as it is now.
    pub(super) fn assign(&mut self) {
        let record = self.cordons.records();
        if self.record != record {
            self.observer.cordons(record.clone());
            self.record = record;
        }
        let apart = self.cordons.all(&self.versions);
        for owner in apart.keys() {
            self.open_cordon(owner);
        }
        self.generation += 1;
        let generation = self.generation;
        let mut main = self.versions.clone();
        for spec in main.iter_mut().filter(|spec| runs_code(spec) && apart.contains_key(&spec.owner)) {
            if let Some(cordon) = self.apart.get(&spec.owner) {
                spec.placement = cordon.place();
            }
        }
        self.main.tell(generation, main);
        for (owner, cordon) in &mut self.apart {
            match apart.contains_key(owner) {
                true => {
                    (cordon.leaves_at, cordon.unneeded) = (None, None);
                    let own = |spec: &&VersionSpec| spec.owner == *owner && runs_code(spec);
                    cordon.group.wanted = Wanted { cells: if cordon.is_shut() { 0 } else { 1 }, standby: 0 };
                    cordon.group.tell(generation, self.versions.iter().filter(own).cloned().collect());
                }
                false => cordon.leaves_at = cordon.leaves_at.or(Some(self.main.generation)),
            }
        }
    }

    fn open_cordon(&mut self, owner: &Owner) {
        if self.apart.contains_key(owner) {
            return;
        }
        let (socket, listener) = match self.hops.open(owner) {
            Ok(opened) => opened,
            Err(error) => {
                tracing::error!(owner = owner.as_str(), %error, "There is no socket for a cell of its own");
                return;
            }
        };
        let plan = plan_of_cordon(&self.main.plan, socket.clone());
        let whose = Whose::Owner(owner.clone());
        let group = Group::new(whose, plan, vec![listener.into()], Wanted { cells: 1, standby: 0 });
        let mut cordon = Cordon { group, socket, losses: 0, shut: None, leaves_at: None, unneeded: None };
        cordon.remember(self.cordons.fall(owner), Instant::now());
        self.apart.insert(owner.clone(), cordon);
    }

    /// The main plan is another one.
    pub(super) fn replan_cordons(&mut self) {
        for cordon in self.apart.values_mut() {
            cordon.group.plan = plan_of_cordon(&self.main.plan, cordon.socket.clone());
        }
        self.evaluations.replan(&self.main.plan);
    }

    /// Lets cells go that nobody is sent to any more.
    pub(super) fn retire_cordons(&mut self, now: Instant) {
        let behind = self.main.members.iter().filter(|member| member.stage != Stage::Starting);
        let oldest = behind.map(|member| member.generation).min().unwrap_or(u64::MAX);
        for cordon in self.apart.values_mut() {
            let is_known = cordon.leaves_at.is_some_and(|generation| oldest >= generation);
            // Who waits at its socket is let in first.
            let is_there = cordon.is_shut() || cordon.group.members.iter().any(|member| member.stage == Stage::Serving);
            if is_known && is_there {
                cordon.unneeded.get_or_insert(now);
            }
            if cordon.unneeded.is_some_and(|since| now.saturating_duration_since(since) >= ON_ITS_WAY) {
                cordon.group.wanted = Wanted { cells: 0, standby: 0 };
            }
        }
        let gone: Vec<Owner> = self
            .apart
            .iter()
            .filter(|(_, cordon)| cordon.leaves_at.is_some() && cordon.group.wanted.cells == 0)
            .filter(|(_, cordon)| cordon.group.members.is_empty())
            .map(|(owner, _)| owner.clone())
            .collect();
        for owner in gone {
            self.apart.remove(&owner);
            self.hops.close(&owner);
        }
    }

    /// Those whose time is over are let in again.
    pub(super) fn open_what_was_shut(&mut self, now: Instant) -> bool {
        let over = |cordon: &&mut Cordon| cordon.shut.is_some_and(|(until, _)| now >= until);
        let mut opened = false;
        for cordon in self.apart.values_mut().filter(over) {
            cordon.shut = None;
            opened = true;
        }
        opened
    }

    pub(super) fn shut_away(&mut self, owner: &Owner, why: Why) {
        if self.cordons.shut_away(owner, why, &self.versions, hearth_core::time::unix_millis()) {
            tracing::warn!(owner = owner.as_str(), why = ?why, "The owner gets a cell of its own");
            self.observer.news(News::Cordoned { owner: owner.clone(), why });
            self.assign();
        }
    }

    pub(super) fn tell_release(&self, owner: &Owner) {
        tracing::info!(owner = owner.as_str(), "The owner is back in the main cells");
        self.observer.news(News::Released { owner: owner.clone() });
    }

    pub(super) fn note_stuck(&mut self, owner: &Owner) {
        // It has a cell of its own.
        if owner.as_str() == EVALUATED {
            return;
        }
        if self.cordons.note_stuck(owner) {
            self.shut_away(owner, Why::Stuck);
            self.settle();
        }
    }

    /// A cell has become too large. An owner that holds more than half of that gets a cell of its own.
    pub(super) fn replace_grown(&mut self, cell: CellId, size: u64, holders: &[MemoryHolder]) {
        let now = Instant::now();
        let is_it =
            |one: &Member| one.id == cell && one.is_open() && now.saturating_duration_since(one.began) >= GROWN_UP;
        let process = self.member(cell).map(|member| member.process.pid());
        if !self.replace(Reason::Memory, is_it).is_empty() {
            let heaviest = heaviest(holders);
            tracing::warn!(cell = process, bytes = size, heaviest, "A cell has become too large");
            if let Some(owner) = culprit(size, holders) {
                self.shut_away(&owner, Why::Memory);
            }
            self.settle();
        }
    }

    pub(super) fn cordon_views(&self) -> Vec<CordonView> {
        let all = self.cordons.all(&self.versions);
        let view = |(owner, (why, since)): (&Owner, &(Why, u64))| {
            let cordon = self.apart.get(owner);
            let open = cordon.and_then(|cordon| cordon.group.members.iter().find(|member| member.is_open()));
            CordonView {
                owner: owner.to_string(),
                why: *why,
                since: Some(*since).filter(|since| *since > 0),
                cell: open.map(|member| member.process.pid()),
                losses: cordon.map_or(0, |cordon| cordon.losses),
                state: match (cordon.and_then(|cordon| cordon.shut), open) {
                    (Some(_), _) => CordonState::Shut,
                    (None, Some(_)) => CordonState::Serving,
                    (None, None) => CordonState::Starting,
                },
                until: cordon.and_then(|cordon| cordon.shut).map(|(_, until)| until),
            }
        };
        all.iter().map(view).collect()
    }
}

/// The owners that hold the most, with how much: `ann 31.0 MB, bob 2.5 MB`.
fn heaviest(holders: &[MemoryHolder]) -> String {
    let shown = holders.iter().take(HEAVIEST);
    let shown = shown.map(|holder| format!("{} {:.1} MB", holder.owner.as_str(), holder.bytes as f64 / 1e6));
    shown.collect::<Vec<_>>().join(", ")
}

/// The owner that alone holds more than half of a cell, if one does.
fn culprit(size: u64, holders: &[MemoryHolder]) -> Option<Owner> {
    holders.first().filter(|holder| holder.bytes > size / 2).map(|holder| holder.owner.clone())
}

/// What all are served with, but small, and without what the main cells have done already.
fn plan_of_cordon(main: &CellPlan, socket: PathBuf) -> CellPlan {
    let mut plan = plan_apart(main);
    plan.listeners = vec![ListenerPlan::Hop(socket)];
    plan
}

/// The same, for a cell that listens nowhere yet.
pub(super) fn plan_apart(main: &CellPlan) -> CellPlan {
    let mut plan = main.clone();
    plan.role = Role::Cordon;
    plan.threads = plan.threads.min(THREADS);
    plan.spares = plan.spares.min(SPARES);
    plan.certificates = Vec::new();
    plan.front.rate = None;
    plan.front.max_connections_per_client = None;
    plan.front.access_log = AccessFormat::Off;
    plan.front.compression = false;
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_owners_are_named_with_what_they_hold() {
        let holder = |owner: &str, bytes| MemoryHolder { owner: Owner::new(owner), bytes };
        let holders = [holder("ann", 3_000_000), holder("bob", 2_000_000), holder("c", 2), holder("d", 1)];
        assert_eq!(heaviest(&holders), "ann 3.0 MB, bob 2.0 MB, c 0.0 MB");
        assert_eq!(heaviest(&[]), "");
    }

    #[test]
    fn an_owner_is_to_blame_for_a_large_cell_when_it_holds_most_of_it() {
        let holder = |owner: &str, bytes| MemoryHolder { owner: Owner::new(owner), bytes };
        let holders = [holder("ann", 600 << 20), holder("bob", 1 << 20)];
        assert_eq!(culprit(1000 << 20, &holders), Some(Owner::new("ann")));
        assert_eq!(culprit(1300 << 20, &holders), None);
        assert_eq!(culprit(1, &[]), None);
    }

    #[test]
    fn who_goes_down_again_and_again_is_shut_for_longer_and_longer() {
        let seconds: Vec<u64> = (0..12).map(|losses| shut_for(losses).map_or(0, |time| time.as_secs())).collect();
        assert_eq!(seconds, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(shut_for(u32::MAX), Some(LONGEST_SHUT));
    }
}
