//! The cell for code that is no app's: `runtime: isolate` of a sandbox's `execute_code`. Agents write it, so it may bring its cell
//! down; that cell serves no app, listens nowhere and connects to nothing on this machine. It is started when there is code to
//! run, and leaves when there was none for a while. What crashes it is not shut away, for it has no owner: the next one is
//! started later and later, and code waits for it.

use std::time::Duration;

use hearth_ipc::CellPlan;
use tokio::time::Instant;

use super::Supervisor;
use super::owners::plan_apart;
use crate::cells::group::{Group, Whose};
use crate::cells::member::Member;
use crate::cells::process::CellId;
use crate::cells::steps::Wanted;

/// Longer than any of it may run.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
const ONE: Wanted = Wanted { cells: 1, standby: 0 };
const NONE: Wanted = Wanted { cells: 0, standby: 0 };

pub(super) struct Evaluations {
    pub(super) group: Group,
    last: Instant,
}

impl Evaluations {
    pub(super) fn new(main: &CellPlan) -> Self {
        let mut group = Group::new(Whose::Evaluations, plan(main), Vec::new(), NONE);
        // A catalogue without any app.
        group.tell(1, Vec::new());
        Self { group, last: Instant::now() }
    }

    pub(super) fn replan(&mut self, main: &CellPlan) {
        self.group.plan = plan(main);
    }

    pub(super) fn retire(&mut self, now: Instant) {
        if now.saturating_duration_since(self.last) >= IDLE_TIMEOUT {
            self.group.wanted = NONE;
        }
    }
}

impl Supervisor {
    /// The cell that runs it, once it is there.
    pub(super) fn cell_for_evaluation(&mut self) -> Vec<CellId> {
        let evaluations = &mut self.evaluations;
        (evaluations.group.wanted, evaluations.last) = (ONE, Instant::now());
        let members = evaluations.group.members.iter().filter(|member| member.is_open());
        members.map(|member: &Member| member.id).next_back().into_iter().collect()
    }
}

/// Small as that of one owner, and with nothing of the disk: such code has no files.
fn plan(main: &CellPlan) -> CellPlan {
    let mut plan = plan_apart(main);
    plan.listeners = Vec::new();
    plan.jail.readable = Vec::new();
    plan.jail.writable = Vec::new();
    plan
}
