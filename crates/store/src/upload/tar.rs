//! Tar archives, compressed or not: blocks of 512 bytes, a header before each entry, a block of zeros at the end.
//!
//! The `tar` crate reads headers; the walk from one to the next is ours, because it must be bounded (that crate reads
//! long names into memory whatever their length) and strict: an archive without its end was cut off, and something
//! after the end would be seen by other programs and not by this one.

use std::io::{self, Read};

use tar::{EntryType, Header};

use super::archive::Kind;
use super::error::{Overrun, UploadError, What};
use super::limits::UploadLimits;
use super::path::{EntryPath, shown};
use super::tree::{Mode, Tree};

pub(super) const BLOCK: usize = 512;

/// Of the headers that come before an entry: long names, and what else `pax` has to say (attributes can be large).
const LARGEST_EXTRA: u64 = 1 << 20;

/// What an entry may need beside its contents: headers, long names, padding.
const OVERHEAD: u64 = 8 << 10;

/// Padding at the end, up to the block sizes of tapes.
const TAIL: u64 = 1 << 20;

/// What stood before an entry's own header.
#[derive(Default)]
struct Extra {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: Option<Sparse>,
}

struct Sparse;

struct Stream<R> {
    kind: Kind,
    source: Metered<R>,
    limits: UploadLimits,
}

/// Fails when more comes out than could be of use, wherever in the archive it is.
struct Metered<R> {
    inner: R,
    left: u64,
}

/// Whether these are the first bytes of a tar archive.
pub(super) fn is_start(start: &[u8]) -> bool {
    start.first_chunk::<BLOCK>().is_some_and(|block| is_zero(block) || sum_is_right(block))
}

pub(super) fn unpack(kind: Kind, source: impl Read, tree: &mut Tree, limits: &UploadLimits) -> Result<(), UploadError> {
    let left = limits.size.bytes().saturating_add(limits.files.saturating_mul(OVERHEAD)).saturating_add(TAIL);
    let mut stream = Stream { kind, source: Metered { inner: source, left }, limits: limits.clone() };
    let mut extra = Extra::default();
    let mut block = stream.block(None)?;
    if !is_zero(&block) && !sum_is_right(&block) {
        return Err(UploadError::NotATar);
    }
    while !is_zero(&block) {
        let header = Header::from_byte_slice(&block);
        let raw = extra.path.clone().unwrap_or_else(|| header.path_bytes().into_owned());
        let entry = shown(&raw);
        if !sum_is_right(&block) {
            // Its path is as wrong as the rest.
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
            // The target of a link, which is refused when it comes.
            EntryType::GNULongLink => drop(stream.extra(size)?),
            EntryType::XGlobalHeader => {
                let records = stream.extra(size)?;
                let mut all = Extra::default();
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
                stream.entry(entry_kind, &raw, Mode::of(header.mode().unwrap_or(0)), size, tree)?;
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
        tree: &mut Tree,
    ) -> Result<(), UploadError> {
        let entry = shown(raw);
        let what = match kind {
            EntryType::Regular | EntryType::Continuous | EntryType::Directory => None,
            EntryType::Symlink => Some(What::SymbolicLink),
            EntryType::Link => Some(What::HardLink),
            EntryType::Char | EntryType::Block => Some(What::Device),
            EntryType::Fifo => Some(What::Pipe),
            EntryType::GNUSparse => Some(What::SparseFile),
            _ => Some(What::Unknown),
        };
        if let Some(what) = what {
            return Err(UploadError::NotAFile { entry, what });
        }
        let path = EntryPath::parse(raw).map_err(|fault| UploadError::Path { entry: entry.clone(), fault })?;
        // Before there was a type for them, folders were told by the end of their names.
        let is_folder = kind == EntryType::Directory || raw.ends_with(b"/");
        if is_folder && size > 0 {
            return Err(self.damaged(Some(&entry), "it is a folder with contents"));
        }
        match path {
            Some(path) if is_folder => tree.folder(&path),
            Some(path) => {
                // A claim, and only good for an early answer: what comes out is counted too.
                if size > self.limits.file.bytes() {
                    return Err(UploadError::FileTooLarge { entry, limit: self.limits.file });
                }
                let read = tree.file(self.kind, &path, mode, &mut (&mut self.source).take(size))?;
                if read < size {
                    return Err(UploadError::Truncated { kind: self.kind, entry: Some(entry) });
                }
                self.skip_padding(size, &entry)
            }
            None if is_folder => Ok(()),
            None => Err(UploadError::Path { entry, fault: super::PathFault::Empty }),
        }
    }

    fn block(&mut self, after: Option<&str>) -> Result<[u8; BLOCK], UploadError> {
        let mut block = [0; BLOCK];
        self.source.read_exact(&mut block).map_err(|error| self.failed(after, &error))?;
        Ok(block)
    }

    /// What a header before a header holds.
    fn extra(&mut self, size: u64) -> Result<Vec<u8>, UploadError> {
        if size > LARGEST_EXTRA {
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

    /// To the very end, which also checks what gzip has to say about it.
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

impl Extra {
    /// Records of the form `LENGTH KEY=VALUE\n`, the length counting all of it.
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

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| io::Error::other(Overrun))?;
        Ok(read)
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| b == 0)
}

/// The sum of all bytes of a header, its own field taken for spaces.
fn sum_is_right(block: &[u8; BLOCK]) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|&b| u32::from(b)).sum::<u32>();
    let right = sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..]);
    Header::from_byte_slice(block).cksum().is_ok_and(|claimed| claimed == right)
}
