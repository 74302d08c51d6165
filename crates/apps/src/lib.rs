//! Apps as they lie on disk. So far: the modules of an app, resolved, transpiled and ready for V8.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod folder;
pub mod modules;

pub use folder::app_folder;
pub use modules::AppModules;
