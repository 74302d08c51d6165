//! The file requests. Everything happens inside the sandbox, with the rights of its programs: a
//! path or a link leads to nothing that they could not reach. Magic links of the kernel
//! (`/proc/1/fd`) are not followed, because those of the agent lead elsewhere than a program's own.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use hearth_sandbox_agent::{CHUNK, CallFailure, EntryKind, FailureKind, FileEntry, Missing, Removal};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::Mode;

/// Base of relative paths.
const BASE: &str = "/work";
/// Entries of one reply.
const MAX_PAGE_ENTRIES: usize = 1_000;

pub struct FileChunk {
    pub bytes: Vec<u8>,
    pub end: bool,
    pub size: u64,
}

pub struct FilePage {
    pub entries: Vec<FileEntry>,
    pub more: bool,
}

pub fn read(path: &str, offset: u64, limit: u32) -> Result<FileChunk, CallFailure> {
    let failed = |error: &io::Error| failure(path, error);
    // Non-blocking: a pipe without a writer would block the agent.
    let fd = open(&absolute(path)?, OFlag::O_RDONLY | OFlag::O_NONBLOCK).map_err(|error| failed(&error))?;
    let file = File::from(fd);
    let meta = file.metadata().map_err(|error| failed(&error))?;
    if !meta.is_file() {
        return Err(CallFailure { kind: FailureKind::Invalid, message: format!("{path} is not a file") });
    }
    // Beyond the end there is nothing, and the kernel refuses offsets that are no length.
    let mut bytes = vec![0; if offset < meta.len() || meta.len() == 0 { CHUNK.min(limit as usize) } else { 0 }];
    let mut count = 0;
    while count < bytes.len() {
        match file.read_at(&mut bytes[count..], offset + count as u64) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(&error)),
        }
    }
    bytes.truncate(count);
    let end = offset.saturating_add(count as u64) >= meta.len();
    Ok(FileChunk { bytes, end, size: meta.len() })
}

pub fn list(path: &str, after: Option<&str>, limit: u32) -> Result<FilePage, CallFailure> {
    let folder = absolute(path)?;
    let read = fs::read_dir(&folder).map_err(|error| failure(path, &error))?;
    let mut names: Vec<_> = read.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    if let Some(after) = after {
        names.retain(|name| name.to_string_lossy().as_ref() > after);
    }
    names.sort_unstable();
    let mut entries = Vec::new();
    let limit = MAX_PAGE_ENTRIES.min(limit.max(1) as usize);
    let mut names = names.into_iter();
    while entries.len() < limit {
        let Some(name) = names.next() else { break };
        // A file that has vanished since is left out.
        if let Ok(meta) = fs::symlink_metadata(folder.join(&name)) {
            entries.push(entry(&folder.join(&name), &meta));
        }
    }
    Ok(FilePage { entries, more: names.next().is_some() })
}

pub fn stat(path: &str) -> Result<FileEntry, CallFailure> {
    let absolute = absolute(path)?;
    let meta = fs::symlink_metadata(&absolute).map_err(|error| failure(path, &error))?;
    Ok(entry(&absolute, &meta))
}

pub fn remove(path: &str, removal: Removal) -> Result<(), CallFailure> {
    let absolute = absolute(path)?;
    let failed = |error: io::Error| failure(path, &error);
    let is_folder = fs::symlink_metadata(&absolute).map_err(failed)?.is_dir();
    match (is_folder, removal) {
        (false, _) => fs::remove_file(&absolute),
        (true, Removal::One) => fs::remove_dir(&absolute),
        // Does not follow links, even those that appear meanwhile.
        (true, Removal::Tree) => fs::remove_dir_all(&absolute),
    }
    .map_err(failed)
}

pub fn mkdir(path: &str, missing: Missing) -> Result<(), CallFailure> {
    let absolute = absolute(path)?;
    match missing {
        Missing::Refuse => fs::create_dir(&absolute),
        Missing::Create => fs::create_dir_all(&absolute),
    }
    .map_err(|error| failure(path, &error))
}

pub fn rename(from: &str, to: &str) -> Result<(), CallFailure> {
    fs::rename(absolute(from)?, absolute(to)?).map_err(|error| failure(&format!("{from} to {to}"), &error))
}

/// Opens without following magic links.
pub fn open(path: &Path, flags: OFlag) -> io::Result<OwnedFd> {
    let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(ResolveFlag::RESOLVE_NO_MAGICLINKS);
    let mode = if flags.contains(OFlag::O_CREAT) { Mode::from_bits_truncate(0o600) } else { Mode::empty() };
    match openat2(AT_FDCWD, path, how.mode(mode)) {
        // gVisor's kernel does not have openat2; its magic links lead to nothing that a program
        // could not open itself.
        Err(Errno::ENOSYS) => Ok(openat(AT_FDCWD, path, flags | OFlag::O_CLOEXEC, mode)?),
        opened => Ok(opened?),
    }
}

pub fn absolute(path: &str) -> Result<PathBuf, CallFailure> {
    if path.is_empty() || path.contains('\0') {
        let message = format!("{path:?} is no path");
        return Err(CallFailure { kind: FailureKind::Invalid, message });
    }
    Ok(Path::new(BASE).join(path))
}

/// Converts a system error about `what`.
pub fn failure(what: &str, error: &io::Error) -> CallFailure {
    use io::ErrorKind as Io;
    let (kind, said) = match error.kind() {
        Io::NotFound => (FailureKind::NotFound, "not found".to_owned()),
        Io::PermissionDenied | Io::ReadOnlyFilesystem => (FailureKind::Denied, "not allowed here".to_owned()),
        Io::StorageFull | Io::QuotaExceeded | Io::FileTooLarge => {
            (FailureKind::Full, "no space is left in the sandbox".to_owned())
        }
        Io::OutOfMemory => (FailureKind::Full, "no memory is left in the sandbox".to_owned()),
        Io::NotADirectory => (FailureKind::Invalid, "a part of the path is not a folder".to_owned()),
        Io::IsADirectory => (FailureKind::Invalid, "is a folder".to_owned()),
        Io::DirectoryNotEmpty => (FailureKind::Invalid, "the folder is not empty".to_owned()),
        Io::AlreadyExists => (FailureKind::Invalid, "exists already".to_owned()),
        Io::InvalidInput | Io::InvalidFilename => (FailureKind::Invalid, error.to_string()),
        _ => (FailureKind::Other, error.to_string()),
    };
    CallFailure { kind, message: format!("{what}: {said}") }
}

fn entry(path: &Path, meta: &Metadata) -> FileEntry {
    let kind = match meta.file_type() {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_dir() => EntryKind::Folder,
        kind if kind.is_symlink() => EntryKind::Link,
        _ => EntryKind::Other,
    };
    let target = (kind == EntryKind::Link).then(|| fs::read_link(path).ok()).flatten();
    FileEntry {
        name: path.file_name().map_or_else(|| "/".to_owned(), |name| name.to_string_lossy().into_owned()),
        kind,
        size: meta.len(),
        mode: meta.mode() & 0o7777,
        modified: meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or(Duration::ZERO),
        target: target.map(|target| target.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
#[path = "files/tests.rs"]
mod tests;
