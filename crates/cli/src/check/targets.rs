//! Resolves a path to the app that it contains, or to all apps in it.

use std::path::{Path, PathBuf};

use hearth_apps::discovery::check_name;
use hearth_apps::{ENTRIES, MANIFESTS};
use hearth_core::AppName;

use super::finding::Finding;

#[derive(Debug, PartialEq, Eq)]
pub enum CheckTarget {
    App { folder: PathBuf, name: AppName },
    Folder(PathBuf),
}

impl CheckTarget {
    pub fn from_path(path: &Path) -> Result<Self, Finding> {
        let folder =
            std::fs::canonicalize(path).map_err(|error| Finding::error(path, format!("cannot be opened: {error}")))?;
        if !folder.is_dir() {
            return Err(Finding::error(path, "is not a folder".to_owned()));
        }
        Ok(if is_app(&folder) { Self::App { name: name_of(&folder), folder } } else { Self::Folder(folder) })
    }
}

/// Whether the folder itself is an app, by the rules of discovery.
pub fn is_app(folder: &Path) -> bool {
    let marks = MANIFESTS.iter().chain(&ENTRIES).chain(&["package.json"]);
    marks.into_iter().any(|name| folder.join(name).is_file())
}

/// The folder's name without a version after it; for `name/1.2.3/` that of the folder above.
pub fn name_of(folder: &Path) -> AppName {
    let part = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let own = part(folder);
    let name = own.split_once('@').map_or(own.as_str(), |(name, _)| name);
    let is_version = own.parse::<hearth_apps::versions::AppVersion>().is_ok();
    let name = match folder.parent() {
        Some(parent) if is_version && check_name(&part(parent)).is_ok() => part(parent),
        _ => name.to_owned(),
    };
    AppName::new(if check_name(&name).is_ok() { name } else { "app".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_called_as_apps_are() {
        for (folder, name) in [
            ("/apps/hello", "hello"),
            ("/apps/hello@1.2.3", "hello"),
            ("/apps/hello/1.2.3", "hello"),
            ("/apps/hello/v1", "hello"),
            ("/apps/my app", "app"),
            ("/", "app"),
        ] {
            assert_eq!(name_of(Path::new(folder)).as_str(), name, "{folder}");
        }
    }
}
