//! The task that creates spares. Each round it throws away surplus spares and begins the creations that are due; then it
//! sleeps until a spare is taken, a creation ends, a delay is over, or it is time to check all spares.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use super::SpareFactory;
use super::state::{Demand, SpareState};
use crate::backoff::Round;

/// How a creation ended.
enum Outcome<S> {
    Created(S),
    Failed(Round),
    /// The spare pool was stopped before it began.
    NotBegun,
}

pub(super) async fn run<F: SpareFactory>(state: Arc<SpareState<F>>) {
    let mut creations = JoinSet::new();
    let interval = state.interval.max(Duration::from_millis(1));
    let mut check = tokio::time::interval_at(Instant::now() + interval, interval);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while state.is_running() {
        state.trim();
        let wake_at = begin_creations(&state, &mut creations);
        let delay_over = async {
            match wake_at {
                Some(time) => tokio::time::sleep_until(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = state.wake.notified() => {}
            Some(outcome) = creations.join_next() => record(&state, outcome),
            () = delay_over => {}
            _ = check.tick() => state.check_all(),
        }
    }
    while let Some(outcome) = creations.join_next().await {
        record(&state, outcome);
    }
    state.finish();
}

/// Begins the creations that are due; returns when to ask again.
fn begin_creations<F: SpareFactory>(
    state: &Arc<SpareState<F>>,
    creations: &mut JoinSet<Outcome<F::Spare>>,
) -> Option<Instant> {
    loop {
        match state.demand() {
            Demand::Create(round) => creations.spawn(create(state.clone(), round)),
            Demand::Wait(time) => return Some(time),
            Demand::Nothing => return None,
        };
    }
}

async fn create<F: SpareFactory>(state: Arc<SpareState<F>>, round: Round) -> Outcome<F::Spare> {
    // The pool may have been stopped after the creation was counted and before this task ran.
    if !state.is_running() {
        return Outcome::NotBegun;
    }
    match state.factory.create().await {
        Ok(spare) => Outcome::Created(spare),
        Err(error) => {
            tracing::warn!(%error, "spare creation failed");
            Outcome::Failed(round)
        }
    }
}

fn record<F: SpareFactory>(state: &SpareState<F>, outcome: Result<Outcome<F::Spare>, JoinError>) {
    match outcome {
        Ok(Outcome::Created(spare)) => state.add_spare(spare),
        Ok(Outcome::Failed(round)) => state.record_failure(Some(round)),
        Ok(Outcome::NotBegun) => state.record_not_begun(),
        Err(error) => {
            // Cancelled only when the runtime is shut down.
            if error.is_panic() {
                tracing::error!(%error, "spare creation panicked");
            }
            state.record_failure(None);
        }
    }
}
