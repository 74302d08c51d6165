//! Counts what happened to all sandboxes. Everything is counted under one lock, so that every
//! reading fulfils `created = destroyed + live`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::driver::DriverName;
use crate::upgrade::SavedCounts;

/// The numbers of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SandboxPoolStats {
    /// Acquired sandboxes that were ready.
    pub warm_hits: u64,
    /// Acquired sandboxes that had to be booted. `warm_hits + cold_misses` is the number of
    /// acquisitions.
    pub cold_misses: u64,
    /// Boots that succeeded, for the pool and for callers. `created = destroyed + live`.
    pub created: u64,
    pub destroyed: u64,
    /// Boots that failed.
    pub failed: u64,
    /// Ready sandboxes that did not answer when they were to be handed out, and were destroyed.
    pub unhealthy: u64,
    /// Sandboxes that exist: ready, in use, or being destroyed.
    pub live: usize,
    /// Ready, not acquired.
    pub ready: usize,
    /// Boots under way.
    pub booting: usize,
}

pub(crate) struct PoolCounters {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    stats: SandboxPoolStats,
    /// Drivers whose last boot failed, and why.
    failing: BTreeMap<DriverName, String>,
}

/// A boot that is counted as under way until this is dropped. Dropped without an outcome, for
/// example by a panic, it counts as failed.
pub(crate) struct BootTicket<'a> {
    counters: &'a PoolCounters,
    driver: DriverName,
    outcome: Outcome,
}

enum Outcome {
    Succeeded,
    Failed(String),
}

impl PoolCounters {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::default()), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn warm_hit(&self) {
        self.lock().stats.warm_hits += 1;
    }

    pub(crate) fn cold_miss(&self) {
        self.lock().stats.cold_misses += 1;
    }

    pub(crate) fn unhealthy(&self) {
        self.lock().stats.unhealthy += 1;
    }

    pub(crate) fn begin_boot(&self, driver: DriverName) -> BootTicket<'_> {
        self.lock().stats.booting += 1;
        let outcome = Outcome::Failed("the boot did not end".to_owned());
        BootTicket { counters: self, driver, outcome }
    }

    pub(crate) fn destroyed(&self) {
        let mut state = self.lock();
        state.stats.destroyed += 1;
        state.stats.live -= 1;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Adds the counts of the previous program, whose sandboxes are live here.
    pub(crate) fn merge(&self, counts: &SavedCounts) {
        let stats = &mut self.lock().stats;
        stats.warm_hits += counts.warm_hits;
        stats.cold_misses += counts.cold_misses;
        stats.created += counts.created;
        stats.destroyed += counts.destroyed;
        stats.failed += counts.failed;
        stats.unhealthy += counts.unhealthy;
        stats.live += usize::try_from(counts.created.saturating_sub(counts.destroyed)).unwrap_or(0);
    }

    /// Resolves when at most `count` are live and nothing boots.
    pub(crate) async fn wait_until_at_most(&self, count: usize) {
        self.until(|stats| stats.live <= count && stats.booting == 0).await;
    }

    async fn until(&self, condition: impl Fn(&SandboxPoolStats) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before the check: it may change in between.
            changed.as_mut().enable();
            if condition(&self.lock().stats) {
                return;
            }
            changed.await;
        }
    }

    /// The counts; `ready` is filled in by the pool.
    pub(crate) fn stats(&self) -> SandboxPoolStats {
        self.lock().stats
    }

    pub(crate) fn failing(&self) -> BTreeMap<DriverName, String> {
        self.lock().failing.clone()
    }
}

// === impl BootTicket ===

impl BootTicket<'_> {
    pub(crate) fn succeeded(mut self) {
        self.outcome = Outcome::Succeeded;
    }

    pub(crate) fn failed(mut self, why: &str) {
        self.outcome = Outcome::Failed(why.to_owned());
    }
}

impl Drop for BootTicket<'_> {
    fn drop(&mut self) {
        let mut state = self.counters.lock();
        state.stats.booting -= 1;
        match &self.outcome {
            Outcome::Succeeded => {
                state.stats.created += 1;
                state.stats.live += 1;
                state.failing.remove(&self.driver);
            }
            Outcome::Failed(why) => {
                state.stats.failed += 1;
                state.failing.insert(self.driver, why.clone());
            }
        }
        drop(state);
        self.counters.changed.notify_waiters();
    }
}

// === impl SandboxPoolStats ===

impl SandboxPoolStats {
    /// Percent of acquisitions that found a ready sandbox; 0 when there were none.
    pub fn hit_rate(&self) -> f64 {
        match self.warm_hits + self.cold_misses {
            0 => 0.0,
            all => self.warm_hits as f64 * 100.0 / all as f64,
        }
    }

    pub fn adds_up(&self) -> bool {
        self.created == self.destroyed + self.live as u64
    }
}
