//! Spares: isolates with a context that no owner has used, made ahead of demand on low-priority threads. Apps are compiled
//! there ahead of their first request, too.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::{ByteSize, Limits};
use hearth_pool::{BackoffConfig, SpareFactory, SparePool, SparePoolConfig};
use hearth_runtime::{App, Platform, Snapshot, SpareIsolate, TurnPools, Worker};

/// The request that took a spare starts an app with it, which needs the processor more than the replacement.
const REFILL_DELAY: Duration = Duration::from_millis(2);

/// Gives isolates for new workers: a spare if one fits, otherwise a new isolate.
pub(crate) struct SpareIsolates {
    pool: SparePool<IsolateFactory>,
    platform: Platform,
    snapshot: Snapshot,
    turn_pools: TurnPools,
}

pub(crate) struct IsolateFactory {
    platform: Platform,
    snapshot: Snapshot,
    turn_pools: TurnPools,
}

/// The low-priority threads were shut down, or the creation panicked.
#[derive(Debug, thiserror::Error)]
#[error("the thread that makes spares did not finish")]
pub(crate) struct SpareThreadEnded;

impl SpareIsolates {
    pub(crate) fn start(platform: Platform, snapshot: &Snapshot, turn_pools: TurnPools, spares: usize) -> Arc<Self> {
        let config = SparePoolConfig {
            target: spares,
            concurrency: 1,
            interval: Duration::from_secs(10),
            backoff: BackoffConfig { initial: Duration::from_millis(100), max: Duration::from_secs(10) },
            max_age: None,
        };
        let pool = SparePool::start(
            IsolateFactory { platform, snapshot: snapshot.clone(), turn_pools: turn_pools.clone() },
            config,
        );
        Arc::new(Self { pool, platform, snapshot: snapshot.clone(), turn_pools })
    }

    /// An isolate for an app with this memory limit.
    pub(crate) fn take(&self, heap: ByteSize) -> SpareIsolate {
        match self.pool.take() {
            Some(spare) if spare.has_room_for(heap) => spare,
            _ => SpareIsolate::new(self.platform, &self.snapshot, heap),
        }
    }

    /// Compiles an app ahead of its first worker. In an isolate of its own: spares are for requests, and an isolate is only ever
    /// used by one owner.
    pub(crate) async fn compile(&self, app: Arc<App>) {
        let (platform, snapshot) = (self.platform, self.snapshot.clone());
        let compile = move || {
            if !Worker::is_compiled(&app) {
                Worker::compile(SpareIsolate::new(platform, &snapshot, app.limits.heap), &app);
            }
        };
        // If it failed, the first worker compiles the app itself.
        let _ = self.turn_pools.spawn_blocking(compile).await;
    }

    pub(crate) fn pool(&self) -> &SparePool<IsolateFactory> {
        &self.pool
    }
}

impl SpareFactory for IsolateFactory {
    type Spare = SpareIsolate;
    type Error = SpareThreadEnded;

    async fn create(&self) -> Result<SpareIsolate, SpareThreadEnded> {
        let (platform, snapshot) = (self.platform, self.snapshot.clone());
        let make = move || {
            let mut blank = SpareIsolate::new(platform, &snapshot, Limits::default().heap);
            blank.warm_up();
            blank
        };
        self.turn_pools.spawn_blocking(make).await.ok_or(SpareThreadEnded)
    }

    fn is_usable(&self, _: &SpareIsolate) -> bool {
        true
    }

    fn refill_delay(&self) -> Duration {
        REFILL_DELAY
    }
}
