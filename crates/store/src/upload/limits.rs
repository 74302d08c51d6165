//! Limits of an upload.

use hearth_core::ByteSize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// The archive itself.
    pub archive: ByteSize,
    /// All extracted data.
    pub size: ByteSize,
    /// One file.
    pub file: ByteSize,
    /// Files; folders are counted separately against the same limit.
    pub files: u64,
}

impl Default for UploadLimits {
    fn default() -> Self {
        Self { archive: ByteSize::mb(256), size: ByteSize::mb(512), file: ByteSize::mb(128), files: 20_000 }
    }
}
