//! A script as text, and the app that the runtime runs.

use std::sync::Arc;

use hearth_cell::{AppParts, SharedServices};
use hearth_core::module::InMemory;
use hearth_core::{AppName, Limits, Owner, VersionName};
use hearth_egress::EgressPolicy;
use hearth_runtime::{App, Operations};

use crate::engine::Engine;

const NOTHING_ELSE: &str =
    "a script that is given as text imports node:async_hooks alone: bundle what it needs into it";

/// An ES module as text. Clones share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script(Arc<str>);

impl Script {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Arc<str>>> From<T> for Script {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// The owner, name and version of a script.
pub(crate) struct Names<'a> {
    pub(crate) owner: &'a str,
    pub(crate) worker: &'a str,
    pub(crate) version: &'a str,
}

/// An app of one module. Outgoing connections go to public addresses, unless the operations replace
/// them.
pub(crate) fn app(names: &Names<'_>, script: &Script, limits: &Limits, operations: Arc<dyn Operations>) -> Arc<App> {
    let commons: &SharedServices = Engine::commons();
    let mut app = commons.app(AppParts {
        name: AppName::new(names.worker),
        version: VersionName::new(names.version),
        owner: Owner::new(names.owner),
        loader: Arc::new(InMemory::new(("/script.js", script.as_str().to_owned()), Vec::new(), NOTHING_ELSE)),
        limits: limits.clone(),
        env: Vec::new(),
        egress: EgressPolicy::public(),
        assets: None,
    });
    Arc::get_mut(&mut app).expect("the app was not shared yet").operations = Some(operations);
    app
}
