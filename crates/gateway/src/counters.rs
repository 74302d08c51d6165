//! Counters per connection: each connection has counters that it alone writes, so requests touch no memory that another thread
//! writes.
//!
//! Idle times are derived from the counters, not kept by requests: a survey, once a second where connections are many, records
//! which counters have changed. So an idle time is up to a second short, and a request pays nothing for it.
//! Invariant: counters have one writer at a time, so a plain load and store is enough to count.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use crate::stats::{Stats, Summary};

#[derive(Debug, Default)]
pub struct CounterRegistry {
    next: u64,
    open: HashMap<u64, OpenConn>,
    /// Sums of the connections that have ended.
    past: ConnCounters,
}

/// An open connection.
#[derive(Debug)]
struct OpenConn {
    counters: Arc<ConnCounters>,
    waker: Waker,
    /// Requests that had begun at the last survey.
    begun: u64,
    /// A request was in flight at the last survey.
    was_busy: bool,
    /// When the connection came, or the survey that last found it different from the one before.
    since: Instant,
}

#[derive(Debug, Default)]
pub struct ConnCounters {
    begun: AtomicU64,
    served: AtomicU64,
    aborted: AtomicU64,
    rejected: AtomicU64,
    /// 2xx, 3xx, 4xx, 5xx, others.
    classes: [AtomicU64; 5],
    /// The connection is to end when it has no request. The only field that other tasks write.
    evicted: AtomicBool,
}

/// Read access to a connection's counters, for a connection that has given its handle to its requests (HTTP/2).
#[derive(Clone, Debug)]
pub struct CounterView {
    counters: Arc<ConnCounters>,
}

/// The right to write one connection's counters.
#[derive(Debug)]
pub struct CounterHandle {
    stats: Stats,
    key: u64,
    counters: Arc<ConnCounters>,
}

// === impl CounterRegistry ===

impl CounterRegistry {
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    pub fn open_connection(&mut self, waker: Waker, now: Instant) -> (u64, Arc<ConnCounters>) {
        let (key, counters) = (self.next, Arc::new(ConnCounters::default()));
        self.next += 1;
        self.open.insert(key, OpenConn { counters: counters.clone(), waker, begun: 0, was_busy: false, since: now });
        (key, counters)
    }

    pub fn close_connection(&mut self, key: u64, counters: &ConnCounters) -> Option<Waker> {
        self.past.merge(counters);
        self.open.remove(&key).map(|open| open.waker)
    }

    pub fn add_to(&self, summary: &mut Summary) {
        self.open.values().for_each(|open| open.counters.add_to(summary));
        self.past.add_to(summary);
    }

    pub fn survey(&mut self, now: Instant) {
        self.open.values_mut().for_each(|open| open.survey(now));
    }

    /// Marks up to `count` of the connections that have been idle for `min_idle`, the longest first, and gives their wakers.
    pub fn evict(&mut self, count: usize, min_idle: Duration, now: Instant) -> Vec<Waker> {
        self.survey(now);
        let is_idle = |open: &OpenConn| {
            now.saturating_duration_since(open.since) >= min_idle
                && open.counters.unfinished() == 0
                && !open.counters.evicted.load(Relaxed)
        };
        let mut idle: Vec<(Instant, u64)> =
            self.open.iter().filter(|(_, open)| is_idle(open)).map(|(key, open)| (open.since, *key)).collect();
        if idle.len() > count {
            idle.select_nth_unstable(count);
            idle.truncate(count);
        }
        let chosen = idle.iter().filter_map(|(_, key)| self.open.get(key));
        chosen
            .map(|open| {
                open.counters.evicted.store(true, Relaxed);
                open.waker.clone()
            })
            .collect()
    }
}

// === impl OpenConn ===

impl OpenConn {
    fn survey(&mut self, now: Instant) {
        let (begun, is_busy) = (self.counters.begun.load(Relaxed), self.counters.unfinished() > 0);
        if begun != self.begun || is_busy || self.was_busy {
            self.since = now;
        }
        (self.begun, self.was_busy) = (begun, is_busy);
    }
}

// === impl CounterView ===

impl CounterView {
    pub fn is_evicted(&self) -> bool {
        self.counters.evicted.load(Relaxed)
    }

    /// No request has begun.
    pub fn is_fresh(&self) -> bool {
        self.counters.is_fresh()
    }
}

// === impl ConnCounters ===

impl ConnCounters {
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

// === impl CounterHandle ===

impl CounterHandle {
    pub(crate) fn new(stats: Stats, key: u64, counters: Arc<ConnCounters>) -> Self {
        Self { stats, key, counters }
    }

    /// No request has begun.
    pub fn is_fresh(&self) -> bool {
        self.counters.is_fresh()
    }

    /// Read access, beside the writer.
    pub fn view(&self) -> CounterView {
        CounterView { counters: self.counters.clone() }
    }

    pub fn is_evicted(&self) -> bool {
        self.counters.evicted.load(Relaxed)
    }

    pub fn begin(&mut self) {
        add(&self.counters.begun, 1);
    }

    pub fn serve(&mut self, status: u16) {
        add(&self.counters.served, 1);
        self.count_status(status);
    }

    pub fn abort(&mut self) {
        add(&self.counters.aborted, 1);
    }

    pub fn reject(&mut self, status: u16) {
        add(&self.counters.rejected, 1);
        self.count_status(status);
    }

    fn count_status(&mut self, status: u16) {
        let class = usize::from(status / 100).wrapping_sub(2).min(4);
        add(&self.counters.classes[class], 1);
    }
}

impl Drop for CounterHandle {
    fn drop(&mut self) {
        let mut registry = self.stats.lock();
        add(&self.counters.aborted, self.counters.unfinished());
        let waker = registry.close_connection(self.key, &self.counters);
        drop(registry);
        // Dropping the waker may drop its task, which may take any lock.
        drop(waker);
    }
}
