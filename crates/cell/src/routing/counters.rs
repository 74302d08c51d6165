//! The counters of each version of each app. They outlive the served version: a redeployed one continues them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_core::{AppName, VersionName};
use hearth_ipc::{AppStats, Histogram};

use crate::timings::Timings;

/// Requests whose times are kept for a current average.
const MAX_RECENT: usize = 100;

#[derive(Default)]
pub struct VersionCounters {
    /// Status 200, the most frequent one, has a counter without a lock.
    ok: AtomicU64,
    others: Mutex<BTreeMap<u16, u64>>,
    failures: Mutex<BTreeMap<&'static str, u64>>,
    in_flight: AtomicU64,
    latency: Histogram,
    pub(super) timings: Arc<Timings>,
}

/// The counters of all versions, removed ones included.
#[derive(Default)]
pub struct VersionCounterRegistry {
    by_version: Mutex<HashMap<(AppName, VersionName), Arc<VersionCounters>>>,
    recent: RecentLatencies,
}

struct RecentLatencies {
    microseconds: [AtomicU32; MAX_RECENT],
    next: AtomicUsize,
}

/// Counts one request that has no response yet, until dropped.
pub(super) struct InFlight<C: Deref<Target = VersionCounters>> {
    counters: C,
}

// === impl VersionCounters ===

impl VersionCounters {
    pub(super) fn begin(&self) -> InFlight<&Self> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight { counters: self }
    }

    pub(super) fn record_response(&self, status: u16, took: Duration) {
        if status == 200 {
            self.ok.fetch_add(1, Ordering::Relaxed);
        } else {
            *lock(&self.others).entry(status).or_default() += 1;
        }
        self.latency.record(took);
    }

    pub(super) fn record_failure(&self, code: &'static str) {
        *lock(&self.failures).entry(code).or_default() += 1;
    }

    fn stats(&self, app: &AppName, version: &VersionName) -> AppStats {
        let mut statuses = lock(&self.others).clone();
        let ok = self.ok.load(Ordering::Relaxed);
        if ok > 0 {
            statuses.insert(200, ok);
        }
        AppStats {
            app: app.clone(),
            version: version.clone(),
            statuses,
            failures: lock(&self.failures).iter().map(|(code, count)| ((*code).to_owned(), *count)).collect(),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            latency: self.latency.snapshot(),
            queue_wait: self.timings.queue_wait.snapshot(),
            cold_start: self.timings.cold_start.snapshot(),
        }
    }
}

// === impl InFlight ===

impl InFlight<&VersionCounters> {
    /// Counts the same request for longer than `counters` is borrowed.
    pub(super) fn into_owned(self, counters: &Arc<VersionCounters>) -> InFlight<Arc<VersionCounters>> {
        std::mem::forget(self);
        InFlight { counters: counters.clone() }
    }
}

impl<C: Deref<Target = VersionCounters>> Drop for InFlight<C> {
    fn drop(&mut self) {
        self.counters.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl VersionCounterRegistry ===

impl VersionCounterRegistry {
    pub fn for_version(&self, app: &AppName, version: &VersionName) -> Arc<VersionCounters> {
        lock(&self.by_version).entry((app.clone(), version.clone())).or_default().clone()
    }

    /// A request was answered.
    pub(super) fn record(&self, took: Duration) {
        self.recent.record(took);
    }

    pub fn stats(&self) -> Vec<AppStats> {
        let mut all: Vec<AppStats> =
            lock(&self.by_version).iter().map(|((app, version), counters)| counters.stats(app, version)).collect();
        all.sort_by(|a, b| (&a.app, &a.version).cmp(&(&b.app, &b.version)));
        all
    }

    /// How long the last requests took, in microseconds.
    pub fn recent(&self) -> Vec<u32> {
        let count = self.recent.next.load(Ordering::Relaxed).min(MAX_RECENT);
        self.recent.microseconds[..count].iter().map(|time| time.load(Ordering::Relaxed)).collect()
    }
}

// === impl RecentLatencies ===

impl Default for RecentLatencies {
    fn default() -> Self {
        Self { microseconds: [const { AtomicU32::new(0) }; MAX_RECENT], next: AtomicUsize::new(0) }
    }
}

impl RecentLatencies {
    fn record(&self, took: Duration) {
        // Without a locked instruction: concurrent threads may write the same entry, one of about a hundred.
        let next = self.next.load(Ordering::Relaxed);
        self.next.store(next.wrapping_add(1), Ordering::Relaxed);
        let microseconds = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.microseconds[next % MAX_RECENT].store(microseconds, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
