//! Spares: isolates with a context that no owner has touched, made in the lane, at low priority, ahead of demand. What an app
//! begins with is compiled there, too.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::{ByteSize, Limits};
use hearth_pool::{BackoffConfig, SpareFactory, SparePool, SparePoolConfig};
use hearth_runtime::{App, Blank, Lane, Platform, Snapshot, Worker};

/// Who has just taken a spare starts an app with it: that comes first.
const REFILL_DELAY: Duration = Duration::from_millis(2);

/// Where blanks come from: a spare where there is one that fits, else a new one.
pub(crate) struct Blanks {
    filler: SparePool<Maker>,
    platform: Platform,
    snapshot: Snapshot,
    lane: Lane,
}

pub(crate) struct Maker {
    platform: Platform,
    snapshot: Snapshot,
    lane: Lane,
}

/// The lane was shut down, or making one panicked.
#[derive(Debug, thiserror::Error)]
#[error("the thread that makes spares did not come to its end")]
pub(crate) struct NotMade;

impl Blanks {
    pub(crate) fn start(platform: Platform, snapshot: &Snapshot, lane: Lane, spares: usize) -> Arc<Self> {
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
    pub(crate) fn take(&self, heap: ByteSize) -> Blank {
        match self.filler.take() {
            Some(spare) if spare.has_room_for(heap) => spare,
            _ => Blank::new(self.platform, &self.snapshot, heap),
        }
    }

    /// Compiles an app ahead of its first worker. In a blank of its own: spares are for those who wait, and an isolate is for
    /// one owner.
    pub(crate) async fn compile(&self, app: Arc<App>) {
        let (platform, snapshot) = (self.platform, self.snapshot.clone());
        let compile = move || {
            if !Worker::is_compiled(&app) {
                Worker::compile(Blank::new(platform, &snapshot, app.limits.heap), &app);
            }
        };
        // Whatever came of it, the first worker will do what is left to do.
        let _ = self.lane.make(compile).await;
    }

    pub(crate) fn filler(&self) -> &SparePool<Maker> {
        &self.filler
    }
}

impl SpareFactory for Maker {
    type Spare = Blank;
    type Error = NotMade;

    async fn create(&self) -> Result<Blank, NotMade> {
        let (platform, snapshot) = (self.platform, self.snapshot.clone());
        let make = move || {
            let mut blank = Blank::new(platform, &snapshot, Limits::default().heap);
            blank.rehearse();
            blank
        };
        self.lane.make(make).await.ok_or(NotMade)
    }

    fn is_usable(&self, _: &Blank) -> bool {
        true
    }

    fn refill_delay(&self) -> Duration {
        REFILL_DELAY
    }
}
