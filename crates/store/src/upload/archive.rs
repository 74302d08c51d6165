//! The format of an archive, determined by its first bytes, never by a name.

use std::fmt;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::MultiGzDecoder;

use super::error::UploadError;
use super::extraction::Extraction;
use super::limits::UploadLimits;
use super::{tar, zip};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKind {
    Tgz,
    Tar,
    Zip,
}

/// Extracts all entries of `archive` into `extraction`.
pub(super) fn unpack<R: Read + Seek>(
    mut archive: R,
    extraction: &mut Extraction,
    limits: &UploadLimits,
) -> Result<(), UploadError> {
    let (kind, size) = sniff(&mut archive)?;
    if size > limits.archive.bytes() {
        return Err(UploadError::ArchiveTooLarge { limit: limits.archive });
    }
    match kind {
        ArchiveKind::Tgz => tar::unpack(kind, MultiGzDecoder::new(BufReader::new(archive)), extraction, limits),
        ArchiveKind::Tar => tar::unpack(kind, BufReader::new(archive), extraction, limits),
        ArchiveKind::Zip => zip::unpack(archive, extraction, limits),
    }
}

fn sniff<R: Read + Seek>(archive: &mut R) -> Result<(ArchiveKind, u64), UploadError> {
    let broken = |error: io::Error| UploadError::io("read", "the upload".as_ref())(error);
    let size = archive.seek(SeekFrom::End(0)).map_err(broken)?;
    archive.rewind().map_err(broken)?;
    let mut start = Vec::with_capacity(tar::BLOCK);
    archive.take(tar::BLOCK as u64).read_to_end(&mut start).map_err(broken)?;
    archive.rewind().map_err(broken)?;
    let kind = match start.as_slice() {
        [0x1f, 0x8b, ..] => ArchiveKind::Tgz,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => ArchiveKind::Zip,
        start if tar::is_start(start) => ArchiveKind::Tar,
        _ => return Err(UploadError::UnknownKind),
    };
    Ok((kind, size))
}

impl fmt::Display for ArchiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tgz => ".tgz archive",
            Self::Tar => ".tar archive",
            Self::Zip => ".zip archive",
        })
    }
}
