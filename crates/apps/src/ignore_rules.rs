//! Which files in an app's folder belong to the app. Fingerprints and the watcher use the same
//! rules.
//!
//! Excluded are folders with a leading dot (`.git`, `.cache`), except for `.well-known`, and
//! temporary files of editors. Files with a leading dot, such as `.env`, are included.
//!
//! Of `node_modules` only the names at its top and the lists of package managers are read. An
//! install changes both; files below are not edited.

/// The folder of packages.
pub(crate) const PACKAGES: &str = "node_modules";

/// Files that package managers write into `node_modules` at the end of an install: npm, pnpm, Yarn
/// 1, Yarn.
pub(crate) const PACKAGE_LISTS: [&str; 4] =
    [".package-lock.json", ".modules.yaml", ".yarn-integrity", ".yarn-state.yml"];

/// Whether a folder of this name is excluded.
pub(crate) fn is_hidden_folder(name: &[u8]) -> bool {
    name.starts_with(b".") && name != b".well-known"
}

/// Swap, lock and backup files of vim and Emacs.
pub(crate) fn is_scratch(name: &[u8]) -> bool {
    let swap = name.starts_with(b".") && [&b".swp"[..], b".swx", b".swo"].iter().any(|end| name.ends_with(end));
    swap || name.starts_with(b".#") || name.ends_with(b"~") || name == b"4913"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in [".git", ".hearth", ".", ".."] {
            assert!(is_hidden_folder(name.as_bytes()), "{name}");
        }
        for name in ["src", ".well-known", "node_modules"] {
            assert!(!is_hidden_folder(name.as_bytes()), "{name}");
        }
        for name in [".index.ts.swp", ".#index.ts", "index.ts~", "4913"] {
            assert!(is_scratch(name.as_bytes()), "{name}");
        }
        for name in [".env", ".npmrc", "index.ts", "a.swp"] {
            assert!(!is_scratch(name.as_bytes()), "{name}");
        }
    }
}
