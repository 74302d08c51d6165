//! Configuration of a pool, with the cost of each choice.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hearth_egress::{EgressPolicy, Resolve, SystemDns};
use hearth_pool::{BackoffConfig, SparePoolConfig};
use hearth_sandbox_agent::Language;

use crate::config::{ImageName, SandboxConfig};
use crate::driver::Drivers;
use crate::proxy::PackageConfig;

#[derive(Clone)]
pub struct PoolConfig {
    pub drivers: Drivers,
    /// Images beside `host`: folders with a root file system.
    pub images: BTreeMap<ImageName, PathBuf>,
    pub pooling: Pooling,
    /// Whether sandboxes may run whose limits are not enforced for all their processes together.
    /// Default: they may.
    pub limits: LimitsPolicy,
    /// Spares of each shape that is kept warm. Default 3. Each costs its interpreters' memory:
    /// about 17 MB with python and node.
    pub min_size: usize,
    /// Concurrent boots of spares of one shape. Default 2. More fill up sooner, and take processors
    /// from sandboxes in use.
    pub max_concurrent_boots: usize,
    /// Concurrent boots of one driver for callers that found nothing ready. Default 8; others wait.
    pub max_cold_boots: usize,
    /// Interval of checks: for missing spares, and whether ready ones still answer. Default 1 s.
    pub fill_interval: Duration,
    /// Time for a spare to answer before it is handed out. Default 500 ms.
    pub health_timeout: Duration,
    /// How long a boot may take. Default 60 s.
    pub boot_timeout: Duration,
    /// After boots that failed. Default 1 s, doubled each time, up to 60 s.
    pub backoff: BackoffConfig,
    /// What is kept warm: the shapes of these. Default: that of [`SandboxConfig::default`].
    pub warm: Vec<SandboxConfig>,
    /// Interpreters that run in a spare before it is taken. Default python and javascript.
    pub languages: Vec<Language>,
    /// Upper bound of what a sandbox's list of hosts can reach. Default `public`: no loopback,
    /// private or metadata address.
    pub egress: EgressPolicy,
    /// Resolves names for sandboxes that may reach some. The system's resolver, except in tests.
    pub dns: Arc<dyn Resolve>,
    /// The package cache of all sandboxes. Off by default.
    pub packages: PackageConfig,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    #[default]
    On,
    /// Every sandbox is booted on request.
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LimitsPolicy {
    /// Limits are enforced as far as possible here; what is not is logged.
    #[default]
    Available,
    /// Sandboxes are refused unless all limits are enforced.
    Required,
}

impl PoolConfig {
    pub fn new(drivers: Drivers) -> Self {
        Self {
            drivers,
            images: BTreeMap::new(),
            pooling: Pooling::On,
            limits: LimitsPolicy::Available,
            min_size: 3,
            max_concurrent_boots: 2,
            max_cold_boots: 8,
            fill_interval: Duration::from_secs(1),
            health_timeout: Duration::from_millis(500),
            boot_timeout: Duration::from_secs(60),
            backoff: BackoffConfig { initial: Duration::from_secs(1), max: Duration::from_secs(60) },
            warm: vec![SandboxConfig::default()],
            languages: vec![Language::Python, Language::JavaScript],
            egress: EgressPolicy::public(),
            dns: Arc::new(SystemDns),
            packages: PackageConfig::default(),
        }
    }

    pub(super) fn filler_rules(&self) -> SparePoolConfig {
        SparePoolConfig {
            target: self.min_size,
            concurrency: self.max_concurrent_boots,
            interval: self.fill_interval,
            backoff: self.backoff,
            max_age: None,
        }
    }
}
