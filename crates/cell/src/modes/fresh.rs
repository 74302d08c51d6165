//! `oneshot`: a new isolate for each event, destroyed when its body is sent and its `waitUntil` is over. The permit lasts as
//! long as the isolate.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hearth_core::Failure;
use hearth_pool::Permit;
use hearth_runtime::{App, Lane, Place, Worker};

use crate::modes::roster::{Listed, Roster};
use crate::spares::Blanks;

/// Starts one-time workers, and counts them.
pub(crate) struct Oneshots {
    blanks: Arc<Blanks>,
    lane: Lane,
    roster: Roster,
    created: AtomicU64,
    destroyed: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OneshotStats {
    pub(crate) created: u64,
    pub(crate) destroyed: u64,
}

impl Oneshots {
    pub(crate) fn new(blanks: Arc<Blanks>, lane: Lane, roster: Roster) -> Arc<Self> {
        Arc::new(Self { blanks, lane, roster, created: AtomicU64::new(0), destroyed: AtomicU64::new(0) })
    }

    pub(crate) async fn start(self: &Arc<Self>, app: Arc<App>, permit: Permit) -> Result<Oneshot, Failure> {
        let blank = self.blanks.take(app.limits.heap);
        self.created.fetch_add(1, Ordering::Relaxed);
        let mut oneshot = Oneshot { worker: None, listed: None, permit: Some(permit), all: self.clone() };
        let place = Place::InlineOrLane(self.lane.clone());
        let worker = Worker::start_from(blank, app, place).await?;
        oneshot.listed = Some(self.roster.list(&worker));
        oneshot.worker = Some(worker);
        Ok(oneshot)
    }

    pub(crate) fn stats(&self) -> OneshotStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        // In this order the difference is never negative.
        let destroyed = read(&self.destroyed);
        OneshotStats { created: read(&self.created), destroyed }
    }
}

/// A worker for one event. Dropped, it goes when it has nothing more to do.
pub(crate) struct Oneshot {
    worker: Option<Worker>,
    listed: Option<Listed>,
    permit: Option<Permit>,
    all: Arc<Oneshots>,
}

impl Oneshot {
    pub(crate) fn worker(&self) -> &Worker {
        self.worker.as_ref().expect("it is taken by the drop alone")
    }
}

impl Drop for Oneshot {
    fn drop(&mut self) {
        let (worker, permit, all) = (self.worker.take(), self.permit.take(), self.all.clone());
        let listed = self.listed.take();
        let bury = move |worker: Option<Worker>| {
            let lane = all.lane.clone();
            drop(listed);
            lane.dispose(move || {
                drop(worker);
                all.destroyed.fetch_add(1, Ordering::Relaxed);
                drop(permit);
            });
        };
        match (worker, tokio::runtime::Handle::try_current()) {
            (Some(worker), Ok(runtime)) => {
                runtime.spawn(async move {
                    worker.at_rest().await;
                    worker.on_terminate().await;
                    bury(Some(worker));
                });
            }
            (worker, _) => bury(worker),
        }
    }
}
