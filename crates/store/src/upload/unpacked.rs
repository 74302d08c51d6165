//! An upload that was extracted and checked but not published. Dropping it removes its files.

use std::path::{Path, PathBuf};

use hearth_core::ByteSize;

use crate::deployment::UploadHash;

use super::extraction::Finished;
use super::uploads::Scratch;

#[derive(Debug)]
pub struct Unpacked {
    folder: PathBuf,
    files: u64,
    size: ByteSize,
    hash: UploadHash,
    /// Removed when this is dropped; by then `folder` may have been moved out of it.
    _scratch: Scratch,
}

impl Unpacked {
    pub(super) fn new(extraction: Finished, scratch: Scratch) -> Self {
        Self {
            folder: extraction.folder,
            files: extraction.files,
            size: extraction.size,
            hash: extraction.hash,
            _scratch: scratch,
        }
    }

    /// The app's folder. Files added here before publishing (dependencies) are published, too, but
    /// are not part of `files`, `size` and `hash`, which describe the upload.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn files(&self) -> u64 {
        self.files
    }

    pub fn size(&self) -> ByteSize {
        self.size
    }

    pub fn hash(&self) -> UploadHash {
        self.hash
    }
}
