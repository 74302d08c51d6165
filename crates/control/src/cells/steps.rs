//! What to do next so that as many cells serve as are wanted, out of those that are there. Replacing a cell is nothing
//! but this: it is condemned, so one is missing; a standby (or one that is started) takes its place; then it may leave.
//!
//! ```text
//! Starting --has its catalogue--> Ready --told to accept--> Opening --accepts--> Serving --told to leave--> Leaving
//! ```
//! Invariant: while there is a way to have it so, at least as many cells serve as are wanted: nobody who serves is told to
//! leave before another does in its place.

use super::process::CellId;

/// How far a cell has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Starting,
    Ready,
    Opening,
    Serving,
    Leaving,
}

/// Whether a cell is to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Kept,
    Condemned,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) id: CellId,
    pub(super) stage: Stage,
    pub(super) fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// That serve.
    pub(super) cells: usize,
    /// That wait to.
    pub(super) standby: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Accept(CellId),
    Leave(CellId),
    Start,
}

pub(super) fn next(seen: &[Seen], wanted: Wanted) -> Vec<Step> {
    use Fate::{Condemned, Kept};
    use Stage::{Leaving, Opening, Ready, Serving, Starting};
    let ids = |stages: &[Stage], fate| -> Vec<CellId> {
        seen.iter().filter(|one| stages.contains(&one.stage) && one.fate == fate).map(|one| one.id).collect()
    };
    let mut steps = Vec::new();
    let open = ids(&[Opening, Serving], Kept);
    let mut ready = ids(&[Ready], Kept);
    let missing = wanted.cells.saturating_sub(open.len());
    let taken: Vec<CellId> = ready.drain(..missing.min(ready.len())).collect();
    steps.extend(taken.iter().copied().map(Step::Accept));
    // Those who serve are let go of one by one, the condemned first, as long as enough are left.
    let serving = [ids(&[Serving], Condemned), ids(&[Serving], Kept)].concat();
    let too_many = serving.len().saturating_sub(wanted.cells);
    steps.extend(serving.into_iter().take(too_many).map(Step::Leave));
    steps.extend(ids(&[Starting, Ready, Opening], Condemned).into_iter().map(Step::Leave));
    let missing = missing - taken.len();
    let coming = ids(&[Starting], Kept);
    let all_serve = ids(&[Serving], Kept).len() >= wanted.cells;
    if missing > 0 || !all_serve {
        steps.extend((coming.len()..missing).map(|_| Step::Start));
    } else if ready.len() + coming.len() < wanted.standby {
        // One after the other: they are in no hurry, and others have work to do.
        steps.extend((coming.len()..1).map(|_| Step::Start));
    }
    let spare = ready.len().saturating_sub(wanted.standby);
    steps.extend(ready.into_iter().take(if missing == 0 { spare } else { 0 }).map(Step::Leave));
    debug_assert!(seen.iter().filter(|one| one.stage == Leaving).all(|one| !steps.contains(&Step::Leave(one.id))));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use Fate::{Condemned, Kept};
    use Stage::{Leaving, Opening, Ready, Serving, Starting};

    fn steps(cells: &[(Stage, Fate)], wanted: (usize, usize)) -> Vec<Step> {
        let seen: Vec<Seen> =
            (0..).zip(cells).map(|(id, (stage, fate))| Seen { id: CellId(id), stage: *stage, fate: *fate }).collect();
        next(&seen, Wanted { cells: wanted.0, standby: wanted.1 })
    }

    fn accept(id: u64) -> Step {
        Step::Accept(CellId(id))
    }

    fn leave(id: u64) -> Step {
        Step::Leave(CellId(id))
    }

    #[test]
    fn a_first_cell_then_a_standby() {
        assert_eq!(steps(&[], (1, 1)), [Step::Start]);
        assert_eq!(steps(&[(Starting, Kept)], (1, 1)), []);
        assert_eq!(steps(&[(Ready, Kept)], (1, 1)), [accept(0)]);
        assert_eq!(steps(&[(Opening, Kept)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, Kept)], (1, 1)), [Step::Start]);
        assert_eq!(steps(&[(Serving, Kept), (Starting, Kept)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, Kept), (Ready, Kept)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, Kept)], (1, 0)), []);
    }

    #[test]
    fn who_crashed_is_followed_by_the_standby_and_that_by_another_later() {
        assert_eq!(steps(&[(Leaving, Kept), (Ready, Kept)], (1, 1)), [accept(1)]);
        assert_eq!(steps(&[(Leaving, Kept), (Opening, Kept)], (1, 1)), []);
        assert_eq!(steps(&[(Serving, Kept)], (1, 1)), [Step::Start]);
        assert_eq!(steps(&[(Leaving, Kept)], (1, 1)), [Step::Start], "without one, another is started");
    }

    #[test]
    fn nobody_leaves_before_another_serves() {
        assert_eq!(steps(&[(Serving, Condemned)], (1, 0)), [Step::Start]);
        assert_eq!(steps(&[(Serving, Condemned), (Starting, Kept)], (1, 0)), []);
        assert_eq!(steps(&[(Serving, Condemned), (Ready, Kept)], (1, 0)), [accept(1)]);
        assert_eq!(steps(&[(Serving, Condemned), (Opening, Kept)], (1, 0)), []);
        assert_eq!(steps(&[(Serving, Condemned), (Serving, Kept)], (1, 0)), [leave(0)]);
        let two = [(Serving, Condemned), (Serving, Condemned), (Serving, Kept), (Opening, Kept)];
        assert_eq!(steps(&two, (2, 0)), [leave(0)]);
    }

    #[test]
    fn a_condemned_standby_leaves_at_once_and_too_many_do() {
        let seen = [(Serving, Condemned), (Ready, Condemned)];
        assert_eq!(steps(&seen, (1, 1)), [leave(1), Step::Start]);
        assert_eq!(steps(&[(Serving, Kept), (Ready, Kept), (Ready, Kept)], (1, 1)), [leave(1)]);
        assert_eq!(steps(&[(Serving, Kept), (Serving, Kept)], (1, 0)), [leave(0)]);
        assert_eq!(steps(&[(Serving, Kept), (Ready, Kept)], (0, 0)), [leave(0), leave(1)]);
    }

    #[test]
    fn several_are_started_together_where_all_are_missing() {
        assert_eq!(steps(&[], (3, 1)), [Step::Start; 3]);
        assert_eq!(steps(&[(Serving, Kept), (Starting, Kept)], (3, 1)), [Step::Start]);
    }
}
