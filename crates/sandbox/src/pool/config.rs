//! How a pool keeps sandboxes ready, with what each choice costs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hearth_agent::Language;
use hearth_egress::{EgressPolicy, Resolve, SystemDns};
use hearth_pool::{BackoffConfig, SparePoolConfig};

use crate::config::{ImageName, SandboxConfig};
use crate::driver::Drivers;
use crate::proxy::PackageConfig;

#[derive(Clone)]
pub struct PoolConfig {
    pub drivers: Drivers,
    /// Images beside `host`: folders with a root file system.
    pub images: BTreeMap<ImageName, PathBuf>,
    pub pooling: Pooling,
    /// Whether there may be sandboxes whose limits are not held for all their processes together. Default: there may.
    pub limits: Limits,
    /// Sandboxes to have ready, of each shape that is kept warm. Default 3. Each costs its interpreters' memory: about
    /// 17 MB with python and node.
    pub min_size: usize,
    /// Boots at once to fill up one shape. Default 2. More fill up sooner, and take the processors from sandboxes in use.
    pub max_concurrent_boots: usize,
    /// Boots at once of one driver for callers that found nothing ready. Default 8; others wait for their turn.
    pub max_cold_boots: usize,
    /// How often to look without being asked: at what is missing, and whether what is ready still answers. Default 1 s.
    pub fill_interval: Duration,
    /// How long a ready one may take to answer before it is given to somebody. Default 500 ms.
    pub health_timeout: Duration,
    /// How long a boot may take. Default 60 s.
    pub boot_timeout: Duration,
    /// After boots that failed. Default 1 s, doubled each time, up to 60 s.
    pub backoff: BackoffConfig,
    /// What is kept warm: the shapes of these. Default: that of [`SandboxConfig::default`].
    pub warm: Vec<SandboxConfig>,
    /// Interpreters that run in a ready sandbox before anybody takes it. Default python and javascript.
    pub languages: Vec<Language>,
    /// What a sandbox's list of hosts can reach at most. Default `public`: no loopback, private or metadata address.
    pub egress: EgressPolicy,
    /// Looks up names for sandboxes that may reach some. The system's, unless a test brings its own.
    pub dns: Arc<dyn Resolve>,
    /// Packages that are kept for all sandboxes. By default none are.
    pub packages: PackageConfig,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    #[default]
    On,
    /// Every sandbox is booted when it is asked for.
    Off,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    /// What can be held here is held; what not is told.
    #[default]
    Available,
    /// Without all of them there are no sandboxes.
    Required,
}

impl PoolConfig {
    pub fn new(drivers: Drivers) -> Self {
        Self {
            drivers,
            images: BTreeMap::new(),
            pooling: Pooling::On,
            limits: Limits::Available,
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
