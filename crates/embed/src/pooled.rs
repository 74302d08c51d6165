//! One pool for all threads: warm workers by name, and isolates by name.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hearth_cell::{AppPools, AppRules, Execution, ItemLifetime, Timings};
use hearth_core::Limits;
use hearth_pool::{KeyLimits, Pool, PoolLimits};
use hearth_runtime::Operations;

use crate::engine::Engine;
use crate::error::Error;
use crate::event::{Event, Outcome};
use crate::hosts::{Hosts, Name, Version};
use crate::isolates::{Keeper, PooledIsolate, refusal};
use crate::script::{Names, Script, app};

/// Requests of one worker that may wait, and how long.
const QUEUE: usize = 100;
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

static POOL: OnceLock<IsolatePool> = OnceLock::new();

/// Warm workers ([`IsolatePool::execute`]) and isolates ([`IsolatePool::acquire`]), each by name
/// and at most as many as the pool was created for: beyond that, the least recently used idle one
/// is evicted. Clones are the same pool.
#[derive(Clone)]
pub struct IsolatePool {
    inner: Arc<Inner>,
}

struct Inner {
    engine: &'static Engine,
    limits: Limits,
    max_size: usize,
    cell: AppPools,
    hosts: Hosts,
    isolates: Pool<Keeper>,
}

/// The numbers of a pool. Workers and isolates are counted together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IsolatePoolStats {
    /// The most that may be kept.
    pub total: usize,
    /// How many there are.
    pub cached: usize,
    /// How many more may be created.
    pub capacity: usize,
    /// Executions and acquisitions that found a warm worker or isolate.
    pub hits: u64,
    pub misses: u64,
    /// Hits among all of them; 0 where there were none.
    pub hit_rate: f64,
}

/// Creates the pool of [`execute_pooled`]. To be called once, on the main thread, before others.
pub fn init_pool(max_size: usize, limits: Limits) -> Result<(), Error> {
    let pool = IsolatePool::new(max_size, limits)?;
    POOL.set(pool).map_err(|_| Error::StartedTwice { what: "pool", call: "init_pool" })
}

/// Handles an event in the warm worker `worker_id` of the pool that [`init_pool`] created. See
/// [`IsolatePool::execute`].
pub async fn execute_pooled(
    worker_id: &str,
    script: impl Into<Script>,
    operations: Arc<dyn Operations>,
    event: impl Into<Event>,
) -> Result<Outcome, Error> {
    IsolatePool::global()?.execute(worker_id, script, operations, event).await
}

impl IsolatePool {
    /// A pool of its own, of `max_size` workers and as many isolates.
    pub fn new(max_size: usize, limits: Limits) -> Result<Self, Error> {
        let engine = Engine::get()?;
        let max_size = max_size.max(1);
        let keeper = Keeper { engine, heap: limits.heap };
        let isolates = engine
            .enter(|| Pool::new(keeper, PoolLimits { max_items: max_size, max_weight: u64::MAX, max_per_group: None }));
        let (cell, hosts) = (engine.cell(max_size, None), Hosts::new(max_size));
        Ok(Self { inner: Arc::new(Inner { engine, limits, max_size, cell, hosts, isolates }) })
    }

    /// The pool that [`init_pool`] created.
    pub fn global() -> Result<&'static Self, Error> {
        POOL.get().ok_or(Error::NotStarted { what: "pool", call: "init_pool" })
    }

    /// Handles an event in the warm worker `worker_id`, which is created if it does not exist. The
    /// worker, and its script's state, stays while the text is the same and the operations are the
    /// same `Arc`.
    pub async fn execute(
        &self,
        worker_id: &str,
        script: impl Into<Script>,
        operations: Arc<dyn Operations>,
        event: impl Into<Event>,
    ) -> Result<Outcome, Error> {
        let inner = &self.inner;
        let name = Name { owner: worker_id.into(), worker: worker_id.into() };
        let version = Version { number: "1".into(), script: script.into(), operations };
        let host = inner.engine.enter(|| {
            inner.hosts.host(name, version.clone(), || {
                let names = Names { owner: worker_id, worker: worker_id, version: "1" };
                let app = app(&names, &version.script, &inner.limits, version.operations.clone());
                inner.cell.host(app, &rules(inner.engine.count))
            })
        });
        let event = event.into();
        let outcome = inner.engine.run(async move { event.serve(&host, || {}).await });
        Ok(outcome.await??)
    }

    /// The isolate that is kept under that name, or a new one. Waits while another caller has it.
    pub async fn acquire(&self, worker_id: &str) -> Result<PooledIsolate, Error> {
        let lifetime = ItemLifetime::default();
        let keyed = self.inner.isolates.keyed(worker_id.into(), KeyLimits { max_items: 1, concurrency: 1, lifetime });
        let lease = self.inner.engine.run(async move { keyed.acquire().await });
        Ok(PooledIsolate::new(lease.await?.map_err(refusal)?))
    }

    /// The pool's numbers.
    pub fn stats(&self) -> IsolatePoolStats {
        let (report, isolates) = (self.inner.cell.report(), self.inner.isolates.stats());
        let (hits, misses) = (report.hits + isolates.hits, report.misses + isolates.misses);
        let (total, cached) = (self.inner.max_size, report.cached + isolates.cached);
        let hit_rate = if hits == 0 { 0.0 } else { hits as f64 / (hits + misses) as f64 };
        IsolatePoolStats { total, cached, capacity: total.saturating_sub(cached), hits, misses, hit_rate }
    }
}

fn rules(workers: usize) -> AppRules {
    AppRules {
        execution: Execution::Pooled,
        workers,
        queue: QUEUE,
        queue_timeout: QUEUE_TIMEOUT,
        weight: 1,
        lifetime: ItemLifetime::default(),
        timings: Arc::new(Timings::default()),
    }
}
