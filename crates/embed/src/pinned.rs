//! A pool whose workers live on threads of their own, and which keeps owners apart.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hearth_cell::{AppPools, AppRules, Execution, ItemLifetime, Timings};
use hearth_core::Limits;
use hearth_runtime::Operations;

use crate::engine::Engine;
use crate::error::Error;
use crate::event::{Event, Outcome};
use crate::hosts::{Hosts, Name, Version};
use crate::pooled::IsolatePoolStats;
use crate::script::{Names, Script, app};

static POOL: OnceLock<PinnedPool> = OnceLock::new();

/// The bounds of a pinned pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedRules {
    /// Isolates on each thread. A new one goes to the thread with the fewest.
    pub per_thread: usize,
    /// Isolates of one owner; beyond it, the owner's own least recently used one is evicted.
    pub per_owner: Option<usize>,
    /// Events of one owner that may wait ...
    pub queue: usize,
    /// ... and how long.
    pub queue_timeout: Duration,
}

/// Warm workers, each run by one thread from its start to its end. Clones are the same pool.
#[derive(Clone)]
pub struct PinnedPool {
    inner: Arc<Inner>,
}

struct Inner {
    engine: &'static Engine,
    limits: Limits,
    rules: PinnedRules,
    cell: AppPools,
    hosts: Hosts,
}

/// The worker that handles an event.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    pub owner: &'a str,
    pub worker: &'a str,
    pub version: &'a str,
}

/// Creates the pool of [`execute_pinned`]: `per_thread` isolates on each thread, `per_owner` of
/// each owner, `queue` waiting events of each owner, each for at most `timeout_ms` milliseconds. To
/// be called once, on the main thread, before others.
pub fn init_pinned_pool_full(
    per_thread: usize,
    per_owner: Option<usize>,
    queue: usize,
    timeout_ms: u64,
    limits: Limits,
) -> Result<(), Error> {
    let queue_timeout = Duration::from_millis(timeout_ms);
    let pool = PinnedPool::new(PinnedRules { per_thread, per_owner, queue, queue_timeout }, limits)?;
    POOL.set(pool).map_err(|_| Error::StartedTwice { what: "pinned pool", call: "init_pinned_pool_full" })
}

/// Handles an event in an owner's warm worker, in the pool that [`init_pinned_pool_full`] made. See [`PinnedPool::execute`].
///
/// ```
/// use std::sync::Arc;
/// use hearth_embed::{DefaultOperations, Event, Limits, Target, execute_pinned, init_pinned_pool_full};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), hearth_embed::Error> {
/// init_pinned_pool_full(100, Some(2), 10, 5000, Limits::default())?;
/// let operations = Arc::new(DefaultOperations);
/// let target = Target { owner: "ada", worker: "shop", version: "1" };
/// let script = "export default { fetch: () => new Response('open') }";
/// let outcome = execute_pinned(target, script, operations, Event::get("http://shop/"), || println!("warm")).await?;
/// assert_eq!(outcome.text().await?, "open");
/// # Ok(())
/// # }
/// ```
pub async fn execute_pinned(
    target: Target<'_>,
    script: impl Into<Script>,
    operations: Arc<dyn Operations>,
    event: impl Into<Event>,
    on_warm_hit: impl FnOnce() + Send + 'static,
) -> Result<Outcome, Error> {
    PinnedPool::global()?.execute(target, script, operations, event, on_warm_hit).await
}

impl PinnedPool {
    pub fn new(rules: PinnedRules, limits: Limits) -> Result<Self, Error> {
        let engine = Engine::get()?;
        let isolates = rules.per_thread.max(1).saturating_mul(engine.count);
        let (cell, hosts) = (engine.cell(isolates, rules.per_owner), Hosts::new(isolates));
        Ok(Self { inner: Arc::new(Inner { engine, limits, rules, cell, hosts }) })
    }

    /// The pool that [`init_pinned_pool_full`] created.
    pub fn global() -> Result<&'static Self, Error> {
        POOL.get().ok_or(Error::NotStarted { what: "pinned pool", call: "init_pinned_pool_full" })
    }

    /// Handles an event, of any kind, in the worker that is named. The worker stays while its
    /// version, its text and its operations (the same `Arc`) are the same; `on_warm_hit` is called
    /// when it existed before the event. A worker has as many isolates as there are threads, where
    /// it needs them and its owner may have them.
    pub async fn execute(
        &self,
        target: Target<'_>,
        script: impl Into<Script>,
        operations: Arc<dyn Operations>,
        event: impl Into<Event>,
        on_warm_hit: impl FnOnce() + Send + 'static,
    ) -> Result<Outcome, Error> {
        let inner = &self.inner;
        let Target { owner, worker, version: number } = target;
        let name = Name { owner: owner.into(), worker: worker.into() };
        let version = Version { number: number.into(), script: script.into(), operations };
        let host = inner.engine.enter(|| {
            inner.hosts.host(name, version.clone(), || {
                let names = Names { owner, worker, version: number };
                let app = app(&names, &version.script, &inner.limits, version.operations.clone());
                inner.cell.host(app, &inner.app_rules())
            })
        });
        let event = event.into();
        let outcome = inner.engine.run(async move { event.serve(&host, on_warm_hit).await });
        Ok(outcome.await??)
    }

    /// The pool's numbers.
    pub fn stats(&self) -> IsolatePoolStats {
        let report = self.inner.cell.report();
        let total = self.inner.rules.per_thread.max(1).saturating_mul(self.inner.engine.count);
        let (hits, misses) = (report.hits, report.misses);
        let hit_rate = if hits == 0 { 0.0 } else { hits as f64 / (hits + misses) as f64 };
        IsolatePoolStats {
            total,
            cached: report.cached,
            capacity: total.saturating_sub(report.cached),
            hits,
            misses,
            hit_rate,
        }
    }
}

impl Inner {
    fn app_rules(&self) -> AppRules {
        AppRules {
            execution: Execution::Pinned,
            workers: self.engine.count,
            queue: self.rules.queue,
            queue_timeout: self.rules.queue_timeout,
            weight: 1,
            lifetime: ItemLifetime::default(),
            timings: Arc::new(Timings::default()),
        }
    }
}
