//! An upload that was unpacked and found good, not yet published. Dropped, it is gone.

use std::path::{Path, PathBuf};

use hearth_core::ByteSize;

use crate::deployment::ContentHash;

use super::tree::Finished;
use super::uploads::Scratch;

#[derive(Debug)]
pub struct Unpacked {
    folder: PathBuf,
    files: u64,
    size: ByteSize,
    hash: ContentHash,
    /// Goes when this goes; by then `folder` may have been moved out of it.
    _scratch: Scratch,
}

impl Unpacked {
    pub(super) fn new(tree: Finished, scratch: Scratch) -> Self {
        Self { folder: tree.folder, files: tree.files, size: tree.size, hash: tree.hash, _scratch: scratch }
    }

    /// The app's folder. What is added here before publishing (dependencies) is published too, but is not in `files`,
    /// `size` and `hash`: those tell what was uploaded.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn files(&self) -> u64 {
        self.files
    }

    pub fn size(&self) -> ByteSize {
        self.size
    }

    pub fn hash(&self) -> ContentHash {
        self.hash
    }
}
