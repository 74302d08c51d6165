//! Folders of revisions: `apps/NAME@VERSION+rN`, with `+` for the `/` of scoped names.
//!
//! Names come from clients, so only names that are harmless in a path are accepted. Two revisions
//! never share a folder: names have no `+`, versions no `@`, and `+r` with digits is always last.

use std::path::PathBuf;

use hearth_core::{AppName, VersionName};

use crate::deployment::Revision;
use crate::error::StoreError;

pub(super) const APPS: &str = "apps";

/// Together with the number they stay below 255 bytes, the limit for file names.
const MAX_NAME_BYTES: usize = 128;
const MAX_VERSION_BYTES: usize = 100;

pub(super) fn revision_folder(app: &AppName, version: &VersionName, revision: Revision) -> PathBuf {
    let app = app.as_str().replace('/', "+");
    PathBuf::from(APPS).join(format!("{app}@{version}+r{revision}"))
}

pub(super) fn check(app: &AppName, version: &VersionName) -> Result<(), StoreError> {
    let name = app.as_str();
    let fits = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| plain(scope) && plain(name)),
        None => plain(name),
    };
    if !fits || name.len() > MAX_NAME_BYTES {
        return Err(StoreError::AppName { app: name.chars().take(MAX_NAME_BYTES + 1).collect() });
    }
    let text = version.as_str();
    let fits = text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.+".contains(&b));
    if !fits || text.len() > MAX_VERSION_BYTES {
        return Err(StoreError::VersionName { version: text.chars().take(MAX_VERSION_BYTES + 1).collect() });
    }
    Ok(())
}

fn plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(app: &str, version: &str) -> Result<(), StoreError> {
        check(&AppName::new(app), &VersionName::new(version))
    }

    #[test]
    fn harmless_names() {
        for app in ["a", "my-app", "@acme/site.v2", "A_b", &"x".repeat(128)] {
            assert!(names(app, "1.0.0").is_ok(), "{app}");
        }
        for version in ["1.0.0", "latest", "1.0.0-beta.1+build.5"] {
            assert!(names("a", version).is_ok(), "{version}");
        }
    }

    #[test]
    fn names_that_could_leave_the_folder() {
        for app in
            ["", ".", "..", ".a", "a/b", "/a", "@a", "@/a", "@a/", "@a/..", "@a/b/c", "a+b", "a@1", "a\0", "a b", "é"]
        {
            assert!(matches!(names(app, "1.0.0"), Err(StoreError::AppName { .. })), "{app}");
        }
        for version in ["", ".", "..", "../1", "1/2", "1@2", "1 ", "-1", "+r1", &"1".repeat(101)] {
            assert!(matches!(names("a", version), Err(StoreError::VersionName { .. })), "{version}");
        }
    }

    #[test]
    fn every_revision_has_a_folder_of_its_own() {
        let folder = revision_folder(&AppName::new("@acme/site"), &VersionName::new("1.0.0+b"), Revision(3));
        assert_eq!(folder, PathBuf::from("apps/@acme+site@1.0.0+b+r3"));
    }
}
