//! The state of a spare pool under its lock, and two notifications: `wake` tells the refill task of demand, `changed` tells
//! waiting callers what the refill task has done.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{SpareFactory, SparePoolConfig, Stopped};
use crate::backoff::{Backoff, Round};
use crate::stats::SpareStats;

pub(super) struct SpareState<F: SpareFactory> {
    pub(super) factory: F,
    pub(super) interval: Duration,
    concurrency: usize,
    max_age: Option<Duration>,
    state: Mutex<State<F::Spare>>,
    pub(super) wake: Notify,
    changed: Notify,
}

struct State<S> {
    phase: Phase,
    target: usize,
    /// Oldest first.
    ready: VecDeque<Spare<S>>,
    /// Spares that are out of the list while they are checked. They count as ready.
    checking: usize,
    creating: usize,
    backoff: Backoff,
    /// No creation begins before this.
    not_before: Option<Instant>,
    counts: SpareStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Stopping,
    Stopped,
}

/// Numbers spares in the order of their creation: greater is younger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Number(u64);

struct Spare<S> {
    number: Number,
    created: Instant,
    item: S,
}

/// What the refill task is to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// Begin a creation; it is counted already.
    Create(Round),
    /// Ask again at this time.
    Wait(Instant),
    Nothing,
}

impl<F: SpareFactory> SpareState<F> {
    pub(super) fn new(factory: F, config: SparePoolConfig) -> Self {
        let state = State {
            phase: Phase::Running,
            target: config.target,
            ready: VecDeque::new(),
            checking: 0,
            creating: 0,
            backoff: Backoff::new(config.backoff),
            not_before: None,
            counts: SpareStats::default(),
        };
        Self {
            factory,
            interval: config.interval,
            concurrency: config.concurrency.max(1),
            max_age: config.max_age,
            state: Mutex::new(state),
            wake: Notify::new(),
            changed: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<F::Spare>> {
        // Nothing that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Option<F::Spare> {
        loop {
            let mut state = self.lock();
            let Some(spare) = state.ready.pop_front() else {
                state.counts.missed += 1;
                return None;
            };
            state.checking += 1;
            drop(state);
            let usable = self.is_usable(&spare);
            let (now, delay) = (Instant::now(), self.factory.refill_delay());
            let mut state = self.lock();
            state.checking -= 1;
            if usable {
                state.counts.taken += 1;
                // A delay that has begun is not extended.
                if state.not_before.is_none_or(|time| time <= now) {
                    state.not_before = Some(now + delay);
                }
            } else {
                state.counts.discarded += 1;
            }
            drop(state);
            self.wake.notify_one();
            if usable {
                return Some(spare.item);
            }
            self.factory.discard(spare.item);
        }
    }

    fn is_usable(&self, spare: &Spare<F::Spare>) -> bool {
        match self.max_age {
            Some(max_age) if spare.created.elapsed() >= max_age => false,
            _ => self.factory.is_usable(&spare.item),
        }
    }

    /// Checks every spare once, and throws away the unusable ones.
    pub(super) fn check_all(&self) {
        let mut checked = None;
        loop {
            let mut state = self.lock();
            let next = state.ready.partition_point(|spare| Some(spare.number) <= checked);
            let Some(spare) = state.ready.remove(next) else { return };
            checked = Some(spare.number);
            state.checking += 1;
            drop(state);
            let usable = self.is_usable(&spare);
            let mut state = self.lock();
            state.checking -= 1;
            if usable {
                // Back to its position: older spares may have been taken meanwhile.
                let index = state.ready.partition_point(|other| other.number < spare.number);
                state.ready.insert(index, spare);
                drop(state);
                // Callers that counted the ready spares meanwhile did not see this one.
                self.changed.notify_waiters();
            } else {
                state.counts.discarded += 1;
                drop(state);
                self.factory.discard(spare.item);
            }
        }
    }

    /// Throws away surplus spares, or all of them when the pool stops.
    pub(super) fn trim(&self) {
        loop {
            let mut state = self.lock();
            let keep = match state.phase {
                Phase::Running => state.target,
                Phase::Stopping | Phase::Stopped => 0,
            };
            if state.ready.len() <= keep {
                return;
            }
            let Some(spare) = state.ready.pop_front() else { return };
            state.counts.discarded += 1;
            drop(state);
            self.factory.discard(spare.item);
        }
    }

    pub(super) fn resize(&self, target: usize) {
        self.lock().target = target;
        self.wake.notify_one();
    }

    /// Whether a creation is due. If so, it is counted as begun.
    pub(super) fn demand(&self) -> Demand {
        let mut state = self.lock();
        let enough = state.ready.len() + state.checking + state.creating >= state.target;
        if state.phase != Phase::Running || enough || state.creating >= self.concurrency {
            return Demand::Nothing;
        }
        if let Some(time) = state.not_before {
            if Instant::now() < time {
                return Demand::Wait(time);
            }
            state.not_before = None;
        }
        state.creating += 1;
        Demand::Create(state.backoff.round())
    }

    pub(super) fn add_spare(&self, item: F::Spare) {
        let mut state = self.lock();
        state.creating -= 1;
        state.counts.created += 1;
        state.backoff.succeeded();
        state.not_before = None;
        let number = Number(state.counts.created);
        state.ready.push_back(Spare { number, created: Instant::now(), item });
        drop(state);
        self.trim();
        self.changed.notify_waiters();
    }

    /// A creation failed. `None` if the round in which it began is not known.
    pub(super) fn record_failure(&self, round: Option<Round>) {
        let mut state = self.lock();
        state.creating -= 1;
        state.counts.failed += 1;
        let round = round.unwrap_or(state.backoff.round());
        if let Some(wait) = state.backoff.failed(round) {
            state.not_before = Some(Instant::now() + wait);
        }
    }

    /// A creation was counted as begun, but did not begin.
    pub(super) fn record_not_begun(&self) {
        self.lock().creating -= 1;
    }

    pub(super) fn stop(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Running {
            state.phase = Phase::Stopping;
        }
        drop(state);
        self.wake.notify_one();
    }

    pub(super) fn is_running(&self) -> bool {
        self.lock().phase == Phase::Running
    }

    /// The refill task has ended.
    pub(super) fn finish(&self) {
        self.trim();
        self.lock().phase = Phase::Stopped;
        debug_assert!(self.stats().adds_up(), "every spare is taken or discarded: {:?}", self.stats());
        self.changed.notify_waiters();
    }

    pub(super) async fn stopped(&self) {
        self.wait_for(|state| (state.phase == Phase::Stopped).then_some(())).await;
    }

    pub(super) async fn ready(&self, count: usize) -> Result<(), Stopped> {
        self.wait_for(|state| match state.phase {
            Phase::Running => (state.ready.len() >= count).then_some(Ok(())),
            Phase::Stopping | Phase::Stopped => Some(Err(Stopped)),
        })
        .await
    }

    async fn wait_for<T>(&self, condition: impl Fn(&State<F::Spare>) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Registered before the check: the state may change in between.
            changed.as_mut().enable();
            let met = condition(&self.lock());
            match met {
                Some(value) => return value,
                None => changed.await,
            }
        }
    }

    pub(super) fn stats(&self) -> SpareStats {
        let state = self.lock();
        SpareStats { ready: state.ready.len() + state.checking, creating: state.creating, ..state.counts }
    }
}
