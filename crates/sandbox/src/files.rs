//! What is said of a sandbox's files. The work is done by the agent inside, so that no path can lead out.

use std::time::Duration;

use bytes::Bytes;
use hearth_core::ByteSize;

/// The largest file that is read or written in one go.
pub const FILE_LIMIT: ByteSize = ByteSize::mb(50);

/// Entries of a directory that one page has at most.
pub const PAGE_LIMIT: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFile {
    /// Absolute, or from `/work`. Missing folders above it are made.
    pub path: String,
    /// The file has the old content or this, never a part.
    pub content: Bytes,
    /// Permission bits; `None`: those of the file that is replaced, or 0644.
    pub mode: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Without the folder.
    pub name: String,
    pub kind: FileKind,
    pub size: ByteSize,
    /// Permission bits.
    pub mode: u32,
    /// Since 1970.
    pub modified: Duration,
    /// Where a symbolic link leads.
    pub target: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Symlink,
    Other,
}

/// A part of a directory, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub entries: Vec<FileInfo>,
    /// What to ask for to see more: names after this one. `None`: that was all.
    pub next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remove {
    /// A file, a link or an empty directory.
    One,
    /// And all that is below it.
    Tree,
}
