//! The border of an app's folder. Everything this crate reads, and everything the resolver looks at, goes through here.
//!
//! Paths in here are *inner* paths: absolute, with the app's folder as `/`. The resolver is given this view of the disk
//! and no other, so it cannot even name what lies above; what it can name may still be a symbolic link, so each access
//! canonicalises the path and compares it with the folder.
//!
//! Invariants: nothing is opened whose canonical path is not below `root`, and it is opened by that path without following
//! any link, so that one that is put there after the look leads nowhere; only regular files are read (a FIFO would block, a
//! device would not end); no file over [`MAX_FILE`] is read.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hearth_static::{Access, is_changed, open_canonical};
use oxc_resolver::{FileMetadata, FileSystem};

/// More than any module has; less than what hurts.
const MAX_FILE: u64 = 64 << 20;

/// Looks at a path that changes while it is looked at.
const TRIES: usize = 10;

/// Something that was found in the folder, and opened.
pub(super) struct Found {
    /// Canonical.
    pub real: PathBuf,
    pub facts: Metadata,
    pub file: File,
}

#[derive(Debug)]
pub(super) struct Jail {
    /// Canonical.
    root: PathBuf,
}

/// The jail as the resolver sees it.
#[derive(Clone, Debug)]
pub(super) struct JailFs(Option<Arc<Jail>>);

#[derive(Debug)]
pub(super) enum Refusal {
    /// The path leaves the folder, by this link where there is one.
    Outside {
        link: Option<String>,
    },
    Io(io::Error),
}

// === impl Jail ===

impl Jail {
    pub fn new(folder: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(folder)?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root })
    }

    /// Where an inner path really is.
    pub fn locate(&self, inner: &Path) -> Result<PathBuf, Refusal> {
        let inner = normal(inner).ok_or(Refusal::Outside { link: None })?;
        let real = fs::canonicalize(self.root.join(&inner)).map_err(Refusal::Io)?;
        if real.starts_with(&self.root) { Ok(real) } else { Err(Refusal::Outside { link: self.link_in(&inner) }) }
    }

    /// The inner path of something that is on disk, symbolic links resolved.
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

    /// Finds and opens it: what was found inside is what is opened. What is not a regular file is not opened for reading.
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

    /// A file's text, or `None` where there is no such file.
    pub fn read_text(&self, inner: &Path) -> Result<Option<String>, Refusal> {
        match self.read(inner) {
            Ok(bytes) => Ok(Some(text(bytes))),
            Err(Refusal::Io(error)) if is_missing(&error) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }

    /// The first part of a path that leads out of the folder.
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
    pub fn new(jail: Arc<Jail>) -> Self {
        Self(Some(jail))
    }

    fn jail(&self) -> io::Result<&Jail> {
        self.0.as_deref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl FileSystem for JailFs {
    /// Holds no file at all: the trait wants this, nobody calls it.
    fn new() -> Self {
        Self(None)
    }

    fn read_to_string(&self, path: &Path) -> io::Result<String> {
        Ok(text(self.jail()?.read(path)?))
    }

    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let found = self.jail()?.find(path, Access::Metadata)?;
        Ok(FileMetadata::from(found.facts))
    }

    fn symlink_metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        self.metadata(path)
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(PathBuf::from(self.jail()?.canonical(path)?))
    }
}

// === impl Refusal ===

impl From<Refusal> for io::Error {
    /// The resolver takes what lies outside for missing; the reason is found out once it gives up.
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

/// Opening a device may have effects, so it is looked at first.
fn open_found(real: PathBuf, access: Access) -> io::Result<Found> {
    let mut file = open_canonical(&real, Access::Metadata)?;
    let mut facts = file.metadata()?;
    if access == Access::Read && facts.is_file() {
        file = open_canonical(&real, Access::Read)?;
        facts = file.metadata()?;
    }
    Ok(Found { real, facts, file })
}

/// Text as browsers and Node read it: UTF-8, with what is not replaced, without a byte order mark.
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

/// The path relative to the folder, without `.` and `..`; `None` when it climbs above the folder.
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
    fn the_nameless_jail_is_empty() {
        let jail = <JailFs as FileSystem>::new();
        assert!(jail.metadata(Path::new("/")).is_err());
        assert!(jail.read_to_string(Path::new("/etc/passwd")).is_err());
    }

    #[test]
    fn marks_and_broken_text() {
        assert_eq!(text(b"\xef\xbb\xbfa".to_vec()), "a");
        assert_eq!(text(b"a\xff".to_vec()), "a\u{fffd}");
    }
}
