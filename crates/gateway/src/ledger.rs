//! Connections and their counts: each connection has a ledger that it alone writes, so requests touch no memory that another
//! thread writes.
//!
//! Idle times are found out from the counts, not kept by requests: a survey, once a second where connections are many, notes
//! which ledgers have changed. So a time is up to a second short, and a request pays nothing for it.
//! Invariant: a ledger has one writer at a time, so a plain load and store is enough to count.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use crate::stats::{Stats, Summary};

#[derive(Debug, Default)]
pub struct Ledgers {
    next: u64,
    open: HashMap<u64, Open>,
    /// Of connections that have ended.
    past: Ledger,
}

/// An open connection.
#[derive(Debug)]
struct Open {
    ledger: Arc<Ledger>,
    waker: Waker,
    /// Requests that had begun at the last survey.
    begun: u64,
    /// A request was under way at the last survey.
    was_busy: bool,
    /// When the connection came, or the survey that last found it different from the one before.
    since: Instant,
}

#[derive(Debug, Default)]
pub struct Ledger {
    begun: AtomicU64,
    served: AtomicU64,
    aborted: AtomicU64,
    rejected: AtomicU64,
    /// 2xx, 3xx, 4xx, 5xx, others.
    classes: [AtomicU64; 5],
    /// The connection is to end when it has no request. Written by others than the connection.
    evicted: AtomicBool,
}

/// What a connection that lent its tally to its requests still sees of it.
#[derive(Clone, Debug)]
pub struct Vigil {
    ledger: Arc<Ledger>,
}

/// The right to write into one ledger: one connection's.
#[derive(Debug)]
pub struct Tally {
    stats: Stats,
    key: u64,
    ledger: Arc<Ledger>,
}

// === impl Ledgers ===

impl Ledgers {
    pub fn open(&self) -> usize {
        self.open.len()
    }

    pub fn open_one(&mut self, waker: Waker, now: Instant) -> (u64, Arc<Ledger>) {
        let (key, ledger) = (self.next, Arc::new(Ledger::default()));
        self.next += 1;
        self.open.insert(key, Open { ledger: ledger.clone(), waker, begun: 0, was_busy: false, since: now });
        (key, ledger)
    }

    pub fn close_one(&mut self, key: u64, ledger: &Ledger) -> Option<Waker> {
        self.past.merge(ledger);
        self.open.remove(&key).map(|open| open.waker)
    }

    pub fn add_to(&self, summary: &mut Summary) {
        self.open.values().for_each(|open| open.ledger.add_to(summary));
        self.past.add_to(summary);
    }

    pub fn survey(&mut self, now: Instant) {
        self.open.values_mut().for_each(|open| open.survey(now));
    }

    /// Marks up to `most` of those that have been idle for `least`, the longest first, and gives what wakes them.
    pub fn evict(&mut self, most: usize, least: Duration, now: Instant) -> Vec<Waker> {
        self.survey(now);
        let is_idle = |open: &Open| {
            now.saturating_duration_since(open.since) >= least
                && open.ledger.unfinished() == 0
                && !open.ledger.evicted.load(Relaxed)
        };
        let mut idle: Vec<(Instant, u64)> =
            self.open.iter().filter(|(_, open)| is_idle(open)).map(|(key, open)| (open.since, *key)).collect();
        if idle.len() > most {
            idle.select_nth_unstable(most);
            idle.truncate(most);
        }
        let chosen = idle.iter().filter_map(|(_, key)| self.open.get(key));
        chosen
            .map(|open| {
                open.ledger.evicted.store(true, Relaxed);
                open.waker.clone()
            })
            .collect()
    }
}

// === impl Open ===

impl Open {
    fn survey(&mut self, now: Instant) {
        let (begun, is_busy) = (self.ledger.begun.load(Relaxed), self.ledger.unfinished() > 0);
        if begun != self.begun || is_busy || self.was_busy {
            self.since = now;
        }
        (self.begun, self.was_busy) = (begun, is_busy);
    }
}

// === impl Vigil ===

impl Vigil {
    pub fn is_evicted(&self) -> bool {
        self.ledger.evicted.load(Relaxed)
    }

    /// No request has begun.
    pub fn is_fresh(&self) -> bool {
        self.ledger.is_fresh()
    }
}

// === impl Ledger ===

impl Ledger {
    fn add_to(&self, summary: &mut Summary) {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        let (served, aborted, rejected) = (count(&self.served), count(&self.aborted), count(&self.rejected));
        summary.served += served;
        summary.aborted += aborted;
        summary.rejected += rejected;
        summary.in_flight += count(&self.begun).saturating_sub(served + aborted + rejected);
        let [success, redirection, client_error, server_error, other] = self.classes.each_ref().map(count);
        summary.answers.success += success;
        summary.answers.redirection += redirection;
        summary.answers.client_error += client_error;
        summary.answers.server_error += server_error;
        summary.answers.other += other;
    }

    fn is_fresh(&self) -> bool {
        self.begun.load(Relaxed) == 0
    }

    fn unfinished(&self) -> u64 {
        let ended = self.served.load(Relaxed) + self.aborted.load(Relaxed) + self.rejected.load(Relaxed);
        self.begun.load(Relaxed).saturating_sub(ended)
    }

    fn merge(&self, other: &Self) {
        let pairs = [
            (&self.begun, &other.begun),
            (&self.served, &other.served),
            (&self.aborted, &other.aborted),
            (&self.rejected, &other.rejected),
        ];
        for (to, from) in pairs.into_iter().chain(self.classes.iter().zip(&other.classes)) {
            add(to, from.load(Relaxed));
        }
    }
}

/// Without a locked instruction: the caller is the only writer.
fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Relaxed) + count, Relaxed);
}

// === impl Tally ===

impl Tally {
    pub(crate) fn new(stats: Stats, key: u64, ledger: Arc<Ledger>) -> Self {
        Self { stats, key, ledger }
    }

    /// No request has begun.
    pub fn is_fresh(&self) -> bool {
        self.ledger.is_fresh()
    }

    /// To see what becomes of the connection, beside whoever counts.
    pub fn vigil(&self) -> Vigil {
        Vigil { ledger: self.ledger.clone() }
    }

    pub fn is_evicted(&self) -> bool {
        self.ledger.evicted.load(Relaxed)
    }

    pub fn begin(&mut self) {
        add(&self.ledger.begun, 1);
    }

    pub fn serve(&mut self, status: u16) {
        add(&self.ledger.served, 1);
        self.answer(status);
    }

    pub fn abort(&mut self) {
        add(&self.ledger.aborted, 1);
    }

    pub fn reject(&mut self, status: u16) {
        add(&self.ledger.rejected, 1);
        self.answer(status);
    }

    fn answer(&mut self, status: u16) {
        let class = usize::from(status / 100).wrapping_sub(2).min(4);
        add(&self.ledger.classes[class], 1);
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        let mut ledgers = self.stats.lock();
        add(&self.ledger.aborted, self.ledger.unfinished());
        let waker = ledgers.close_one(self.key, &self.ledger);
        drop(ledgers);
        // What is woken by it may be dropped with it, and that may take any lock.
        drop(waker);
    }
}
