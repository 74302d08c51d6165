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
//! * **compile time**: parser, transformer, code generator and resolver are some 80 crates and build in about half a
//!   minute on two cores; `swc_core` with the same features is some 250 crates with heavy use of procedural macros;
//! * **size**: about 3 MB less machine code in the binary, as the passes for old JavaScript are one crate and mostly
//!   unreachable with an `esnext` target;
//! * **speed**: about three times swc's parsing speed, an arena per file that is freed at once, and a resolver of the
//!   same family that takes a file system of ours, which is how the folder's border is kept (`jail.rs`).
//!
//! What swc has and oxc (0.75) has not: standard (stage 3) decorators, and ES modules rewritten to CommonJS. The first
//! is refused with an explanation, the second is not needed.
//!
//! # Invariants
//!
//! * No byte is read outside the app's folder: every access goes through [`jail::Jail`].
//! * A file is parsed once; its imports come from that same parse, so that [`AppModules::warm`] costs no second one.
//! * No source, however nested, overflows a stack: see `stack.rs`.
//! * Ids are canonical: two paths to one file (through a symbolic link, say) give one id, hence one module.

mod app;
mod compile;
mod exports;
mod fault;
mod format;
mod jail;
mod live;
mod map;
mod node_env;
mod parse;
mod resolve;
mod scope;
mod specifier;
mod stack;
mod survey;
mod synthetic;
mod transpile;
mod tsconfig;
mod warm;

pub use app::AppModules;

#[cfg(test)]
mod tests;
