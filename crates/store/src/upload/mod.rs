//! Uploads: archives (`.tgz`, `.tar`, `.zip`) become folders.
//!
//! Archives are untrusted and may be truncated, therefore:
//! - everything is extracted below a new folder `uploads/tmp-…`, and only a complete, checked
//!   folder is moved to where it is served from (`Deployments::publish`); an error leaves nothing
//!   behind;
//! - only files and folders are created: links, devices and pipes are refused, set-user-id bits
//!   dropped;
//! - sizes in headers are not trusted: all limits count extracted bytes, and no allocation is sized
//!   by a header;
//! - ambiguous archives are refused: duplicate names, headers that disagree, data after the end.

mod archive;
mod entry_path;
mod error;
mod extraction;
mod limits;
mod sync;
mod tar;
#[cfg(test)]
mod tests;
mod unpacked;
mod uploads;
mod zip;

pub use archive::ArchiveKind;
pub use entry_path::EntryPathError;
pub use error::{SpecialFile, UploadError};
pub use limits::UploadLimits;
pub use unpacked::Unpacked;
pub use uploads::{Spool, Uploads};

pub(crate) use sync::{sync_folder, sync_tree};
