//! Counts, to be read at any time. Each connection writes into a ledger of its own, so that no request touches memory
//! that another thread writes; a reader adds the ledgers up.
//! Invariant: a ledger has one writer at a time, so a plain load and store is enough to count.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use crate::ledger::{Ledgers, Tally};

/// What a server did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Connections that were accepted.
    pub connections: u64,
    pub connections_open: u64,
    /// Connections that were closed at once: their client had as many as it may have.
    pub connections_refused: u64,
    /// Idle connections that were closed to make room for others.
    pub connections_evicted: u64,
    /// Requests that have begun and not ended.
    pub in_flight: u64,
    /// Requests that got a complete answer, of the app or in its stead.
    pub served: u64,
    /// Requests that began and got no complete answer: the client left, the body failed, or the drain was over.
    pub aborted: u64,
    /// Requests that were refused before an app saw their end.
    pub rejected: u64,
    /// Answers by the class of their status; `served` and `rejected` together.
    pub answers: ResponseCounts,
    /// Response headers that were invalid or beyond the limits.
    pub headers_dropped: u64,
}

/// Counts of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseCounts {
    /// 2xx
    pub success: u64,
    /// 3xx
    pub redirection: u64,
    /// 4xx
    pub client_error: u64,
    /// 5xx
    pub server_error: u64,
    /// 6xx and above
    pub other: u64,
}

/// The counts of a server, while it runs and after. Clones are the same counts.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    books: Arc<Books>,
}

#[derive(Debug, Default)]
struct Books {
    connections: AtomicU64,
    refused: AtomicU64,
    evicted: AtomicU64,
    headers_dropped: AtomicU64,
    ledgers: Mutex<Ledgers>,
}

// === impl Stats ===

impl Stats {
    pub fn summary(&self) -> Summary {
        let ledgers = self.lock();
        let mut summary = Summary {
            connections: self.books.connections.load(Relaxed),
            connections_open: ledgers.open() as u64,
            connections_refused: self.books.refused.load(Relaxed),
            connections_evicted: self.books.evicted.load(Relaxed),
            headers_dropped: self.books.headers_dropped.load(Relaxed),
            ..Summary::default()
        };
        ledgers.add_to(&mut summary);
        summary
    }

    /// A connection begins, whose task is woken by `waker`.
    pub(crate) fn connect(&self, waker: Waker) -> Tally {
        self.books.connections.fetch_add(1, Relaxed);
        let (key, ledger) = self.lock().open_one(waker, Instant::now());
        Tally::new(self.clone(), key, ledger)
    }

    /// Notes which connections had requests since the last time; what idle times are known by.
    pub(crate) fn survey(&self) {
        self.lock().survey(Instant::now());
    }

    /// Asks up to `most` connections to end that have had no request for `least`: those with the longest idle times. Says how
    /// many there were.
    pub(crate) fn evict_idle(&self, most: usize, least: Duration) -> usize {
        let evicted = self.lock().evict(most, least, Instant::now());
        self.books.evicted.fetch_add(evicted.len() as u64, Relaxed);
        let count = evicted.len();
        evicted.into_iter().for_each(Waker::wake);
        count
    }

    pub(crate) fn refuse_connection(&self) {
        self.books.refused.fetch_add(1, Relaxed);
    }

    /// Counts, and says so in the log the first time.
    pub(crate) fn drop_headers(&self, count: u64) {
        if count > 0 && self.books.headers_dropped.fetch_add(count, Relaxed) == 0 {
            tracing::warn!(count, "Response headers were dropped: invalid or beyond the limits; said once");
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Ledgers> {
        self.books.ledgers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_past_connections_count_alike() {
        let stats = Stats::default();
        let (mut one, mut two) = (stats.connect(Waker::noop().clone()), stats.connect(Waker::noop().clone()));
        for status in [200, 204, 301, 404, 503, 999] {
            one.begin();
            one.serve(status);
        }
        two.begin();
        two.reject(413);
        two.begin();
        let open = stats.summary();
        assert_eq!((open.connections, open.connections_open, open.in_flight), (2, 2, 1));
        assert_eq!((open.served, open.rejected, open.aborted), (6, 1, 0));
        let answers = ResponseCounts { success: 2, redirection: 1, client_error: 2, server_error: 1, other: 1 };
        assert_eq!(open.answers, answers);
        drop((one, two));
        let past = stats.summary();
        assert_eq!(past, Summary { connections_open: 0, in_flight: 0, aborted: 1, ..open });
    }

    #[tokio::test(start_paused = true)]
    async fn connections_with_the_longest_idle_times_are_asked_to_end() {
        let (stats, second) = (Stats::default(), Duration::from_secs(1));
        let mut tallies: Vec<Tally> = (0..4).map(|_| stats.connect(Waker::noop().clone())).collect();
        assert_eq!(stats.evict_idle(4, second), 0, "they have just come");
        // The first has a request under way, the third had one lately.
        tallies[0].begin();
        tokio::time::advance(second * 10).await;
        tallies[2].begin();
        tallies[2].serve(200);
        assert_eq!(stats.evict_idle(1, second), 1);
        let evicted = |tallies: &[Tally]| tallies.iter().map(|tally| tally.vigil().is_evicted()).collect::<Vec<_>>();
        assert_eq!(evicted(&tallies), [false, true, false, false]);
        // Nobody is asked twice.
        assert_eq!(stats.evict_idle(4, second), 1);
        assert_eq!(evicted(&tallies), [false, true, false, true]);
        tokio::time::advance(second).await;
        tallies[0].serve(200);
        assert_eq!(stats.evict_idle(4, second), 1);
        assert_eq!(evicted(&tallies), [false, true, true, true]);
        tokio::time::advance(second).await;
        assert_eq!((stats.evict_idle(4, second), stats.summary().connections_evicted), (1, 4));
    }
}
