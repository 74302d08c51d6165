//! What of the disk cells may read, when they are jailed: the folders that are served with all that appears in them, the
//! uploads, and apps that lie elsewhere, behind a link. Never what control keeps beside the uploads (records, keys, the admin
//! token), wherever that is.
//!
//! A cell's reach is given to it at its start and cannot grow. So when an app turns up that is beyond it (a new link, or a
//! served folder that was replaced as a whole), the cells are replaced by some with a longer reach: see [`Reach::grow`].

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hearth_apps::discovery::discover;

#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// What is no cell's business.
    data: PathBuf,
    folders: Vec<Allowed>,
}

/// A folder, as it was when it was allowed: the kernel goes by that, not by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Allowed {
    path: PathBuf,
    /// Device and number; `None` when it is not there.
    identity: Option<(u64, u64)>,
}

impl Reach {
    /// For `roots`, which are canonical, and the uploads in `data`.
    pub(crate) fn new(roots: &[PathBuf], data: &Path, uploads: &Path) -> Self {
        let data = data.canonicalize().unwrap_or_else(|_| data.to_owned());
        let mut reach = Self { data, folders: Vec::new() };
        for root in roots {
            reach.allow(root);
        }
        let uploads = uploads.canonicalize().unwrap_or_else(|_| uploads.to_owned());
        reach.folders.push(Allowed::new(uploads));
        let linked: Vec<PathBuf> = discover(roots).found.into_iter().map(|found| found.folder).collect();
        reach.grow(linked.iter().map(PathBuf::as_path));
        reach
    }

    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|allowed| allowed.path.clone()).collect()
    }

    /// Makes sure that all of these, canonical, can be reached. Says whether that takes new cells.
    pub(crate) fn grow<'a>(&mut self, folders: impl IntoIterator<Item = &'a Path>) -> Growth {
        let mut growth = Growth::None;
        for folder in folders {
            if self.covers(folder) {
                continue;
            }
            growth = Growth::Some;
            // New cells are allowed what has the names now.
            self.folders = self.folders.drain(..).map(|old| Allowed::new(old.path)).collect();
            if !self.covers(folder) {
                self.allow(folder);
            }
        }
        growth
    }

    fn covers(&self, folder: &Path) -> bool {
        // Of a folder with the data in it, what is beside the data was allowed one by one.
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
        // All that is in it but the data, and what leads there.
        let Ok(children) = fs::read_dir(folder) else { return };
        for child in children.filter_map(Result::ok).map(|child| child.path()) {
            if child != self.data && !child.is_symlink() {
                self.allow(&child);
            }
        }
    }
}

/// Whether a cell that was started before can reach all that it must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    None,
    /// It cannot.
    Some,
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
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

#[cfg(test)]
#[path = "reach/tests.rs"]
mod tests;
