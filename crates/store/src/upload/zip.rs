//! Zip archives. A zip has every fact twice: in the directory at its end and in a header before
//! each entry. The directory is authoritative, and an archive whose headers disagree with it is
//! refused, since other programs would see other files.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ErrorKind, ReaderAt, ZipArchive, ZipEntry, ZipFileHeaderRecord};

use super::archive::ArchiveKind;
use super::entry_path::{EntryPath, EntryPathError, shown};
use super::error::{SpecialFile, UploadError};
use super::extraction::{Extraction, Mode};
use super::limits::UploadLimits;

const KIND: ArchiveKind = ArchiveKind::Zip;

/// A name and extra fields: 64 KB each.
const MAX_HEADER_BYTES: usize = 128 << 10;

pub(super) fn unpack<R: Read + Seek>(
    mut archive: R,
    extraction: &mut Extraction,
    limits: &UploadLimits,
) -> Result<(), UploadError> {
    check_end(&mut archive)?;
    let mut buffer = vec![0; rawzip::MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let archive = ZipArchive::from_seekable(archive, &mut buffer).map_err(|error| failed(None, error))?;
    let mut local = vec![0; MAX_HEADER_BYTES];
    let mut entries = archive.entries(&mut buffer);
    let mut count = 0;
    while let Some(record) = entries.next_entry().map_err(|error| failed(None, error))? {
        count += 1;
        // Repeated folders and desktop files cost time, too.
        if count > limits.files.saturating_mul(4) {
            return Err(UploadError::TooManyFiles { limit: limits.files });
        }
        let name = shown(record.file_path().as_bytes());
        let entry = archive.get_entry(record.wayfinder()).map_err(|error| failed(Some(&name), error))?;
        agree(&record, &entry, &mut local, &name)?;
        put(&record, &entry, extraction, name)?;
    }
    if count != archive.entries_hint() {
        return Err(damaged(None, "its directory has another number of entries than it says"));
    }
    Ok(())
}

/// The record at the end of the directory, up to its comment.
const END: usize = 22;
const END_MARK: &[u8] = b"PK\x05\x06";

/// Programs search for the last record of this kind; some accept bytes behind it, which others read
/// as another archive.
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
    extraction: &mut Extraction,
    name: String,
) -> Result<(), UploadError> {
    let mode = record.external_attributes() >> 16;
    let what = match mode & 0o170_000 {
        // Programs that know no file types write 0.
        0 | 0o040_000 | 0o100_000 => None,
        0o120_000 => Some(SpecialFile::SymbolicLink),
        0o020_000 | 0o060_000 => Some(SpecialFile::Device),
        0o010_000 | 0o140_000 => Some(SpecialFile::Pipe),
        _ => Some(SpecialFile::Unknown),
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
        let fault = EntryPathError::Empty;
        return if is_folder { Ok(()) } else { Err(UploadError::Path { entry: name, fault }) };
    };
    if is_folder {
        return extraction.folder(&path);
    }
    let mode = Mode::from_bits(mode);
    let compressed = BufReader::new(entry.reader());
    // The verifier compares size and checksum with the directory's and stops at the first excess
    // byte.
    match record.compression_method() {
        CompressionMethod::STORE => extraction.file(KIND, &path, mode, &mut entry.verifying_reader(compressed)),
        CompressionMethod::DEFLATE => {
            extraction.file(KIND, &path, mode, &mut entry.verifying_reader(DeflateDecoder::new(compressed)))
        }
        method => Err(UploadError::Method { entry: name, method: format!("method {}", method.as_u16()) }),
    }?;
    Ok(())
}

/// Compares the directory's facts with the header before the entry.
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
    // Programs that do not know the size in advance write zeros first and the numbers after the
    // data.
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
        // The directory is at the end: if it is missing, so is the end.
        ErrorKind::MissingEndOfCentralDirectory | ErrorKind::Eof => UploadError::Truncated { kind: KIND, entry },
        _ => UploadError::Damaged { kind: KIND, entry, reason: error.to_string().to_lowercase() },
    }
}

fn damaged(entry: Option<&str>, reason: &str) -> UploadError {
    UploadError::Damaged { kind: KIND, entry: entry.map(str::to_owned), reason: reason.to_owned() }
}
