//! Zip archives. A zip says everything twice: in the directory at its end and in a header before each entry. The
//! directory counts, and where a header disagrees with it the archive is refused: somebody made it to look different to
//! others.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ErrorKind, ReaderAt, ZipArchive, ZipEntry, ZipFileHeaderRecord};

use super::archive::Kind;
use super::error::{UploadError, What};
use super::limits::UploadLimits;
use super::path::{EntryPath, PathFault, shown};
use super::tree::{Mode, Tree};

const KIND: Kind = Kind::Zip;

/// A name and extra fields: 64 KB each.
const LARGEST_HEADER: usize = 128 << 10;

pub(super) fn unpack<R: Read + Seek>(
    mut archive: R,
    tree: &mut Tree,
    limits: &UploadLimits,
) -> Result<(), UploadError> {
    check_end(&mut archive)?;
    let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipArchive::from_seekable(archive, &mut buffer).map_err(|error| failed(None, error))?;
    let mut local = vec![0; LARGEST_HEADER];
    let mut entries = archive.entries(&mut buffer);
    let mut count = 0;
    while let Some(record) = entries.next_entry().map_err(|error| failed(None, error))? {
        count += 1;
        // Folders that are named again and again, and litter, cost time too.
        if count > limits.files.saturating_mul(4) {
            return Err(UploadError::TooManyFiles { limit: limits.files });
        }
        let name = shown(record.file_path().as_bytes());
        let entry = archive.get_entry(record.wayfinder()).map_err(|error| failed(Some(&name), error))?;
        agree(&record, &entry, &mut local, &name)?;
        put(&record, &entry, tree, name)?;
    }
    if count != archive.entries_hint() {
        return Err(damaged(None, "its directory has another number of entries than it says"));
    }
    Ok(())
}

/// The record at the end of the directory, up to its comment.
const END: usize = 22;
const END_MARK: &[u8] = b"PK\x05\x06";

/// Programs look for the last record of this kind, and some take bytes behind it, which others read as another archive.
fn check_end<R: Read + Seek>(archive: &mut R) -> Result<(), UploadError> {
    let broken = |error: io::Error| UploadError::io("read", "the upload".as_ref())(error);
    let size = archive.seek(SeekFrom::End(0)).map_err(broken)?;
    let longest = (END + usize::from(u16::MAX)) as u64;
    archive.seek(SeekFrom::Start(size.saturating_sub(longest))).map_err(broken)?;
    let mut tail = Vec::new();
    archive.take(longest).read_to_end(&mut tail).map_err(broken)?;
    archive.rewind().map_err(broken)?;
    let at = tail.windows(END_MARK.len()).rposition(|bytes| bytes == END_MARK);
    let Some([low, high]) = at.and_then(|at| tail.get(at + END - 2..at + END)) else {
        return Err(UploadError::Truncated { kind: KIND, entry: None });
    };
    let comment = usize::from(u16::from_le_bytes([*low, *high]));
    match at.is_some_and(|at| at + END + comment == tail.len()) {
        true => Ok(()),
        false => Err(damaged(None, "there are bytes after its end, or some of its end are missing")),
    }
}

fn put<R: ReaderAt>(
    record: &ZipFileHeaderRecord<'_>,
    entry: &ZipEntry<'_, R>,
    tree: &mut Tree,
    name: String,
) -> Result<(), UploadError> {
    let mode = record.external_attributes() >> 16;
    let what = match mode & 0o170_000 {
        // No type is what programs write that know no others.
        0 | 0o040_000 | 0o100_000 => None,
        0o120_000 => Some(What::SymbolicLink),
        0o020_000 | 0o060_000 => Some(What::Device),
        0o010_000 | 0o140_000 => Some(What::Pipe),
        _ => Some(What::Unknown),
    };
    if let Some(what) = what {
        return Err(UploadError::NotAFile { entry: name, what });
    }
    let raw = record.file_path();
    let path = EntryPath::parse(raw.as_bytes()).map_err(|fault| UploadError::Path { entry: name.clone(), fault })?;
    let is_folder = raw.as_bytes().ends_with(b"/") || mode & 0o170_000 == 0o040_000;
    if is_folder && record.uncompressed_size_hint() > 0 {
        return Err(damaged(Some(&name), "it is a folder with contents"));
    }
    let Some(path) = path else {
        let fault = PathFault::Empty;
        return if is_folder { Ok(()) } else { Err(UploadError::Path { entry: name, fault }) };
    };
    if is_folder {
        return tree.folder(&path);
    }
    let mode = Mode::of(mode);
    let compressed = BufReader::new(entry.reader());
    // The verifier compares size and checksum with the directory's, and stops at the first byte too many.
    match record.compression_method() {
        CompressionMethod::STORE => tree.file(KIND, &path, mode, &mut entry.verifying_reader(compressed)),
        CompressionMethod::DEFLATE => {
            tree.file(KIND, &path, mode, &mut entry.verifying_reader(DeflateDecoder::new(compressed)))
        }
        method => Err(UploadError::Method { entry: name, method: format!("method {}", method.as_u16()) }),
    }?;
    Ok(())
}

/// Compares what the directory says with what stands before the entry.
fn agree<R: ReaderAt>(
    record: &ZipFileHeaderRecord<'_>,
    entry: &ZipEntry<'_, R>,
    buffer: &mut [u8],
    name: &str,
) -> Result<(), UploadError> {
    let local = entry.local_header(buffer).map_err(|error| failed(Some(name), error))?;
    if record.flags().is_encrypted() || local.flags().is_encrypted() {
        return Err(UploadError::Encrypted { entry: name.to_owned() });
    }
    let sizes = (record.compressed_size_hint(), record.uncompressed_size_hint());
    let local_sizes = (local.compressed_size_hint(), local.uncompressed_size_hint());
    // Who writes without knowing the end puts zeros first and the numbers behind the data.
    let later = local.flags().has_data_descriptor();
    let field = if local.file_path().as_bytes() != record.file_path().as_bytes() {
        "name"
    } else if local.compression_method() != record.compression_method() {
        "compression"
    } else if local_sizes != sizes && !(later && local_sizes == (0, 0)) {
        "size"
    } else if local.crc32() != record.crc32() && !(later && local.crc32() == 0) {
        "checksum"
    } else {
        return Ok(());
    };
    Err(UploadError::Disagreement { entry: name.to_owned(), field })
}

fn failed(entry: Option<&str>, error: rawzip::Error) -> UploadError {
    let entry = entry.map(str::to_owned);
    match error.kind() {
        // The directory is at the end: without it, the end is missing.
        ErrorKind::MissingEndOfCentralDirectory | ErrorKind::Eof => UploadError::Truncated { kind: KIND, entry },
        _ => UploadError::Damaged { kind: KIND, entry, reason: error.to_string().to_lowercase() },
    }
}

fn damaged(entry: Option<&str>, reason: &str) -> UploadError {
    UploadError::Damaged { kind: KIND, entry: entry.map(str::to_owned), reason: reason.to_owned() }
}
