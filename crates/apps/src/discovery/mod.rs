//! Apps found in the folders that are served.
//!
//! ```text
//! root/hello/index.ts              plain    the version is that of manifest.yaml or package.json, which the caller reads
//! root/hello@1.2.3/index.ts        flat
//! root/hello/1.2.3/index.ts        nested   also hello/latest/
//! root/@acme/hello…                all three, in a scope
//! ```
//!
//! A folder is an app if it holds `manifest.yaml`, `package.json` or an entry (`index.ts`, `.tsx`, `.js`, `.mjs`, `.html`, also
//! in `src/`). One that holds none of these is nested if it has folders named like versions; else it is nothing, and left
//! alone. A folder that is itself an app is never searched for versions: many apps have a `v1/` of their own.
//!
//! Two steps, since only the caller knows the versions of plain folders: [`discover`] finds, [`settle`] decides which folder
//! is served where two are the same version. Neither fails: whatever cannot be served becomes a [`Problem`], and all the
//! rest is served. A problem that says nothing about what is there ([`Problem::hides_folder`]) is no reason to forget what was
//! found there before.
//!
//! Symbolic links are followed where the operator puts them, which is directly in a root or in a scope of it. Below that
//! they may come from whoever wrote the app: `hello/latest -> 1.2.3` is followed, since it stays in `hello/`, and
//! `hello/latest -> ../other` is a problem.

mod find;
mod name;
mod problem;
mod settle;

pub use find::{Catalogue, Found, Layout, discover};
pub use name::{NameError, check_name};
pub use problem::{Cause, Problem, hides};
pub use settle::{Settled, settle};

#[cfg(test)]
mod tests;
