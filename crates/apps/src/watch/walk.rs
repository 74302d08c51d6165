//! One pass over a root: its folders, or all its files, as one number that changes when they do.
//!
//! The number is a sum of hashes, so that the order of directory entries does not matter.

use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::ignore_rules::{PACKAGES, is_hidden_folder, is_scratch};

/// A bound, since a link to `/` would otherwise make each pass read the whole disk.
const MAX_FOLDERS: usize = 100_000;

/// The detail of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Folders and their times, which show added and removed files.
    Folders,
    /// Files too, which shows modified files.
    Files,
}

/// The level of a folder in the layout, which determines whether links in it are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Scope,
    Below,
}

/// Calls `visit` for each folder before it is read, and stops if that fails.
pub(super) fn walk<E>(root: &Path, depth: Depth, mut visit: impl FnMut(&Path) -> Result<(), E>) -> Result<u64, E> {
    let mut sum = 0_u64;
    let mut folders = vec![(root.to_path_buf(), Level::Root)];
    let mut count = 0;
    while let Some((folder, level)) = folders.pop() {
        count += 1;
        if count > MAX_FOLDERS {
            break;
        }
        visit(&folder)?;
        sum = sum.wrapping_add(mark(&folder, fs::metadata(&folder).ok().as_ref()));
        if level != Level::Root && folder.file_name().is_some_and(|name| name == PACKAGES) {
            continue;
        }
        // An unreadable folder is represented by its time, which changes with its permissions.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match inspect(&entry, level, depth) {
                Seen::Folder(path, level) => folders.push((path, level)),
                Seen::File(mark) => sum = sum.wrapping_add(mark),
                Seen::Nothing => {}
            }
        }
    }
    Ok(sum)
}

enum Seen {
    Folder(PathBuf, Level),
    File(u64),
    Nothing,
}

fn inspect(entry: &fs::DirEntry, level: Level, depth: Depth) -> Seen {
    let name = entry.file_name();
    let Ok(kind) = entry.file_type() else { return Seen::Nothing };
    let followed = kind.is_symlink() && level != Level::Below && entry.path().is_dir();
    if kind.is_dir() || followed {
        let below = if level == Level::Root && name.as_bytes().starts_with(b"@") { Level::Scope } else { Level::Below };
        return if is_hidden_folder(name.as_bytes()) { Seen::Nothing } else { Seen::Folder(entry.path(), below) };
    }
    match depth {
        Depth::Files if !is_scratch(name.as_bytes()) => Seen::File(mark(&entry.path(), entry.metadata().ok().as_ref())),
        Depth::Files | Depth::Folders => Seen::Nothing,
    }
}

/// `facts` are those of a link itself, not of its target, unless it is followed.
fn mark(path: &Path, facts: Option<&Metadata>) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    if let Some(facts) = facts {
        let times = (facts.mtime(), facts.mtime_nsec(), facts.ctime(), facts.ctime_nsec());
        (facts.dev(), facts.ino(), facts.size(), times).hash(&mut hasher);
    }
    hasher.finish()
}
