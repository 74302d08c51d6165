//! The queues of owners, by name: all apps of an owner share one queue, and an owner whose turn is stuck is blocked until the
//! turn has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hearth_core::{Owner, RequestId};
use hearth_ipc::Admission;
use hearth_pool::{Gate, GateLimits, GateStats, OwnerBlock, OwnerLimits, OwnerQueue};
use hearth_runtime::{Stuck, StuckTurn};
use tokio::sync::watch;

use crate::app_pools::AppPoolsConfig;
use crate::modes::tally::{Tally, TallyStats};

/// Which limits hold for all owners together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AdmissionClass {
    /// `max_queued` alone: pooled workers are bounded by the pool.
    Pooled,
    /// Requests that each take an isolate or context of their own: `max_fresh` at once.
    Ephemeral,
}

type Key = (Owner, AdmissionClass);

pub(crate) struct OwnerAdmission {
    pooled: Gate,
    ephemeral: Gate,
    max_per_owner: Option<usize>,
    entries: Arc<Mutex<HashMap<Key, OwnerEntry>>>,
    blocks: Mutex<HashMap<(Owner, RequestId), Vec<OwnerBlock>>>,
    admission: watch::Sender<Admission>,
}

/// An owner's queue, and what each of its apps adds to its limits.
struct OwnerEntry {
    queue: OwnerQueue,
    tally: Arc<Tally>,
    quotas: HashMap<u64, OwnerLimits>,
    next: u64,
    /// The limit on running requests, whatever the apps add up to.
    max_running: usize,
}

/// What one app adds to its owner's limits, for as long as it is served: as many running requests as it can have.
pub(crate) struct AppQuota {
    pub(crate) queue: OwnerQueue,
    /// Of the owner's workers that serve one event each.
    pub(crate) tally: Arc<Tally>,
    key: Key,
    number: u64,
    entries: Weak<Mutex<HashMap<Key, OwnerEntry>>>,
}

impl OwnerAdmission {
    pub(crate) fn new(config: &AppPoolsConfig) -> Self {
        let pooled = Gate::new(GateLimits { max_running: None, max_total: config.max_queued });
        Self {
            ephemeral: pooled.with_same_total(Some(config.max_fresh.max(1))),
            pooled,
            max_per_owner: config.max_per_owner,
            entries: Arc::default(),
            blocks: Mutex::default(),
            admission: watch::Sender::new(Admission::Open),
        }
    }

    /// Adds an app to its owner's queue: all apps of an owner have one queue, whose limits are for all of them.
    pub(crate) fn add_app(&self, owner: &Owner, class: AdmissionClass, limits: OwnerLimits) -> AppQuota {
        let key = (owner.clone(), class);
        // Isolates for one event are not in the pool, which bounds those of an owner otherwise.
        let max_running = self.max_per_owner.filter(|_| class == AdmissionClass::Ephemeral).unwrap_or(usize::MAX);
        let mut entries = lock(&self.entries);
        let entry = entries.entry(key.clone()).or_insert_with(|| {
            let queue = match class {
                AdmissionClass::Pooled => self.pooled.add_owner(limits),
                AdmissionClass::Ephemeral => self.ephemeral.add_owner(limits),
            };
            OwnerEntry { queue, tally: Arc::default(), quotas: HashMap::new(), next: 0, max_running }
        });
        let number = entry.next;
        entry.next += 1;
        entry.quotas.insert(number, limits);
        entry.update_limits();
        AppQuota {
            queue: entry.queue.clone(),
            tally: entry.tally.clone(),
            key,
            number,
            entries: Arc::downgrade(&self.entries),
        }
    }

    /// Blocks an owner from the moment that a turn of it is stuck until the turn has ended.
    pub(crate) fn on_stuck_turn(&self, turn: &StuckTurn<'_>) {
        let key = (turn.owner.clone(), turn.request);
        match turn.state {
            Stuck::Begins => {
                let blocks = {
                    let entries = lock(&self.entries);
                    let own = entries.iter().filter(|((owner, _), _)| owner == turn.owner);
                    own.map(|(_, entry)| entry.queue.clone()).collect::<Vec<_>>()
                };
                let blocks = blocks.iter().map(OwnerQueue::block).collect();
                lock(&self.blocks).insert(key, blocks);
            }
            Stuck::Ends => {
                let blocks = lock(&self.blocks).remove(&key);
                drop(blocks);
            }
        }
    }

    pub(crate) fn stuck(&self) -> Vec<Owner> {
        let mut owners: Vec<Owner> = lock(&self.blocks).keys().map(|(owner, _)| owner.clone()).collect();
        owners.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        owners.dedup();
        owners
    }

    /// Whether new requests are admitted from now on.
    pub(crate) fn set_admission(&self, admission: Admission) {
        for gate in [&self.pooled, &self.ephemeral] {
            match admission {
                Admission::Open => gate.reopen(),
                Admission::Closed => gate.drain(),
            }
        }
        self.admission.send_replace(admission);
    }

    /// Resolves when new requests are admitted, or none is in flight.
    pub(crate) async fn wait_until_quiet(&self) {
        let mut admission = self.admission.subscribe();
        let drained = async {
            self.pooled.drained().await;
            self.ephemeral.drained().await;
        };
        tokio::select! {
            // The sender lives as long as `self`.
            _ = admission.wait_for(|admission| *admission == Admission::Open) => {}
            () = drained => {}
        }
    }

    pub(crate) fn stats(&self) -> (GateStats, GateStats) {
        (self.pooled.stats(), self.ephemeral.stats())
    }

    /// By owner and class.
    pub(crate) fn by_owner(&self) -> Vec<(Owner, GateStats, TallyStats)> {
        let entries = lock(&self.entries);
        entries.iter().map(|((owner, _), entry)| (owner.clone(), entry.queue.stats(), entry.tally.stats())).collect()
    }
}

// === impl OwnerEntry ===

impl OwnerEntry {
    /// The limits on running requests add up; of the others, the largest counts.
    fn update_limits(&self) {
        let sum = self.quotas.values().copied().reduce(|sum, one| OwnerLimits {
            max_running: sum.max_running.saturating_add(one.max_running),
            max_queued: sum.max_queued.max(one.max_queued),
            queue_timeout: sum.queue_timeout.max(one.queue_timeout),
            weight: sum.weight.max(one.weight),
        });
        if let Some(limits) = sum {
            self.queue.set_limits(OwnerLimits { max_running: limits.max_running.min(self.max_running), ..limits });
        }
    }
}

// === impl AppQuota ===

impl Drop for AppQuota {
    fn drop(&mut self) {
        let Some(entries) = self.entries.upgrade() else { return };
        let mut entries = lock(&entries);
        let Some(entry) = entries.get_mut(&self.key) else { return };
        entry.quotas.remove(&self.number);
        if entry.quotas.is_empty() {
            entries.remove(&self.key);
        } else {
            entry.update_limits();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
