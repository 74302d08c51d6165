//! `DATA/uploads`: data that is being received, extracted or removed. Every entry is called `tmp-…`
//! and belongs to a value that removes it when dropped; a crash's leftovers are removed at the next
//! start.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::random::random;
use hearth_core::hex;

use super::archive;
use super::error::UploadError;
use super::extraction::Extraction;
use super::limits::UploadLimits;
use super::unpacked::Unpacked;

#[derive(Clone, Debug)]
pub struct Uploads {
    folder: PathBuf,
}

/// An archive that is being received.
#[derive(Debug)]
pub struct Spool {
    file: File,
    written: u64,
    limits: UploadLimits,
    uploads: Uploads,
    scratch: Scratch,
}

/// A file or folder that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

/// A folder that was moved here to be removed.
pub(crate) struct Discarded {
    name: OsString,
    scratch: Scratch,
}

// === impl Uploads ===

impl Uploads {
    /// No other server may have it open.
    pub(crate) fn open(folder: PathBuf) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b"tmp-") {
                remove(&entry.path())?;
            }
        }
        Ok(Self { folder })
    }

    /// For a folder that cannot be created: uploads fail.
    pub(crate) fn unopened(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// In a folder of the caller's, such as a temporary one, to inspect an archive.
    pub fn aside(folder: &Path) -> Result<Self, UploadError> {
        Self::open(folder.to_owned()).map_err(UploadError::io("open", folder))
    }

    /// A file for an archive whose bytes are still to come.
    pub fn spool(&self, limits: &UploadLimits) -> Result<Spool, UploadError> {
        let scratch = self.scratch()?;
        let path = &scratch.0;
        let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
        let file = made.map_err(UploadError::io("create", path))?;
        Ok(Spool { file, written: 0, limits: limits.clone(), uploads: self.clone(), scratch })
    }

    /// Extracts an archive, whose format its first bytes determine. An error leaves nothing behind.
    pub fn unpack(&self, archive: impl Read + Seek, limits: &UploadLimits) -> Result<Unpacked, UploadError> {
        let scratch = self.scratch()?;
        let root = scratch.0.join("root");
        fs::create_dir_all(&root).map_err(UploadError::io("create", &root))?;
        let mut extraction = Extraction::new(root, limits);
        archive::unpack(archive, &mut extraction, limits)?;
        Ok(Unpacked::new(extraction.finish()?, scratch))
    }

    /// Moves a folder here at once, so that it can be removed later.
    pub(crate) fn discard(&self, folder: &Path) -> io::Result<Discarded> {
        let scratch = self.scratch().map_err(io::Error::other)?;
        fs::rename(folder, &scratch.0)?;
        Ok(Discarded { name: folder.file_name().unwrap_or_default().to_owned(), scratch })
    }

    fn scratch(&self) -> Result<Scratch, UploadError> {
        let random = random::<8>().map_err(io::Error::other).map_err(UploadError::io("name", &self.folder))?;
        Ok(Scratch(self.folder.join(format!("tmp-{}", hex::encode(&random)))))
    }
}

// === impl Spool ===

impl Spool {
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), UploadError> {
        self.written += bytes.len() as u64;
        if self.written > self.limits.archive.bytes() {
            return Err(UploadError::ArchiveTooLarge { limit: self.limits.archive });
        }
        self.file.write_all(bytes).map_err(UploadError::io("write", &self.scratch.0))
    }

    /// Called when all bytes have come.
    pub fn unpack(self) -> Result<Unpacked, UploadError> {
        self.uploads.unpack(&self.file, &self.limits)
    }
}

// === impl Discarded ===

impl Discarded {
    /// Removes it and returns its name.
    pub(crate) fn clear(self) -> OsString {
        drop(self.scratch);
        self.name
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed at the next start.
        let _ = remove(&self.0);
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let gone = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    gone.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
