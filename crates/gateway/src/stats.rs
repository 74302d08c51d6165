//! Counts of a server, to be read at any time. Each connection writes counters of its own (`counters.rs`), so that no request
//! touches memory that another thread writes; a reader adds them up.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use crate::counters::{CounterHandle, CounterRegistry};

/// What a server has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Connections that were accepted.
    pub connections: u64,
    pub connections_open: u64,
    /// Connections that were closed at once: their client was at its limit.
    pub connections_refused: u64,
    /// Idle connections that were closed to make room for others.
    pub connections_evicted: u64,
    /// Requests that have begun and not ended.
    pub in_flight: u64,
    /// Requests that got a complete answer, of the app or an error instead.
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
    inner: Arc<StatsInner>,
}

#[derive(Debug, Default)]
struct StatsInner {
    connections: AtomicU64,
    refused: AtomicU64,
    evicted: AtomicU64,
    headers_dropped: AtomicU64,
    registry: Mutex<CounterRegistry>,
}

// === impl Stats ===

impl Stats {
    pub fn summary(&self) -> Summary {
        let registry = self.lock();
        let mut summary = Summary {
            connections: self.inner.connections.load(Relaxed),
            connections_open: registry.open_count() as u64,
            connections_refused: self.inner.refused.load(Relaxed),
            connections_evicted: self.inner.evicted.load(Relaxed),
            headers_dropped: self.inner.headers_dropped.load(Relaxed),
            ..Summary::default()
        };
        registry.add_to(&mut summary);
        summary
    }

    /// Registers a connection, whose task is woken by `waker`.
    pub(crate) fn connect(&self, waker: Waker) -> CounterHandle {
        self.inner.connections.fetch_add(1, Relaxed);
        let (key, counters) = self.lock().open_connection(waker, Instant::now());
        CounterHandle::new(self.clone(), key, counters)
    }

    /// Records which connections had requests since the last call; idle times are derived from that.
    pub(crate) fn survey(&self) {
        self.lock().survey(Instant::now());
    }

    /// Asks up to `count` connections to end that have had no request for `min_idle`: those with the longest idle times. Gives their
    /// number.
    pub(crate) fn evict_idle(&self, count: usize, min_idle: Duration) -> usize {
        let evicted = self.lock().evict(count, min_idle, Instant::now());
        self.inner.evicted.fetch_add(evicted.len() as u64, Relaxed);
        let number = evicted.len();
        evicted.into_iter().for_each(Waker::wake);
        number
    }

    pub(crate) fn refuse_connection(&self) {
        self.inner.refused.fetch_add(1, Relaxed);
    }

    /// Counts dropped headers, and logs the first.
    pub(crate) fn drop_headers(&self, count: u64) {
        if count > 0 && self.inner.headers_dropped.fetch_add(count, Relaxed) == 0 {
            tracing::warn!(count, "response headers dropped: invalid or beyond the limits (logged once)");
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, CounterRegistry> {
        self.inner.registry.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut handles: Vec<CounterHandle> = (0..4).map(|_| stats.connect(Waker::noop().clone())).collect();
        assert_eq!(stats.evict_idle(4, second), 0, "they are new");
        // The first has a request in flight, the third had one lately.
        handles[0].begin();
        tokio::time::advance(second * 10).await;
        handles[2].begin();
        handles[2].serve(200);
        assert_eq!(stats.evict_idle(1, second), 1);
        let evicted =
            |handles: &[CounterHandle]| handles.iter().map(|counters| counters.view().is_evicted()).collect::<Vec<_>>();
        assert_eq!(evicted(&handles), [false, true, false, false]);
        // No connection is asked twice.
        assert_eq!(stats.evict_idle(4, second), 1);
        assert_eq!(evicted(&handles), [false, true, false, true]);
        tokio::time::advance(second).await;
        handles[0].serve(200);
        assert_eq!(stats.evict_idle(4, second), 1);
        assert_eq!(evicted(&handles), [false, true, true, true]);
        tokio::time::advance(second).await;
        assert_eq!((stats.evict_idle(4, second), stats.summary().connections_evicted), (1, 4));
    }
}
