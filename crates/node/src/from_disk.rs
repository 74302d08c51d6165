//! For work on the modules, in debug builds alone: their texts as they are on the disk now, in the checkout that
//! `HEARTH_JS` names.

use std::path::{Path, PathBuf};

/// The text is leaked: V8 keeps it for as long as it likes.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    let own = folder()?.join(format!("{name}.js"));
    let text = std::fs::read_to_string(own).ok().or_else(|| package_text(name))?;
    assert!(text.is_ascii(), "{name}.js is not ASCII");
    Some(text.leak())
}

/// The text of a package's file: `build.rs` names it so.
fn package_text(name: &str) -> Option<String> {
    let (package, file) = name.strip_prefix("internal/")?.split_once('/')?;
    let path = folder()?.join("../node_modules").join(package).join(format!("{file}.js"));
    std::fs::read_to_string(path).ok()
}

/// The names of all files.
pub(crate) fn names() -> Option<Vec<&'static str>> {
    let mut names = Vec::new();
    collect(&folder()?, "", &mut names);
    Some(names)
}

fn folder() -> Option<PathBuf> {
    std::env::var_os("HEARTH_JS").map(|checkout| PathBuf::from(checkout).join("crates/node/js"))
}

fn collect(folder: &Path, prefix: &str, names: &mut Vec<&'static str>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), names);
        } else if let Some(name) = name.strip_suffix(".js") {
            names.push(name.to_owned().leak());
        }
    }
}
