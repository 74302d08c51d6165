//! Types of the file operations. The agent inside does the work, so that no path can lead out.

use std::time::Duration;

use bytes::Bytes;
use hearth_core::ByteSize;

/// The largest file that is read or written in one call.
pub const FILE_LIMIT: ByteSize = ByteSize::mb(50);

/// Entries of one page of a directory.
pub const PAGE_LIMIT: usize = 1_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFile {
    /// Absolute, or relative to `/work`. Missing parent folders are made.
    pub path: String,
    /// Written atomically: the file has the old content or this, never a part.
    pub content: Bytes,
    /// Permission bits; `None`: those of the file that is replaced, or 0644.
    pub mode: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// File name without the folder.
    pub name: String,
    pub kind: FileKind,
    pub size: ByteSize,
    /// Permission bits.
    pub mode: u32,
    /// Since 1970.
    pub modified: Duration,
    /// Target of a symbolic link.
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
pub struct DirectoryPage {
    pub entries: Vec<FileInfo>,
    /// The `after` of the next page. `None`: this is the last.
    pub next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remove {
    /// A file, a link or an empty directory.
    One,
    /// Also a directory with all that is below it.
    Tree,
}
