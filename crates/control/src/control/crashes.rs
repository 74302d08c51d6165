//! Cells that were lost: the last of them, and how many there ever were.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_core::Owner;

use super::Remembered;
use hearth_supervisor::Crash;

/// Crashes that are kept.
const CRASHES: usize = 100;

/// Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Crashes {
    kept: Arc<Mutex<VecDeque<Crash>>>,
    count: Arc<AtomicU64>,
}

impl Crashes {
    /// Goes on from what the program before knew.
    pub(crate) fn after(before: &Remembered) -> Self {
        let kept = before.crashes.iter().rev().take(CRASHES).rev().cloned().collect();
        Self { kept: Arc::new(Mutex::new(kept)), count: Arc::new(AtomicU64::new(before.lost)) }
    }

    /// For the program after this one.
    pub(crate) fn remembered(&self, stuck: BTreeMap<Owner, u32>) -> Remembered {
        Remembered { crashes: self.lock().iter().cloned().collect(), lost: self.count(), stuck }
    }

    pub(crate) fn note(&self, crash: Crash) {
        let mut kept = self.lock();
        if kept.len() == CRASHES {
            kept.pop_front();
        }
        kept.push_back(crash);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The newest first.
    pub(super) fn all(&self) -> Vec<Crash> {
        self.lock().iter().rev().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Crash>> {
        // Nothing that can panic runs under this lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
