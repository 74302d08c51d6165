//! Which kind of archive something is: by its first bytes, never by a name.

use std::fmt;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::MultiGzDecoder;

use super::error::UploadError;
use super::limits::UploadLimits;
use super::tree::Tree;
use super::{tar, zip};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tgz,
    Tar,
    Zip,
}

/// Puts all that is in `archive` into `tree`.
pub(super) fn unpack<R: Read + Seek>(
    mut archive: R,
    tree: &mut Tree,
    limits: &UploadLimits,
) -> Result<(), UploadError> {
    let (kind, size) = sniff(&mut archive)?;
    if size > limits.archive.bytes() {
        return Err(UploadError::ArchiveTooLarge { limit: limits.archive });
    }
    match kind {
        Kind::Tgz => tar::unpack(kind, MultiGzDecoder::new(BufReader::new(archive)), tree, limits),
        Kind::Tar => tar::unpack(kind, BufReader::new(archive), tree, limits),
        Kind::Zip => zip::unpack(archive, tree, limits),
    }
}

fn sniff<R: Read + Seek>(archive: &mut R) -> Result<(Kind, u64), UploadError> {
    let broken = |error: io::Error| UploadError::io("read", "the upload".as_ref())(error);
    let size = archive.seek(SeekFrom::End(0)).map_err(broken)?;
    archive.rewind().map_err(broken)?;
    let mut start = Vec::with_capacity(tar::BLOCK);
    archive.take(tar::BLOCK as u64).read_to_end(&mut start).map_err(broken)?;
    archive.rewind().map_err(broken)?;
    let kind = match start.as_slice() {
        [0x1f, 0x8b, ..] => Kind::Tgz,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Kind::Zip,
        start if tar::is_start(start) => Kind::Tar,
        _ => return Err(UploadError::UnknownKind),
    };
    Ok((kind, size))
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tgz => ".tgz archive",
            Self::Tar => ".tar archive",
            Self::Zip => ".zip archive",
        })
    }
}
