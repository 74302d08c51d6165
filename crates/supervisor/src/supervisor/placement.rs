//! Which owner is served where: in the main cells, or in a cordon cell of its own.
//!
//! ```text
//! main cells: all versions; those of cordoned owners are proxied -> socket -> cordon cell: the owner's versions
//! ```
//! A released owner is served by the main cells before its cordon cell drains, and that one serves on for a short time, so
//! that requests already proxied to it arrive, even if it was only starting.

use std::path::PathBuf;
use std::time::Duration;

use hearth_core::Owner;
use hearth_ipc::{AccessFormat, CellPlan, CellRole, EVALUATED, ListenerPlan, MemoryHolder, Placement, VersionSpec};
use tokio::time::Instant;

use super::Supervisor;
use crate::cell_handle::CellHandle;
use crate::cordon::{CordonFailure, CordonReason, runs_code};
use crate::group::{CellGroup, GroupKind};
use crate::process::CellId;
use crate::reconcile::{DesiredCells, Stage};
use crate::{CellChange, CordonState, CordonView, ReplaceReason};

/// Time for requests that the main cells had proxied before they received the newer catalogue.
const PROXY_GRACE: Duration = Duration::from_secs(2);
/// Threads and spares of a cordon cell.
const MAX_THREADS: usize = 2;
const MAX_SPARES: usize = 1;
const INITIAL_SHUT_TIME: Duration = Duration::from_secs(1);
const MAX_SHUT_TIME: Duration = Duration::from_secs(60);
/// A younger cell is not replaced for its size: its replacement would be no smaller.
const MIN_AGE_FOR_SIZE: Duration = Duration::from_secs(5);
/// Owners that are logged when a cell has become too large.
const MAX_LOGGED_HOLDERS: usize = 3;
/// A cordon cell that lived this long resets its count of losses.
const LOSS_RESET: Duration = Duration::from_secs(60);

/// The cell of one cordoned owner, and its socket.
pub(super) struct CordonGroup {
    pub(super) group: CellGroup,
    socket: PathBuf,
    /// Consecutive losses.
    losses: u32,
    /// Requests are refused until then; the number is the same time for clients, in milliseconds since 1970.
    shut: Option<(Instant, u64)>,
    /// The owner is released: the cell is unneeded once all main cells have this generation.
    released_at: Option<u64>,
    /// Since when the main cells proxy nothing to it.
    unneeded_since: Option<Instant>,
}

impl CordonGroup {
    pub(super) fn is_shut(&self) -> bool {
        self.shut.is_some()
    }

    pub(super) fn failure(&self) -> CordonFailure {
        CordonFailure { losses: self.losses, until: self.shut.map(|(_, until)| until) }
    }

    /// Restores the saved losses.
    fn restore(&mut self, failure: CordonFailure, now: Instant) {
        self.losses = failure.losses;
        let Some(until) = failure.until else { return };
        // A clock that was set back must not extend the time beyond its maximum.
        let left = Duration::from_millis(until.saturating_sub(hearth_core::time::unix_millis())).min(MAX_SHUT_TIME);
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

    /// Counts a loss. The first one is tolerated; after each further one the cordon is shut for a longer time.
    pub(super) fn record_loss(&mut self, life: Duration, now: Instant) {
        self.losses = if life >= LOSS_RESET { 1 } else { self.losses + 1 };
        match shut_time(self.losses) {
            Some(time) => {
                let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                self.shut = Some((now + time, hearth_core::time::unix_millis() + milliseconds));
                self.group.start_at = now + time;
            }
            None => self.group.reset_backoff(now),
        }
    }
}

/// How long a cordon is shut after so many losses.
fn shut_time(losses: u32) -> Option<Duration> {
    let doublings = losses.checked_sub(2)?;
    Some(INITIAL_SHUT_TIME.saturating_mul(2_u32.saturating_pow(doublings)).min(MAX_SHUT_TIME))
}

impl Supervisor {
    /// Sends each cell its part of the catalogue, by the present cordons.
    pub(super) fn assign(&mut self) {
        let record = self.cordons.records();
        if self.saved_cordons != record {
            self.observer.cordons(record.clone());
            self.saved_cordons = record;
        }
        let apart = self.cordons.all(&self.versions);
        for owner in apart.keys() {
            self.open_cordon(owner);
        }
        self.generation += 1;
        let generation = self.generation;
        let mut main = self.versions.clone();
        for spec in main.iter_mut().filter(|spec| runs_code(spec) && apart.contains_key(&spec.owner)) {
            if let Some(cordon) = self.cordon_groups.get(&spec.owner) {
                spec.placement = cordon.place();
            }
        }
        self.main.set_catalogue(generation, main);
        for (owner, cordon) in &mut self.cordon_groups {
            match apart.contains_key(owner) {
                true => {
                    (cordon.released_at, cordon.unneeded_since) = (None, None);
                    let own = |spec: &&VersionSpec| spec.owner == *owner && runs_code(spec);
                    cordon.group.desired = DesiredCells { cells: if cordon.is_shut() { 0 } else { 1 }, standby: 0 };
                    cordon.group.set_catalogue(generation, self.versions.iter().filter(own).cloned().collect());
                }
                false => cordon.released_at = cordon.released_at.or(Some(self.main.generation)),
            }
        }
    }

    fn open_cordon(&mut self, owner: &Owner) {
        if self.cordon_groups.contains_key(owner) {
            return;
        }
        let (socket, listener) = match self.sockets.bind(owner) {
            Ok(opened) => opened,
            Err(error) => {
                tracing::error!(owner = owner.as_str(), %error, "cordon socket not bound");
                return;
            }
        };
        let plan = cordon_plan(&self.main.plan, socket.clone());
        let kind = GroupKind::Cordon(owner.clone());
        let group = CellGroup::new(kind, plan, vec![listener.into()], DesiredCells { cells: 1, standby: 0 });
        let mut cordon = CordonGroup { group, socket, losses: 0, shut: None, released_at: None, unneeded_since: None };
        cordon.restore(self.cordons.failure(owner), Instant::now());
        self.cordon_groups.insert(owner.clone(), cordon);
    }

    /// Derives the plans of other groups again after the main plan has changed.
    pub(super) fn replan_groups(&mut self) {
        for cordon in self.cordon_groups.values_mut() {
            cordon.group.plan = cordon_plan(&self.main.plan, cordon.socket.clone());
        }
        self.evaluations.replan(&self.main.plan);
    }

    /// Drains cordon cells that are not needed any more, and removes those that have ended.
    pub(super) fn retire_cordons(&mut self, now: Instant) {
        let behind = self.main.members.iter().filter(|member| member.stage != Stage::Starting);
        let oldest = behind.map(|member| member.generation).min().unwrap_or(u64::MAX);
        for cordon in self.cordon_groups.values_mut() {
            let is_known = cordon.released_at.is_some_and(|generation| oldest >= generation);
            // Connections that wait at its socket are accepted first.
            let is_there = cordon.is_shut() || cordon.group.members.iter().any(|member| member.stage == Stage::Serving);
            if is_known && is_there {
                cordon.unneeded_since.get_or_insert(now);
            }
            if cordon.unneeded_since.is_some_and(|since| now.saturating_duration_since(since) >= PROXY_GRACE) {
                cordon.group.desired = DesiredCells { cells: 0, standby: 0 };
            }
        }
        let gone: Vec<Owner> = self
            .cordon_groups
            .iter()
            .filter(|(_, cordon)| cordon.released_at.is_some() && cordon.group.desired.cells == 0)
            .filter(|(_, cordon)| cordon.group.members.is_empty())
            .map(|(owner, _)| owner.clone())
            .collect();
        for owner in gone {
            self.cordon_groups.remove(&owner);
            self.sockets.remove(&owner);
        }
    }

    /// Opens cordons whose shut time is over; `true` if there was one.
    pub(super) fn reopen_shut(&mut self, now: Instant) -> bool {
        let over = |cordon: &&mut CordonGroup| cordon.shut.is_some_and(|(until, _)| now >= until);
        let mut opened = false;
        for cordon in self.cordon_groups.values_mut().filter(over) {
            cordon.shut = None;
            opened = true;
        }
        opened
    }

    /// Gives an owner a cell of its own, unless it has one.
    pub(super) fn cordon_owner(&mut self, owner: &Owner, why: CordonReason) {
        if self.cordons.insert(owner, why, &self.versions, hearth_core::time::unix_millis()) {
            tracing::warn!(owner = owner.as_str(), why = ?why, "owner cordoned");
            self.observer.change(CellChange::Cordoned { owner: owner.clone(), why });
            self.assign();
        }
    }

    pub(super) fn report_release(&self, owner: &Owner) {
        tracing::info!(owner = owner.as_str(), "owner released to the main cells");
        self.observer.change(CellChange::Released { owner: owner.clone() });
    }

    /// A turn of the owner's is stuck.
    pub(super) fn on_stuck_turn(&mut self, owner: &Owner) {
        // Evaluated code has a cell of its own.
        if owner.as_str() == EVALUATED {
            return;
        }
        if self.cordons.record_stuck(owner) {
            self.cordon_owner(owner, CordonReason::Stuck);
            self.reconcile();
        }
    }

    /// Replaces a cell that has become too large. An owner that holds more than half of it is cordoned.
    pub(super) fn replace_large_cell(&mut self, cell: CellId, size: u64, holders: &[MemoryHolder]) {
        let now = Instant::now();
        let is_replaceable = |one: &CellHandle| {
            one.id == cell && one.is_open() && now.saturating_duration_since(one.started_at) >= MIN_AGE_FOR_SIZE
        };
        let process = self.member(cell).map(|member| member.process.pid());
        if !self.replace(ReplaceReason::Memory, is_replaceable).is_empty() {
            let heaviest = heaviest(holders);
            tracing::warn!(cell = process, bytes = size, heaviest, "cell too large; replacing it");
            if let Some(owner) = culprit(size, holders) {
                self.cordon_owner(&owner, CordonReason::Memory);
            }
            self.reconcile();
        }
    }

    pub(super) fn cordon_views(&self) -> Vec<CordonView> {
        let all = self.cordons.all(&self.versions);
        let view = |(owner, (why, since)): (&Owner, &(CordonReason, u64))| {
            let cordon = self.cordon_groups.get(owner);
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

/// The largest holders, for the log: `ann 31.0 MB, bob 2.5 MB`.
fn heaviest(holders: &[MemoryHolder]) -> String {
    let shown = holders.iter().take(MAX_LOGGED_HOLDERS);
    let shown = shown.map(|holder| format!("{} {:.1} MB", holder.owner.as_str(), holder.bytes as f64 / 1e6));
    shown.collect::<Vec<_>>().join(", ")
}

/// The owner that holds more than half of the cell, if any.
fn culprit(size: u64, holders: &[MemoryHolder]) -> Option<Owner> {
    holders.first().filter(|holder| holder.bytes > size / 2).map(|holder| holder.owner.clone())
}

/// The plan of a cordon cell: small, and without what the main cells have already done with a request.
fn cordon_plan(main: &CellPlan, socket: PathBuf) -> CellPlan {
    let mut plan = separate_plan(main);
    plan.listeners = vec![ListenerPlan::Hop(socket)];
    plan
}

/// The same without listeners.
pub(super) fn separate_plan(main: &CellPlan) -> CellPlan {
    let mut plan = main.clone();
    plan.role = CellRole::Cordon;
    plan.threads = plan.threads.min(MAX_THREADS);
    plan.spares = plan.spares.min(MAX_SPARES);
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
    fn the_largest_holders_are_listed_with_their_memory() {
        let holder = |owner: &str, bytes| MemoryHolder { owner: Owner::new(owner), bytes };
        let holders = [holder("ann", 3_000_000), holder("bob", 2_000_000), holder("c", 2), holder("d", 1)];
        assert_eq!(heaviest(&holders), "ann 3.0 MB, bob 2.0 MB, c 0.0 MB");
        assert_eq!(heaviest(&[]), "");
    }

    #[test]
    fn the_culprit_of_a_large_cell_holds_more_than_half_of_it() {
        let holder = |owner: &str, bytes| MemoryHolder { owner: Owner::new(owner), bytes };
        let holders = [holder("ann", 600 << 20), holder("bob", 1 << 20)];
        assert_eq!(culprit(1000 << 20, &holders), Some(Owner::new("ann")));
        assert_eq!(culprit(1300 << 20, &holders), None);
        assert_eq!(culprit(1, &[]), None);
    }

    #[test]
    fn shut_time_doubles_with_each_loss_up_to_a_maximum() {
        let seconds: Vec<u64> = (0..12).map(|losses| shut_time(losses).map_or(0, |time| time.as_secs())).collect();
        assert_eq!(seconds, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(shut_time(u32::MAX), Some(MAX_SHUT_TIME));
    }
}
