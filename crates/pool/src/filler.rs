//! Spares: things that belong to nobody yet, made ahead of demand, so that who needs one need not wait for it.
//!
//! One task (`filler/crew.rs`) boots; taking is synchronous and never waits. Each spare taken or thrown away is one boot:
//! ready and booting together are never more than `min`, however long boots take (except after `min` was lowered, until the
//! boots under way are done). Boots that fail back off.
//!
//! States: `Running -> Stopping -> Stopped`. Whether it stops is asked first, everywhere: after `stop` was called no boot
//! begins; those under way are waited for, and what they bring is thrown away.
//!
//! Invariant: `booted = ready + taken + discarded`. No lock is held while anything boots or is asked whether it is fit.

mod crew;
#[cfg(test)]
mod tests;
mod yard;

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::backoff::BackoffRules;
use crate::stats::FillerStats;
use yard::Yard;

/// How spares are made and judged.
pub trait Boot: Send + Sync + 'static {
    type Spare: Send + 'static;
    type Error: Display + Send + 'static;

    fn boot(&self) -> impl Future<Output = Result<Self::Spare, Self::Error>> + Send;

    /// Asked when a spare is taken, and now and then before. Must not block or panic.
    fn is_fit(&self, spare: &Self::Spare) -> Fitness;

    /// How long after a spare was taken the boot for it begins: who took it may need the processors more.
    fn breath(&self) -> Duration {
        Duration::ZERO
    }

    /// Destroys a spare that nobody took.
    fn discard(&self, spare: Self::Spare) {
        drop(spare);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitness {
    Fit,
    Unfit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillerRules {
    /// Spares to have ready.
    pub min: usize,
    /// Boots at once; at least one.
    pub boots: usize,
    /// How often to look at the spares without being asked: throws away unfit and old ones, and boots for them.
    pub interval: Duration,
    pub backoff: BackoffRules,
    /// Older spares are thrown away.
    pub max_age: Option<Duration>,
}

/// The filler was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the filler was stopped")]
pub struct Stopped;

/// Keeps spares ready. Dropping it stops it without waiting for the boots under way.
pub struct Filler<B: Boot> {
    yard: Arc<Yard<B>>,
}

impl<B: Boot> Filler<B> {
    /// Begins to boot, on the current tokio runtime. Panics outside of one.
    pub fn start(boot: B, rules: FillerRules) -> Self {
        let yard = Arc::new(Yard::new(boot, rules));
        tokio::spawn(crew::run(yard.clone()));
        Self { yard }
    }

    /// The oldest spare that is fit, if there is one now; another is booted for it, after [`Boot::breath`].
    pub fn take(&self) -> Option<B::Spare> {
        self.yard.take()
    }

    /// How many spares to have ready from now on. What is too much goes, the oldest first.
    pub fn resize(&self, min: usize) {
        self.yard.resize(min);
    }

    /// Resolves when `count` spares are ready. More than `min` never are.
    pub async fn ready(&self, count: usize) -> Result<(), Stopped> {
        self.yard.ready(count).await
    }

    /// Stops: no boot begins after this call. Resolves when the boots under way are done and all spares are destroyed.
    pub async fn stop(&self) {
        self.yard.stop();
        self.yard.stopped().await;
    }

    pub fn stats(&self) -> FillerStats {
        self.yard.stats()
    }
}

impl<B: Boot> Drop for Filler<B> {
    fn drop(&mut self) {
        self.yard.stop();
    }
}
