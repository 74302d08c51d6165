//! The paths that jailed cells may read (Landlock): the served folder trees, the uploads, and apps elsewhere that are linked
//! to. Never what control keeps beside the uploads (records, keys, the admin token), wherever the data folder lies.
//!
//! A Landlock ruleset is fixed when a cell starts. So when an app appears outside of it (a new link, or a served folder that
//! was replaced as a whole), the cells are replaced by ones with more paths: see [`ReadablePaths::grow`].

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hearth_apps::discovery::discover;

#[derive(Clone, Debug)]
pub(crate) struct ReadablePaths {
    /// The data folder, which cells must not read apart from the uploads.
    data: PathBuf,
    folders: Vec<Allowed>,
}

/// A folder, with its identity when it was allowed: Landlock rules hold for the inode, not for the path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Allowed {
    path: PathBuf,
    /// Device and inode; `None` if it did not exist.
    identity: Option<(u64, u64)>,
}

impl ReadablePaths {
    /// For `roots`, which must be canonical, and the uploads in `data`.
    pub(crate) fn new(roots: &[PathBuf], data: &Path, uploads: &Path) -> Self {
        let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
        let mut paths = Self { data, folders: Vec::new() };
        for root in roots {
            paths.allow(root);
        }
        let uploads = uploads.canonicalize().unwrap_or_else(|_| uploads.to_owned());
        paths.folders.push(Allowed::new(uploads));
        let linked: Vec<PathBuf> = discover(roots).found.into_iter().map(|found| found.folder).collect();
        paths.grow(linked.iter().map(PathBuf::as_path));
        paths
    }

    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|allowed| allowed.path.clone()).collect()
    }

    /// Adds paths as needed for all of these folders, which must be canonical. `true` if cells must be replaced.
    pub(crate) fn grow<'a>(&mut self, folders: impl IntoIterator<Item = &'a Path>) -> bool {
        let mut has_grown = false;
        for folder in folders {
            if self.covers(folder) {
                continue;
            }
            has_grown = true;
            // New cells are allowed the folders that have these paths now.
            self.folders = self.folders.drain(..).map(|old| Allowed::new(old.path)).collect();
            if !self.covers(folder) {
                self.allow(folder);
            }
        }
        has_grown
    }

    fn covers(&self, folder: &Path) -> bool {
        // In a folder that contains the data folder, everything beside the data was allowed one by one.
        let is_around_data = self.data.starts_with(folder);
        let mut allowed = self.folders.iter();
        allowed.any(|one| {
            let is_beside_data = one.path.starts_with(folder) && !one.path.starts_with(&self.data);
            (folder.starts_with(&one.path) || is_around_data && is_beside_data) && one.is_same()
        })
    }

    fn allow(&mut self, folder: &Path) {
        if !self.data.starts_with(folder) {
            self.folders.push(Allowed::new(folder.to_owned()));
            return;
        }
        // Everything in the folder except the data folder and its ancestors.
        let Ok(children) = fs::read_dir(folder) else { return };
        for child in children.filter_map(Result::ok).map(|child| child.path()) {
            if child != self.data && !child.is_symlink() {
                self.allow(&child);
            }
        }
    }
}

// === impl Allowed ===

impl Allowed {
    fn new(path: PathBuf) -> Self {
        let identity = identity(&path);
        Self { path, identity }
    }

    fn is_same(&self) -> bool {
        self.identity.is_some() && identity(&self.path) == self.identity
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
#[path = "readable_paths/tests.rs"]
mod tests;
