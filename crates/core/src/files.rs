//! An app's own files, as the runtime reads them for it. The implementation knows the folder and opens nothing outside of it; the
//! runtime reads what was opened.

use std::fmt;
use std::fs::File;
use std::time::SystemTime;

/// The files of one app. Paths count from the app's folder, whether they begin with a slash or not. All calls touch the
/// disk; `metadata` and `open` find only regular files.
pub trait AppFiles: Send + Sync + fmt::Debug {
    fn metadata(&self, path: &str) -> Result<FileFacts, FileRefusal>;

    fn open(&self, path: &str) -> Result<OpenedFile, FileRefusal>;

    /// What is at a path: a file, a folder or something else.
    fn stat(&self, path: &str, links: Links) -> Result<PathFacts, FileRefusal>;

    /// The entries of a folder, without those that are hidden.
    fn list(&self, path: &str) -> Result<Vec<(String, PathKind)>, FileRefusal>;

    /// The path with its links resolved.
    fn real_path(&self, path: &str) -> Result<String, FileRefusal>;
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    Follow,
    Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    File,
    Folder,
    Link,
    Other,
}

/// Times are in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathFacts {
    pub kind: PathKind,
    pub len: u64,
    pub inode: u64,
    pub modified: f64,
    pub accessed: f64,
    pub changed: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFacts {
    pub len: u64,
    /// None where the file system does not know.
    pub modified: Option<SystemTime>,
}

/// A file as it was when it was opened.
#[derive(Debug)]
pub struct OpenedFile {
    pub len: u64,
    pub file: File,
}

/// Why there is no file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    #[error("there is no such file")]
    Missing,
    #[error("it lies outside the app's folder")]
    Outside,
    /// The environment of the app, which has secrets in it.
    #[error("files of that name are not for reading")]
    Hidden,
    #[error("it is not a regular file")]
    NotAFile,
    #[error("it cannot be read: {reason}")]
    Unreadable { reason: String },
}
