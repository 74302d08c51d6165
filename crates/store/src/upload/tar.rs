//! Tar archives, compressed or not: blocks of 512 bytes, a header before each entry, blocks of
//! zeros at the end.
//!
//! The `tar` crate parses headers; the iteration over entries is implemented here, because it must
//! be bounded (the crate reads long names into memory regardless of their length) and strict: an
//! archive without an end was truncated, and data after the end would be seen by other programs and
//! not by this one.

use std::io::{self, Read};

use tar::{EntryType, Header};

use super::archive::ArchiveKind;
use super::entry_path::{EntryPath, shown};
use super::error::{Overrun, SpecialFile, UploadError};
use super::extraction::{Extraction, Mode};
use super::limits::UploadLimits;

pub(super) const BLOCK: usize = 512;

/// The limit of one extension header before an entry: long names and other `pax` records
/// (attributes can be large).
const MAX_EXTENSION_HEADER: u64 = 1 << 20;

/// The allowance of an entry beside its contents: headers, long names, padding.
const ENTRY_OVERHEAD: u64 = 8 << 10;

/// Padding at the end, up to the block sizes of tapes.
const MAX_PADDING: u64 = 1 << 20;

/// What the extension headers before an entry say.
#[derive(Default)]
struct PaxHeaders {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: Option<Sparse>,
}

struct Sparse;

struct Stream<R> {
    kind: ArchiveKind,
    source: LimitedReader<R>,
    limits: UploadLimits,
}

/// Fails when more data comes out than the limits allow, wherever in the archive that is.
struct LimitedReader<R> {
    inner: R,
    left: u64,
}

/// Whether these are the first bytes of a tar archive.
pub(super) fn is_start(start: &[u8]) -> bool {
    start.first_chunk::<BLOCK>().is_some_and(|block| is_zero(block) || sum_is_right(block))
}

pub(super) fn unpack(
    kind: ArchiveKind,
    source: impl Read,
    extraction: &mut Extraction,
    limits: &UploadLimits,
) -> Result<(), UploadError> {
    let left =
        limits.size.bytes().saturating_add(limits.files.saturating_mul(ENTRY_OVERHEAD)).saturating_add(MAX_PADDING);
    let mut stream = Stream { kind, source: LimitedReader { inner: source, left }, limits: limits.clone() };
    let mut extra = PaxHeaders::default();
    let mut block = stream.block(None)?;
    if !is_zero(&block) && !sum_is_right(&block) {
        return Err(UploadError::NotATar);
    }
    while !is_zero(&block) {
        let header = Header::from_byte_slice(&block);
        let raw = extra.path.clone().unwrap_or_else(|| header.path_bytes().into_owned());
        let entry = shown(&raw);
        if !sum_is_right(&block) {
            // With a wrong checksum the path is unreliable, too.
            return Err(stream.damaged(None, "a header's checksum is wrong"));
        }
        let size = header.entry_size().map_err(|_| stream.damaged(Some(&entry), "its size is not a number"))?;
        match header.entry_type() {
            EntryType::GNULongName => {
                let mut name = stream.extra(size)?;
                name.truncate(name.iter().position(|&b| b == 0).unwrap_or(name.len()));
                extra.path = Some(name);
            }
            EntryType::XHeader => {
                let records = stream.extra(size)?;
                extra.read(&records).ok_or_else(|| stream.damaged(Some(&entry), "its pax header is malformed"))?;
            }
            // The target of a link, which is refused when its entry comes.
            EntryType::GNULongLink => drop(stream.extra(size)?),
            EntryType::XGlobalHeader => {
                let records = stream.extra(size)?;
                let mut all = PaxHeaders::default();
                if all.read(&records).is_none() || all.path.is_some() || all.size.is_some() {
                    return Err(stream.damaged(Some(&entry), "it changes the names or sizes of all that follow"));
                }
            }
            entry_kind => {
                let extra = std::mem::take(&mut extra);
                if extra.size.is_some_and(|other| other != size) {
                    return Err(stream.damaged(Some(&entry), "its headers disagree about its size"));
                }
                let entry_kind = if extra.sparse.is_some() { EntryType::GNUSparse } else { entry_kind };
                stream.entry(entry_kind, &raw, Mode::from_bits(header.mode().unwrap_or(0)), size, extraction)?;
            }
        }
        block = stream.block(Some(&entry))?;
    }
    stream.end()
}

// === impl Stream ===

impl<R: Read> Stream<R> {
    fn entry(
        &mut self,
        kind: EntryType,
        raw: &[u8],
        mode: Mode,
        size: u64,
        extraction: &mut Extraction,
    ) -> Result<(), UploadError> {
        let entry = shown(raw);
        let what = match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::Directory => None,
            EntryType::Symlink => Some(SpecialFile::SymbolicLink),
            EntryType::Link => Some(SpecialFile::HardLink),
            EntryType::Char | EntryType::Block => Some(SpecialFile::Device),
            EntryType::Fifo => Some(SpecialFile::Pipe),
            EntryType::GNUSparse => Some(SpecialFile::SparseFile),
            _ => Some(SpecialFile::Unknown),
        };
        if let Some(what) = what {
            return Err(UploadError::NotAFile { entry, what });
        }
        let path = EntryPath::parse(raw).map_err(|fault| UploadError::Path { entry: entry.clone(), fault })?;
        // Old archives mark folders by a trailing slash in the name.
        let is_folder = kind == EntryType::Directory || raw.ends_with(b"/");
        if is_folder && size > 0 {
            return Err(self.damaged(Some(&entry), "it is a folder with contents"));
        }
        match path {
            Some(path) if is_folder => extraction.folder(&path),
            Some(path) => {
                // The size is a claim, good for an early error only; extracted bytes are counted as
                // well.
                if size > self.limits.file.bytes() {
                    return Err(UploadError::FileTooLarge { entry, limit: self.limits.file });
                }
                let read = extraction.file(self.kind, &path, mode, &mut (&mut self.source).take(size))?;
                if read < size {
                    return Err(UploadError::Truncated { kind: self.kind, entry: Some(entry) });
                }
                self.skip_padding(size, &entry)
            }
            None if is_folder => Ok(()),
            None => Err(UploadError::Path { entry, fault: super::EntryPathError::Empty }),
        }
    }

    fn block(&mut self, after: Option<&str>) -> Result<[u8; BLOCK], UploadError> {
        let mut block = [0; BLOCK];
        self.source.read_exact(&mut block).map_err(|error| self.failed(after, &error))?;
        Ok(block)
    }

    /// The content of an extension header.
    fn extra(&mut self, size: u64) -> Result<Vec<u8>, UploadError> {
        if size > MAX_EXTENSION_HEADER {
            return Err(self.damaged(None, "a header is larger than any name"));
        }
        let mut bytes = Vec::new();
        let read = (&mut self.source).take(size).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(None, &error))?;
        if (bytes.len() as u64) < size {
            return Err(UploadError::Truncated { kind: self.kind, entry: None });
        }
        self.skip_padding(size, "")?;
        Ok(bytes)
    }

    fn skip_padding(&mut self, size: u64, entry: &str) -> Result<(), UploadError> {
        let padding = (BLOCK - (size % BLOCK as u64) as usize) % BLOCK;
        self.source.read_exact(&mut [0; BLOCK][..padding]).map_err(|error| self.failed(Some(entry), &error))
    }

    /// Reads to the very end, which also verifies gzip's checksum.
    fn end(&mut self) -> Result<(), UploadError> {
        let mut buffer = [0; 8 << 10];
        loop {
            match self.source.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) if is_zero(&buffer[..read]) => {}
                Ok(_) => return Err(self.damaged(None, "something follows its end")),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(None, &error)),
            }
        }
    }

    fn failed(&self, entry: Option<&str>, error: &io::Error) -> UploadError {
        UploadError::reading(self.kind, entry.filter(|entry| !entry.is_empty()), self.limits.size, error)
    }

    fn damaged(&self, entry: Option<&str>, reason: &str) -> UploadError {
        UploadError::Damaged { kind: self.kind, entry: entry.map(str::to_owned), reason: reason.to_owned() }
    }
}

impl PaxHeaders {
    /// Records of the form `LENGTH KEY=VALUE\n`, where the length includes itself.
    fn read(&mut self, mut records: &[u8]) -> Option<()> {
        while !records.is_empty() {
            let space = records.iter().position(|&b| b == b' ')?;
            let length: usize = std::str::from_utf8(&records[..space]).ok()?.parse().ok()?;
            let record = records.get(space + 1..length)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|&b| b == b'=')?;
            let value = &record[equals + 1..];
            match &record[..equals] {
                b"path" => self.path = Some(value.to_owned()),
                b"size" => self.size = Some(std::str::from_utf8(value).ok()?.parse().ok()?),
                key if key.starts_with(b"GNU.sparse.") => self.sparse = Some(Sparse),
                _ => {}
            }
            records = &records[length..];
        }
        Some(())
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other(Overrun))?;
        Ok(read)
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b == 0)
}

/// The sum of all bytes of a header, with its own field taken as spaces.
fn sum_is_right(block: &[u8; BLOCK]) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|&b| u32::from(b)).sum::<u32>();
    let right = sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..]);
    Header::from_byte_slice(block).cksum().is_ok_and(|claimed| claimed == right)
}
