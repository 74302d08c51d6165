//! An app as the runtime knows it: a name and a version, modules, limits, an environment, and where it may connect to.

use std::sync::Arc;

use hearth_core::module::ModuleLoader;
use hearth_core::{AppName, Limits, Owner, Pace, VersionName};

use crate::code_cache::CodeCache;

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
    pub pace: Pace,
}
