//! What all apps of a process share: the client for outgoing requests, and compiled code.

use std::sync::Arc;
use std::time::Instant;

use hearth_core::module::ModuleLoader;
use hearth_core::{AppName, ByteSize, Limits, Owner, VersionName};
use hearth_egress::{Egress, EgressPolicy};
use hearth_runtime::{App, Assets, CodeCache, LatencyProfile, Meters};

/// Compiled code that is kept in memory.
const CODE_CACHE_SIZE: ByteSize = ByteSize::mb(64);

pub struct SharedServices {
    egress: Egress,
    code_cache: Arc<CodeCache>,
}

/// The parts of an app.
pub struct AppParts {
    pub name: AppName,
    pub version: VersionName,
    pub owner: Owner,
    pub loader: Arc<dyn ModuleLoader>,
    pub limits: Limits,
    pub env: Vec<(String, String)>,
    pub egress: EgressPolicy,
    pub assets: Option<Assets>,
}

/// The certificates that verify outgoing connections are not available.
#[derive(Debug, thiserror::Error)]
#[error("the TLS roots cannot be loaded: {0}")]
pub struct TlsRootsError(String);

impl SharedServices {
    pub fn new() -> Result<Self, TlsRootsError> {
        let egress =
            hearth_egress::Config::new(resolve_url).build().map_err(|error| TlsRootsError(error.to_string()))?;
        Ok(Self { egress, code_cache: Arc::new(CodeCache::new(CODE_CACHE_SIZE)) })
    }

    pub fn app(&self, parts: AppParts) -> Arc<App> {
        let AppParts { name, version, owner, loader, limits, env, egress, assets } = parts;
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
            assets,
            operations: None,
            latency: LatencyProfile::new(Instant::now()),
        })
    }
}

/// Redirects are resolved by the URL parser that apps use.
fn resolve_url(location: &str, base: &str) -> Option<String> {
    ada_url::Url::parse(location, Some(base)).ok().map(|url| url.href().to_owned())
}
