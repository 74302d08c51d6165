//! `oneshot`: a new isolate for each event, destroyed when its body is sent and its `waitUntil` is over. The permit is released
//! after the isolate.

use std::sync::Arc;

use hearth_core::Failure;
use hearth_pool::{OwnedPermit, Pool};
use hearth_runtime::{App, EMPTY_ISOLATE_SIZE, ThreadPolicy, TurnPools, Worker, memory_totals};

use crate::budget::Budget;
use crate::modes::ephemeral::{EphemeralWorkers, Registration};
use crate::modes::shared::IsolateManager;
use crate::modes::tally::{AppTally, Live};
use crate::spares::SpareIsolates;
use crate::worker_manager::WorkerManager;

/// Starts workers that serve one event each.
pub(crate) struct OneshotStarter {
    spares: Arc<SpareIsolates>,
    turn_pools: TurnPools,
    ephemeral: EphemeralWorkers,
    memory: MemoryRelief,
}

/// Frees memory for isolates that are in no pool.
pub(crate) struct MemoryRelief {
    budget: Budget,
    pool: Pool<WorkerManager>,
    isolates: Pool<IsolateManager>,
}

impl MemoryRelief {
    pub(crate) fn new(budget: Budget, pool: Pool<WorkerManager>, isolates: Pool<IsolateManager>) -> Self {
        Self { budget, pool, isolates }
    }

    /// Ensures memory for one more isolate, by evicting idle workers where it is short.
    fn ensure_memory(&self) -> Result<(), Failure> {
        let totals = memory_totals();
        let held =
            totals.heaps.bytes().saturating_add(totals.buffers.bytes()).saturating_add(EMPTY_ISOLATE_SIZE.bytes());
        if held <= self.budget.for_idle_workers() {
            return Ok(());
        }
        let freed = self.pool.evict_weight(EMPTY_ISOLATE_SIZE.bytes());
        if freed > 0 || self.isolates.evict_weight(EMPTY_ISOLATE_SIZE.bytes()) > 0 || held <= self.budget.total.bytes()
        {
            return Ok(());
        }
        Err(Failure::Capacity { reason: "there is no memory for another isolate" })
    }
}

impl OneshotStarter {
    pub(crate) fn new(
        spares: Arc<SpareIsolates>,
        turn_pools: TurnPools,
        ephemeral: EphemeralWorkers,
        memory: MemoryRelief,
    ) -> Arc<Self> {
        Arc::new(Self { spares, turn_pools, ephemeral, memory })
    }

    pub(crate) async fn start(
        self: &Arc<Self>,
        app: Arc<App>,
        permit: OwnedPermit,
        tally: &AppTally,
    ) -> Result<OneshotWorker, Failure> {
        self.memory.ensure_memory()?;
        let blank = self.spares.take(app.limits.heap);
        let place = ThreadPolicy::ByLatency(self.turn_pools.clone());
        match Worker::start_from(blank, app, place).await {
            Ok(worker) => Ok(OneshotWorker {
                registration: Some(self.ephemeral.register(&worker)),
                worker: Some(worker),
                live: Some(tally.started()),
                permit: Some(permit),
                turn_pools: self.turn_pools.clone(),
            }),
            Err(failure) => {
                tally.failed();
                Err(failure)
            }
        }
    }
}

/// A worker for one event. After it is dropped, the worker finishes its work and is destroyed.
pub(crate) struct OneshotWorker {
    worker: Option<Worker>,
    registration: Option<Registration>,
    live: Option<Live>,
    permit: Option<OwnedPermit>,
    turn_pools: TurnPools,
}

impl OneshotWorker {
    pub(crate) fn worker(&self) -> &Worker {
        self.worker.as_ref().expect("only drop takes it")
    }
}

impl Drop for OneshotWorker {
    fn drop(&mut self) {
        let (worker, permit, turn_pools) = (self.worker.take(), self.permit.take(), self.turn_pools.clone());
        let (registration, live) = (self.registration.take(), self.live.take());
        let dispose = move |worker: Option<Worker>| {
            drop(registration);
            turn_pools.dispose(move || {
                drop(worker);
                drop(live);
                drop(permit);
            });
        };
        match (worker, tokio::runtime::Handle::try_current()) {
            (Some(worker), Ok(runtime)) => {
                runtime.spawn(async move {
                    worker.wait_until_idle().await;
                    worker.on_terminate().await;
                    dispose(Some(worker));
                });
            }
            (worker, _) => dispose(worker),
        }
    }
}
