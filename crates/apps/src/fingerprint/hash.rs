//! The exact comparison: SHA-256 over names and contents.
//!
//! Each item is its kind, its path with a length prefix, and 32 bytes for its content, so that
//! different trees have different encodings.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hearth_core::hex;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::tree::{self, FingerprintError, Item, Kind};

/// Displayed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AppHash([u8; 32]);

// === impl AppHash ===

impl AppHash {
    pub fn from_folder(folder: &Path) -> Result<Self, FingerprintError> {
        let mut hash = Sha256::new();
        for item in tree::read(folder)? {
            let Some((kind, held)) = held(folder, &item)? else { continue };
            let path = item.path.as_os_str().as_bytes();
            hash.update([kind]);
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path);
            hash.update(held);
        }
        Ok(Self(hash.finalize().into()))
    }
}

impl fmt::Display for AppHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for AppHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AppHash({self})")
    }
}

/// `None` for a file that was removed, and for empty folders, which archives need not keep.
fn held(folder: &Path, item: &Item) -> Result<Option<(u8, [u8; 32])>, FingerprintError> {
    let path = folder.join(&item.path);
    Ok(match &item.kind {
        Kind::Folder => None,
        Kind::Link { target } => Some((b'l', Sha256::digest(target.as_os_str().as_bytes()).into())),
        Kind::Other => Some((b'o', [0; 32])),
        Kind::Packages { names } => {
            let mut hash = Sha256::new();
            for name in names {
                hash.update(name.as_bytes());
                hash.update([0]);
            }
            Some((b'p', hash.finalize().into()))
        }
        Kind::File => match contents(&path) {
            Ok(hash) => Some((b'f', hash)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(FingerprintError::Unreadable { path, source }),
        },
    })
}

fn contents(path: &Path) -> io::Result<[u8; 32]> {
    // The file may have been replaced meanwhile: a link is not followed, and opening a FIFO does
    // not block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file any more"));
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
