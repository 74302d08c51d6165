//! What happened to all sandboxes, counted. Everything is counted under one lock, so that in every single reading
//! `created = destroyed + live`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::driver::DriverName;
use crate::heritage::KeptCounts;

/// The numbers of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Sandboxes asked for that were ready.
    pub warm_hits: u64,
    /// Sandboxes asked for that had to be booted. `warm_hits + cold_misses` is how often one was asked for.
    pub cold_misses: u64,
    /// Boots that succeeded, for the pool and for callers. `created = destroyed + live`.
    pub created: u64,
    pub destroyed: u64,
    /// Boots that came to nothing.
    pub failed: u64,
    /// Found broken when somebody wanted them, and destroyed.
    pub unhealthy: u64,
    /// Sandboxes that there are: ready, in use, or being destroyed.
    pub live: usize,
    /// Ready, and nobody's.
    pub ready: usize,
    /// Boots under way.
    pub booting: usize,
}

pub(crate) struct Ledger {
    book: Mutex<Book>,
    changed: Notify,
}

#[derive(Default)]
struct Book {
    stats: PoolStats,
    /// Drivers whose last boot failed, and why.
    failing: BTreeMap<DriverName, String>,
}

/// A boot that is counted as under way until this is dropped. One that was not settled by then failed: it panicked.
pub(crate) struct BootTicket<'a> {
    ledger: &'a Ledger,
    driver: DriverName,
    outcome: Outcome,
}

enum Outcome {
    Succeeded,
    Failed(String),
}

impl Ledger {
    pub(crate) fn new() -> Self {
        Self { book: Mutex::new(Book::default()), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
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
        let outcome = Outcome::Failed("the boot did not come to its end".to_owned());
        BootTicket { ledger: self, driver, outcome }
    }

    pub(crate) fn destroyed(&self) {
        let mut book = self.lock();
        book.stats.destroyed += 1;
        book.stats.live -= 1;
        drop(book);
        self.changed.notify_waiters();
    }

    /// Goes on counting where another program ended. What lived there lives.
    pub(crate) fn count_on(&self, counts: &KeptCounts) {
        let stats = &mut self.lock().stats;
        stats.warm_hits += counts.warm_hits;
        stats.cold_misses += counts.cold_misses;
        stats.created += counts.created;
        stats.destroyed += counts.destroyed;
        stats.failed += counts.failed;
        stats.unhealthy += counts.unhealthy;
        stats.live += usize::try_from(counts.created.saturating_sub(counts.destroyed)).unwrap_or(0);
    }

    /// Resolves when no more than so many are live and nothing boots.
    pub(crate) async fn down_to(&self, count: usize) {
        self.until(|stats| stats.live <= count && stats.booting == 0).await;
    }

    async fn until(&self, condition: impl Fn(&PoolStats) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Listen first, look then: it may change in between.
            changed.as_mut().enable();
            if condition(&self.lock().stats) {
                return;
            }
            changed.await;
        }
    }

    /// The numbers; those that are ready are counted by who keeps them.
    pub(crate) fn stats(&self) -> PoolStats {
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
        let mut book = self.ledger.lock();
        book.stats.booting -= 1;
        match &self.outcome {
            Outcome::Succeeded => {
                book.stats.created += 1;
                book.stats.live += 1;
                book.failing.remove(&self.driver);
            }
            Outcome::Failed(why) => {
                book.stats.failed += 1;
                book.failing.insert(self.driver, why.clone());
            }
        }
        drop(book);
        self.ledger.changed.notify_waiters();
    }
}

// === impl PoolStats ===

impl PoolStats {
    /// Percent of those asked for that were ready; 0 when nothing was asked for.
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
