//! Desired-state reconciliation: computes the next steps from the observed cells to the desired number. A cell is replaced
//! by marking it (`replace`): it no longer counts, so a standby or a new cell opens in its place, and then it drains.
//!
//! ```text
//! Starting --catalogue loaded--> Ready --Accept--> Opening --accepting--> Serving --Drain--> Draining
//! ```
//! Invariant: a serving cell drains only if enough others serve without it.

use super::process::CellId;

/// The state of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Starting,
    Ready,
    Opening,
    Serving,
    Draining,
}

/// Values of `ObservedCell::replace`.
const KEEP: bool = false;
const REPLACE: bool = true;

#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedCell {
    pub(super) id: CellId,
    pub(super) stage: Stage,
    pub(super) replace: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DesiredCells {
    /// Cells that serve.
    pub(super) cells: usize,
    /// Cells that are ready to take over.
    pub(super) standby: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Accept(CellId),
    Drain(CellId),
    Start,
}

pub(super) fn next_steps(seen: &[ObservedCell], desired: DesiredCells) -> Vec<Step> {
    use Stage::{Draining, Opening, Ready, Serving, Starting};
    let ids = |stages: &[Stage], replace| -> Vec<CellId> {
        seen.iter().filter(|one| stages.contains(&one.stage) && one.replace == replace).map(|one| one.id).collect()
    };
    let mut steps = Vec::new();
    let open = ids(&[Opening, Serving], KEEP);
    let mut ready = ids(&[Ready], KEEP);
    let missing = desired.cells.saturating_sub(open.len());
    let taken: Vec<CellId> = ready.drain(..missing.min(ready.len())).collect();
    steps.extend(taken.iter().copied().map(Step::Accept));
    // Surplus serving cells drain, those to be replaced first.
    let serving = [ids(&[Serving], REPLACE), ids(&[Serving], KEEP)].concat();
    let too_many = serving.len().saturating_sub(desired.cells);
    steps.extend(serving.into_iter().take(too_many).map(Step::Drain));
    steps.extend(ids(&[Starting, Ready, Opening], REPLACE).into_iter().map(Step::Drain));
    let missing = missing - taken.len();
    let coming = ids(&[Starting], KEEP);
    let all_serve = ids(&[Serving], KEEP).len() >= desired.cells;
    if missing > 0 || !all_serve {
        steps.extend((coming.len()..missing).map(|_| Step::Start));
    } else if ready.len() + coming.len() < desired.standby {
        // Standbys are started one after the other, to leave the CPU to the serving cells.
        steps.extend((coming.len()..1).map(|_| Step::Start));
    }
    let spare = ready.len().saturating_sub(desired.standby);
    steps.extend(ready.into_iter().take(if missing == 0 { spare } else { 0 }).map(Step::Drain));
    debug_assert!(seen.iter().filter(|one| one.stage == Draining).all(|one| !steps.contains(&Step::Drain(one.id))));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use Stage::{Draining, Opening, Ready, Serving, Starting};

    fn steps(cells: &[(Stage, bool)], desired: (usize, usize)) -> Vec<Step> {
        let seen: Vec<ObservedCell> = (0..)
            .zip(cells)
            .map(|(id, (stage, replace))| ObservedCell { id: CellId(id), stage: *stage, replace: *replace })
            .collect();
        next_steps(&seen, DesiredCells { cells: desired.0, standby: desired.1 })
    }

    fn accept(id: u64) -> Step {
        Step::Accept(CellId(id))
    }

    fn drain(id: u64) -> Step {
        Step::Drain(CellId(id))
    }

    #[test]
    fn the_first_cell_starts_before_a_standby() {
        assert_eq!(steps(&[], (1, 1)), [Step::Start]);
        assert_eq!(steps(&[(Starting, KEEP)], (1, 1)), []);
        assert_eq!(steps(&[(Ready, KEEP)], (1, 1)), [accept(0)]);
        assert_eq!(steps(&[(Opening, KEEP)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, KEEP)], (1, 1)), [Step::Start]);
        assert_eq!(steps(&[(Serving, KEEP), (Starting, KEEP)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, KEEP), (Ready, KEEP)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, KEEP)], (1, 0)), []);
    }

    #[test]
    fn a_standby_replaces_a_crashed_cell_and_is_replaced_later() {
        assert_eq!(steps(&[(Draining, KEEP), (Ready, KEEP)], (1, 1)), [accept(1)]);
        assert_eq!(steps(&[(Draining, KEEP), (Opening, KEEP)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, KEEP)], (1, 1)), [Step::Start]);
        assert_eq!(steps(&[(Draining, KEEP)], (1, 1)), [Step::Start], "without a standby a new cell is started");
    }

    #[test]
    fn a_cell_drains_only_after_its_replacement_serves() {
        assert_eq!(steps(&[(Serving, REPLACE)], (1, 0)), [Step::Start]);
        assert_eq!(steps(&[(Serving, REPLACE), (Starting, KEEP)], (1, 0)), []);
        assert_eq!(steps(&[(Serving, REPLACE), (Ready, KEEP)], (1, 0)), [accept(1)]);
        assert_eq!(steps(&[(Serving, REPLACE), (Opening, KEEP)], (1, 0)), []);
        assert_eq!(steps(&[(Serving, REPLACE), (Serving, KEEP)], (1, 0)), [drain(0)]);
        let two = [(Serving, REPLACE), (Serving, REPLACE), (Serving, KEEP), (Opening, KEEP)];
        assert_eq!(steps(&two, (2, 0)), [drain(0)]);
    }

    #[test]
    fn a_replaced_standby_and_surplus_cells_drain_at_once() {
        let seen = [(Serving, REPLACE), (Ready, REPLACE)];
        assert_eq!(steps(&seen, (1, 1)), [drain(1), Step::Start]);
        assert_eq!(steps(&[(Serving, KEEP), (Ready, KEEP), (Ready, KEEP)], (1, 1)), [drain(1)]);
        assert_eq!(steps(&[(Serving, KEEP), (Serving, KEEP)], (1, 0)), [drain(0)]);
        assert_eq!(steps(&[(Serving, KEEP), (Ready, KEEP)], (0, 0)), [drain(0), drain(1)]);
    }

    #[test]
    fn missing_cells_are_started_together() {
        assert_eq!(steps(&[], (3, 1)), [Step::Start; 3]);
        assert_eq!(steps(&[(Serving, KEEP), (Starting, KEEP)], (3, 1)), [Step::Start]);
    }
}
