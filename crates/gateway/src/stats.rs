//! Counts. Connections count for themselves and hand their counts over when they end, so that no request touches shared
//! memory for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a server did in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    pub connections: u64,
    /// Requests that got a complete answer, of the app or in its stead.
    pub served: u64,
    /// Requests that began and got no complete answer: the client left, the body failed, or the drain was over.
    pub aborted: u64,
    /// Requests that were refused before an app saw their end.
    pub rejected: u64,
    /// Response headers that were invalid or beyond the limits.
    pub headers_dropped: u64,
}

#[derive(Debug, Default)]
pub struct Stats {
    connections: AtomicU64,
    served: AtomicU64,
    aborted: AtomicU64,
    rejected: AtomicU64,
    headers_dropped: AtomicU64,
}

/// One connection's share.
#[derive(Debug)]
pub struct Tally {
    stats: Arc<Stats>,
    served: u64,
    aborted: u64,
    rejected: u64,
    in_flight: bool,
}

// === impl Stats ===

impl Stats {
    pub fn summary(&self) -> Summary {
        Summary {
            connections: self.connections.load(Relaxed),
            served: self.served.load(Relaxed),
            aborted: self.aborted.load(Relaxed),
            rejected: self.rejected.load(Relaxed),
            headers_dropped: self.headers_dropped.load(Relaxed),
        }
    }

    /// Counts, and says so in the log the first time.
    pub fn drop_headers(&self, count: u64) {
        if count > 0 && self.headers_dropped.fetch_add(count, Relaxed) == 0 {
            tracing::warn!(count, "Response headers were dropped: invalid or beyond the limits; said once");
        }
    }
}

// === impl Tally ===

impl Tally {
    pub fn new(stats: Arc<Stats>) -> Self {
        stats.connections.fetch_add(1, Relaxed);
        Self { stats, served: 0, aborted: 0, rejected: 0, in_flight: false }
    }

    pub fn begin(&mut self) {
        self.in_flight = true;
    }

    pub fn serve(&mut self) {
        self.in_flight = false;
        self.served += 1;
    }

    pub fn abort(&mut self) {
        self.in_flight = false;
        self.aborted += 1;
    }

    pub fn reject(&mut self) {
        self.in_flight = false;
        self.rejected += 1;
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.stats.served.fetch_add(self.served, Relaxed);
        self.stats.aborted.fetch_add(self.aborted + u64::from(self.in_flight), Relaxed);
        self.stats.rejected.fetch_add(self.rejected, Relaxed);
    }
}
