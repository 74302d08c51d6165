//! Makes written files durable: records are written only after their files would survive a power
//! cut.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Beyond this many files, syncing the whole file system is cheaper than syncing each file.
#[cfg(target_os = "linux")]
const MAX_SINGLE_SYNCS: u32 = 64;
#[cfg(not(target_os = "linux"))]
const MAX_SINGLE_SYNCS: u32 = u32::MAX;

/// Syncs a folder and everything in it.
pub(crate) fn sync_tree(folder: &Path) -> io::Result<()> {
    let mut left = MAX_SINGLE_SYNCS;
    match walk(folder, &mut left)? {
        Walk::Done => Ok(()),
        Walk::TooMany => everything(folder),
    }
}

/// Syncs a folder's own entries.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

enum Walk {
    Done,
    TooMany,
}

fn walk(folder: &Path, left: &mut u32) -> io::Result<Walk> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let Some(fewer) = left.checked_sub(1) else { return Ok(Walk::TooMany) };
        *left = fewer;
        if kind.is_dir() {
            if let Walk::TooMany = walk(&entry.path(), left)? {
                return Ok(Walk::TooMany);
            }
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_folder(folder)?;
    Ok(Walk::Done)
}

#[cfg(target_os = "linux")]
fn everything(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

#[cfg(not(target_os = "linux"))]
fn everything(folder: &Path) -> io::Result<()> {
    unreachable!("the walk of {} ends before this many files", folder.display())
}
