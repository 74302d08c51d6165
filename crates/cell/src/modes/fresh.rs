//! `oneshot`: a new isolate for each event, destroyed when its body is sent and its `waitUntil` is over. The permit lasts as
//! long as the isolate.

use std::sync::Arc;

use hearth_core::Failure;
use hearth_pool::{OwnedPermit, Pool};
use hearth_runtime::{App, EMPTY_ISOLATE_SIZE, ThreadPolicy, TurnPools, Worker, memory_totals};

use crate::budget::Budget;
use crate::keeper::Keeper;
use crate::modes::roster::{Listed, Roster};
use crate::modes::shared::IsolateKeeper;
use crate::modes::tally::{AppTally, Live};
use crate::spares::Blanks;

/// Starts one-time workers.
pub(crate) struct Oneshots {
    blanks: Arc<Blanks>,
    lane: TurnPools,
    roster: Roster,
    relief: Relief,
}

/// Makes room in memory for isolates that are in no pool.
pub(crate) struct Relief {
    budget: Budget,
    pool: Pool<Keeper>,
    isolates: Pool<IsolateKeeper>,
}

impl Relief {
    pub(crate) fn new(budget: Budget, pool: Pool<Keeper>, isolates: Pool<IsolateKeeper>) -> Self {
        Self { budget, pool, isolates }
    }

    /// Room for one isolate more, at the expense of idle workers where memory is short.
    fn make_room(&self) -> Result<(), Failure> {
        let holdings = memory_totals();
        let held =
            holdings.heaps.bytes().saturating_add(holdings.buffers.bytes()).saturating_add(EMPTY_ISOLATE_SIZE.bytes());
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

impl Oneshots {
    pub(crate) fn new(blanks: Arc<Blanks>, lane: TurnPools, roster: Roster, relief: Relief) -> Arc<Self> {
        Arc::new(Self { blanks, lane, roster, relief })
    }

    pub(crate) async fn start(
        self: &Arc<Self>,
        app: Arc<App>,
        permit: OwnedPermit,
        tally: &AppTally,
    ) -> Result<Oneshot, Failure> {
        self.relief.make_room()?;
        let blank = self.blanks.take(app.limits.heap);
        let place = ThreadPolicy::ByLatency(self.lane.clone());
        match Worker::start_from(blank, app, place).await {
            Ok(worker) => Ok(Oneshot {
                listed: Some(self.roster.list(&worker)),
                worker: Some(worker),
                live: Some(tally.started()),
                permit: Some(permit),
                lane: self.lane.clone(),
            }),
            Err(failure) => {
                tally.failed();
                Err(failure)
            }
        }
    }
}

/// A worker for one event. Dropped, it goes when it has nothing more to do.
pub(crate) struct Oneshot {
    worker: Option<Worker>,
    listed: Option<Listed>,
    live: Option<Live>,
    permit: Option<OwnedPermit>,
    lane: TurnPools,
}

impl Oneshot {
    pub(crate) fn worker(&self) -> &Worker {
        self.worker.as_ref().expect("it is taken by the drop alone")
    }
}

impl Drop for Oneshot {
    fn drop(&mut self) {
        let (worker, permit, lane) = (self.worker.take(), self.permit.take(), self.lane.clone());
        let (listed, live) = (self.listed.take(), self.live.take());
        let bury = move |worker: Option<Worker>| {
            drop(listed);
            lane.dispose(move || {
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
                    bury(Some(worker));
                });
            }
            (worker, _) => bury(worker),
        }
    }
}
