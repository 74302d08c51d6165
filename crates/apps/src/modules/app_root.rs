//! The border of an app's folder. All reads of this crate and of the resolver pass through here.
//!
//! Paths in this module are *inner* paths: absolute, with the app's folder as `/`. The resolver
//! sees only this view of the disk, so it cannot name files above. An inner path may still contain
//! a symbolic link, so each access canonicalises the path and compares it with the folder.
//!
//! Invariants: only files whose canonical path is below `root` are opened, and they are opened by
//! that path without following links, so that a link placed after the check has no effect; only
//! regular files are read (a FIFO would block, a device would not end); no file over [`MAX_FILE`]
//! is read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hearth_static::{Access, is_changed, open_canonical};
use oxc_resolver::{FileMetadata, FileSystem, ResolveError};

/// More than any module has, and little enough memory.
const MAX_FILE: u64 = 64 << 20;

/// Attempts to open a path that changes meanwhile.
const TRIES: usize = 10;

/// A file in the folder, opened.
pub(super) struct Found {
    /// Canonical.
    pub real: PathBuf,
    pub facts: Metadata,
    pub file: File,
}

#[derive(Debug)]
pub(super) struct AppRoot {
    /// Canonical.
    root: PathBuf,
}

/// The app's folder as the resolver sees it.
#[derive(Clone, Debug)]
pub(super) struct JailFs(Option<Arc<AppRoot>>);

#[derive(Debug)]
pub(super) enum Refusal {
    /// The path leaves the folder, by this link if there is one.
    Outside {
        link: Option<String>,
    },
    Io(io::Error),
}

// === impl AppRoot ===

impl AppRoot {
    pub fn new(folder: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(folder)?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root })
    }

    /// The path on disk of an inner path.
    pub fn locate(&self, inner: &Path) -> Result<PathBuf, Refusal> {
        let inner = normal(inner).ok_or(Refusal::Outside { link: None })?;
        let real = fs::canonicalize(self.root.join(&inner)).map_err(Refusal::Io)?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(Refusal::Outside { link: self.link_in(&inner) }) }
    }

    /// The inner path of a file on disk, with symbolic links resolved.
    pub fn canonical(&self, inner: &Path) -> Result<String, Refusal> {
        self.inner(&self.locate(inner)?)
    }

    /// The inner path of a canonical path.
    pub fn inner(&self, real: &Path) -> Result<String, Refusal> {
        let below = real.strip_prefix(&self.root).map_err(|_| Refusal::Outside { link: None })?;
        match below.to_str() {
            Some(below) => Ok(format!("/{below}")),
            None => Err(Refusal::Io(io::Error::new(io::ErrorKind::InvalidData, "its path is not UTF-8"))),
        }
    }

    /// Finds and opens a file: the checked file is the opened one. Files that are not regular are
    /// not opened for reading.
    pub fn find(&self, inner: &Path, access: Access) -> Result<Found, Refusal> {
        let mut tries = 0;
        loop {
            tries += 1;
            let real = self.locate(inner)?;
            match open_found(real, access) {
                Err(error) if is_changed(&error) && tries < TRIES => {}
                found => return found.map_err(Refusal::Io),
            }
        }
    }

    pub fn read(&self, inner: &Path) -> Result<Vec<u8>, Refusal> {
        let Found { facts, file, .. } = self.find(inner, Access::Read)?;
        if !facts.is_file() {
            let what = if facts.is_dir() { "it is a folder" } else { "it is not a regular file" };
            return Err(Refusal::Io(io::Error::other(what)));
        }
        let mut bytes = Vec::with_capacity(facts.len().min(MAX_FILE) as usize);
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(Refusal::Io)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(Refusal::Io(io::Error::other(format!("it has more than {} MiB", MAX_FILE >> 20))));
        }
        Ok(bytes)
    }

    /// A file's text, or `None` if there is no such file.
    pub fn read_text(&self, inner: &Path) -> Result<Option<String>, Refusal> {
        match self.read(inner) {
            Ok(bytes) => Ok(Some(text(bytes))),
            Err(Refusal::Io(error)) if is_missing(&error) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// The first component of a path that leads out of the folder.
    fn link_in(&self, inner: &Path) -> Option<String> {
        let mut part = self.root.clone();
        for name in inner.components() {
            part.push(name);
            if !fs::canonicalize(&part).is_ok_and(|real| real.starts_with(&self.root)) {
                return self.inner(&part).ok();
            }
        }
        None
    }
}

// === impl JailFs ===

impl JailFs {
    pub fn new(jail: Arc<AppRoot>) -> Self {
        Self(Some(jail))
    }

    fn jail(&self) -> io::Result<&AppRoot> {
        self.0.as_deref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FileSystem for JailFs {
    /// Contains no file; required by the trait and never used.
    fn new() -> Self {
        Self(None)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.jail()?.read(path)?)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        Ok(text(self.read(path)?))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let found = self.jail()?.find(path, Access::Metadata)?;
        Ok(FileMetadata::from(found.facts))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        Ok(self.canonicalize(path)?)
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(PathBuf::from(self.jail()?.canonical(path)?))
    }
}

// === impl Refusal ===

impl From<Refusal> for io::Error {
    /// The resolver treats files outside as missing; the reason is determined when resolution
    /// fails.
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Outside { .. } => io::ErrorKind::NotFound.into(),
            Refusal::Io(error) => error,
        }
    }
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opening a device may have side effects, so its type is checked first.
fn open_found(real: PathBuf, access: Access) -> io::Result<Found> {
    let mut file = open_canonical(&real, Access::Metadata)?;
    let mut facts = file.metadata()?;
    if access == Access::Read && facts.is_file() {
        file = open_canonical(&real, Access::Read)?;
        facts = file.metadata()?;
    }
    Ok(Found { real, facts, file })
}

/// Decodes text as browsers and Node do: UTF-8 with replacement of invalid bytes, without a byte
/// order mark.
pub(super) fn text(bytes: Vec<u8>) -> String {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// The path relative to the folder, without `.` and `..`; `None` if it climbs above the folder.
pub(super) fn normal(inner: &Path) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in inner.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if !path.pop() => return None,
            Component::ParentDir | Component::CurDir | Component::RootDir => {}
            Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_paths() {
        assert_eq!(normal(Path::new("/a/./b/../c")), Some("a/c".into()));
        assert_eq!(normal(Path::new("/")), Some("".into()));
        assert_eq!(normal(Path::new("/a/../..")), None);
        assert_eq!(normal(Path::new("/../etc/passwd")), None);
    }

    #[test]
    fn a_default_root_is_empty() {
        let jail = <JailFs as FileSystem>::new();
        assert!(jail.metadata(Path::new("/")).is_err());
        assert!(jail.read_to_string(Path::new("/etc/passwd")).is_err());
    }

    #[test]
    fn byte_order_marks_and_invalid_text() {
        assert_eq!(text(b"\xef\xbb\xbfa".to_vec()), "a");
        assert_eq!(text(b"a\xff".to_vec()), "a\u{fffd}");
    }
}
