//! Apps as they lie on disk: found and told apart (`discovery`, `versions`), watched for changes (`watch`, `fingerprint`), given
//! to requests (`routes`); and the modules of each, resolved, transpiled and ready for V8 (`modules`).
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod content;
pub mod discovery;
pub mod fingerprint;
mod folder;
pub mod modules;
pub mod routes;
pub mod versions;
pub mod watch;

pub use folder::{ENTRIES, MANIFESTS, app_folder};
pub use modules::{AppModules, Fault, Grade, function_body};
