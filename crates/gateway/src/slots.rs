//! Slots: how many connections there may be. With none free nothing is accepted; where clients wait all the same, those
//! connections are closed that have had no request for longest, so that silent ones cannot keep others out.
//!
//! A client waits `evict_idle_after` at most while there are idle connections; while each has a request under way, until one ends.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::clock::TICK;
use crate::config::Config;
use crate::server::Listener;
use crate::stats::Stats;

/// One in so many connections is closed at once: to find those with the longest idle times is to look at all.
const EVICTED_SHARE: usize = 100;
/// Before the next try where no connection has been idle for long enough.
const RETRY: Duration = Duration::from_millis(100);
/// Between two lines of the log about the same.
const QUIET: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct Slots {
    limit: usize,
    evict_idle_after: Duration,
    per_client: usize,
    free: Arc<Semaphore>,
    stats: Stats,
    full: Notice,
    refused: Notice,
}

/// Something that is logged now and then, however often it happens.
#[derive(Debug, Default)]
struct Notice(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    last: Option<Instant>,
    /// Times that it happened since.
    untold: u64,
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
            full: Notice::default(),
            refused: Notice::default(),
        }
    }

    /// A slot for the next connection from that listener.
    pub async fn take(&self, listener: &Listener) -> OwnedSemaphorePermit {
        loop {
            if let Ok(slot) = self.free.clone().try_acquire_owned() {
                return slot;
            }
            // Nobody is sent away while nobody waits. An error is told by accepting.
            let knock = listener.knock().await;
            if let Ok(slot) = self.free.clone().try_acquire_owned() {
                return slot;
            }
            let most = (self.limit / EVICTED_SHARE).max(1);
            let evicted = if knock.is_ok() { self.stats.evict_idle(most, self.evict_idle_after) } else { 0 };
            self.tell_full(evicted);
            if let Ok(Ok(slot)) = timeout(RETRY, self.free.clone().acquire_owned()).await {
                return slot;
            }
        }
    }

    /// Keeps idle times known, where they may soon be asked for; never ends by itself.
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
        // It is never closed, so this is a wait and nothing else.
        let _ = self.free.acquire_many(self.limit as u32).await;
    }

    fn tell_full(&self, evicted: usize) {
        if let Some(times) = self.full.happened(Instant::now()) {
            tracing::warn!(
                max_connections = self.limit,
                evicted,
                times,
                "Connections are at their limit, and clients wait: those without a request are closed, the longest idle first"
            );
        }
    }

    /// One more connection than that client may have was closed.
    pub fn tell_refused(&self, client: IpAddr) {
        if let Some(times) = self.refused.happened(Instant::now()) {
            tracing::warn!(
                %client,
                max_connections_per_client = self.per_client,
                times,
                "Connection refused: the client has as many as it may have; a proxy belongs into trusted_proxies"
            );
        }
    }
}

// === impl Notice ===

impl Notice {
    /// How often it happened since it was last told, if it is to be told now.
    fn happened(&self, now: Instant) -> Option<u64> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.untold += 1;
        if told.last.is_some_and(|last| now.saturating_duration_since(last) < QUIET) {
            return None;
        }
        told.last = Some(now);
        Some(std::mem::take(&mut told.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_now_and_then() {
        let (notice, start) = (Notice::default(), Instant::now());
        assert_eq!(notice.happened(start), Some(1));
        assert!((0..1000).all(|_| notice.happened(start + QUIET / 2).is_none()));
        assert_eq!(notice.happened(start + QUIET), Some(1001));
    }
}
