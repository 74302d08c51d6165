//! The cheap comparison: metadata of all files, no contents.
//!
//! Includes the inode's change time, which advances even if a tool such as `rsync` or `tar` sets
//! the modification time back.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hearth_core::hex;
use sha2::{Digest, Sha256};

use super::tree::{self, FingerprintError, Kind};

/// Comparable only with another stamp of the same folder on the same machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp([u8; 32]);

// === impl Stamp ===

impl Stamp {
    pub fn from_folder(folder: &Path) -> Result<Self, FingerprintError> {
        let mut hash = Sha256::new();
        for item in tree::read(folder)? {
            let facts = &item.facts;
            // A folder's own time does not count, since its items do; except for `node_modules`, of
            // which nothing else is read.
            let numbers = match item.kind {
                Kind::Folder => [0; 6],
                Kind::Packages { .. } => [0, facts.mtime(), facts.mtime_nsec(), 0, 0, facts.ino() as i64],
                Kind::File | Kind::Link { .. } | Kind::Other => [
                    facts.size() as i64,
                    facts.mtime(),
                    facts.mtime_nsec(),
                    facts.ctime(),
                    facts.ctime_nsec(),
                    facts.ino() as i64,
                ],
            };
            text(&mut hash, item.path.as_os_str());
            hash.update(facts.mode().to_le_bytes());
            for number in numbers {
                hash.update(number.to_le_bytes());
            }
            // Available at no cost, and exact where the clock is coarse.
            match &item.kind {
                Kind::Link { target } => text(&mut hash, target.as_os_str()),
                Kind::Packages { names } => names.iter().for_each(|name| text(&mut hash, name)),
                Kind::File | Kind::Folder | Kind::Other => {}
            }
        }
        Ok(Self(hash.finalize().into()))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

fn text(hash: &mut Sha256, text: &OsStr) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}
