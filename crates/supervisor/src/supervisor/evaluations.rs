//! The cell for evaluated code: `runtime: isolate` of a sandbox's `execute_code`. The code comes from agents and may crash
//! its cell, so this cell serves no app, listens nowhere and may connect to nothing on this machine. It is started when code
//! is to be run, and drains after an idle time. Evaluated code has no owner that could be cordoned: after a crash the next
//! cell is started with a backoff, and queries wait for it.

use std::time::Duration;

use hearth_ipc::CellPlan;
use tokio::time::Instant;

use super::Supervisor;
use super::placement::separate_plan;
use crate::cell_handle::CellHandle;
use crate::group::{CellGroup, GroupKind};
use crate::process::CellId;
use crate::reconcile::DesiredCells;

/// Longer than any evaluation may run.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
const ONE: DesiredCells = DesiredCells { cells: 1, standby: 0 };
const NONE: DesiredCells = DesiredCells { cells: 0, standby: 0 };

pub(super) struct Evaluations {
    pub(super) group: CellGroup,
    last: Instant,
}

impl Evaluations {
    pub(super) fn new(main: &CellPlan) -> Self {
        let mut group = CellGroup::new(GroupKind::Evaluations, plan(main), Vec::new(), NONE);
        // An empty catalogue.
        group.set_catalogue(1, Vec::new());
        Self { group, last: Instant::now() }
    }

    pub(super) fn replan(&mut self, main: &CellPlan) {
        self.group.plan = plan(main);
    }

    pub(super) fn retire(&mut self, now: Instant) {
        if now.saturating_duration_since(self.last) >= IDLE_TIMEOUT {
            self.group.desired = NONE;
        }
    }
}

impl Supervisor {
    /// The cell for evaluated code, if it is open; otherwise it is started.
    pub(super) fn cell_for_evaluation(&mut self) -> Vec<CellId> {
        let evaluations = &mut self.evaluations;
        (evaluations.group.desired, evaluations.last) = (ONE, Instant::now());
        let members = evaluations.group.members.iter().filter(|member| member.is_open());
        members.map(|member: &CellHandle| member.id).next_back().into_iter().collect()
    }
}

/// The plan of a cordon cell, without listeners and without access to files.
fn plan(main: &CellPlan) -> CellPlan {
    let mut plan = separate_plan(main);
    plan.listeners = Vec::new();
    plan.jail.readable = Vec::new();
    plan.jail.writable = Vec::new();
    plan
}
