//! An app's modules from its folder: resolved by Node's rules, transpiled if needed, read at most
//! once.
//!
//! ```text
//! specifier ─ specifier.rs ─> resolve.rs ─────────────> id ─> app.rs ─ cache ─> ModuleSource
//!             refuses what     oxc_resolver over app_root.rs       │
//!             names no file    (conditions.rs, tsconfig.rs)    └─ compile.rs: parse.rs -> transpile.rs -> scan.rs
//!                                                                (on a thread whose stack fits: deep_stack.rs)
//! ```
//!
//! # Why oxc and not swc
//!
//! Both strip types and compile JSX, enums, namespaces and legacy decorators. oxc was chosen for
//! * **compile time**: with the resolver and all dependencies, 65 seconds of CPU for a debug build,
//!   against 95 for `swc_core` with the same features and no resolver (145 crates against 181);
//! * **size**: a program with only this crate has 3.5 MB, stripped, including the tables for old
//!   browsers;
//! * **speed**: three times swc's parsing speed by its authors' benchmark, an arena per file that
//!   is freed at once, and a resolver of the same family that accepts a custom file system, which
//!   keeps the folder's border (`app_root.rs`). An app with Hono, React, zod and more (177 modules,
//!   2 MB) is loaded in 45 ms of CPU time.
//!
//! What swc has and oxc (0.146) has not: standard (stage 3) decorators, and ES modules rewritten to CommonJS. The first
//! is refused with an explanation, the second is not needed.
//!
//! # Invariants
//!
//! * No byte is read outside the app's folder: every access goes through `app_root::AppRoot`, that
//!   of `files.rs` too.
//! * A file is parsed once; its imports come from the same parse, so [`AppModules::preload`] needs
//!   no second one.
//! * No source, however nested, overflows a stack: see `deep_stack.rs`.
//! * Ids are canonical: two paths to one file (through a symbolic link, say) give one id, hence one
//!   module.

mod app;
mod app_root;
mod cjs_exports;
mod compile;
mod conditions;
mod dead_branches;
mod deep_stack;
mod files;
mod format;
mod node_env;
mod package_scope;
mod parse;
mod preload;
mod resolve;
mod scan;
mod snippet;
mod source_map;
mod specifier;
mod syntax_error;
mod synthetic;
mod transpile;
mod tsconfig;

pub use app::AppModules;
pub use preload::{Grade, ModuleFault};
pub use snippet::function_body;

#[cfg(test)]
mod tests;
