//! The task that boots. It goes round: is it over? what is too much? what is missing? Then it sleeps until somebody takes a
//! spare, a boot ends, the wait after a failure is over, or it is time for a look at everything.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use super::Boot;
use super::yard::{Demand, Yard};
use crate::backoff::Round;

/// How a boot ended.
enum Outcome<S> {
    Booted(S),
    Failed(Round),
    /// The filler was stopped before it began.
    NotBegun,
}

pub(super) async fn run<B: Boot>(yard: Arc<Yard<B>>) {
    let mut boots = JoinSet::new();
    let interval = yard.interval.max(Duration::from_millis(1));
    let mut look = tokio::time::interval_at(Instant::now() + interval, interval);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while yard.is_running() {
        yard.trim();
        let resume = begin(&yard, &mut boots);
        let waited = async {
            match resume {
                Some(resume) => tokio::time::sleep_until(resume).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = yard.wake.notified() => {}
            Some(outcome) = boots.join_next() => settle(&yard, outcome),
            () = waited => {}
            _ = look.tick() => yard.inspect(),
        }
    }
    while let Some(outcome) = boots.join_next().await {
        settle(&yard, outcome);
    }
    yard.finish();
}

/// Begins the boots that are due; says when to ask again.
fn begin<B: Boot>(yard: &Arc<Yard<B>>, boots: &mut JoinSet<Outcome<B::Spare>>) -> Option<Instant> {
    loop {
        match yard.demand() {
            Demand::Boot(round) => boots.spawn(boot(yard.clone(), round)),
            Demand::Later(resume) => return Some(resume),
            Demand::Nothing => return None,
        };
    }
}

async fn boot<B: Boot>(yard: Arc<Yard<B>>, round: Round) -> Outcome<B::Spare> {
    // Between being counted and running for the first time there was time enough to be stopped.
    if !yard.is_running() {
        return Outcome::NotBegun;
    }
    match yard.boot.boot().await {
        Ok(spare) => Outcome::Booted(spare),
        Err(error) => {
            tracing::warn!(%error, "A spare did not boot");
            Outcome::Failed(round)
        }
    }
}

fn settle<B: Boot>(yard: &Yard<B>, outcome: Result<Outcome<B::Spare>, JoinError>) {
    match outcome {
        Ok(Outcome::Booted(spare)) => yard.booted(spare),
        Ok(Outcome::Failed(round)) => yard.failed(Some(round)),
        Ok(Outcome::NotBegun) => yard.not_begun(),
        Err(error) => {
            // Cancelled only when the runtime is shut down.
            if error.is_panic() {
                tracing::error!(%error, "The boot of a spare panicked");
            }
            yard.failed(None);
        }
    }
}
