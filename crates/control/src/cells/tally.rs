//! What all cells have counted. A counter never goes back: what a cell had counted when it went is kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_ipc::CellStats;

use super::process::CellId;

/// How many cells there ever were, and what became of them. `created - destroyed` are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    pub created: u64,
    pub destroyed: u64,
    pub serving: u64,
    pub standby: u64,
    /// Owners with a cell of their own.
    pub cordons: u64,
    /// Replaced, for whatever reason, while requests went on.
    pub replaced: u64,
}

pub(super) struct Tally {
    numbers: Mutex<Numbers>,
}

struct Numbers {
    /// Of cells that are gone.
    buried: CellStats,
    /// As each cell that is there said it last.
    live: HashMap<CellId, CellStats>,
    counts: CellCounts,
    main: Main,
}

/// Whether a main cell serves what it was told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Main {
    Serves,
    Missing,
}

impl Tally {
    /// Goes on from what was counted before.
    pub(super) fn new(before: CellStats) -> Self {
        let numbers =
            Numbers { buried: before, live: HashMap::new(), counts: CellCounts::default(), main: Main::Missing };
        Self { numbers: Mutex::new(numbers) }
    }

    pub(super) fn note(&self, cell: CellId, stats: CellStats) {
        self.lock().live.insert(cell, stats);
    }

    pub(super) fn note_main(&self, main: Main) {
        self.lock().main = main;
    }

    pub(super) fn is_serving(&self) -> bool {
        self.lock().main == Main::Serves
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut CellCounts)) {
        change(&mut self.lock().counts);
    }

    pub(super) fn counts(&self) -> CellCounts {
        self.lock().counts
    }

    /// The cell is gone: what it said last is what it counted.
    pub(super) fn bury(&self, cell: CellId) {
        let mut numbers = self.lock();
        if let Some(live) = numbers.live.remove(&cell) {
            numbers.buried.add(&live.retired());
        }
    }

    pub(super) fn requests(&self) -> u64 {
        let numbers = self.lock();
        numbers.buried.requests + numbers.live.values().map(|live| live.requests).sum::<u64>()
    }

    pub(super) fn sum(&self) -> CellStats {
        let numbers = self.lock();
        let mut sum = numbers.buried.clone();
        for live in numbers.live.values() {
            sum.add(live);
        }
        sum
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        // Nothing that can panic runs under this lock.
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_several_cells_are_added_up_and_never_go_back() {
        let of = |requests, connections| CellStats { requests, connections, ..CellStats::default() };
        let tally = Tally::new(of(100, 0));
        tally.note(CellId(1), of(3, 2));
        tally.note(CellId(2), of(4, 1));
        tally.note(CellId(1), of(5, 2));
        assert_eq!((tally.requests(), tally.sum().connections), (109, 3));
        tally.bury(CellId(1));
        tally.bury(CellId(1));
        assert_eq!((tally.requests(), tally.sum().connections), (109, 1));
    }
}
