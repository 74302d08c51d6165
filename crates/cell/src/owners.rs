//! The gates of owners, by name: so that all apps of an owner share one line, and so that an owner whose turn is stuck can
//! be barred until the turn has ended.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hearth_core::{Owner, RequestId};
use hearth_pool::{Bar, Gate, GateLimits, GateStats, OwnerGate, OwnerLimits};
use hearth_runtime::{Stuck, StuckTurn};

/// Which bounds hold for all owners together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hall {
    /// None: warm workers are bounded by the pool.
    Warm,
    /// Requests that each take an isolate or context of their own.
    Fresh,
}

pub(crate) struct Owners {
    warm: Gate,
    fresh: Gate,
    gates: Mutex<HashMap<(Owner, Hall), OwnerGate>>,
    bars: Mutex<HashMap<(Owner, RequestId), Vec<Bar>>>,
}

impl Owners {
    /// `running` and `total` bound what runs fresh.
    pub(crate) fn new(running: usize, total: usize) -> Self {
        Self {
            warm: Gate::new(GateLimits::default()),
            fresh: Gate::new(GateLimits { running: Some(running), total: Some(total) }),
            gates: Mutex::default(),
            bars: Mutex::default(),
        }
    }

    /// The owner's gate; the limits of the first who asks count.
    pub(crate) fn gate(&self, owner: &Owner, hall: Hall, limits: OwnerLimits) -> OwnerGate {
        let mut gates = lock(&self.gates);
        let gate = gates.entry((owner.clone(), hall)).or_insert_with(|| match hall {
            Hall::Warm => self.warm.owner(limits),
            Hall::Fresh => self.fresh.owner(limits),
        });
        gate.clone()
    }

    /// A stuck owner gets nothing new until its turn has ended.
    pub(crate) fn note(&self, turn: &StuckTurn<'_>) {
        let key = (turn.owner.clone(), turn.request);
        match turn.state {
            Stuck::Begins => {
                let bars = {
                    let gates = lock(&self.gates);
                    let own = gates.iter().filter(|((owner, _), _)| owner == turn.owner);
                    own.map(|(_, gate)| gate.clone()).collect::<Vec<_>>()
                };
                let bars = bars.iter().map(OwnerGate::bar).collect();
                lock(&self.bars).insert(key, bars);
            }
            Stuck::Ends => {
                let bars = lock(&self.bars).remove(&key);
                drop(bars);
            }
        }
    }

    pub(crate) fn stuck(&self) -> Vec<Owner> {
        let mut owners: Vec<Owner> = lock(&self.bars).keys().map(|(owner, _)| owner.clone()).collect();
        owners.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        owners.dedup();
        owners
    }

    /// Refuses new requests; ready when all that were there have ended.
    pub(crate) async fn drain(&self) {
        self.warm.drain();
        self.fresh.drain();
        self.warm.drained().await;
        self.fresh.drained().await;
    }

    pub(crate) fn stats(&self) -> (GateStats, GateStats) {
        (self.warm.stats(), self.fresh.stats())
    }

    /// By owner, sums over halls.
    pub(crate) fn by_owner(&self) -> Vec<(Owner, GateStats)> {
        lock(&self.gates).iter().map(|((owner, _), gate)| (owner.clone(), gate.stats())).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
