//! A pool of ready sandboxes.
//!
//! Each shape that is kept warm has a filler of the `pool` crate, the same code that keeps isolates
//! warm. Taking a sandbox never waits for a boot while spares are ready: the oldest that answers a
//! ping in time is handed out; one that does not answer is destroyed and the next one tried; when
//! there is none, one is booted for the caller. Such cold starts have a limit of their own per
//! driver, so that neither the refilling of the pool nor slow boots of another driver delay them.
//!
//! States: `New -> Running -> Stopped`. Once stopped, waiting callers get an error, and a boot that
//! ends is destroyed at once.
//!
//! No lock is held during a boot or a health check.

mod config;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_pool::{SpareFactory, SparePool};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::agent::Liveness;
use crate::boot::Booter;
use crate::booted_sandbox::BootedSandbox;
use crate::config::SandboxConfig;
use crate::driver::{About, DriverName, Shape};
use crate::error::SandboxError;
use crate::pool_stats::{PoolCounters, SandboxPoolStats};
use crate::proxy::EgressProxies;
use crate::sandbox::Sandbox;
use crate::vsock_cid::{Origin, VsockCids};

pub use config::{LimitsPolicy, PoolConfig, Pooling};

/// A spare that has not answered a ping for this long is dead. Long, since a machine may stall for
/// seconds.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// Before a spare that was taken is replaced: starting interpreters takes a processor for a while,
/// and the caller that has just taken a sandbox comes first.
const REFILL_DELAY: Duration = Duration::from_millis(10);

/// Health of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolHealth {
    Good,
    /// The last boot failed, or limits are not enforced as they should be; each reason begins with
    /// the driver's name.
    Degraded {
        reasons: Vec<String>,
    },
    Stopped,
}

/// Keeps sandboxes ready. Clones are the same pool.
#[derive(Clone)]
pub struct SandboxPool {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    config: PoolConfig,
    pub(crate) booter: Arc<Booter>,
    pub(crate) proxies: Arc<EgressProxies>,
    /// Per driver: limits that it does not enforce.
    unheld_limits: Mutex<BTreeMap<DriverName, String>>,
    /// Permits for cold starts, per driver.
    cold_boots: HashMap<DriverName, Semaphore>,
    state: Mutex<State>,
}

pub(crate) enum State {
    New,
    Running(Arc<Fillers>),
    Stopped,
}

type Fillers = HashMap<Shape, SparePool<SpareBooter>>;

pub(crate) struct SpareBooter {
    booter: Arc<Booter>,
    shape: Shape,
}

// === impl SandboxPool ===

impl SandboxPool {
    pub fn new(config: PoolConfig) -> Self {
        let booter = Arc::new(Booter {
            drivers: config.drivers.clone(),
            images: config.images.clone(),
            boot_timeout: config.boot_timeout,
            languages: config.languages.clone(),
            limits: config.limits,
            counters: Arc::new(PoolCounters::new()),
            cids: VsockCids::default(),
        });
        let permits = config.max_cold_boots.max(1);
        let cold_boots = config.drivers.names().into_iter().map(|name| (name, Semaphore::new(permits))).collect();
        let proxies = EgressProxies::new(config.dns.clone(), config.egress.clone(), &config.packages);
        Self {
            shared: Arc::new(Shared {
                config,
                booter,
                proxies: Arc::new(proxies),
                unheld_limits: Mutex::default(),
                cold_boots,
                state: Mutex::new(State::New),
            }),
        }
    }

    /// Removes what a server that died left behind, then begins to fill up, on the current tokio
    /// runtime.
    pub async fn start(&self) -> Result<(), SandboxError> {
        for driver in self.config().drivers.all() {
            let count = driver.sweep().await;
            if count > 0 {
                tracing::info!(driver = %driver.name(), count, "stale sandboxes removed");
            }
        }
        let mut shapes = Vec::new();
        if self.config().pooling == Pooling::On {
            for config in &self.config().warm {
                shapes.push(self.shared.booter.shape(config)?);
            }
        }
        let mut state = self.shared.lock();
        match *state {
            State::New => {}
            State::Running(_) => return Ok(()),
            State::Stopped => return Err(SandboxError::ShuttingDown),
        }
        let filler = |shape: Shape| {
            let spare_booter = SpareBooter { booter: self.shared.booter.clone(), shape: shape.clone() };
            (shape, SparePool::start(spare_booter, self.config().filler_rules()))
        };
        // A shape that is listed twice is kept once.
        shapes.sort();
        shapes.dedup();
        *state = State::Running(Arc::new(shapes.into_iter().map(filler).collect()));
        drop(state);
        tokio::spawn(self.shared.clone().inspect());
        Ok(())
    }

    /// A sandbox of that configuration: a ready one if there is one, else a new one. Waits for as
    /// long as a boot may take. Dropping the future leaves nothing behind.
    pub async fn acquire(&self, config: &SandboxConfig) -> Result<Sandbox, SandboxError> {
        let booted = self.acquire_booted(config).await?;
        Sandbox::new(booted, config.clone(), self.shared.proxies.clone()).await
    }

    async fn acquire_booted(&self, config: &SandboxConfig) -> Result<BootedSandbox, SandboxError> {
        let shape = self.shared.booter.shape(config)?;
        let fillers = match &*self.shared.lock() {
            State::New => None,
            State::Running(fillers) => Some(fillers.clone()),
            State::Stopped => return Err(SandboxError::ShuttingDown),
        };
        if let Some(filler) = fillers.as_ref().and_then(|fillers| fillers.get(&shape)) {
            // `SpareBooter::is_usable` has sent a ping to what `take` returns.
            while let Some(booted) = filler.take() {
                if matches!(timeout(self.config().health_timeout, booted.agent().answered()).await, Ok(Ok(()))) {
                    self.shared.booter.counters.warm_hit();
                    return Ok(booted);
                }
                tracing::warn!(sandbox = %booted.id(), "spare sandbox did not answer, destroying it");
                self.shared.booter.counters.unhealthy();
            }
        }
        self.shared.booter.counters.cold_miss();
        self.cold_start(shape).await
    }

    /// In a task of its own, so that a caller that goes away does not interrupt a boot; the
    /// unclaimed sandbox is dropped, which destroys it.
    async fn cold_start(&self, shape: Shape) -> Result<BootedSandbox, SandboxError> {
        let shared = self.shared.clone();
        let boot = tokio::spawn(async move {
            let limit = shared.cold_boots.get(&shape.driver).expect("a shape's driver is one of the pool's");
            let _permit = limit.acquire().await.map_err(|_| SandboxError::ShuttingDown)?;
            let booted = shared.booter.boot(&shape, Origin::Caller).await?;
            match *shared.lock() {
                State::Stopped => Err(SandboxError::ShuttingDown),
                State::New | State::Running(_) => Ok(booted),
            }
        });
        boot.await.unwrap_or_else(|error| Err(SandboxError::Boot { reason: format!("the boot did not end: {error}") }))
    }

    /// Sandboxes that are ready.
    pub fn size(&self) -> usize {
        match &*self.shared.lock() {
            State::Running(fillers) => fillers.values().map(|filler| filler.stats().ready).sum(),
            State::New | State::Stopped => 0,
        }
    }

    pub fn config(&self) -> &PoolConfig {
        &self.shared.config
    }

    pub fn stats(&self) -> SandboxPoolStats {
        SandboxPoolStats { ready: self.size(), ..self.shared.booter.counters.stats() }
    }

    pub fn is_running(&self) -> bool {
        matches!(*self.shared.lock(), State::Running(_))
    }

    pub fn health(&self) -> PoolHealth {
        if matches!(*self.shared.lock(), State::Stopped) {
            return PoolHealth::Stopped;
        }
        let failing = self.shared.booter.counters.failing();
        let unheld_limits = self.shared.unheld_limits.lock().unwrap_or_else(PoisonError::into_inner);
        let reasons: Vec<_> =
            failing.iter().chain(unheld_limits.iter()).map(|(driver, why)| format!("{driver}: {why}")).collect();
        if reasons.is_empty() { PoolHealth::Good } else { PoolHealth::Degraded { reasons } }
    }

    /// Resolves when `count` sandboxes of the default shape are ready, or the pool is stopped or was not started.
    pub async fn ready(&self, count: usize) -> Result<(), SandboxError> {
        let shape = self.shared.booter.shape(self.config().warm.first().unwrap_or(&SandboxConfig::default()))?;
        let fillers = match &*self.shared.lock() {
            State::Running(fillers) => fillers.clone(),
            State::New | State::Stopped => return Err(SandboxError::ShuttingDown),
        };
        match fillers.get(&shape) {
            Some(filler) => filler.ready(count).await.map_err(|_| SandboxError::ShuttingDown),
            None => Ok(()),
        }
    }

    /// No boot begins after this call. Resolves when those under way have ended, and everything
    /// that was ready or acquired is destroyed; the caller destroys what it acquired first. Returns
    /// the final counts.
    pub async fn shutdown(&self) -> SandboxPoolStats {
        let before = self.stop().await;
        self.shared.booter.counters.wait_until_at_most(0).await;
        self.end_drivers(&before).await;
        self.stats()
    }

    /// Resolves when nothing is ready any more. Returns the state before.
    pub(crate) async fn stop(&self) -> State {
        let before = std::mem::replace(&mut *self.shared.lock(), State::Stopped);
        for limit in self.shared.cold_boots.values() {
            limit.close();
        }
        if let State::Running(fillers) = &before {
            for filler in fillers.values() {
                filler.stop().await;
            }
        }
        before
    }

    pub(crate) async fn end_drivers(&self, before: &State) {
        if !matches!(before, State::Stopped) {
            for driver in self.config().drivers.all() {
                driver.shutdown().await;
            }
        }
    }
}

// === impl Shared ===

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Logs limitations of the drivers.
    async fn inspect(self: Arc<Self>) {
        for driver in self.config.drivers.all() {
            // A driver that cannot run gives an error when a sandbox is requested.
            let Ok(probe) = driver.probe().await else { continue };
            for note in probe.notes {
                tracing::warn!(driver = %driver.name(), note = note.text, "sandbox driver has a limitation");
                if note.about == About::Limits {
                    let mut unheld_limits = self.unheld_limits.lock().unwrap_or_else(PoisonError::into_inner);
                    unheld_limits.insert(driver.name(), note.text);
                }
            }
        }
    }
}

// === impl SpareBooter ===

impl SpareFactory for SpareBooter {
    type Spare = BootedSandbox;
    type Error = SandboxError;

    async fn create(&self) -> Result<BootedSandbox, SandboxError> {
        self.booter.boot(&self.shape, Origin::Pool).await
    }

    fn is_usable(&self, booted: &BootedSandbox) -> bool {
        match booted.liveness(PING_TIMEOUT) {
            Liveness::Alive => true,
            Liveness::Unresponsive => false,
        }
    }

    fn refill_delay(&self) -> Duration {
        REFILL_DELAY
    }
}
