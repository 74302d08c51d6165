//! The gates of owners, by name: so that all apps of an owner share one line, and so that an owner whose turn is stuck can
//! be barred until the turn has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hearth_core::{Owner, RequestId};
use hearth_ipc::Admission;
use hearth_pool::{Gate, GateLimits, GateStats, OwnerBlock, OwnerLimits, OwnerQueue};
use hearth_runtime::{Stuck, StuckTurn};
use tokio::sync::watch;

use crate::cell::CellConfig;
use crate::modes::tally::{Tally, TallyStats};

/// Which bounds hold for all owners together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hall {
    /// `max_queued` alone: warm workers are bounded by the pool.
    Warm,
    /// Requests that each take an isolate or context of their own: `max_fresh` at once.
    Fresh,
}

type Key = (Owner, Hall);

pub(crate) struct Owners {
    warm: Gate,
    fresh: Gate,
    max_per_owner: Option<usize>,
    gates: Arc<Mutex<HashMap<Key, Member>>>,
    bars: Mutex<HashMap<(Owner, RequestId), Vec<OwnerBlock>>>,
    admission: watch::Sender<Admission>,
}

/// An owner's gate, and what each of its apps brings to it.
struct Member {
    gate: OwnerQueue,
    tally: Arc<Tally>,
    shares: HashMap<u64, OwnerLimits>,
    next: u64,
    /// Requests at once, whatever the apps bring.
    most: usize,
}

/// What one app brings to its owner's gate, for as long as it is served: places for as many requests as it can have.
pub(crate) struct Share {
    pub(crate) gate: OwnerQueue,
    /// Of the owner's workers that serve one event each.
    pub(crate) tally: Arc<Tally>,
    key: Key,
    number: u64,
    gates: Weak<Mutex<HashMap<Key, Member>>>,
}

impl Owners {
    pub(crate) fn new(config: &CellConfig) -> Self {
        let warm = Gate::new(GateLimits { max_running: None, max_total: config.max_queued });
        Self {
            fresh: warm.with_same_total(Some(config.max_fresh.max(1))),
            warm,
            max_per_owner: config.max_per_owner,
            gates: Arc::default(),
            bars: Mutex::default(),
            admission: watch::Sender::new(Admission::Open),
        }
    }

    /// A share of the owner's gate: all of an owner's apps have one line, with places for all of them.
    pub(crate) fn share(&self, owner: &Owner, hall: Hall, limits: OwnerLimits) -> Share {
        let key = (owner.clone(), hall);
        // Isolates of one event are not in the pool, which bounds those of an owner otherwise.
        let most = self.max_per_owner.filter(|_| hall == Hall::Fresh).unwrap_or(usize::MAX);
        let mut gates = lock(&self.gates);
        let member = gates.entry(key.clone()).or_insert_with(|| {
            let gate = match hall {
                Hall::Warm => self.warm.add_owner(limits),
                Hall::Fresh => self.fresh.add_owner(limits),
            };
            Member { gate, tally: Arc::default(), shares: HashMap::new(), next: 0, most }
        });
        let number = member.next;
        member.next += 1;
        member.shares.insert(number, limits);
        member.settle();
        Share {
            gate: member.gate.clone(),
            tally: member.tally.clone(),
            key,
            number,
            gates: Arc::downgrade(&self.gates),
        }
    }

    /// A stuck owner gets nothing new until its turn has ended.
    pub(crate) fn note(&self, turn: &StuckTurn<'_>) {
        let key = (turn.owner.clone(), turn.request);
        match turn.state {
            Stuck::Begins => {
                let bars = {
                    let gates = lock(&self.gates);
                    let own = gates.iter().filter(|((owner, _), _)| owner == turn.owner);
                    own.map(|(_, member)| member.gate.clone()).collect::<Vec<_>>()
                };
                let bars = bars.iter().map(OwnerQueue::block).collect();
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

    /// Whether new requests are let in from now on.
    pub(crate) fn admit(&self, admission: Admission) {
        for gate in [&self.warm, &self.fresh] {
            match admission {
                Admission::Open => gate.reopen(),
                Admission::Closed => gate.drain(),
            }
        }
        self.admission.send_replace(admission);
    }

    /// Ready when new requests are let in, or none is in flight.
    pub(crate) async fn quiet(&self) {
        let mut admission = self.admission.subscribe();
        let drained = async {
            self.warm.drained().await;
            self.fresh.drained().await;
        };
        tokio::select! {
            // The sender is as alive as this.
            _ = admission.wait_for(|admission| *admission == Admission::Open) => {}
            () = drained => {}
        }
    }

    pub(crate) fn stats(&self) -> (GateStats, GateStats) {
        (self.warm.stats(), self.fresh.stats())
    }

    /// By owner, sums over halls.
    pub(crate) fn by_owner(&self) -> Vec<(Owner, GateStats, TallyStats)> {
        let gates = lock(&self.gates);
        gates.iter().map(|((owner, _), member)| (owner.clone(), member.gate.stats(), member.tally.stats())).collect()
    }
}

// === impl Member ===

impl Member {
    /// Places add up; of the rest, the most generous counts.
    fn settle(&self) {
        let sum = self.shares.values().copied().reduce(|sum, one| OwnerLimits {
            max_running: sum.max_running.saturating_add(one.max_running),
            max_queued: sum.max_queued.max(one.max_queued),
            queue_timeout: sum.queue_timeout.max(one.queue_timeout),
            weight: sum.weight.max(one.weight),
        });
        if let Some(limits) = sum {
            self.gate.set_limits(OwnerLimits { max_running: limits.max_running.min(self.most), ..limits });
        }
    }
}

// === impl Share ===

impl Drop for Share {
    fn drop(&mut self) {
        let Some(gates) = self.gates.upgrade() else { return };
        let mut gates = lock(&gates);
        let Some(member) = gates.get_mut(&self.key) else { return };
        member.shares.remove(&self.number);
        if member.shares.is_empty() {
            gates.remove(&self.key);
        } else {
            member.settle();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
