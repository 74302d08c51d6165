//! Discovery of apps in the served folders.
//!
//! ```text
//! root/hello/index.ts              plain    the version is that of manifest.yaml or package.json, which the caller reads
//! root/hello@1.2.3/index.ts        flat
//! root/hello/1.2.3/index.ts        nested   also hello/latest/
//! root/@acme/hello…                all three, in a scope
//! ```
//!
//! A folder is an app if it has a `manifest.yaml`, `package.json` or an entry (`index.ts`, `.tsx`,
//! `.js`, `.mjs`, `.html`, also in `src/`). A folder with none of these is a nested app if it has
//! folders named like versions; otherwise it is ignored. A folder that is an app is never searched
//! for versions: many apps have a `v1/` of their own.
//!
//! There are two steps, since only the caller knows the versions of plain folders: [`discover`]
//! finds folders, [`resolve_precedence`] decides which folder is served if several are the same
//! version. Neither fails: a folder that cannot be served becomes a [`DiscoveryProblem`], and the
//! others are served. If a problem leaves open what the folder contains
//! ([`DiscoveryProblem::hides_folder`]), the caller should keep what was found there before.
//!
//! Symbolic links are followed where the operator places them, which is directly in a root or in a
//! scope. Links further down may come from the app's author: `hello/latest -> 1.2.3` is followed,
//! since it stays in `hello/`, and `hello/latest -> ../other` is a problem.

mod find;
mod name;
mod precedence;
mod problem;

pub use find::{Catalogue, Found, Layout, discover};
pub use name::{AppNameError, check_name};
pub use precedence::{ServedFolder, resolve_precedence};
pub use problem::{DiscoveryCause, DiscoveryProblem, hides};

#[cfg(test)]
mod tests;
