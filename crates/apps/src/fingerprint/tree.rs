//! All files of an app's folder, sorted by path.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::ignore_rules::{PACKAGE_LISTS, PACKAGES, is_hidden_folder, is_scratch};

/// More than any app has outside of its packages.
const MAX_ITEMS: usize = 100_000;

#[derive(Debug, thiserror::Error)]
pub enum FingerprintError {
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: has more than {MAX_ITEMS} files; move what is not the app out of its folder", .0.display())]
    TooManyFiles(PathBuf),
}

#[derive(Debug)]
pub(super) struct Item {
    /// Relative to the folder.
    pub path: PathBuf,
    pub kind: Kind,
    pub facts: Metadata,
}

#[derive(Debug)]
pub(super) enum Kind {
    File,
    Folder,
    Link {
        target: PathBuf,
    },
    /// `node_modules`, with the names at its top.
    Packages {
        names: Vec<OsString>,
    },
    /// A socket, FIFO or device: listed, but never opened.
    Other,
}

/// A file that is removed during the walk counts as absent: another change will follow.
pub(super) fn read(root: &Path) -> Result<Vec<Item>, FingerprintError> {
    let mut items = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let is_root = folder.as_os_str().is_empty();
        let path = if is_root { root.to_path_buf() } else { root.join(&folder) };
        let names = match names(&path) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_root => continue,
            Err(source) => return Err(FingerprintError::Unreadable { path, source }),
        };
        for name in names {
            let Some(item) = item(root, folder.join(&name))? else { continue };
            if matches!(item.kind, Kind::Folder) {
                folders.push(item.path.clone());
            }
            if matches!(item.kind, Kind::Packages { .. }) {
                for list in PACKAGE_LISTS {
                    items
                        .extend(self::item(root, item.path.join(list))?.filter(|list| matches!(list.kind, Kind::File)));
                }
            }
            items.push(item);
            if items.len() > MAX_ITEMS {
                return Err(FingerprintError::TooManyFiles(root.to_path_buf()));
            }
        }
    }
    items.sort_unstable_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(items)
}

/// `None` for excluded and removed files.
fn item(root: &Path, path: PathBuf) -> Result<Option<Item>, FingerprintError> {
    match inspect(root, &path) {
        Ok(found) => Ok(found.map(|(kind, facts)| Item { path, kind, facts })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(FingerprintError::Unreadable { path: root.join(path), source }),
    }
}

fn inspect(root: &Path, path: &Path) -> io::Result<Option<(Kind, Metadata)>> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let whole = root.join(path);
    let facts = fs::symlink_metadata(&whole)?;
    let kind = facts.file_type();
    let kind = if kind.is_dir() {
        match name {
            name if is_hidden_folder(name) => return Ok(None),
            name if name == PACKAGES.as_bytes() => Kind::Packages { names: names(&whole)? },
            _ => Kind::Folder,
        }
    } else if is_scratch(name) {
        return Ok(None);
    } else if kind.is_symlink() {
        Kind::Link { target: fs::read_link(&whole)? }
    } else if kind.is_file() {
        Kind::File
    } else {
        Kind::Other
    };
    Ok(Some((kind, facts)))
}

/// Sorted.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}
