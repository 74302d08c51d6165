//! Versions of apps and ranges of them, as npm reads them.
//!
//! [`Version`] is semantic versioning; [`AppVersion`] adds the one version without a number, `latest`; [`Range`] is what
//! follows the `@` in `/hello@^1.0.0/`. Ranges mean exactly what they mean to npm's `semver` package (strict, without its
//! `includePrerelease`), odd corners included: a table made by that package is part of the tests.
//!
//! Cargo's `semver` crate is not used: there `1.2.3` is a caret range, there is neither `||` nor `1 - 2`, and `1.2 <2`
//! needs a comma.

mod parse;
mod range;
mod version;

pub use range::{Range, RangeError};
pub use version::{AppVersion, Version, VersionError};

#[cfg(test)]
mod tests;

/// What `semver` takes at most, for versions and, here, for ranges too: no work grows beyond it.
const MAX_LENGTH: usize = 256;

/// The largest number that JavaScript holds exactly. `semver` refuses larger ones.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The start of a text that may be too long to be shown.
fn shown(text: &str) -> String {
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
