//! Why an upload was refused: which entry, what is wrong with it, and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use hearth_core::ByteSize;

use super::archive::ArchiveKind;
use super::entry_path::EntryPathError;

/// An entry that is neither a file nor a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecialFile {
    #[error("a symbolic link")]
    SymbolicLink,
    #[error("a hard link")]
    HardLink,
    #[error("a device")]
    Device,
    #[error("a pipe or socket")]
    Pipe,
    #[error("a sparse file")]
    SparseFile,
    #[error("of a kind that is not known here")]
    Unknown,
}

#[derive(Debug, thiserror::Error)]
pub enum UploadError {
    #[error(
        "the upload is neither a .tgz, .tar nor .zip: pack the app's folder with tar czf app.tgz or zip -r app.zip"
    )]
    UnknownKind,
    #[error(
        "the upload is compressed with gzip, but no tar archive is in it: pack the app's folder with tar czf app.tgz"
    )]
    NotATar,
    #[error("the archive has no files: pack the app's folder, with its files")]
    Empty,
    #[error("the {kind} ends too early{}: it was cut off, upload it again", at(entry))]
    Truncated { kind: ArchiveKind, entry: Option<String> },
    #[error("the {kind} is damaged{} ({reason}): make it again and upload it again", at(entry))]
    Damaged { kind: ArchiveKind, entry: Option<String>, reason: String },
    #[error("the path of the entry {entry:?} {fault}")]
    Path { entry: String, fault: EntryPathError },
    #[error(
        "the entry {entry:?} is {what}: put in its place what it stands for, or leave it out (tar --dereference and \
         zip without --symlinks follow links)"
    )]
    NotAFile { entry: String, what: SpecialFile },
    #[error("the entry {entry:?} is there twice: pack the folder anew, with each file once")]
    Duplicate { entry: String },
    #[error("the entry {entry:?} is both a file and a folder: rename one of them")]
    Clash { entry: String },
    #[error("the entry {entry:?} is encrypted: make the archive without a password")]
    Encrypted { entry: String },
    #[error("the entry {entry:?} is compressed with {method}: only deflate and no compression at all are known here")]
    Method { entry: String, method: String },
    #[error("the archive's directory and the entry {entry:?} disagree about its {field}: make the archive anew")]
    Disagreement { entry: String, field: &'static str },
    #[error("the archive is larger than {limit}: leave out what the app does not need")]
    ArchiveTooLarge { limit: ByteSize },
    #[error("the archive holds more than {limit}: leave out what the app does not need")]
    TooLarge { limit: ByteSize },
    #[error("the entry {entry:?} is larger than {limit}: leave it out, or keep it elsewhere")]
    FileTooLarge { entry: String, limit: ByteSize },
    #[error("the archive holds more than {limit} files, or as many folders: leave out what the app does not need")]
    TooManyFiles { limit: u64 },
    /// A failure of the machine, not of the archive.
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

fn at(entry: &Option<String>) -> String {
    entry.as_ref().map(|entry| format!(" at the entry {entry:?}")).unwrap_or_default()
}

/// The extracted data exceeds a limit. Travels through readers as an I/O error.
#[derive(Debug, thiserror::Error)]
#[error("more than can be taken")]
pub(super) struct Overrun;

impl UploadError {
    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Converts an error of reading the archive.
    pub(super) fn reading(kind: ArchiveKind, entry: Option<&str>, limit: ByteSize, error: &io::Error) -> Self {
        let entry = entry.map(str::to_owned);
        if error.get_ref().is_some_and(|inner| inner.is::<Overrun>()) {
            return Self::TooLarge { limit };
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated { kind, entry },
            _ => Self::Damaged { kind, entry, reason: error.to_string() },
        }
    }

    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        let is_full =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        matches!(self, Self::Io { source, .. } if is_full(source))
    }

    /// Whether the client can fix the error.
    pub fn is_uploaders_fault(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}
