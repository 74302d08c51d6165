//! What all apps of a process share: the pool of warm workers, the isolates of owners, the gates, the spares, and the budget
//! of memory.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_ipc::Admission;
use hearth_pool::{KeyLimits, OwnerLimits, Pool, PoolLimits};
use hearth_runtime::{App, Locking, MemoryBudget, Platform, Snapshot, StuckTurn, TurnPools};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::budget::Budget;
use crate::endings::Endings;
use crate::execution::Execution;
use crate::host::{AppHost, AppRules, Mode};
use crate::keeper::{Home, Keeper, Version};
use crate::modes::fresh::{Oneshots, Relief};
use crate::modes::roster::Roster;
use crate::modes::shared::{IsolateKeeper, IsolateKey};
use crate::modes::tally::FreshTallies;
use crate::owners::{Hall, Owners};
use crate::pinned::PinnedThreads;
use crate::report::Report;
use crate::spares::Blanks;
use crate::workers::WorkerReport;

/// How often worn-out and idle workers are looked for.
const SWEEP: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct CellConfig {
    pub threads: usize,
    /// Isolates at once.
    pub isolates: usize,
    /// Of one owner. Beyond it the owner's own least recently used idle worker goes.
    pub max_per_owner: Option<usize>,
    /// Isolates that are kept ready for whoever comes.
    pub spares: usize,
    pub budget: Budget,
    /// Requests at once that each have an isolate or context of their own (`oneshot`, `shared`), of all apps together.
    pub max_fresh: usize,
    /// Requests that run or wait, of all owners together and in each way of running.
    pub max_queued: Option<usize>,
}

/// Clones are the same cell.
#[derive(Clone)]
pub struct Cell {
    inner: Arc<Inner>,
}

struct Inner {
    config: CellConfig,
    pool: Pool<Keeper>,
    isolates: Pool<IsolateKeeper>,
    oneshots: Arc<Oneshots>,
    fresh: FreshTallies,
    blanks: Arc<Blanks>,
    owners: Owners,
    endings: Endings,
    /// Workers of one event each.
    roster: Roster,
    upkeep: Vec<JoinHandle<()>>,
}

impl Cell {
    /// Must be called on the runtime whose threads serve requests.
    pub fn start(platform: Platform, snapshot: &Snapshot, lane: TurnPools, config: CellConfig) -> Self {
        let blanks = Blanks::start(platform, snapshot, lane.clone(), config.spares);
        let pinned = PinnedThreads::new(config.threads);
        let limits = PoolLimits {
            max_items: config.isolates,
            max_weight: config.budget.for_idle_workers(),
            max_per_group: config.max_per_owner,
        };
        let (endings, roster) = (Endings::new(), Roster::default());
        let keeper = Keeper { blanks: blanks.clone(), lane: lane.clone(), pinned, endings: endings.clone() };
        let pool = Pool::new(keeper, limits);
        let isolate_keeper =
            IsolateKeeper { platform, snapshot: snapshot.clone(), lane: lane.clone(), roster: roster.clone() };
        let isolates = Pool::new(isolate_keeper, limits);
        let pressure = Arc::new(Notify::new());
        Platform::set_memory_budget(MemoryBudget {
            heaps: config.budget.heaps,
            total: config.budget.total,
            on_pressure: Arc::new({
                let pressure = pressure.clone();
                move || pressure.notify_one()
            }),
        });
        let upkeep =
            vec![pool.spawn_sweeper(SWEEP), isolates.spawn_sweeper(SWEEP), give_way(&pool, &isolates, pressure)];
        let relief = Relief::new(config.budget, pool.clone(), isolates.clone());
        let oneshots = Oneshots::new(blanks.clone(), lane, roster.clone(), relief);
        let owners = Owners::new(&config);
        let fresh = FreshTallies::default();
        let inner = Inner { config, pool, isolates, oneshots, fresh, blanks, owners, endings, roster, upkeep };
        Self { inner: Arc::new(inner) }
    }

    /// Serves `app` from now on.
    pub fn host(&self, app: Arc<App>, rules: &AppRules) -> AppHost {
        let Inner { pool, isolates, oneshots, owners, .. } = &*self.inner;
        let workers = rules.workers.max(1);
        let concurrency = app.limits.concurrency;
        let places = match concurrency {
            0 => usize::MAX,
            concurrency => workers.saturating_mul(concurrency as usize),
        };
        let limits = |running| OwnerLimits {
            max_running: running,
            max_queued: rules.queue,
            queue_timeout: rules.queue_timeout,
            weight: rules.weight,
        };
        let (home, hall) = match rules.execution {
            Execution::Auto => (Home::Anywhere(Locking::NoLocker), Hall::Warm),
            Execution::Pooled => (Home::Anywhere(Locking::Locker), Hall::Warm),
            Execution::Pinned => (Home::Pinned, Hall::Warm),
            Execution::Oneshot | Execution::Shared => (Home::Anywhere(Locking::Locker), Hall::Fresh),
        };
        let share = match hall {
            Hall::Warm => owners.share(&app.owner, hall, limits(places)),
            Hall::Fresh => owners.share(&app.owner, hall, limits(workers)),
        };
        let version = Version::new(app.clone(), home, rules.timings.clone());
        let mode = match rules.execution {
            Execution::Auto | Execution::Pooled | Execution::Pinned => Mode::Warm(
                pool.keyed(version.clone(), KeyLimits { max_items: workers, concurrency, lifetime: rules.life }),
            ),
            Execution::Oneshot => Mode::Oneshot(oneshots.clone(), self.inner.fresh.oneshot.with(&share.tally)),
            Execution::Shared => {
                let rules = KeyLimits { max_items: workers, concurrency: 1, lifetime: rules.life };
                let key = IsolateKey { owner: app.owner.clone(), heap: app.limits.heap, rules };
                Mode::Shared(isolates.keyed(key, rules), self.inner.fresh.shared.with(&share.tally))
            }
        };
        AppHost { version, share: Arc::new(share), mode, patience: rules.queue_timeout, timings: rules.timings.clone() }
    }

    /// Compiles what an app begins with ahead of its first request. Takes a while, at low priority.
    pub async fn compile(&self, app: Arc<App>) {
        self.inner.blanks.compile(app).await;
    }

    /// To be told by the watchdog: an owner with a stuck turn is refused until the turn has ended.
    pub fn note_stuck(&self, turn: &StuckTurn<'_>) {
        self.inner.owners.note(turn);
    }

    /// Ready when `count` spares are; there are never more than configured.
    pub async fn spares_ready(&self, count: usize) {
        // A filler that was stopped has none, and will have none.
        let _ = self.inner.blanks.filler().ready(count).await;
    }

    /// Whether apps' requests are let in from now on; to begin with they are. What is in flight goes on.
    pub fn admit(&self, admission: Admission) {
        self.inner.owners.admit(admission);
    }

    /// Ready when no request of an app is in flight and none is let in, or when they are let in again.
    pub async fn quiet(&self) {
        self.inner.owners.quiet().await;
    }

    /// Destroys everything, when the last lease is back; `onTerminate` of each worker has run before this is over.
    pub async fn close(&self) {
        let Inner { pool, isolates, blanks, endings, upkeep, .. } = &*self.inner;
        blanks.filler().stop().await;
        pool.close().await;
        isolates.close().await;
        endings.over().await;
        for task in upkeep {
            task.abort();
        }
    }

    /// Says in the log what is kept warm and how much there may be.
    pub fn log_configuration(&self, initial_heap: ByteSize) {
        let CellConfig { threads, isolates, max_per_owner, max_fresh, max_queued, spares, budget } = &self.inner.config;
        let bound = |count: &Option<usize>| count.map_or_else(|| "none".to_owned(), |count| count.to_string());
        tracing::info!(
            target: "hearth::pool",
            threads, isolates, max_fresh, spares,
            max_per_owner = %bound(max_per_owner),
            max_queued = %bound(max_queued),
            %initial_heap,
            heaps = %budget.heaps,
            memory = %budget.total,
            "Pool started"
        );
    }

    /// Every worker that is there: warm ones, and those that serve one event each.
    pub fn workers(&self) -> Vec<WorkerReport> {
        let Inner { pool, roster, .. } = &*self.inner;
        let warm = pool.list().into_iter().map(|holding| WorkerReport::warm(&holding));
        warm.chain(roster.workers().iter().map(WorkerReport::ephemeral)).collect()
    }

    pub fn report(&self) -> Report {
        let Inner { config, pool, isolates, fresh, blanks, owners, .. } = &*self.inner;
        Report::new(config, (pool, isolates), fresh, blanks, owners)
    }
}

/// Evicts idle workers when memory gets short.
fn give_way(pool: &Pool<Keeper>, isolates: &Pool<IsolateKeeper>, pressure: Arc<Notify>) -> JoinHandle<()> {
    let (pool, isolates) = (pool.clone(), isolates.clone());
    tokio::spawn(async move {
        loop {
            pressure.notified().await;
            pool.trim();
            isolates.trim();
        }
    })
}
