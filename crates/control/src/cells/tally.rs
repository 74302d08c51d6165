//! What all cells have counted. A counter never goes back: what a cell had counted when it went is kept.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_link::CellStats;

#[derive(Default)]
pub(super) struct Tally {
    numbers: Mutex<Numbers>,
}

#[derive(Default)]
struct Numbers {
    /// Of cells that are gone.
    buried: CellStats,
    /// As the cell that is there said it last.
    live: CellStats,
    serving: bool,
}

impl Tally {
    pub(super) fn note(&self, stats: CellStats) {
        self.lock().live = stats;
    }

    pub(super) fn note_serving(&self) {
        self.lock().serving = true;
    }

    pub(super) fn is_serving(&self) -> bool {
        self.lock().serving
    }

    /// The cell is gone: what it said last is what it counted.
    pub(super) fn bury(&self) {
        let mut numbers = self.lock();
        let live = std::mem::take(&mut numbers.live).buried();
        numbers.buried.add(&live);
        numbers.serving = false;
    }

    pub(super) fn requests(&self) -> u64 {
        let numbers = self.lock();
        numbers.buried.requests + numbers.live.requests
    }

    pub(super) fn sum(&self) -> CellStats {
        let numbers = self.lock();
        let mut sum = numbers.buried.clone();
        sum.add(&numbers.live);
        sum
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        // Nothing that can panic runs under this lock.
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
