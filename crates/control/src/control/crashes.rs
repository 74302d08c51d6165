//! The last crashes of cells, and their total number.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_core::Owner;

use super::upgrade::ControlState;
use hearth_supervisor::Crash;

/// Crashes that are kept.
const MAX_CRASHES: usize = 100;

/// Clones share the crashes.
#[derive(Clone, Default)]
pub(crate) struct Crashes {
    kept: Arc<Mutex<VecDeque<Crash>>>,
    count: Arc<AtomicU64>,
}

impl Crashes {
    /// Restores what the previous program handed over.
    pub(crate) fn restore(before: &ControlState) -> Self {
        let kept = before.crashes.iter().rev().take(MAX_CRASHES).rev().cloned().collect();
        Self { kept: Arc::new(Mutex::new(kept)), count: Arc::new(AtomicU64::new(before.lost)) }
    }

    /// Exports the crashes for the next program.
    pub(crate) fn export(&self, stuck: BTreeMap<Owner, u32>) -> ControlState {
        ControlState { crashes: self.lock().iter().cloned().collect(), lost: self.count(), stuck }
    }

    pub(crate) fn record(&self, crash: Crash) {
        let mut kept = self.lock();
        if kept.len() == MAX_CRASHES {
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
