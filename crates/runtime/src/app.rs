//! An app as the runtime knows it: name and version, modules, limits, environment, and egress
//! policy.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use hearth_core::log_limit::{Admitted, LogLimiter};
use hearth_core::module::ModuleLoader;
use hearth_core::{AppName, Limits, MemoryAccount, Owner, VersionName};

use crate::assets::Assets;
use crate::code_cache::CodeCache;
use crate::operations::Operations;
use crate::scheduler::LatencyProfile;

pub struct App {
    pub name: AppName,
    pub version: VersionName,
    pub owner: Owner,
    /// Its modules, and the files that it may read.
    pub loader: Arc<dyn ModuleLoader>,
    pub limits: Limits,
    /// What the app sees as `env`; frozen, and without Hearth's own environment.
    pub env: Vec<(String, String)>,
    /// Makes the app's outgoing requests, under its policy.
    pub egress: Arc<hearth_egress::Client>,
    pub code_cache: Arc<CodeCache>,
    /// The files that its `env` has.
    pub assets: Option<Assets>,
    /// Replaces Hearth's own operations in an embedding program.
    pub operations: Option<Arc<dyn Operations>>,
    pub latency: LatencyProfile,
    /// Shared by all its workers.
    pub meters: Arc<Meters>,
}

/// Log lines of an app that may come at once, and how many per second are allowed after that.
const LOG_BURST: u32 = 500;
const LOG_LINES_PER_SECOND: u32 = 200;

/// What a version of an app may use outside of its isolates, by all its workers together, in
/// whatever mode they run and however often they are replaced.
#[derive(Debug)]
pub struct Meters {
    log: Mutex<LogLimiter>,
    /// Bodies and messages in transit.
    pub memory: Arc<MemoryAccount>,
}

impl Meters {
    pub fn new(limits: &Limits) -> Arc<Self> {
        let log = Mutex::new(LogLimiter::new(LOG_BURST, LOG_LINES_PER_SECOND));
        Arc::new(Self { log, memory: MemoryAccount::new(limits.heap) })
    }

    /// Called before anything is done for a line of the log.
    pub(crate) fn admit_line(&self) -> Admitted {
        // No code that can panic runs under this lock.
        self.log.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now())
    }
}

impl App {
    /// The same app with a latency profile of its own: work that is done on its behalf does not
    /// change its class.
    pub(crate) fn with_own_latency(&self) -> Self {
        Self {
            name: self.name.clone(),
            version: self.version.clone(),
            owner: self.owner.clone(),
            loader: self.loader.clone(),
            limits: self.limits.clone(),
            env: self.env.clone(),
            egress: self.egress.clone(),
            code_cache: self.code_cache.clone(),
            assets: self.assets.clone(),
            operations: self.operations.clone(),
            latency: LatencyProfile::new(Instant::now()),
            meters: self.meters.clone(),
        }
    }
}
