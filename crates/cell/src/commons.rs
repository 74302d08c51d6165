//! What all apps of a process share: the way out to the network, and compiled code.

use std::sync::Arc;
use std::time::Instant;

use hearth_core::module::ModuleLoader;
use hearth_core::{AppName, ByteSize, Limits, Owner, VersionName};
use hearth_egress::{Egress, EgressPolicy};
use hearth_runtime::{App, CodeCache, LatencyProfile, Meters};

/// Compiled code that is kept in memory.
const CODE_CACHE: ByteSize = ByteSize::mb(64);

pub struct Commons {
    egress: Egress,
    code_cache: Arc<CodeCache>,
}

/// What an app is made of.
pub struct Parts {
    pub name: AppName,
    pub version: VersionName,
    pub owner: Owner,
    pub loader: Arc<dyn ModuleLoader>,
    pub limits: Limits,
    pub env: Vec<(String, String)>,
    pub egress: EgressPolicy,
}

/// The certificates that outgoing connections are judged by.
#[derive(Debug, thiserror::Error)]
#[error("the TLS roots cannot be loaded: {0}")]
pub struct NoRoots(String);

impl Commons {
    pub fn new() -> Result<Self, NoRoots> {
        let egress = hearth_egress::Config::new(resolve_url).build().map_err(|error| NoRoots(error.to_string()))?;
        Ok(Self { egress, code_cache: Arc::new(CodeCache::new(CODE_CACHE)) })
    }

    pub fn app(&self, parts: Parts) -> Arc<App> {
        let Parts { name, version, owner, loader, limits, env, egress } = parts;
        Arc::new(App {
            meters: Meters::new(&limits),
            name,
            version,
            owner,
            loader,
            limits,
            env,
            egress: Arc::new(self.egress.client(egress)),
            code_cache: self.code_cache.clone(),
            operations: None,
            latency: LatencyProfile::new(Instant::now()),
        })
    }
}

/// Redirects are resolved by the same parser that apps have.
fn resolve_url(location: &str, base: &str) -> Option<String> {
    ada_url::Url::parse(location, Some(base)).ok().map(|url| url.href().to_owned())
}
