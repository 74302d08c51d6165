//! File access of an app at run time: everything below its folder, except for environment files.
//!
//! Invariant: an opened file is below the folder with all links resolved, and neither its requested
//! nor its real name is that of an environment file, even if files are replaced meanwhile.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use hearth_core::files::{AppFiles, FileFacts, FileRefusal, Links, OpenedFile, PathFacts, PathKind};
use hearth_static::{Access, open_canonical};
use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::app_root::{AppRoot, Found, Refusal, is_missing};

/// More entries than a folder has whose names an app wants at once.
const MAX_ENTRIES: usize = 65_536;

#[derive(Clone, Debug)]
pub(super) struct Files {
    root: Arc<AppRoot>,
}

impl Files {
    pub fn new(root: Arc<AppRoot>) -> Self {
        Self { root }
    }

    fn find(&self, path: &str, access: Access) -> Result<Found, FileRefusal> {
        let found = self.find_any(path, access)?;
        if found.facts.is_file() { Ok(found) } else { Err(FileRefusal::NotAFile) }
    }

    fn find_any(&self, path: &str, access: Access) -> Result<Found, FileRefusal> {
        let inner = Path::new(path);
        if is_environment(inner.file_name()) {
            return Err(FileRefusal::Hidden);
        }
        let found = self.root.find(inner, access).map_err(refusal)?;
        if is_environment(found.real.file_name()) { Err(FileRefusal::Hidden) } else { Ok(found) }
    }
}

impl AppFiles for Files {
    fn metadata(&self, path: &str) -> Result<FileFacts, FileRefusal> {
        let facts = self.find(path, Access::Metadata)?.facts;
        Ok(FileFacts { len: facts.len(), modified: facts.modified().ok() })
    }

    fn open(&self, path: &str) -> Result<OpenedFile, FileRefusal> {
        let Found { facts, file, .. } = self.find(path, Access::Read)?;
        Ok(OpenedFile { len: facts.len(), file })
    }

    fn stat(&self, path: &str, links: Links) -> Result<PathFacts, FileRefusal> {
        let inner = Path::new(path);
        let (Links::Keep, Some(parent), Some(name)) = (links, inner.parent(), inner.file_name()) else {
            return Ok(entry_facts(&self.find_any(path, Access::Metadata)?.facts));
        };
        if is_environment(Some(name)) {
            return Err(FileRefusal::Hidden);
        }
        // The folder is open: a link in its place has no effect, and the last name is not followed.
        let folder = self.root.find(parent, Access::Metadata).map_err(refusal)?;
        let stat = statat(&folder.file, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|errno| io_refusal(errno.into()))?;
        let millis = |seconds: i64, nanos: u64| seconds as f64 * 1e3 + nanos as f64 / 1e6;
        Ok(PathFacts {
            kind: kind(FileType::from_raw_mode(stat.st_mode)),
            len: stat.st_size as u64,
            inode: stat.st_ino,
            modified: millis(stat.st_mtime, stat.st_mtime_nsec),
            accessed: millis(stat.st_atime, stat.st_atime_nsec),
            changed: millis(stat.st_ctime, stat.st_ctime_nsec),
        })
    }

    fn list(&self, path: &str) -> Result<Vec<(String, PathKind)>, FileRefusal> {
        let found = self.find_any(path, Access::Metadata)?;
        if !found.facts.is_dir() {
            return Err(FileRefusal::NotAFile);
        }
        let folder = open_canonical(&found.real, Access::Read).map_err(io_refusal)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(|errno| io_refusal(errno.into()))? {
            let entry = entry.map_err(|errno| io_refusal(errno.into()))?;
            // A name that is not text has no path that an app could write.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") || is_environment(Some(OsStr::new(name))) {
                continue;
            }
            if entries.len() == MAX_ENTRIES {
                return Err(FileRefusal::Unreadable { reason: format!("it has more than {MAX_ENTRIES} entries") });
            }
            entries.push((name.to_owned(), kind(entry.file_type())));
        }
        Ok(entries)
    }

    fn real_path(&self, path: &str) -> Result<String, FileRefusal> {
        let found = self.find_any(path, Access::Metadata)?;
        self.root.inner(&found.real).map_err(refusal)
    }
}

fn kind(kind: FileType) -> PathKind {
    match kind {
        FileType::RegularFile => PathKind::File,
        FileType::Directory => PathKind::Folder,
        FileType::Symlink => PathKind::Link,
        _ => PathKind::Other,
    }
}

fn entry_facts(facts: &Metadata) -> PathFacts {
    let millis = |seconds: i64, nanos: i64| seconds as f64 * 1e3 + nanos as f64 / 1e6;
    PathFacts {
        kind: kind(FileType::from_raw_mode(facts.mode())),
        len: facts.len(),
        inode: facts.ino(),
        modified: millis(facts.mtime(), facts.mtime_nsec()),
        accessed: millis(facts.atime(), facts.atime_nsec()),
        changed: millis(facts.ctime(), facts.ctime_nsec()),
    }
}

/// `.env`, `.env.local`, `.env.production` and the like.
pub(super) fn is_environment(name: Option<&OsStr>) -> bool {
    let Some(name) = name else { return false };
    name == ".env" || name.as_encoded_bytes().starts_with(b".env.")
}

fn refusal(refusal: Refusal) -> FileRefusal {
    match refusal {
        Refusal::Outside { .. } => FileRefusal::Outside,
        Refusal::Io(error) => io_refusal(error),
    }
}

fn io_refusal(error: io::Error) -> FileRefusal {
    // A name with a NUL, which no file can have, is invalid input.
    if is_missing(&error) || error.kind() == io::ErrorKind::InvalidInput {
        FileRefusal::Missing
    } else {
        FileRefusal::Unreadable { reason: error.to_string() }
    }
}
