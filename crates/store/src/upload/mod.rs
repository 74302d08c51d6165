//! Uploads: archives (`.tgz`, `.tar`, `.zip`) become folders.
//!
//! An archive comes from somebody who may mean harm, or whose connection broke. So:
//! - everything is unpacked below a new folder `uploads/tmp-…`, and only a whole, checked folder is moved to where it
//!   is served from (`Deployments::publish`); on any error nothing is left;
//! - nothing but files and folders is made: links, devices and pipes are refused, set-user-id bits dropped;
//! - no size is believed: all limits count bytes as they come out, and nothing is allocated by what a header claims;
//! - if there are two ways to read an archive, it is refused: duplicate names, headers that disagree, data after the
//!   end.

mod archive;
mod error;
mod limits;
mod path;
mod sync;
mod tar;
#[cfg(test)]
mod tests;
mod tree;
mod unpacked;
mod uploads;
mod zip;

pub use archive::Kind;
pub use error::{UploadError, What};
pub use limits::UploadLimits;
pub use path::PathFault;
pub use unpacked::Unpacked;
pub use uploads::{Spool, Uploads};

pub(crate) use sync::{sync_folder, sync_tree};
