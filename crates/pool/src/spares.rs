//! Spares: items that are made ahead of demand and belong to no key yet, so that a request that needs one does not wait.
//!
//! One task (`spares/refill_task.rs`) creates spares; taking one is synchronous and never waits. Each spare that is taken or
//! thrown away is replaced by one creation: ready and creating together are never more than `target`, however long creations
//! take (except after `target` was lowered, until the creations under way are done). Creations that fail back off.
//!
//! States: `Running -> Stopping -> Stopped`. After `stop` was called no creation begins; those under way are waited for, and
//! their spares are thrown away.
//!
//! Invariant: `created = ready + taken + discarded`. No lock is held while a spare is created or checked.

mod refill_task;
mod state;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::backoff::BackoffConfig;
use crate::stats::SpareStats;
use state::SpareState;

/// How spares are made and checked.
pub trait SpareFactory: Send + Sync + 'static {
    type Spare: Send + 'static;
    type Error: Display + Send + 'static;

    fn create(&self) -> impl Future<Output = Result<Self::Spare, Self::Error>> + Send;

    /// Checked when a spare is taken, and periodically before. Must not block or panic.
    fn is_usable(&self, spare: &Self::Spare) -> bool;

    /// How long after a spare was taken the creation of its replacement begins: the request that took it may need the
    /// processors more.
    fn refill_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Destroys a spare that was not taken.
    fn discard(&self, spare: Self::Spare) {
        drop(spare);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparePoolConfig {
    /// Spares to have ready.
    pub target: usize,
    /// Creations at once; at least one.
    pub concurrency: usize,
    /// How often all spares are checked: unusable and old ones are thrown away and replaced.
    pub interval: Duration,
    pub backoff: BackoffConfig,
    /// Older spares are thrown away.
    pub max_age: Option<Duration>,
}

/// The spare pool was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the spare pool was stopped")]
pub struct Stopped;

/// Keeps spares ready. Dropping it stops it without waiting for the creations under way.
pub struct SparePool<F: SpareFactory> {
    state: Arc<SpareState<F>>,
}

impl<F: SpareFactory> SparePool<F> {
    /// Begins to create spares, on the current tokio runtime. Panics outside of one.
    pub fn start(factory: F, config: SparePoolConfig) -> Self {
        let state = Arc::new(SpareState::new(factory, config));
        tokio::spawn(refill_task::run(state.clone()));
        Self { state }
    }

    /// The oldest usable spare, if there is one now; its replacement is created after [`SpareFactory::refill_delay`].
    pub fn take(&self) -> Option<F::Spare> {
        self.state.take()
    }

    /// How many spares to have ready from now on. Surplus spares are thrown away, the oldest first.
    pub fn resize(&self, target: usize) {
        self.state.resize(target);
    }

    /// Resolves when `count` spares are ready. More than the target never are.
    pub async fn ready(&self, count: usize) -> Result<(), Stopped> {
        self.state.ready(count).await
    }

    /// Stops: no creation begins after this call. Resolves when the creations under way are done and all spares are destroyed.
    pub async fn stop(&self) {
        self.state.stop();
        self.state.stopped().await;
    }

    pub fn stats(&self) -> SpareStats {
        self.state.stats()
    }
}

impl<F: SpareFactory> Drop for SparePool<F> {
    fn drop(&mut self) {
        self.state.stop();
    }
}
