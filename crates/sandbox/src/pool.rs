//! Sandboxes that are ready before anybody asks.
//!
//! Each shape that is kept warm has a filler of the `pool` crate: the code that keeps isolates warm. Taking one never waits
//! for a boot: the oldest that answers a ping in time is given; what does not answer is destroyed and the next one tried; when
//! there is none, one is booted for the caller. Such cold starts have a limit of their own, per driver, so that neither the
//! refilling of the pool nor another driver's slow boots stand in their way.
//!
//! States: `New -> Running -> Stopped`. Once stopped, whoever waits is told so, and a boot that ends is destroyed at once.
//!
//! No lock is held while anything boots or is asked for its health.

mod config;
mod heritage;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_pool::{SpareFactory, SparePool};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::agent::Pulse;
use crate::cid::{Cids, Origin};
use crate::config::SandboxConfig;
use crate::driver::{About, DriverName, Shape};
use crate::error::SandboxError;
use crate::ledger::{Ledger, PoolStats};
use crate::plant::Plant;
use crate::proxy::Exits;
use crate::sandbox::Sandbox;
use crate::unit::Unit;

pub use config::{Limits, PoolConfig, Pooling};

/// A spare that has not answered for this long is dead. Long: a machine may stand still for seconds.
const STALE: Duration = Duration::from_secs(10);
/// Starting interpreters takes a processor for a good while; who has just taken a sandbox comes first.
const BREATH: Duration = Duration::from_millis(10);

/// How the pool is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolHealth {
    Good,
    /// The last boot failed, or limits are not held as they should be; why, with the driver's name before it.
    Degraded {
        reasons: Vec<String>,
    },
    Stopped,
}

/// Keeps sandboxes ready. Clones are the same pool.
#[derive(Clone)]
pub struct SandboxPool {
    shared: Arc<Shared>,
}

struct Shared {
    config: PoolConfig,
    plant: Arc<Plant>,
    exits: Arc<Exits>,
    /// What holds less of sandboxes' limits than it should, by driver.
    weak: Mutex<BTreeMap<DriverName, String>>,
    /// By driver.
    cold: HashMap<DriverName, Semaphore>,
    state: Mutex<State>,
}

enum State {
    New,
    Running(Arc<Fillers>),
    Stopped,
}

type Fillers = HashMap<Shape, SparePool<Warmer>>;

struct Warmer {
    plant: Arc<Plant>,
    shape: Shape,
}

// === impl SandboxPool ===

impl SandboxPool {
    pub fn new(config: PoolConfig) -> Self {
        let plant = Arc::new(Plant {
            drivers: config.drivers.clone(),
            images: config.images.clone(),
            boot_timeout: config.boot_timeout,
            languages: config.languages.clone(),
            limits: config.limits,
            ledger: Arc::new(Ledger::new()),
            cids: Cids::default(),
        });
        let permits = config.max_cold_boots.max(1);
        let cold = config.drivers.names().into_iter().map(|name| (name, Semaphore::new(permits))).collect();
        let exits = Exits::new(config.dns.clone(), config.egress.clone(), &config.packages);
        Self {
            shared: Arc::new(Shared {
                config,
                plant,
                exits: Arc::new(exits),
                weak: Mutex::default(),
                cold,
                state: Mutex::new(State::New),
            }),
        }
    }

    /// Sweeps away what a server that died left behind, then begins to fill up, on the current tokio runtime.
    pub async fn start(&self) -> Result<(), SandboxError> {
        for driver in self.config().drivers.all() {
            let count = driver.sweep().await;
            if count > 0 {
                tracing::info!(driver = %driver.name(), count, "Removed what was left of earlier sandboxes");
            }
        }
        let mut shapes = Vec::new();
        if self.config().pooling == Pooling::On {
            for config in &self.config().warm {
                shapes.push(self.shared.plant.shape(config)?);
            }
        }
        let mut state = self.shared.lock();
        match *state {
            State::New => {}
            State::Running(_) => return Ok(()),
            State::Stopped => return Err(SandboxError::ShuttingDown),
        }
        let filler = |shape: Shape| {
            let warmer = Warmer { plant: self.shared.plant.clone(), shape: shape.clone() };
            (shape, SparePool::start(warmer, self.config().filler_rules()))
        };
        // A shape that is listed twice is kept once.
        shapes.sort();
        shapes.dedup();
        *state = State::Running(Arc::new(shapes.into_iter().map(filler).collect()));
        drop(state);
        tokio::spawn(self.shared.clone().inspect());
        Ok(())
    }

    /// A sandbox of that kind: a ready one if there is one, else a new one. Waits for as long as a boot may take. Dropped
    /// half-way, it leaves nothing behind.
    pub async fn acquire(&self, config: &SandboxConfig) -> Result<Sandbox, SandboxError> {
        let unit = self.acquire_unit(config).await?;
        Sandbox::new(unit, config.clone(), self.shared.exits.clone()).await
    }

    async fn acquire_unit(&self, config: &SandboxConfig) -> Result<Unit, SandboxError> {
        let shape = self.shared.plant.shape(config)?;
        let fillers = match &*self.shared.lock() {
            State::New => None,
            State::Running(fillers) => Some(fillers.clone()),
            State::Stopped => return Err(SandboxError::ShuttingDown),
        };
        if let Some(filler) = fillers.as_ref().and_then(|fillers| fillers.get(&shape)) {
            // Whatever is taken has just been asked how it is: `Warmer::is_usable`.
            while let Some(unit) = filler.take() {
                if matches!(timeout(self.config().health_timeout, unit.agent().answered()).await, Ok(Ok(()))) {
                    self.shared.plant.ledger.warm_hit();
                    return Ok(unit);
                }
                tracing::warn!(sandbox = %unit.id(), "A ready sandbox did not answer, and is destroyed");
                self.shared.plant.ledger.unhealthy();
            }
        }
        self.shared.plant.ledger.cold_miss();
        self.cold_start(shape).await
    }

    /// In a task of its own, so that a caller who goes away does not cut a boot in two; what is booted for nobody is dropped,
    /// and with that destroyed.
    async fn cold_start(&self, shape: Shape) -> Result<Unit, SandboxError> {
        let shared = self.shared.clone();
        let boot = tokio::spawn(async move {
            let limit = shared.cold.get(&shape.driver).expect("a shape's driver is one of the pool's");
            let _permit = limit.acquire().await.map_err(|_| SandboxError::ShuttingDown)?;
            let unit = shared.plant.boot(&shape, Origin::Caller).await?;
            match *shared.lock() {
                State::Stopped => Err(SandboxError::ShuttingDown),
                State::New | State::Running(_) => Ok(unit),
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

    pub fn stats(&self) -> PoolStats {
        PoolStats { ready: self.size(), ..self.shared.plant.ledger.stats() }
    }

    pub fn is_running(&self) -> bool {
        matches!(*self.shared.lock(), State::Running(_))
    }

    pub fn health(&self) -> PoolHealth {
        if matches!(*self.shared.lock(), State::Stopped) {
            return PoolHealth::Stopped;
        }
        let failing = self.shared.plant.ledger.failing();
        let weak = self.shared.weak.lock().unwrap_or_else(PoisonError::into_inner);
        let reasons: Vec<_> =
            failing.iter().chain(weak.iter()).map(|(driver, why)| format!("{driver}: {why}")).collect();
        if reasons.is_empty() { PoolHealth::Good } else { PoolHealth::Degraded { reasons } }
    }

    /// Resolves when `count` sandboxes of the default shape are ready, or the pool is stopped or was not started.
    pub async fn ready(&self, count: usize) -> Result<(), SandboxError> {
        let shape = self.shared.plant.shape(self.config().warm.first().unwrap_or(&SandboxConfig::default()))?;
        let fillers = match &*self.shared.lock() {
            State::Running(fillers) => fillers.clone(),
            State::New | State::Stopped => return Err(SandboxError::ShuttingDown),
        };
        match fillers.get(&shape) {
            Some(filler) => filler.ready(count).await.map_err(|_| SandboxError::ShuttingDown),
            None => Ok(()),
        }
    }

    /// No boot begins after this call. Resolves when those under way have ended, everything that was ready is destroyed and
    /// everything that was acquired, too; destroy that first. The numbers at the end are the report.
    pub async fn shutdown(&self) -> PoolStats {
        let before = self.stop().await;
        self.shared.plant.ledger.down_to(0).await;
        self.end_drivers(&before).await;
        self.stats()
    }

    /// Resolves when nothing is ready any more. Says what was before.
    async fn stop(&self) -> State {
        let before = std::mem::replace(&mut *self.shared.lock(), State::Stopped);
        for limit in self.shared.cold.values() {
            limit.close();
        }
        if let State::Running(fillers) = &before {
            for filler in fillers.values() {
                filler.stop().await;
            }
        }
        before
    }

    async fn end_drivers(&self, before: &State) {
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
    /// Tells the operator what holds sandboxes less well than it could.
    async fn inspect(self: Arc<Self>) {
        for driver in self.config.drivers.all() {
            // One that cannot run says so when it is asked for a sandbox.
            let Ok(probe) = driver.probe().await else { continue };
            for note in probe.notes {
                tracing::warn!(driver = %driver.name(), note = note.text, "Sandboxes are held less well than they could be");
                if note.about == About::Limits {
                    let mut weak = self.weak.lock().unwrap_or_else(PoisonError::into_inner);
                    weak.insert(driver.name(), note.text);
                }
            }
        }
    }
}

// === impl Warmer ===

impl SpareFactory for Warmer {
    type Spare = Unit;
    type Error = SandboxError;

    async fn create(&self) -> Result<Unit, SandboxError> {
        self.plant.boot(&self.shape, Origin::Pool).await
    }

    fn is_usable(&self, unit: &Unit) -> bool {
        match unit.pulse(STALE) {
            Pulse::Beating => true,
            Pulse::Stopped => false,
        }
    }

    fn refill_delay(&self) -> Duration {
        BREATH
    }
}
