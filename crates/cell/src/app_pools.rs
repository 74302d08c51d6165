//! What all apps of a process share: the pool of warm workers, the isolates of admission, the gates, the spares, and the memory
//! budget.

use std::sync::Arc;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_ipc::Admission;
use hearth_pool::{KeyLimits, OwnerLimits, Pool, PoolLimits};
use hearth_runtime::{App, Locking, MemoryBudget, Platform, Snapshot, StuckTurn, TurnPools};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::admission::{AdmissionClass, OwnerAdmission};
use crate::budget::Budget;
use crate::host::{AppHost, AppRules, Mode};
use crate::lifecycle_hooks::LifecycleHooks;
use crate::modes::ephemeral::EphemeralWorkers;
use crate::modes::oneshot::{MemoryRelief, OneshotStarter};
use crate::modes::shared::{IsolateKey, IsolateManager};
use crate::modes::tally::EphemeralTallies;
use crate::pinned::PinnedThreads;
use crate::report::Report;
use crate::spares::SpareIsolates;
use crate::worker_manager::{ThreadPlacement, Version, WorkerManager};
use crate::workers::WorkerReport;
use hearth_core::execution::Execution;

/// How often worn and idle workers are searched for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct AppPoolsConfig {
    pub threads: usize,
    /// Isolates at once.
    pub isolates: usize,
    /// Isolates of one owner. Beyond it the owner's own least recently used idle worker is evicted.
    pub max_per_owner: Option<usize>,
    /// Isolates that are kept ready for any app.
    pub spares: usize,
    pub budget: Budget,
    /// Requests at once that each have an isolate or context of their own (`oneshot`, `shared`), of all apps together.
    pub max_fresh: usize,
    /// Requests that run or wait, of all admission and execution modes together.
    pub max_queued: Option<usize>,
}

/// Clones are the same pools.
#[derive(Clone)]
pub struct AppPools {
    inner: Arc<Inner>,
}

struct Inner {
    config: AppPoolsConfig,
    pool: Pool<WorkerManager>,
    isolates: Pool<IsolateManager>,
    oneshot_starter: Arc<OneshotStarter>,
    tallies: EphemeralTallies,
    spares: Arc<SpareIsolates>,
    admission: OwnerAdmission,
    hooks: LifecycleHooks,
    /// Workers that serve one event each.
    ephemeral: EphemeralWorkers,
    tasks: Vec<JoinHandle<()>>,
}

impl AppPools {
    /// Must be called on the runtime whose threads serve requests.
    pub fn start(platform: Platform, snapshot: &Snapshot, turn_pools: TurnPools, config: AppPoolsConfig) -> Self {
        let spares = SpareIsolates::start(platform, snapshot, turn_pools.clone(), config.spares);
        let pinned = PinnedThreads::new(config.threads);
        let limits = PoolLimits {
            max_items: config.isolates,
            max_weight: config.budget.for_idle_workers(),
            max_per_group: config.max_per_owner,
        };
        let (hooks, ephemeral) = (LifecycleHooks::new(), EphemeralWorkers::default());
        let manager =
            WorkerManager { spares: spares.clone(), turn_pools: turn_pools.clone(), pinned, hooks: hooks.clone() };
        let pool = Pool::new(manager, limits);
        let isolate_manager = IsolateManager {
            platform,
            snapshot: snapshot.clone(),
            turn_pools: turn_pools.clone(),
            ephemeral: ephemeral.clone(),
        };
        let isolates = Pool::new(isolate_manager, limits);
        let pressure = Arc::new(Notify::new());
        Platform::set_memory_budget(MemoryBudget {
            heaps: config.budget.heaps,
            total: config.budget.total,
            on_pressure: Arc::new({
                let pressure = pressure.clone();
                move || pressure.notify_one()
            }),
        });
        let tasks = vec![
            pool.spawn_sweeper(SWEEP_INTERVAL),
            isolates.spawn_sweeper(SWEEP_INTERVAL),
            spawn_pressure_task(&pool, &isolates, pressure),
        ];
        let memory = MemoryRelief::new(config.budget, pool.clone(), isolates.clone());
        let oneshot_starter = OneshotStarter::new(spares.clone(), turn_pools, ephemeral.clone(), memory);
        let admission = OwnerAdmission::new(&config);
        let tallies = EphemeralTallies::default();
        let inner =
            Inner { config, pool, isolates, oneshot_starter, tallies, spares, admission, hooks, ephemeral, tasks };
        Self { inner: Arc::new(inner) }
    }

    /// Serves `app` from now on.
    pub fn host(&self, app: Arc<App>, rules: &AppRules) -> AppHost {
        let Inner { pool, isolates, oneshot_starter, admission, .. } = &*self.inner;
        let workers = rules.workers.max(1);
        let concurrency = app.limits.concurrency;
        let running = match concurrency {
            0 => usize::MAX,
            concurrency => workers.saturating_mul(concurrency as usize),
        };
        let limits = |max_running| OwnerLimits {
            max_running,
            max_queued: rules.queue,
            queue_timeout: rules.queue_timeout,
            weight: rules.weight,
        };
        let (placement, class) = match rules.execution {
            Execution::Auto => (ThreadPlacement::AnyThread(Locking::NoLocker), AdmissionClass::Pooled),
            Execution::Pooled => (ThreadPlacement::AnyThread(Locking::Locker), AdmissionClass::Pooled),
            Execution::Pinned => (ThreadPlacement::Pinned, AdmissionClass::Pooled),
            Execution::Oneshot | Execution::Shared => {
                (ThreadPlacement::AnyThread(Locking::Locker), AdmissionClass::Ephemeral)
            }
        };
        let quota = match class {
            AdmissionClass::Pooled => admission.add_app(&app.owner, class, limits(running)),
            AdmissionClass::Ephemeral => admission.add_app(&app.owner, class, limits(workers)),
        };
        let version = Version::new(app.clone(), placement, rules.timings.clone());
        let mode = match rules.execution {
            Execution::Auto | Execution::Pooled | Execution::Pinned => Mode::Pooled(
                pool.keyed(version.clone(), KeyLimits { max_items: workers, concurrency, lifetime: rules.lifetime }),
            ),
            Execution::Oneshot => Mode::Oneshot(oneshot_starter.clone(), self.inner.tallies.oneshot.with(&quota.tally)),
            Execution::Shared => {
                let rules = KeyLimits { max_items: workers, concurrency: 1, lifetime: rules.lifetime };
                let key = IsolateKey { owner: app.owner.clone(), heap: app.limits.heap, rules };
                Mode::Shared(isolates.keyed(key, rules), self.inner.tallies.shared.with(&quota.tally))
            }
        };
        AppHost {
            version,
            quota: Arc::new(quota),
            mode,
            queue_timeout: rules.queue_timeout,
            timings: rules.timings.clone(),
        }
    }

    /// Compiles an app ahead of its first request, at low priority.
    pub async fn compile(&self, app: Arc<App>) {
        self.inner.spares.compile(app).await;
    }

    /// To be called by the watchdog: an owner with a stuck turn is blocked until the turn has ended.
    pub fn on_stuck_turn(&self, turn: &StuckTurn<'_>) {
        self.inner.admission.on_stuck_turn(turn);
    }

    /// Resolves when `count` spares are ready; there are never more than configured.
    pub async fn spares_ready(&self, count: usize) {
        // A spare pool that was stopped has no spares.
        let _ = self.inner.spares.pool().ready(count).await;
    }

    /// Whether apps' requests are admitted from now on; at the start they are. Requests in flight go on.
    pub fn set_admission(&self, admission: Admission) {
        self.inner.admission.set_admission(admission);
    }

    /// Resolves when no request of an app is in flight and none is admitted, or when they are admitted again.
    pub async fn wait_until_quiet(&self) {
        self.inner.admission.wait_until_quiet().await;
    }

    /// Destroys all workers as their leases are released; resolves when `onTerminate` of each has run.
    pub async fn close(&self) {
        let Inner { pool, isolates, spares, hooks, tasks, .. } = &*self.inner;
        spares.pool().stop().await;
        pool.close().await;
        isolates.close().await;
        hooks.wait_until_done().await;
        for task in tasks {
            task.abort();
        }
    }

    /// Logs the limits of the pools.
    pub fn log_configuration(&self, initial_heap: ByteSize) {
        let AppPoolsConfig { threads, isolates, max_per_owner, max_fresh, max_queued, spares, budget } =
            &self.inner.config;
        let bound = |count: &Option<usize>| count.map_or_else(|| "none".to_owned(), |count| count.to_string());
        tracing::info!(
            target: "hearth::pool",
            threads, isolates, max_fresh, spares,
            max_per_owner = %bound(max_per_owner),
            max_queued = %bound(max_queued),
            %initial_heap,
            heaps = %budget.heaps,
            memory = %budget.total,
            "pool started"
        );
    }

    /// Every worker: pooled ones, and those that serve one event each.
    pub fn workers(&self) -> Vec<WorkerReport> {
        let Inner { pool, ephemeral, .. } = &*self.inner;
        let pooled = pool.list().into_iter().map(|info| WorkerReport::pooled(&info));
        pooled.chain(ephemeral.workers().iter().map(WorkerReport::ephemeral)).collect()
    }

    pub fn report(&self) -> Report {
        let Inner { config, pool, isolates, tallies, spares, admission, .. } = &*self.inner;
        Report::new(config, (pool, isolates), tallies, spares, admission)
    }
}

/// Evicts idle workers when memory is short.
fn spawn_pressure_task(
    pool: &Pool<WorkerManager>,
    isolates: &Pool<IsolateManager>,
    pressure: Arc<Notify>,
) -> JoinHandle<()> {
    let (pool, isolates) = (pool.clone(), isolates.clone());
    tokio::spawn(async move {
        loop {
            pressure.notified().await;
            pool.trim();
            isolates.trim();
        }
    })
}
