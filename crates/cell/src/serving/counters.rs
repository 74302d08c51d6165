//! What is counted of each version of each app. Counters outlive the version that is served: a redeployed one goes on
//! where the old one was.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_core::{AppName, VersionName};
use hearth_ipc::{AppStats, Histogram};

use crate::timings::Timings;

/// Requests whose times are kept for an average of now.
const RECENT: usize = 100;

#[derive(Default)]
pub struct Counters {
    /// The usual status has a counter of its own.
    ok: AtomicU64,
    others: Mutex<BTreeMap<u16, u64>>,
    failures: Mutex<BTreeMap<&'static str, u64>>,
    in_flight: AtomicU64,
    latency: Histogram,
    pub(super) timings: Arc<Timings>,
}

/// The counters of all versions there ever were.
#[derive(Default)]
pub struct Registry {
    by_version: Mutex<HashMap<(AppName, VersionName), Arc<Counters>>>,
    recent: Recent,
}

struct Recent {
    microseconds: [AtomicU32; RECENT],
    next: AtomicUsize,
}

/// A request that has no answer yet; one less when dropped.
pub(super) struct InFlight<'a> {
    counters: &'a Counters,
}

// === impl Counters ===

impl Counters {
    pub(super) fn begin(&self) -> InFlight<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight { counters: self }
    }

    pub(super) fn answer(&self, status: u16, took: Duration) {
        if status == 200 {
            self.ok.fetch_add(1, Ordering::Relaxed);
        } else {
            *lock(&self.others).entry(status).or_default() += 1;
        }
        self.latency.record(took);
    }

    pub(super) fn fail(&self, code: &'static str) {
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

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.counters.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Registry ===

impl Registry {
    pub fn of(&self, app: &AppName, version: &VersionName) -> Arc<Counters> {
        lock(&self.by_version).entry((app.clone(), version.clone())).or_default().clone()
    }

    /// A request has its answer.
    pub(super) fn note(&self, took: Duration) {
        self.recent.note(took);
    }

    pub fn stats(&self) -> Vec<AppStats> {
        let mut all: Vec<AppStats> =
            lock(&self.by_version).iter().map(|((app, version), counters)| counters.stats(app, version)).collect();
        all.sort_by(|a, b| (&a.app, &a.version).cmp(&(&b.app, &b.version)));
        all
    }

    /// How long the last requests took, in microseconds.
    pub fn recent(&self) -> Vec<u32> {
        let count = self.recent.next.load(Ordering::Relaxed).min(RECENT);
        self.recent.microseconds[..count].iter().map(|time| time.load(Ordering::Relaxed)).collect()
    }
}

// === impl Recent ===

impl Default for Recent {
    fn default() -> Self {
        Self { microseconds: [const { AtomicU32::new(0) }; RECENT], next: AtomicUsize::new(0) }
    }
}

impl Recent {
    fn note(&self, took: Duration) {
        // Without a locked instruction: threads that come at the same time may have one place, of about a hundred.
        let next = self.next.load(Ordering::Relaxed);
        self.next.store(next.wrapping_add(1), Ordering::Relaxed);
        let microseconds = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.microseconds[next % RECENT].store(microseconds, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
