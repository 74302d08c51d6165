//! Files that make a folder an app, and the folder of an app of which only one file is known
//! (`hearth run FILE`).
//!
//! The folder is the border of the module graph. It must therefore include packages further up, but
//! never extend beyond the first marker file.

use std::path::{Path, PathBuf};

/// An app's manifest files: the first that exists counts.
pub const MANIFESTS: [&str; 2] = ["manifest.yaml", "manifest.yml"];

/// An app's default entries: the first that exists counts.
pub const ENTRIES: [&str; 9] = [
    "index.ts",
    "index.tsx",
    "index.js",
    "index.mjs",
    "index.html",
    "src/index.ts",
    "src/index.tsx",
    "src/index.js",
    "src/index.mjs",
];

/// Files that mark an app's folder.
const MARKS: [&str; 2] = ["manifest.yaml", "package.json"];

/// The nearest folder at or above `file` with a `manifest.yaml` or a `package.json`; else the
/// folder of `file`. Symbolic links in the path are not resolved.
pub fn app_folder(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
    let own = if file.is_dir() { file.as_path() } else { file.parent().unwrap_or(&file) };
    let marked = own.ancestors().find(|folder| MARKS.iter().any(|mark| folder.join(mark).is_file()));
    marked.unwrap_or(own).to_path_buf()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_marker_wins() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::create_dir_all(root.join("app/src/deep")).unwrap();
        fs::write(root.join("package.json"), "{}").unwrap();
        fs::write(root.join("app/src/deep/index.ts"), "").unwrap();
        assert_eq!(app_folder(&root.join("app/src/deep/index.ts")), root);
        fs::write(root.join("app/manifest.yaml"), "").unwrap();
        assert_eq!(app_folder(&root.join("app/src/deep/index.ts")), root.join("app"));
        assert_eq!(app_folder(&root.join("app")), root.join("app"));
    }

    #[test]
    fn own_folder_without_a_marker() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("a/b.js");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        // A marker further up (in /tmp, say) would win, as documented.
        assert!(file.starts_with(app_folder(&file)));
        if temp.path().ancestors().all(|f| MARKS.iter().all(|m| !f.join(m).exists())) {
            assert_eq!(app_folder(&file), temp.path().join("a"));
        }
    }
}
