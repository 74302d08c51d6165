//! An app as the runtime knows it: a name and a version, modules, limits, an environment, and where it may connect to.

use std::sync::Arc;
use std::time::Instant;

use hearth_core::module::ModuleLoader;
use hearth_core::{AppName, Limits, Owner, Pace, VersionName};

use crate::code_cache::CodeCache;
use crate::operations::Operations;

pub struct App {
    pub name: AppName,
    pub version: VersionName,
    pub owner: Owner,
    /// Its modules, and the files that it may read.
    pub loader: Arc<dyn ModuleLoader>,
    pub limits: Limits,
    /// What the app sees as `env`; frozen, and nothing of Hearth's own environment is in it.
    pub env: Vec<(String, String)>,
    /// Makes the app's outgoing requests, under its policy.
    pub egress: Arc<hearth_egress::Client>,
    pub code_cache: Arc<CodeCache>,
    /// What an embedding program puts in the place of Hearth's own.
    pub operations: Option<Arc<dyn Operations>>,
    pub pace: Pace,
}

impl App {
    /// The same app with a pace of its own: what is done for it that is not its doing makes it neither quick nor slow.
    pub(crate) fn twin(&self) -> Self {
        Self {
            name: self.name.clone(),
            version: self.version.clone(),
            owner: self.owner.clone(),
            loader: self.loader.clone(),
            limits: self.limits.clone(),
            env: self.env.clone(),
            egress: self.egress.clone(),
            code_cache: self.code_cache.clone(),
            operations: self.operations.clone(),
            pace: Pace::new(Instant::now()),
        }
    }
}
