//! An app's modules from its folder: found by Node's rules, transpiled where needed, read at most once.
//!
//! ```text
//! specifier ─ specifier.rs ─> resolve.rs ─────────────> id ─> app.rs ─ cache ─> ModuleSource
//!             refuses what     oxc_resolver over jail.rs       │
//!             names no file    (and tsconfig.rs paths)         └─ compile.rs: parse.rs -> transpile.rs -> survey.rs
//!                                                                (on a thread whose stack fits: stack.rs)
//! ```
//!
//! # Why oxc and not swc
//!
//! Both strip types and compile JSX, enums, namespaces and legacy decorators. oxc was chosen for
//! * **compile time**: with the resolver and all it needs, 65 seconds of CPU for a debug build, against 95 for
//!   `swc_core` with the same features and no resolver (145 crates against 181);
//! * **size**: a program with nothing but this crate has 3.5 MB, stripped, the tables for old browsers included;
//! * **speed**: three times swc's parsing speed by its authors' benchmark, an arena per file that is freed at once, and
//!   a resolver of the same family that takes a file system of ours, which is how the folder's border is kept
//!   (`jail.rs`). An app with Hono, React, zod and more (177 modules, 2 MB) is ready in 45 ms of CPU time.
//!
//! What swc has and oxc (0.75) has not: standard (stage 3) decorators, and ES modules rewritten to CommonJS. The first
//! is refused with an explanation, the second is not needed. 0.75 is the last oxc for Rust 1.85.
//!
//! # Invariants
//!
//! * No byte is read outside the app's folder: every access goes through `jail::Jail`, that of `files.rs` too.
//! * A file is parsed once; its imports come from that same parse, so that [`AppModules::warm`] costs no second one.
//! * No source, however nested, overflows a stack: see `stack.rs`.
//! * Ids are canonical: two paths to one file (through a symbolic link, say) give one id, hence one module.

mod app;
mod compile;
mod exports;
mod fault;
mod files;
mod format;
mod jail;
mod live;
mod map;
mod node_env;
mod parse;
mod resolve;
mod scope;
mod snippet;
mod specifier;
mod stack;
mod survey;
mod synthetic;
mod transpile;
mod tsconfig;
mod warm;

pub use app::AppModules;
pub use snippet::function_body;
pub use warm::{Fault, Grade};

#[cfg(test)]
mod tests;
