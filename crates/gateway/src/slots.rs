//! Connection slots: the limit of all connections. With no slot free nothing is accepted; where clients wait nevertheless, the
//! connections with the longest idle times are closed, so that idle clients cannot keep others out.
//!
//! A client waits for at most `evict_idle_after` while there are idle connections; while all have requests in flight, until one
//! ends.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::clock::TICK;
use crate::config::Config;
use crate::log_throttle::LogThrottle;
use crate::server::Listener;
use crate::stats::Stats;

/// One in so many connections is closed at a time, since finding the longest idle ones scans all.
const EVICTED_SHARE: usize = 100;
/// Before the next try, where no connection has been idle for long enough.
const RETRY_DELAY: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Slots {
    limit: usize,
    evict_idle_after: Duration,
    per_client: usize,
    free: Arc<Semaphore>,
    stats: Stats,
    full: LogThrottle,
    refused: LogThrottle,
}

// === impl Slots ===

impl Slots {
    pub fn new(config: &Config, stats: Stats) -> Self {
        let limit = config.max_connections.clamp(1, u32::MAX as usize >> 1);
        Self {
            limit,
            evict_idle_after: config.evict_idle_after,
            per_client: config.max_connections_per_client,
            free: Arc::new(Semaphore::new(limit)),
            stats,
            full: LogThrottle::default(),
            refused: LogThrottle::default(),
        }
    }

    /// A slot for the next connection from that listener.
    pub async fn take(&self, listener: &Listener) -> OwnedSemaphorePermit {
        loop {
            if let Ok(slot) = self.free.clone().try_acquire_owned() {
                return slot;
            }
            // No connection is closed unless a client waits. `accept` will report an error again.
            let readable = listener.readable().await;
            if let Ok(slot) = self.free.clone().try_acquire_owned() {
                return slot;
            }
            let count = (self.limit / EVICTED_SHARE).max(1);
            let evicted = if readable.is_ok() { self.stats.evict_idle(count, self.evict_idle_after) } else { 0 };
            self.log_full(evicted);
            if let Ok(Ok(slot)) = timeout(RETRY_DELAY, self.free.clone().acquire_owned()).await {
                return slot;
            }
        }
    }

    /// Updates idle times, where they may soon be needed; never ends by itself.
    pub async fn survey(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            if self.taken() > self.limit / 2 {
                self.stats.survey();
            }
        }
    }

    pub fn taken(&self) -> usize {
        self.limit - self.free.available_permits()
    }

    /// Ready when all connections have ended.
    pub async fn all_free(&self) {
        // The semaphore is never closed, so this cannot fail.
        let _ = self.free.acquire_many(self.limit as u32).await;
    }

    fn log_full(&self, evicted: usize) {
        if let Some(times) = self.full.record(Instant::now()) {
            tracing::warn!(
                max_connections = self.limit,
                evicted,
                times,
                "connection limit reached while clients wait; closing the longest idle connections"
            );
        }
    }

    /// Logs that a connection beyond the client's limit was closed.
    pub fn log_refused(&self, client: IpAddr) {
        if let Some(times) = self.refused.record(Instant::now()) {
            tracing::warn!(
                %client,
                max_connections_per_client = self.per_client,
                times,
                "connection refused: client is at its limit (list proxies in trusted_proxies)"
            );
        }
    }
}
