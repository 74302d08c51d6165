//! The folder that an archive is extracted to: creates, counts and hashes its files.
//!
//! Invariants: everything created is below `root`, which no other process writes to and which has
//! no links, so that joining a checked path to it is safe; each file is created once; the sum of
//! all bytes never exceeds the limit by more than a buffer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use hearth_core::ByteSize;
use sha2::{Digest, Sha256};

use crate::deployment::UploadHash;

use super::archive::ArchiveKind;
use super::entry_path::EntryPath;
use super::error::UploadError;
use super::limits::UploadLimits;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    Executable,
}

pub(super) struct Extraction {
    root: PathBuf,
    limits: UploadLimits,
    files: BTreeMap<String, File>,
    folders: BTreeSet<String>,
    size: u64,
    buffer: Vec<u8>,
}

struct File {
    mode: Mode,
    hash: [u8; 32],
}

/// The result of a complete extraction.
pub(super) struct Finished {
    /// The folder of the app: `root`, or the single folder in it.
    pub folder: PathBuf,
    pub files: u64,
    pub size: ByteSize,
    pub hash: UploadHash,
}

impl Mode {
    /// The only bit of a mode that is kept.
    pub(super) fn from_bits(bits: u32) -> Self {
        if bits & 0o111 == 0 { Self::Plain } else { Self::Executable }
    }

    fn bits(self) -> u32 {
        match self {
            Self::Plain => 0o644,
            Self::Executable => 0o755,
        }
    }
}

// === impl Extraction ===

impl Extraction {
    /// `root` is an empty folder.
    pub(super) fn new(root: PathBuf, limits: &UploadLimits) -> Self {
        let (files, folders) = (BTreeMap::new(), BTreeSet::new());
        Self { root, limits: limits.clone(), files, folders, size: 0, buffer: vec![0; 64 << 10] }
    }

    /// The folder may exist already.
    pub(super) fn folder(&mut self, path: &EntryPath) -> Result<(), UploadError> {
        if path.is_desktop_file() {
            return Ok(());
        }
        self.parents(path)?;
        self.one_folder(path.as_str())
    }

    /// Reads `body` to its end.
    pub(super) fn file(
        &mut self,
        kind: ArchiveKind,
        path: &EntryPath,
        mode: Mode,
        body: &mut dyn Read,
    ) -> Result<u64, UploadError> {
        let entry = path.as_str();
        if path.is_desktop_file() {
            return self.pour(kind, entry, body, &mut io::sink()).map(|(size, _)| size);
        }
        if self.files.contains_key(entry) {
            return Err(UploadError::Duplicate { entry: entry.to_owned() });
        }
        if self.folders.contains(entry) {
            return Err(UploadError::Clash { entry: entry.to_owned() });
        }
        if self.files.len() as u64 >= self.limits.files {
            return Err(UploadError::TooManyFiles { limit: self.limits.files });
        }
        self.parents(path)?;
        let place = path.below(&self.root);
        let made = OpenOptions::new().write(true).create_new(true).mode(mode.bits()).open(&place);
        let mut file = made.map_err(UploadError::io("create", &place))?;
        let (size, hash) = self.pour(kind, entry, body, &mut file)?;
        self.files.insert(entry.to_owned(), File { mode, hash });
        Ok(size)
    }

    pub(super) fn finish(self) -> Result<Finished, UploadError> {
        if self.files.is_empty() {
            return Err(UploadError::Empty);
        }
        let top = self.only_folder();
        let prefix = top.as_ref().map_or(0, |top| top.len() + 1);
        let mut hash = Sha256::new();
        hash.update(b"hearth tree 1\n");
        for (path, file) in &self.files {
            // All files are below the folder that is stripped.
            let path = &path[prefix..];
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path);
            hash.update(file.mode.bits().to_le_bytes());
            hash.update(file.hash);
        }
        Ok(Finished {
            folder: top.map_or_else(|| self.root.clone(), |top| self.root.join(top)),
            files: self.files.len() as u64,
            size: ByteSize(self.size),
            hash: UploadHash(hash.finalize().into()),
        })
    }

    /// `package` of `package/index.js`, if there is nothing beside it.
    fn only_folder(&self) -> Option<String> {
        let top = |path: &str| path.split('/').next().unwrap_or(path).to_owned();
        let first = top(self.files.keys().next()?);
        let alone = self.files.keys().chain(&self.folders).all(|path| top(path) == first);
        (alone && !self.files.contains_key(&first)).then_some(first)
    }

    fn parents(&mut self, path: &EntryPath) -> Result<(), UploadError> {
        path.parents().try_for_each(|parent| self.one_folder(parent))
    }

    fn one_folder(&mut self, path: &str) -> Result<(), UploadError> {
        if self.folders.contains(path) {
            return Ok(());
        }
        if self.files.contains_key(path) {
            return Err(UploadError::Clash { entry: path.to_owned() });
        }
        if self.folders.len() as u64 >= self.limits.files {
            return Err(UploadError::TooManyFiles { limit: self.limits.files });
        }
        let place = self.root.join(path);
        fs::create_dir(&place).map_err(UploadError::io("create", &place))?;
        self.folders.insert(path.to_owned());
        Ok(())
    }

    /// Copies, counts and hashes.
    fn pour(
        &mut self,
        kind: ArchiveKind,
        entry: &str,
        body: &mut dyn Read,
        file: &mut dyn Write,
    ) -> Result<(u64, [u8; 32]), UploadError> {
        let mut size = 0;
        let mut hash = Sha256::new();
        loop {
            let read = match body.read(&mut self.buffer) {
                Ok(0) => return Ok((size, hash.finalize().into())),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(UploadError::reading(kind, Some(entry), self.limits.size, &error)),
            };
            size += read as u64;
            self.size += read as u64;
            if size > self.limits.file.bytes() {
                return Err(UploadError::FileTooLarge { entry: entry.to_owned(), limit: self.limits.file });
            }
            if self.size > self.limits.size.bytes() {
                return Err(UploadError::TooLarge { limit: self.limits.size });
            }
            let data = &self.buffer[..read];
            hash.update(data);
            file.write_all(data).map_err(UploadError::io("write", &self.root.join(entry)))?;
        }
    }
}
