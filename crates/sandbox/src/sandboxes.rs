//! The sandbox API, used by the MCP server, the admin API and the command line. Every call is made
//! on behalf of a caller; sessions see their own sandboxes, the operator sees all.
//!
//! A sandbox ends when it is destroyed, when it was idle for its idle time, when its lifetime is
//! over, when its session ends, and with the server, unless it is handed to the next program
//! (`upgrade/`). One whose agent is gone is freed at once, and stays in the list as `lost` until
//! then.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use hearth_sandbox_agent::Language;
use tokio::task::JoinSet;

use crate::config::{SandboxCeilings, SandboxConfig, SandboxConfigBuilder, SandboxUpdate};
use crate::driver::{Shape, Usage};
use crate::error::SandboxError;
use crate::exec::ExecResult;
use crate::file_link::{Direction, LinkToken, LinkedFile, Links};
use crate::id::{Caller, SandboxId, SessionId};
use crate::isolate::{IsolateRun, IsolateRunner};
use crate::pool::{PoolConfig, PoolHealth, SandboxPool};
use crate::pool_stats::SandboxPoolStats;
use crate::registry::{Owned, Registry};
use crate::sandbox::{Sandbox, SandboxState, Timestamp};

/// How often lifetimes are checked.
const REAP_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub struct SandboxesConfig {
    pub pool: PoolConfig,
    /// Sandboxes at once, of all sessions. Default 100.
    pub max_sandboxes: usize,
    pub ceilings: SandboxCeilings,
    /// Defaults of new sandboxes.
    pub defaults: SandboxConfig,
    /// Runs `runtime: isolate`; `None` makes that an error.
    pub isolates: Option<Arc<dyn IsolateRunner>>,
}

/// All sandboxes of a server. Clones share them.
#[derive(Clone)]
pub struct Sandboxes {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    config: SandboxesConfig,
    pub(crate) pool: SandboxPool,
    pub(crate) registry: Registry,
    pub(crate) links: Links,
}

/// Public information about a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxInfo {
    pub id: SandboxId,
    pub owner: Caller,
    pub state: SandboxState,
    pub created_at: Timestamp,
    pub age: Duration,
    /// How long it has been unused.
    pub idle: Duration,
    /// When it will be destroyed, used or not.
    pub expires_at: Timestamp,
    pub idle_timeout: Duration,
    pub shape: Shape,
    pub config: SandboxConfig,
    pub languages: Vec<Language>,
    pub jobs: usize,
    pub usage: Usage,
}

/// All counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SandboxStats {
    pub pool: SandboxPoolStats,
    /// Acquired sandboxes.
    pub held: usize,
    pub limit: usize,
}

// === impl SandboxesConfig ===

impl SandboxesConfig {
    pub fn new(pool: PoolConfig) -> Self {
        Self {
            pool,
            max_sandboxes: 100,
            ceilings: SandboxCeilings::default(),
            defaults: SandboxConfig::default(),
            isolates: None,
        }
    }
}

// === impl Sandboxes ===

impl Sandboxes {
    pub fn new(config: SandboxesConfig) -> Self {
        let pool = SandboxPool::new(config.pool.clone());
        let registry = Registry::new(config.max_sandboxes);
        Self { shared: Arc::new(Shared { config, pool, registry, links: Links::new() }) }
    }

    /// Starts the pool, and a task that enforces lifetimes for as long as a clone of this lives. On
    /// the current tokio runtime.
    pub async fn start(&self) -> Result<(), SandboxError> {
        self.shared.pool.start().await?;
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(REAP_INTERVAL).await;
                match shared.upgrade() {
                    Some(shared) => shared.reap(),
                    None => return,
                }
            }
        });
        Ok(())
    }

    pub fn config(&self) -> &SandboxesConfig {
        &self.shared.config
    }

    pub fn pool(&self) -> &SandboxPool {
        &self.shared.pool
    }

    /// A builder with the operator's defaults.
    pub fn builder(&self) -> SandboxConfigBuilder {
        SandboxConfigBuilder::from(self.shared.config.defaults.clone())
    }

    /// Creates a sandbox. Everything that can be refused is refused before any work.
    pub async fn create(&self, caller: &Caller, config: SandboxConfig) -> Result<Arc<Sandbox>, SandboxError> {
        self.shared.config.ceilings.check(&config)?;
        let reservation = self.shared.registry.reserve(caller)?;
        let sandbox = reservation.insert(self.shared.pool.acquire(&config).await?)?;
        tracing::info!(sandbox = %sandbox.id(), owner = %caller, "sandbox created");
        Ok(sandbox)
    }

    pub fn get(&self, caller: &Caller, id: SandboxId) -> Result<Arc<Sandbox>, SandboxError> {
        self.shared.registry.get(caller, id)
    }

    /// The oldest first.
    pub fn list(&self, caller: &Caller) -> Vec<SandboxInfo> {
        self.shared.registry.list(caller).iter().map(|owned| self.shared.describe(owned)).collect()
    }

    pub fn info(&self, caller: &Caller, id: SandboxId) -> Result<SandboxInfo, SandboxError> {
        let owned = self.shared.registry.list(caller).into_iter().find(|owned| owned.sandbox.id() == id);
        owned.map(|owned| self.shared.describe(&owned)).ok_or(SandboxError::NoSandbox(id))
    }

    /// Changes its lifetime and the hosts that it may reach. Returns the new state.
    pub async fn update(
        &self,
        caller: &Caller,
        id: SandboxId,
        update: SandboxUpdate,
    ) -> Result<SandboxInfo, SandboxError> {
        let sandbox = self.get(caller, id)?;
        self.shared.config.ceilings.check_update(&update, sandbox.age())?;
        sandbox.update(update).await?;
        self.info(caller, id)
    }

    /// Resolves when nothing is left of it. What runs in it ends with [`SandboxError::Destroyed`].
    pub async fn destroy(&self, caller: &Caller, id: SandboxId) -> Result<(), SandboxError> {
        let sandbox = self.shared.registry.remove(caller, id)?;
        sandbox.destroy().await;
        tracing::info!(sandbox = %id, "sandbox destroyed");
        Ok(())
    }

    /// Destroys all of a session's sandboxes, including those being created; returns their number.
    pub async fn end_session(&self, session: &SessionId) -> usize {
        let sandboxes = self.shared.registry.end_session(session);
        let count = sandboxes.len();
        destroy_all(sandboxes).await;
        count
    }

    pub fn stats(&self) -> SandboxStats {
        let (owned, limit) = (self.shared.registry.count(), self.shared.registry.limit());
        SandboxStats { pool: self.shared.pool.stats(), held: owned, limit }
    }

    pub fn health(&self) -> PoolHealth {
        self.shared.pool.health()
    }

    /// Runs JavaScript in an isolate instead of a sandbox.
    pub async fn run_isolate(&self, run: IsolateRun) -> Result<ExecResult, SandboxError> {
        match &self.shared.config.isolates {
            Some(isolates) => isolates.run(run).await,
            None => Err(SandboxError::NoIsolate {
                reason: "only `hearth serve`, which answers MCP too, has some; without `runtime` the sandbox runs it"
                    .to_owned(),
            }),
        }
    }

    /// Issues a secret that allows reading or writing one file over HTTP for a while.
    pub fn link(
        &self,
        caller: &Caller,
        id: SandboxId,
        path: &str,
        direction: Direction,
        ttl: Duration,
    ) -> Result<LinkToken, SandboxError> {
        let sandbox = self.get(caller, id)?;
        let _use = sandbox.begin_use();
        self.shared.links.issue(LinkedFile { sandbox: id, path: path.to_owned(), direction }, ttl)
    }

    /// The file of a link. The direction must be the link's own.
    pub fn follow(&self, token: &str, direction: Direction) -> Result<(Arc<Sandbox>, LinkedFile), SandboxError> {
        let file = self.shared.links.find(token, direction)?;
        let sandbox = self.get(&Caller::Admin, file.sandbox).map_err(|_| SandboxError::NoLink)?;
        Ok((sandbox, file))
    }

    /// Refuses new sandboxes. Resolves when all are destroyed and all boots have ended.
    pub async fn shutdown(&self) -> SandboxPoolStats {
        let sandboxes = self.shared.registry.close_and_take();
        let (stats, ()) = tokio::join!(self.shared.pool.shutdown(), destroy_all(sandboxes));
        tracing::info!(
            created = stats.created,
            destroyed = stats.destroyed,
            warm_hits = stats.warm_hits,
            cold_misses = stats.cold_misses,
            hit_rate = %format_args!("{:.2}%", stats.hit_rate()),
            "sandboxes shut down"
        );
        stats
    }
}

async fn destroy_all(sandboxes: Vec<Arc<Sandbox>>) {
    let mut endings = JoinSet::new();
    for sandbox in sandboxes {
        endings.spawn(async move { sandbox.destroy().await });
    }
    while endings.join_next().await.is_some() {}
}

// === impl Shared ===

impl Shared {
    /// Destroys what is expired, and frees what is lost. Waits for neither.
    fn reap(&self) {
        self.links.remove_expired();
        for Owned { sandbox, .. } in self.registry.list(&Caller::Admin) {
            let why = match () {
                () if sandbox.age() >= self.ttl(&sandbox) => "lifetime is over",
                () if sandbox.idle() >= self.idle_timeout(&sandbox) => "idle",
                () => {
                    if sandbox.state() == SandboxState::Lost {
                        sandbox.begin_destroying();
                    }
                    continue;
                }
            };
            // Another caller may have destroyed it meanwhile.
            if self.registry.remove(&Caller::Admin, sandbox.id()).is_ok() {
                tracing::info!(sandbox = %sandbox.id(), why, "sandbox destroyed");
                sandbox.begin_destroying();
            }
        }
    }

    fn ttl(&self, sandbox: &Sandbox) -> Duration {
        sandbox.config().ttl.unwrap_or(self.config.ceilings.ttl)
    }

    fn idle_timeout(&self, sandbox: &Sandbox) -> Duration {
        sandbox.config().idle_timeout.unwrap_or(self.config.ceilings.idle_timeout)
    }

    fn describe(&self, owned: &Owned) -> SandboxInfo {
        let sandbox = &owned.sandbox;
        let life = u64::try_from(self.ttl(sandbox).as_millis()).unwrap_or(u64::MAX);
        SandboxInfo {
            id: sandbox.id(),
            owner: owned.owner.clone(),
            state: sandbox.state(),
            created_at: sandbox.created_at(),
            age: sandbox.age(),
            idle: sandbox.idle(),
            expires_at: Timestamp(sandbox.created_at().0.saturating_add(life)),
            idle_timeout: self.idle_timeout(sandbox),
            shape: sandbox.shape().clone(),
            config: SandboxConfig::clone(&sandbox.config()),
            languages: sandbox.languages().to_vec(),
            jobs: sandbox.running_jobs(),
            usage: sandbox.usage(),
        }
    }
}
