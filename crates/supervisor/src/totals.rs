//! Counters of all cells added up. Counters never decrease: those of cells that have ended are kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_ipc::CellStats;

use super::process::CellId;

/// Numbers of cells. `created - destroyed` are alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    pub created: u64,
    pub destroyed: u64,
    pub serving: u64,
    pub standby: u64,
    /// Owners with a cell of their own.
    pub cordons: u64,
    /// Cells that were replaced while they served.
    pub replaced: u64,
}

pub(super) struct CellTotals {
    numbers: Mutex<Numbers>,
}

struct Numbers {
    /// Sum over cells that have ended.
    retired: CellStats,
    /// The latest stats of each live cell.
    live: HashMap<CellId, CellStats>,
    counts: CellCounts,
    main: MainCells,
}

/// Whether a main cell serves the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MainCells {
    Serving,
    Missing,
}

impl CellTotals {
    /// Starts from the counters of the previous program.
    pub(super) fn new(before: CellStats) -> Self {
        let numbers =
            Numbers { retired: before, live: HashMap::new(), counts: CellCounts::default(), main: MainCells::Missing };
        Self { numbers: Mutex::new(numbers) }
    }

    pub(super) fn record(&self, cell: CellId, stats: CellStats) {
        self.lock().live.insert(cell, stats);
    }

    pub(super) fn set_main(&self, main: MainCells) {
        self.lock().main = main;
    }

    pub(super) fn is_serving(&self) -> bool {
        self.lock().main == MainCells::Serving
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut CellCounts)) {
        change(&mut self.lock().counts);
    }

    pub(super) fn counts(&self) -> CellCounts {
        self.lock().counts
    }

    /// Adds the latest stats of a cell that has ended to the retired ones.
    pub(super) fn retire(&self, cell: CellId) {
        let mut numbers = self.lock();
        if let Some(live) = numbers.live.remove(&cell) {
            numbers.retired.add(&live.retired());
        }
    }

    pub(super) fn requests(&self) -> u64 {
        let numbers = self.lock();
        numbers.retired.requests + numbers.live.values().map(|live| live.requests).sum::<u64>()
    }

    pub(super) fn sum(&self) -> CellStats {
        let numbers = self.lock();
        let mut sum = numbers.retired.clone();
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
    fn counters_of_all_cells_are_added_up_and_never_decrease() {
        let stats = |requests, connections| CellStats { requests, connections, ..CellStats::default() };
        let totals = CellTotals::new(stats(100, 0));
        totals.record(CellId(1), stats(3, 2));
        totals.record(CellId(2), stats(4, 1));
        totals.record(CellId(1), stats(5, 2));
        assert_eq!((totals.requests(), totals.sum().connections), (109, 3));
        totals.retire(CellId(1));
        totals.retire(CellId(1));
        assert_eq!((totals.requests(), totals.sum().connections), (109, 1));
    }
}
