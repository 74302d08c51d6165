//! A group of cells that serve the same versions on the same listeners: the main cells, the cell of a cordoned owner, or
//! the cell for evaluated code, which has no versions and no listeners.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hearth_core::{IdleConnections, Owner};
use hearth_ipc::{CellPlan, ControlMessage, LoadError, VersionSpec};
use tokio::time::Instant;

use super::cell_handle::CellHandle;
use super::process::{CellId, CellSpawner};
use super::reconcile::{self, DesiredCells, Stage, Step};

const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(10);
/// A cell that lived this long resets the backoff of starts.
const BACKOFF_RESET: Duration = Duration::from_secs(10);
/// Time for a process to exit after its drain, or after its crash alarm.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GroupKind {
    Main,
    Cordon(Owner),
    /// Runs evaluated code, and serves no app.
    Evaluations,
}

pub(super) struct CellGroup {
    pub(super) kind: GroupKind,
    pub(super) plan: CellPlan,
    pub(super) listeners: Vec<OwnedFd>,
    pub(super) desired: DesiredCells,
    pub(super) members: Vec<CellHandle>,
    pub(super) versions: Vec<VersionSpec>,
    /// Generation of `versions`; 0 before the first catalogue.
    pub(super) generation: u64,
    /// No cell is started before this time.
    pub(super) start_at: Instant,
    backoff: Duration,
    /// A cell is missing and would be started if `start_at` had come.
    pub(super) wants_start: bool,
}

/// What a step has done.
#[derive(Default)]
pub(super) struct StepResult {
    pub(super) started: u64,
    /// Serving cells that were told to drain.
    pub(super) draining: Vec<CellId>,
}

impl CellGroup {
    pub(super) fn new(kind: GroupKind, plan: CellPlan, listeners: Vec<OwnedFd>, desired: DesiredCells) -> Self {
        Self {
            kind,
            plan,
            listeners,
            desired,
            members: Vec::new(),
            versions: Vec::new(),
            generation: 0,
            start_at: Instant::now(),
            backoff: INITIAL_BACKOFF,
            wants_start: false,
        }
    }

    /// Sends a new catalogue to all cells, unless it is the same as the last.
    pub(super) fn set_catalogue(&mut self, generation: u64, versions: Vec<VersionSpec>) {
        if self.generation > 0 && self.versions == versions {
            return;
        }
        (self.generation, self.versions) = (generation, versions);
        let now = Instant::now();
        for member in self.members.iter_mut().filter(|member| member.stage != Stage::Draining) {
            member.send_catalogue(ControlMessage::Serve { generation, versions: self.versions.clone() }, now);
        }
    }

    /// Whether all open cells serve the newest catalogue.
    pub(super) fn is_up_to_date(&self) -> bool {
        let open = || self.members.iter().filter(|member| member.is_open() && !member.replace);
        self.desired.cells == 0
            || (open().next().is_some() && open().all(|member| member.generation >= self.generation))
    }

    /// Versions of the newest catalogue that cannot be served.
    pub(super) fn problems(&self) -> Vec<LoadError> {
        let open = self.members.iter().find(|member| member.is_open() && member.generation >= self.generation);
        open.map(|member| member.problems.clone()).unwrap_or_default()
    }

    /// Takes the next steps towards the desired number of cells.
    pub(super) fn step(&mut self, now: Instant, spawner: &mut CellSpawner) -> StepResult {
        let seen: Vec<_> = self.members.iter().map(CellHandle::observed).collect();
        let mut done = StepResult::default();
        self.wants_start = false;
        let deadline = self.deadline(now);
        for step in reconcile::next_steps(&seen, self.desired) {
            match step {
                Step::Accept(id) => {
                    if let Some(member) = self.member(id) {
                        member.accept();
                        self.log_start(id);
                    }
                }
                Step::Drain(id) => {
                    if let Some(member) = self.member(id) {
                        if member.stage == Stage::Serving {
                            done.draining.push(id);
                        }
                        member.drain(IdleConnections::ServeOneMore, deadline);
                    }
                }
                Step::Start if now < self.start_at => self.wants_start = true,
                Step::Start => done.started += self.start(now, spawner),
            }
        }
        done
    }

    fn start(&mut self, now: Instant, spawner: &mut CellSpawner) -> u64 {
        let (id, process) = match spawner.start(&self.listeners) {
            Ok(started) => started,
            Err(error) => {
                tracing::error!(%error, "cell not started");
                self.hold_back(now);
                self.wants_start = true;
                return 0;
            }
        };
        tracing::debug!(cell = process.pid(), "cell process started");
        process.send(ControlMessage::Begin(Box::new(self.plan.clone())));
        let mut member = CellHandle::new(id, process, now);
        if self.generation > 0 {
            member.send_catalogue(
                ControlMessage::Serve { generation: self.generation, versions: self.versions.clone() },
                now,
            );
        }
        self.members.push(member);
        1
    }

    fn log_start(&self, id: CellId) {
        let Some(member) = self.members.iter().find(|member| member.id == id) else { return };
        let cell = member.process.pid();
        match &self.kind {
            GroupKind::Main => tracing::info!(cell, "cell started"),
            GroupKind::Cordon(owner) => tracing::info!(cell, owner = owner.as_str(), "cordon cell started"),
            GroupKind::Evaluations => tracing::info!(cell, "evaluation cell started"),
        }
    }

    /// When a cell that is told to drain now is killed.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        now + self.plan.front.drain_timeout * 2 + EXIT_TIMEOUT
    }

    /// Delays the next start after a loss; the delay doubles while cells are short-lived.
    pub(super) fn record_loss(&mut self, life: Duration, now: Instant) {
        if life >= BACKOFF_RESET {
            self.backoff = INITIAL_BACKOFF;
        }
        let others = self.members.iter().any(CellHandle::answers_queries);
        if life >= BACKOFF_RESET && !others {
            self.start_at = now;
        } else {
            self.hold_back(now);
        }
    }

    fn hold_back(&mut self, now: Instant) {
        self.start_at = now + self.backoff;
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
    }

    /// Resets the backoff, since the last loss was not the fault of the cell itself.
    pub(super) fn reset_backoff(&mut self, now: Instant) {
        self.backoff = INITIAL_BACKOFF;
        self.start_at = now + INITIAL_BACKOFF;
    }

    /// Marks cells to be replaced, and returns those that were not marked before.
    pub(super) fn mark_for_replacement(&mut self, which: impl Fn(&CellHandle) -> bool) -> Vec<CellId> {
        let chosen = self.members.iter_mut().filter(|member| !member.replace && which(member));
        chosen
            .map(|member| {
                member.replace = true;
                member.id
            })
            .collect()
    }

    pub(super) fn member(&mut self, id: CellId) -> Option<&mut CellHandle> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    pub(super) fn take(&mut self, id: CellId) -> Option<CellHandle> {
        let at = self.members.iter().position(|member| member.id == id)?;
        Some(self.members.remove(at))
    }
}
