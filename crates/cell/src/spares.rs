//! Spares: isolates with a context that no owner has touched, made in the lane, at low priority, ahead of demand. What an app
//! begins with is compiled there, too.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::{ByteSize, Limits};
use hearth_pool::{BackoffConfig, SpareFactory, SparePool, SparePoolConfig};
use hearth_runtime::{App, Platform, Snapshot, SpareIsolate, TurnPools, Worker};

/// Who has just taken a spare starts an app with it: that comes first.
const REFILL_DELAY: Duration = Duration::from_millis(2);

/// Where blanks come from: a spare where there is one that fits, else a new one.
pub(crate) struct Blanks {
    filler: SparePool<Maker>,
    platform: Platform,
    snapshot: Snapshot,
    lane: TurnPools,
}

pub(crate) struct Maker {
    platform: Platform,
    snapshot: Snapshot,
    lane: TurnPools,
}

/// The lane was shut down, or making one panicked.
#[derive(Debug, thiserror::Error)]
#[error("the thread that makes spares did not come to its end")]
pub(crate) struct NotMade;

impl Blanks {
    pub(crate) fn start(platform: Platform, snapshot: &Snapshot, lane: TurnPools, spares: usize) -> Arc<Self> {
        let rules = SparePoolConfig {
            target: spares,
            concurrency: 1,
            interval: Duration::from_secs(10),
            backoff: BackoffConfig { initial: Duration::from_millis(100), max: Duration::from_secs(10) },
            max_age: None,
        };
        let filler = SparePool::start(Maker { platform, snapshot: snapshot.clone(), lane: lane.clone() }, rules);
        Arc::new(Self { filler, platform, snapshot: snapshot.clone(), lane })
    }

    /// A blank for an app with that memory limit.
    pub(crate) fn take(&self, heap: ByteSize) -> SpareIsolate {
        match self.filler.take() {
            Some(spare) if spare.has_room_for(heap) => spare,
            _ => SpareIsolate::new(self.platform, &self.snapshot, heap),
        }
    }

    /// Compiles an app ahead of its first worker. In a blank of its own: spares are for those who wait, and an isolate is for
    /// one owner.
    pub(crate) async fn compile(&self, app: Arc<App>) {
        let (platform, snapshot) = (self.platform, self.snapshot.clone());
        let compile = move || {
            if !Worker::is_compiled(&app) {
                Worker::compile(SpareIsolate::new(platform, &snapshot, app.limits.heap), &app);
            }
        };
        // Whatever came of it, the first worker will do what is left to do.
        let _ = self.lane.spawn_blocking(compile).await;
    }

    pub(crate) fn filler(&self) -> &SparePool<Maker> {
        &self.filler
    }
}

impl SpareFactory for Maker {
    type Spare = SpareIsolate;
    type Error = NotMade;

    async fn create(&self) -> Result<SpareIsolate, NotMade> {
        let (platform, snapshot) = (self.platform, self.snapshot.clone());
        let make = move || {
            let mut blank = SpareIsolate::new(platform, &snapshot, Limits::default().heap);
            blank.warm_up();
            blank
        };
        self.lane.spawn_blocking(make).await.ok_or(NotMade)
    }

    fn is_usable(&self, _: &SpareIsolate) -> bool {
        true
    }

    fn refill_delay(&self) -> Duration {
        REFILL_DELAY
    }
}
