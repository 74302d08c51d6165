//! From a file and flags to an app that the runtime can start.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use hearth_core::module::ModuleLoader;
use hearth_core::{AppName, ByteSize, Owner, Pace};
use hearth_runtime::{App, CodeCache};

use crate::arguments::AppOptions;

/// Compiled code that is kept in memory.
const CODE_CACHE: ByteSize = ByteSize::mb(64);

/// What all apps of a process share.
pub struct Shared {
    egress: hearth_egress::Egress,
    code_cache: Arc<CodeCache>,
}

impl Shared {
    pub fn new() -> anyhow::Result<Self> {
        let egress = hearth_egress::Config::new(resolve_url).build().context("the TLS roots cannot be loaded")?;
        Ok(Self { egress, code_cache: Arc::new(CodeCache::new(CODE_CACHE)) })
    }

    pub fn app(&self, name: AppName, loader: Arc<dyn ModuleLoader>, options: &AppOptions) -> Arc<App> {
        Arc::new(App {
            owner: Owner::from(&name),
            name,
            loader,
            limits: options.limits(),
            env: options.env.clone(),
            egress: Arc::new(self.egress.client(options.egress.clone())),
            code_cache: self.code_cache.clone(),
            pace: Pace::new(std::time::Instant::now()),
        })
    }
}

/// A name for people: the file's folder, or the file itself where it lies at the root.
pub fn name_of(folder: &Path, file: &Path) -> AppName {
    let name = folder.file_name().or_else(|| file.file_stem());
    AppName::new(name.map_or("app".into(), |name| name.to_string_lossy().into_owned()))
}

/// Redirects are resolved by the same parser that apps have.
fn resolve_url(location: &str, base: &str) -> Option<String> {
    ada_url::Url::parse(location, Some(base)).ok().map(|url| url.href().to_owned())
}
