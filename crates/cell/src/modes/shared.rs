//! `shared`: a new context for each event, in a warm isolate that belongs to one owner. An isolate has one event at a time, so
//! that no thread waits for it; events that wait for I/O have an isolate each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hearth_core::{ByteSize, Failure, Owner};
use hearth_pool::{Affinity, DestroyReason, ItemHealth, KeyLimits, KeyedPool, Load, Manager, OwnedLease, OwnedPermit};
use hearth_runtime::{App, EMPTY_ISOLATE_SIZE, Isolate, Platform, SharedIsolate, Snapshot, TurnPools, Worker};

use crate::modes::ephemeral::{EphemeralWorkers, Registration};
use crate::modes::tally::{AppTally, Live};

pub(crate) struct IsolateManager {
    pub(crate) platform: Platform,
    pub(crate) snapshot: Snapshot,
    pub(crate) turn_pools: TurnPools,
    pub(crate) ephemeral: EphemeralWorkers,
}

/// Isolates of one owner are interchangeable where their apps have the same limits: memory, number and lifetime.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct IsolateKey {
    pub(crate) owner: Owner,
    pub(crate) heap: ByteSize,
    pub(crate) rules: KeyLimits,
}

#[derive(Clone)]
pub(crate) struct OwnerIsolate {
    isolate: SharedIsolate,
    /// The list of the contexts in it.
    ephemeral: EphemeralWorkers,
    /// A limit was hit in it: it is not used again.
    retired: Arc<AtomicBool>,
}

/// A context for one event. After it is dropped, its worker finishes its work and is destroyed, and the lease of its isolate is
/// released.
pub(crate) struct ContextLease {
    worker: Option<Worker>,
    registration: Option<Registration>,
    lease: Option<(OwnedLease<IsolateManager>, OwnedPermit)>,
    live: Option<Live>,
}

impl ContextLease {
    /// Waits for an isolate of the owner for `queue_timeout`.
    pub(crate) async fn start(
        isolates: &KeyedPool<IsolateManager>,
        app: Arc<App>,
        permit: OwnedPermit,
        queue_timeout: Duration,
        tally: &AppTally,
    ) -> Result<Self, Failure> {
        let lease = match tokio::time::timeout(queue_timeout, isolates.acquire()).await {
            Ok(lease) => lease.map_err(super::pooled::acquire_failure)?,
            Err(_) => return Err(Failure::Capacity { reason: "waited too long for an isolate" }),
        };
        let (isolate, ephemeral) = (lease.isolate.clone(), lease.ephemeral.clone());
        let mut context = Self { worker: None, registration: None, lease: Some((lease, permit)), live: None };
        match Worker::start_in(isolate, app).await {
            Ok(worker) => {
                context.live = Some(tally.started());
                context.registration = Some(ephemeral.register(&worker));
                context.worker = Some(worker);
            }
            Err(failure) => {
                // The context is gone, and the state of the isolate is not known.
                context.retire();
                tally.failed();
                return Err(failure);
            }
        }
        Ok(context)
    }

    pub(crate) fn worker(&self) -> &Worker {
        self.worker.as_ref().expect("only drop takes it")
    }

    fn retire(&self) {
        if let Some((lease, _)) = &self.lease {
            lease.retired.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for ContextLease {
    fn drop(&mut self) {
        let (worker, registration, lease) = (self.worker.take(), self.registration.take(), self.lease.take());
        let live = self.live.take();
        let (Some(worker), Some((lease, permit))) = (worker, lease) else { return };
        let dispose = move |worker: Worker| {
            if worker.health() != hearth_runtime::Health::Ready {
                lease.retired.store(true, Ordering::Relaxed);
            }
            drop(registration);
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
                    dispose(worker);
                });
            }
            Err(_) => dispose(worker),
        }
    }
}

impl Manager for IsolateManager {
    type Key = IsolateKey;
    type Item = OwnerIsolate;
    type Error = Failure;

    async fn create(&self, key: &IsolateKey) -> Result<OwnerIsolate, Failure> {
        let isolate = SharedIsolate::new(Isolate::new(self.platform, &self.snapshot, key.heap));
        Ok(OwnerIsolate { isolate, ephemeral: self.ephemeral.clone(), retired: Arc::default() })
    }

    fn group(&self, key: &IsolateKey) -> Option<Arc<str>> {
        Some(key.owner.as_str().into())
    }

    fn health(&self, item: &OwnerIsolate) -> ItemHealth {
        if item.retired.load(Ordering::Relaxed) { ItemHealth::Retiring } else { ItemHealth::Ready }
    }

    fn load(&self, _: &OwnerIsolate) -> Load {
        // A lease of it lasts as long as its work.
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
            DestroyReason::Evicted => tracing::info!(target: "hearth::pool", "isolate evicted"),
            why => tracing::debug!(target: "hearth::pool", reason = ?why, "isolate destroyed"),
        }
        self.turn_pools.dispose(move || drop(item));
    }
}
