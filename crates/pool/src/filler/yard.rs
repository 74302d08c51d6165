//! Where the spares stand: the filler's state under its lock, and the two ways to hear of changes. The crew hears of
//! demand (`wake`), everybody else of what the crew brought about (`changed`).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Boot, FillerRules, Fitness, Stopped};
use crate::backoff::{Backoff, Round};
use crate::stats::FillerStats;

pub(super) struct Yard<B: Boot> {
    pub(super) boot: B,
    pub(super) interval: Duration,
    boots: usize,
    max_age: Option<Duration>,
    state: Mutex<State<B::Spare>>,
    pub(super) wake: Notify,
    changed: Notify,
}

struct State<S> {
    phase: Phase,
    min: usize,
    /// Oldest first.
    ready: VecDeque<Spare<S>>,
    /// Spares that are out to be looked at. They count as ready.
    checking: usize,
    booting: usize,
    backoff: Backoff,
    /// No boot begins before this.
    resume: Option<Instant>,
    counts: FillerStats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Stopping,
    Stopped,
}

/// Counts spares as they come: greater is younger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(u64);

struct Spare<S> {
    number: Number,
    born: Instant,
    thing: S,
}

/// What the crew is to do about boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// Begin one; it is counted already.
    Boot(Round),
    /// Ask again then.
    Later(Instant),
    Nothing,
}

impl<B: Boot> Yard<B> {
    pub(super) fn new(boot: B, rules: FillerRules) -> Self {
        let state = State {
            phase: Phase::Running,
            min: rules.min,
            ready: VecDeque::new(),
            checking: 0,
            booting: 0,
            backoff: Backoff::new(rules.backoff),
            resume: None,
            counts: FillerStats::default(),
        };
        Self {
            boot,
            interval: rules.interval,
            boots: rules.boots.max(1),
            max_age: rules.max_age,
            state: Mutex::new(state),
            wake: Notify::new(),
            changed: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<B::Spare>> {
        // Nothing that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self) -> Option<B::Spare> {
        loop {
            let mut state = self.lock();
            let Some(spare) = state.ready.pop_front() else {
                state.counts.missed += 1;
                return None;
            };
            state.checking += 1;
            drop(state);
            let fitness = self.judge(&spare);
            let (now, breath) = (Instant::now(), self.boot.breath());
            let mut state = self.lock();
            state.checking -= 1;
            match fitness {
                Fitness::Fit => {
                    state.counts.taken += 1;
                    // One that is put off already is not put off further.
                    if state.resume.is_none_or(|resume| resume <= now) {
                        state.resume = Some(now + breath);
                    }
                }
                Fitness::Unfit => state.counts.discarded += 1,
            }
            drop(state);
            self.wake.notify_one();
            match fitness {
                Fitness::Fit => return Some(spare.thing),
                Fitness::Unfit => self.boot.discard(spare.thing),
            }
        }
    }

    fn judge(&self, spare: &Spare<B::Spare>) -> Fitness {
        match self.max_age {
            Some(max_age) if spare.born.elapsed() >= max_age => Fitness::Unfit,
            _ => self.boot.is_fit(&spare.thing),
        }
    }

    /// Looks at every spare once, and throws away what is unfit.
    pub(super) fn inspect(&self) {
        let mut seen = None;
        loop {
            let mut state = self.lock();
            let next = state.ready.partition_point(|spare| Some(spare.number) <= seen);
            let Some(spare) = state.ready.remove(next) else { return };
            seen = Some(spare.number);
            state.checking += 1;
            drop(state);
            let fitness = self.judge(&spare);
            let mut state = self.lock();
            state.checking -= 1;
            match fitness {
                Fitness::Fit => {
                    // Where it was: others may have been taken from before it.
                    let index = state.ready.partition_point(|other| other.number < spare.number);
                    state.ready.insert(index, spare);
                    drop(state);
                    // Who counted the ready ones meanwhile missed this one.
                    self.changed.notify_waiters();
                }
                Fitness::Unfit => {
                    state.counts.discarded += 1;
                    drop(state);
                    self.boot.discard(spare.thing);
                }
            }
        }
    }

    /// Throws away what is more than `min`, or everything when the filler stops.
    pub(super) fn trim(&self) {
        loop {
            let mut state = self.lock();
            let keep = match state.phase {
                Phase::Running => state.min,
                Phase::Stopping | Phase::Stopped => 0,
            };
            if state.ready.len() <= keep {
                return;
            }
            let Some(spare) = state.ready.pop_front() else { return };
            state.counts.discarded += 1;
            drop(state);
            self.boot.discard(spare.thing);
        }
    }

    pub(super) fn resize(&self, min: usize) {
        self.lock().min = min;
        self.wake.notify_one();
    }

    /// Whether a boot is due. One that is begins now, as far as the numbers go.
    pub(super) fn demand(&self) -> Demand {
        let mut state = self.lock();
        let enough = state.ready.len() + state.checking + state.booting >= state.min;
        if state.phase != Phase::Running || enough || state.booting >= self.boots {
            return Demand::Nothing;
        }
        if let Some(resume) = state.resume {
            if Instant::now() < resume {
                return Demand::Later(resume);
            }
            state.resume = None;
        }
        state.booting += 1;
        Demand::Boot(state.backoff.round())
    }

    pub(super) fn booted(&self, thing: B::Spare) {
        let mut state = self.lock();
        state.booting -= 1;
        state.counts.booted += 1;
        state.backoff.succeeded();
        state.resume = None;
        let number = Number(state.counts.booted);
        state.ready.push_back(Spare { number, born: Instant::now(), thing });
        drop(state);
        self.trim();
        self.changed.notify_waiters();
    }

    /// A boot failed. `None` when it is not known when it began.
    pub(super) fn failed(&self, round: Option<Round>) {
        let mut state = self.lock();
        state.booting -= 1;
        state.counts.failed += 1;
        let round = round.unwrap_or(state.backoff.round());
        if let Some(wait) = state.backoff.failed(round) {
            state.resume = Some(Instant::now() + wait);
        }
    }

    /// A boot was counted, but did not begin.
    pub(super) fn not_begun(&self) {
        self.lock().booting -= 1;
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

    /// The crew has gone home.
    pub(super) fn finish(&self) {
        self.trim();
        self.lock().phase = Phase::Stopped;
        debug_assert!(self.stats().adds_up(), "every spare is taken or discarded: {:?}", self.stats());
        self.changed.notify_waiters();
    }

    pub(super) async fn stopped(&self) {
        self.until(|state| (state.phase == Phase::Stopped).then_some(())).await;
    }

    pub(super) async fn ready(&self, count: usize) -> Result<(), Stopped> {
        self.until(|state| match state.phase {
            Phase::Running => (state.ready.len() >= count).then_some(Ok(())),
            Phase::Stopping | Phase::Stopped => Some(Err(Stopped)),
        })
        .await
    }

    async fn until<T>(&self, condition: impl Fn(&State<B::Spare>) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Listen first, look then: it may change in between.
            changed.as_mut().enable();
            let met = condition(&self.lock());
            match met {
                Some(value) => return value,
                None => changed.await,
            }
        }
    }

    pub(super) fn stats(&self) -> FillerStats {
        let state = self.lock();
        FillerStats { ready: state.ready.len() + state.checking, booting: state.booting, ..state.counts }
    }
}
