//! The JavaScript of Node's modules, and of other modules that hosts have built in (`cloudflare:`): texts by name.
//!
//! The files of `js/` are app-level code: they run in an app's context with the built-ins as the app has changed them,
//! like a package of the app's own, and break with them. What they need of the runtime they get by `binding(name)`, from
//! files of the runtime that no app can change. `js/README.md` has the rules.
//!
//! A file's name is its path: `fs/promises`. Apps import it as `node:fs/promises` or `fs/promises`, and
//! `cloudflare/workers` as `cloudflare:workers`; files below `internal` are for other files alone.

#![forbid(unsafe_code)]

use std::sync::OnceLock;

static TABLE: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// Modules that Node has under `node:` names only: the bare name is a package's.
const WITH_SCHEME_ONLY: &[&str] = &["sea", "sqlite", "test", "test/reporters"];

/// Folders whose files are named by a scheme of their own.
const SCHEMES: &[(&str, &str)] = &[("cloudflare/", "cloudflare:")];

/// The text of a file; ASCII.
pub fn text(name: &str) -> Option<&'static str> {
    #[cfg(debug_assertions)]
    if let Some(text) = from_disk::text(name) {
        return Some(text);
    }
    TABLE.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| TABLE[at].1)
}

/// The id of the built-in module that a specifier names: `node:fs` for `fs` and `node:fs`.
pub fn resolve(specifier: &str) -> Option<&'static str> {
    let ids = ids();
    if let Ok(at) = ids.binary_search_by_key(&specifier, |(id, _)| id) {
        return Some(&ids[at].0);
    }
    if specifier.contains(':') || WITH_SCHEME_ONLY.contains(&specifier) {
        return None;
    }
    let id = format!("node:{specifier}");
    ids.binary_search_by_key(&id.as_str(), |(id, _)| id).ok().map(|at| ids[at].0.as_str())
}

/// The name of the file that an id is.
pub fn file(id: &str) -> Option<&'static str> {
    let ids = ids();
    ids.binary_search_by_key(&id, |(id, _)| id).ok().map(|at| ids[at].1)
}

/// Ids of all modules that apps can import, in order.
pub fn modules() -> impl Iterator<Item = &'static str> {
    ids().iter().map(|(id, _)| id.as_str())
}

/// (id, file), sorted.
fn ids() -> &'static [(String, &'static str)] {
    static IDS: OnceLock<Vec<(String, &'static str)>> = OnceLock::new();
    IDS.get_or_init(|| {
        let public = names().into_iter().filter(|name| !name.starts_with("internal/"));
        let mut ids: Vec<_> = public.map(|name| (id_of(name), name)).collect();
        ids.sort();
        ids
    })
}

fn names() -> Vec<&'static str> {
    #[cfg(debug_assertions)]
    if let Some(names) = from_disk::names() {
        return names;
    }
    TABLE.iter().map(|(name, _)| *name).collect()
}

fn id_of(name: &str) -> String {
    match SCHEMES.iter().find_map(|(folder, scheme)| Some((scheme, name.strip_prefix(folder)?))) {
        Some((scheme, rest)) => format!("{scheme}{rest}"),
        None => format!("node:{name}"),
    }
}

#[cfg(debug_assertions)]
mod from_disk;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_by_both_of_their_names() {
        assert_eq!(resolve("path"), Some("node:path"));
        assert_eq!(resolve("node:path"), Some("node:path"));
        assert_eq!(resolve("path/posix"), Some("node:path/posix"));
        assert_eq!(resolve("internal/errors"), None);
        assert_eq!(resolve("node:internal/errors"), None);
        assert_eq!(resolve("node:nothing"), None);
        assert_eq!(file("node:path/posix"), Some("path/posix"));
    }

    #[test]
    fn texts_are_ascii_and_require_files_that_exist() {
        for (name, text) in TABLE {
            assert!(text.is_ascii(), "{name}");
            for part in text.split("require(\"").skip(1) {
                let wanted = part.split('"').next().unwrap_or_default();
                let wanted = wanted.strip_prefix("node:").unwrap_or(wanted);
                assert!(super::text(wanted).is_some(), "{name} requires {wanted}, which does not exist");
            }
        }
    }
}
