//! Versions of apps and ranges of versions, as npm parses them.
//!
//! [`Version`] is semantic versioning; [`AppVersion`] adds the version `latest`, which has no
//! number; [`Range`] is the text after the `@` in `/hello@^1.0.0/`. Ranges mean exactly what they
//! mean to npm's `semver` package (strict, without `includePrerelease`), including corner cases: a
//! table made with that package is part of the tests.
//!
//! Cargo's `semver` crate is not used: there `1.2.3` is a caret range, there is neither `||` nor `1
//! - 2`, and `1.2 <2` needs a comma.

mod parse;
mod range;
mod version;

pub use range::{Range, RangeError};
pub use version::{AppVersion, Version, VersionError};

#[cfg(test)]
mod tests;

/// The limit of `semver` for versions, applied to ranges as well; it bounds all work.
const MAX_LENGTH: usize = 256;

/// The largest integer that JavaScript represents exactly. `semver` refuses larger ones.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The beginning of a text, for errors.
fn shown(text: &str) -> String {
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
