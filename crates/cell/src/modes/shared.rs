//! `shared`: a new context for each event, in a warm isolate that its owner has to itself. One event at a time is in an
//! isolate, so that no thread waits for it; events that wait for something outside have an isolate each meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_core::{ByteSize, Failure, Owner};
use hearth_pool::{Affinity, DestroyReason, ItemHealth, KeyLimits, KeyedPool, Load, Manager, OwnedLease, OwnedPermit};
use hearth_runtime::{App, EMPTY_ISOLATE_SIZE, Isolate, Platform, SharedIsolate, Snapshot, TurnPools, Worker};

use crate::modes::roster::{Listed, Roster};
use crate::modes::tally::{AppTally, Live};

pub(crate) struct IsolateKeeper {
    pub(crate) platform: Platform,
    pub(crate) snapshot: Snapshot,
    pub(crate) lane: TurnPools,
    pub(crate) roster: Roster,
}

/// Isolates of one owner can stand in for each other where their apps want the same: how much memory they may have, how many
/// there may be, and for how long.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IsolateKey {
    pub(crate) owner: Owner,
    pub(crate) heap: ByteSize,
    pub(crate) rules: KeyLimits,
}

#[derive(Clone)]
pub(crate) struct OwnerIsolate {
    isolate: SharedIsolate,
    /// Where the contexts in it are listed.
    roster: Roster,
    /// A limit was hit in it: it is not used again.
    spent: Arc<AtomicBool>,
}

/// A context for one event. Dropped, it goes when it has nothing more to do, and with it the lease of its isolate.
pub(crate) struct Guest {
    worker: Option<Worker>,
    listed: Option<Listed>,
    place: Option<(OwnedLease<IsolateKeeper>, OwnedPermit)>,
    live: Option<Live>,
}

impl Guest {
    /// Waits for an isolate of the owner's for `patience`.
    pub(crate) async fn start(
        shelf: &KeyedPool<IsolateKeeper>,
        app: Arc<App>,
        permit: OwnedPermit,
        patience: Duration,
        tally: &AppTally,
    ) -> Result<Self, Failure> {
        let lease = match tokio::time::timeout(patience, shelf.acquire()).await {
            Ok(lease) => lease.map_err(super::warm::refusal)?,
            Err(_) => return Err(Failure::Capacity { reason: "waited too long for an isolate" }),
        };
        let (isolate, roster) = (lease.isolate.clone(), lease.roster.clone());
        let mut guest = Self { worker: None, listed: None, place: Some((lease, permit)), live: None };
        match Worker::start_in(isolate, app).await {
            Ok(worker) => {
                guest.live = Some(tally.started());
                guest.listed = Some(roster.list(&worker));
                guest.worker = Some(worker);
            }
            Err(failure) => {
                // The context is gone; whether the isolate is any good is not worth finding out.
                guest.spend();
                tally.failed();
                return Err(failure);
            }
        }
        Ok(guest)
    }

    pub(crate) fn worker(&self) -> &Worker {
        self.worker.as_ref().expect("it is there from the start, and taken by the drop alone")
    }

    fn spend(&self) {
        if let Some((lease, _)) = &self.place {
            lease.spent.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let (worker, listed, place) = (self.worker.take(), self.listed.take(), self.place.take());
        let live = self.live.take();
        let (Some(worker), Some((lease, permit))) = (worker, place) else { return };
        let leave = move |worker: Worker| {
            if worker.health() != hearth_runtime::Health::Ready {
                lease.spent.store(true, Ordering::Relaxed);
            }
            drop(listed);
            drop(worker);
            drop(live);
            drop(lease);
            drop(permit);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(async move {
                    worker.wait_until_idle().await;
                    worker.on_terminate().await;
                    leave(worker);
                });
            }
            Err(_) => leave(worker),
        }
    }
}

impl Manager for IsolateKeeper {
    type Key = IsolateKey;
    type Item = OwnerIsolate;
    type Error = Failure;

    async fn create(&self, key: &IsolateKey) -> Result<OwnerIsolate, Failure> {
        let isolate = SharedIsolate::new(Isolate::new(self.platform, &self.snapshot, key.heap));
        Ok(OwnerIsolate { isolate, roster: self.roster.clone(), spent: Arc::default() })
    }

    fn group(&self, key: &IsolateKey) -> Option<Arc<str>> {
        Some(key.owner.as_str().into())
    }

    fn health(&self, item: &OwnerIsolate) -> ItemHealth {
        if item.spent.load(Ordering::Relaxed) { ItemHealth::Retiring } else { ItemHealth::Ready }
    }

    fn load(&self, _: &OwnerIsolate) -> Load {
        // Its lease lasts as long as its work.
        Load::Idle
    }

    fn affinity(&self, _: &OwnerIsolate) -> Affinity {
        Affinity::Elsewhere
    }

    fn weight(&self, item: &OwnerIsolate) -> u64 {
        item.isolate.memory().bytes()
    }

    fn estimated_weight(&self) -> u64 {
        EMPTY_ISOLATE_SIZE.bytes()
    }

    fn destroy(&self, item: OwnerIsolate, why: DestroyReason) {
        match why {
            DestroyReason::Evicted => tracing::info!(target: "hearth::pool", "Isolate evicted"),
            why => tracing::debug!(target: "hearth::pool", reason = ?why, "Isolate destroyed"),
        }
        self.lane.dispose(move || drop(item));
    }
}
