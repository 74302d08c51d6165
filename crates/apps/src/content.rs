//! What in an app's folder is the app, and what merely lies there. The fingerprint and the watch go by the same rules.
//!
//! Left out: folders with a dot before their name (`.git`, `.cache`), but for `.well-known`, which is content; and what editors
//! put down while they work. Files with a dot before their name count: `.env` is one of them.
//!
//! `node_modules` is looked at from outside only: what is in it at the top, and the lists that package managers keep there.
//! An install changes both; nobody edits what is below.

/// The folder of packages.
pub(crate) const PACKAGES: &str = "node_modules";

/// What package managers write into `node_modules` when they are done: npm, pnpm, Yarn 1, Yarn.
pub(crate) const PACKAGE_LISTS: [&str; 4] =
    [".package-lock.json", ".modules.yaml", ".yarn-integrity", ".yarn-state.yml"];

/// Whether a folder of this name is no part of the app.
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
