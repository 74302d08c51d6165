//! The numbers of workers that serve one event each, by execution mode and by owner. Such a worker is always new: each start
//! counts as a miss of the pool.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of one execution mode, or of one owner.
#[derive(Default)]
pub(crate) struct Tally {
    created: AtomicU64,
    destroyed: AtomicU64,
    failed: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TallyStats {
    /// `created = destroyed + live`.
    pub(crate) created: u64,
    pub(crate) destroyed: u64,
    /// Starts that failed.
    pub(crate) failed: u64,
}

/// The execution modes that start a worker for each event.
#[derive(Default)]
pub(crate) struct EphemeralTallies {
    pub(crate) oneshot: ModeTally,
    pub(crate) shared: ModeTally,
}

/// Clones share the same counters.
#[derive(Clone, Default)]
pub(crate) struct ModeTally(Arc<Tally>);

/// Where an app's workers are counted.
#[derive(Clone)]
pub(crate) struct AppTally {
    mode: Arc<Tally>,
    owner: Arc<Tally>,
}

/// A worker that was created; counted as destroyed when this is dropped.
pub(crate) struct Live(AppTally);

impl Tally {
    pub(crate) fn stats(&self) -> TallyStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Acquire);
        // Read in this order, the difference is never negative.
        let destroyed = read(&self.destroyed);
        TallyStats { created: read(&self.created), destroyed, failed: read(&self.failed) }
    }
}

impl TallyStats {
    pub(crate) fn live(&self) -> usize {
        usize::try_from(self.created - self.destroyed).unwrap_or(usize::MAX)
    }
}

impl ModeTally {
    /// For an app of the owner whose counters are `owner`.
    pub(crate) fn with(&self, owner: &Arc<Tally>) -> AppTally {
        AppTally { mode: self.0.clone(), owner: owner.clone() }
    }

    pub(crate) fn stats(&self) -> TallyStats {
        self.0.stats()
    }
}

impl AppTally {
    pub(crate) fn started(&self) -> Live {
        self.add(|tally| &tally.created);
        Live(self.clone())
    }

    pub(crate) fn failed(&self) {
        self.add(|tally| &tally.failed);
    }

    fn add(&self, counter: impl Fn(&Tally) -> &AtomicU64) {
        for tally in [&self.mode, &self.owner] {
            counter(tally).fetch_add(1, Ordering::Release);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.add(|tally| &tally.destroyed);
    }
}
