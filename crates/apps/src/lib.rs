//! Apps on disk: discovery and versions (`discovery`, `versions`), change detection (`watch`,
//! `fingerprint`), routing (`routes`); and the modules of each app, resolved, transpiled and ready
//! for V8 (`modules`).
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod discovery;
pub mod fingerprint;
mod folder;
mod ignore_rules;
pub mod modules;
pub mod routes;
pub mod versions;
pub mod watch;

pub use folder::{ENTRIES, MANIFESTS, app_folder};
pub use modules::{AppModules, Grade, ModuleFault, function_body};
