//! Valid and malicious archives. The malicious ones are built byte by byte, since no archiver
//! writes them.

mod formats;
mod hostile;
mod limits;
mod mutation;
mod tgz;
mod zips;

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use tempfile::TempDir;

use super::{Unpacked, UploadError, UploadLimits, Uploads};

/// A folder for uploads, beside a file that must stay unchanged.
struct Fixture {
    uploads: Uploads,
    temp: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("untouched"), "as it was").unwrap();
        let uploads = Uploads::open(temp.path().join("uploads")).unwrap();
        Self { uploads, temp }
    }

    fn unpack(&self, archive: &[u8]) -> Result<Unpacked, UploadError> {
        self.unpack_within(archive, &UploadLimits::default())
    }

    fn unpack_within(&self, archive: &[u8], limits: &UploadLimits) -> Result<Unpacked, UploadError> {
        self.uploads.unpack(Cursor::new(archive), limits)
    }

    /// The error of an archive that must be refused without leftovers.
    fn refused(&self, archive: &[u8]) -> UploadError {
        self.refused_within(archive, &UploadLimits::default())
    }

    fn refused_within(&self, archive: &[u8], limits: &UploadLimits) -> UploadError {
        let error = self.unpack_within(archive, limits).unwrap_err();
        self.assert_clean();
        assert!(error.is_uploaders_fault(), "{error}");
        error
    }

    fn assert_clean(&self) {
        assert_eq!(tree(self.temp.path()), ["untouched=as it was", "uploads/"]);
    }
}

/// Everything below a folder: `folder/`, `file=contents`.
fn tree(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, prefix: &str, all: &mut Vec<String>) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
            if path.symlink_metadata().unwrap().is_dir() {
                all.push(format!("{name}/"));
                walk(&path, &format!("{name}/"), all);
            } else {
                all.push(format!("{name}={}", String::from_utf8_lossy(&fs::read(&path).unwrap())));
            }
        }
    }
    let mut all = Vec::new();
    walk(folder, "", &mut all);
    all
}

/// One header of a tar archive with arbitrary fields.
fn tar_header(name: &[u8], kind: u8, size: u64, mode: u32) -> [u8; 512] {
    let mut block = [0; 512];
    block[..name.len()].copy_from_slice(name);
    block[100..108].copy_from_slice(format!("{mode:07o}\0").as_bytes());
    block[108..124].copy_from_slice(b"0000000\x000000000\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    tar_sum(&mut block);
    block
}

fn tar_sum(block: &mut [u8; 512]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|&b| u32::from(b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn tar_entry(name: &[u8], kind: u8, body: &[u8]) -> Vec<u8> {
    let mut entry = tar_header(name, kind, body.len() as u64, 0o644).to_vec();
    entry.extend_from_slice(body);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

fn tar_file(name: &str, body: &str) -> Vec<u8> {
    tar_entry(name.as_bytes(), b'0', body.as_bytes())
}

/// Entries with an end.
fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut archive = entries.concat();
    archive.extend_from_slice(&[0; 1024]);
    archive
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One entry of a zip archive whose two headers can differ.
#[derive(Clone)]
struct Zipped {
    name: Vec<u8>,
    local_name: Vec<u8>,
    method: u16,
    local_method: u16,
    flags: u16,
    crc: u32,
    local_crc: u32,
    size: u32,
    local_size: u32,
    attributes: u32,
    data: Vec<u8>,
}

impl Zipped {
    fn stored(name: &str, body: &[u8]) -> Self {
        let (name, crc, size) = (name.as_bytes().to_vec(), rawzip::crc32(body), body.len() as u32);
        Self {
            local_name: name.clone(),
            name,
            method: 0,
            local_method: 0,
            flags: 0x800,
            crc,
            local_crc: crc,
            size,
            local_size: size,
            attributes: 0o100_644 << 16,
            data: body.to_vec(),
        }
    }

    fn deflated(name: &str, body: &[u8]) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body).unwrap();
        let data = encoder.finish().unwrap();
        Self { method: 8, local_method: 8, data, ..Self::stored(name, body) }
    }

    /// As written by programs that do not know the size in advance: zeros first, the numbers after
    /// the data.
    fn streamed(name: &str, body: &[u8]) -> Self {
        Self { flags: 0x808, local_crc: 0, local_size: 0, ..Self::deflated(name, body) }
    }
}

fn zip(entries: &[Zipped]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = out.len() as u32;
        let packed = entry.data.len() as u32;
        let streamed = entry.flags & 8 != 0;
        let numbers = |crc: u32, packed: u32, size: u32| [crc, packed, size].map(u32::to_le_bytes).concat();
        let words = |words: &[u16]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        out.extend_from_slice(b"PK\x03\x04");
        out.extend(words(&[20, entry.flags, entry.local_method, 0, 0]));
        out.extend(numbers(entry.local_crc, if streamed { 0 } else { packed }, entry.local_size));
        out.extend(words(&[entry.local_name.len() as u16, 0]));
        out.extend_from_slice(&entry.local_name);
        out.extend_from_slice(&entry.data);
        if streamed {
            out.extend_from_slice(b"PK\x07\x08");
            out.extend(numbers(entry.crc, packed, entry.size));
        }
        directory.extend_from_slice(b"PK\x01\x02");
        directory.extend(words(&[(3 << 8) | 20, 20, entry.flags, entry.method, 0, 0]));
        directory.extend(numbers(entry.crc, packed, entry.size));
        directory.extend(words(&[entry.name.len() as u16, 0, 0, 0, 0]));
        directory.extend_from_slice(&entry.attributes.to_le_bytes());
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(&entry.name);
    }
    let (at, count) = (out.len() as u32, entries.len() as u16);
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    out.extend_from_slice(&[count.to_le_bytes(), count.to_le_bytes()].concat());
    out.extend_from_slice(&(directory.len() as u32).to_le_bytes());
    out.extend_from_slice(&at.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    out
}
