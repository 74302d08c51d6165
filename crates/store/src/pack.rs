//! Packs an app's folder as a `.tgz` for upload. Output is reproducible: entries are sorted, times
//! and owners are omitted.
//!
//! Everything is packed, including dot files (`.env` is part of an app), except `.env.local` and
//! folders with a leading dot, which belong to tools (`.git`, `.hearth`, `.vscode`). In
//! `node_modules` such folders can be code, and only `.bin` and `.cache` are omitted.
//! `node_modules` itself is omitted if the server installs dependencies ([`Dependencies`]). Links
//! are refused, as they are by the server.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use hearth_core::ByteSize;
use tar::{Builder, EntryType, Header};

use crate::upload::UploadLimits;

/// Secrets for `hearth dev`, which are never uploaded.
pub const LOCAL_SECRETS: &str = ".env.local";

/// What happens to `node_modules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependencies {
    /// It is uploaded.
    Include,
    /// The server installs dependencies (`autoInstall: true`).
    LeaveOut,
}

/// The result of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    pub files: u64,
    /// Before compression.
    pub size: ByteSize,
}

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error("{} is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("{} has no files that could be uploaded", path.display())]
    Empty { path: PathBuf },
    #[error(
        "{} is a symbolic link, which cannot be uploaded: put a copy in its place; if a package manager made it, set \
         autoInstall: true in manifest.yaml, or install without links (pnpm: node-linker=hoisted)",
        path.display()
    )]
    Link { path: PathBuf },
    #[error("{} is neither a file nor a folder: move it out of the app's folder", path.display())]
    Special { path: PathBuf },
    #[error("the name of {} is not UTF-8, or has a backslash or a control character in it: rename it", path.display())]
    Name { path: PathBuf },
    #[error(
        "{} holds {size}, and an upload may hold {limit}; the largest file is {}: leave out what the app does not need",
        path.display(), largest.display()
    )]
    TooLarge { path: PathBuf, size: ByteSize, limit: ByteSize, largest: PathBuf },
    #[error("{} is {size}, and one file may be {limit}: leave it out, or keep it elsewhere", path.display())]
    FileTooLarge { path: PathBuf, size: ByteSize, limit: ByteSize },
    #[error("{} holds {count} files, and an upload may hold {limit}: leave out what the app does not need", path.display())]
    TooManyFiles { path: PathBuf, count: u64, limit: u64 },
    #[error("{} changed while it was packed: try again", path.display())]
    Changed { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the archive: {0}")]
    Write(io::Error),
}

/// Writes the archive of `folder` to `out`.
pub fn pack(folder: &Path, dependencies: Dependencies, out: impl Write) -> Result<Packed, PackError> {
    if !folder.is_dir() {
        return Err(PackError::NotAFolder { path: folder.to_owned() });
    }
    let files = list(folder, dependencies)?;
    check_limits(folder, &files, &UploadLimits::default())?;
    let mut builder = Builder::new(GzEncoder::new(out, Compression::default()));
    let mut packed = Packed { files: 0, size: ByteSize(0) };
    for (path, name) in files {
        packed.size.0 += add(&mut builder, &path, &name)?;
        packed.files += 1;
    }
    if packed.files == 0 {
        return Err(PackError::Empty { path: folder.to_owned() });
    }
    let written = builder.into_inner().and_then(GzEncoder::finish).and_then(|mut out| out.flush());
    written.map_err(PackError::Write)?;
    Ok(packed)
}

/// What the server would refuse is refused before anything is packed.
fn check_limits(folder: &Path, files: &[(PathBuf, String)], limits: &UploadLimits) -> Result<(), PackError> {
    let count = files.len() as u64;
    if count > limits.files {
        return Err(PackError::TooManyFiles { path: folder.to_owned(), count, limit: limits.files });
    }
    let (mut total, mut largest) = (ByteSize(0), (ByteSize(0), folder));
    for (path, _) in files {
        // Unreadable files are reported while packing.
        let size = ByteSize(fs::metadata(path).map_or(0, |facts| facts.len()));
        if size > limits.file {
            return Err(PackError::FileTooLarge { path: path.clone(), size, limit: limits.file });
        }
        total.0 = total.0.saturating_add(size.0);
        largest = largest.max((size, path));
    }
    if total > limits.size {
        let (path, largest) = (folder.to_owned(), largest.1.to_owned());
        return Err(PackError::TooLarge { path, size: total, limit: limits.size, largest });
    }
    Ok(())
}

/// All files with their names in the archive, sorted by name.
fn list(folder: &Path, dependencies: Dependencies) -> Result<Vec<(PathBuf, String)>, PackError> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let failed = |source| PackError::Read { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(failed)?;
            let file_name = entry.file_name();
            let Some(part) = file_name.to_str() else { return Err(PackError::Name { path }) };
            if kind.is_dir() && is_left_out(&prefix, part, dependencies) || part == LOCAL_SECRETS {
                continue;
            }
            if part.contains(|c: char| c == '\\' || c.is_control()) {
                return Err(PackError::Name { path });
            }
            let name = if prefix.is_empty() { part.to_owned() } else { format!("{prefix}/{part}") };
            if kind.is_symlink() {
                return Err(PackError::Link { path });
            } else if kind.is_dir() {
                folders.push((path, name));
            } else if kind.is_file() {
                files.push((path, name));
            } else {
                return Err(PackError::Special { path });
            }
        }
    }
    files.sort_by(|(_, a), (_, b)| a.cmp(b));
    Ok(files)
}

/// Whether the folder `name` in `prefix` is omitted.
fn is_left_out(prefix: &str, name: &str, dependencies: Dependencies) -> bool {
    if name == "node_modules" {
        return dependencies == Dependencies::LeaveOut;
    }
    if prefix.split('/').any(|part| part == "node_modules") {
        return matches!(name, ".bin" | ".cache" | ".git");
    }
    name.starts_with('.')
}

fn add(builder: &mut Builder<impl Write>, path: &Path, name: &str) -> Result<u64, PackError> {
    let failed = |source| PackError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    let size = meta.len();
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(size);
    header.set_mode(if meta.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 });
    header.set_mtime(0);
    let mut body = ExactReader { file, left: size, fault: None };
    let added = builder.append_data(&mut header, name, &mut body);
    match body.fault {
        Some(Fault::Read(source)) => return Err(failed(source)),
        Some(Fault::Shrunk) => return Err(PackError::Changed { path: path.to_owned() }),
        None => added.map_err(PackError::Write)?,
    }
    Ok(size)
}

/// Reads exactly as many bytes of a file as its header says, and keeps the error if there are fewer
/// or more.
struct ExactReader {
    file: File,
    left: u64,
    fault: Option<Fault>,
}

enum Fault {
    Read(io::Error),
    Shrunk,
}

impl Read for ExactReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (&mut self.file).take(self.left).read(buffer) {
            Ok(0) if self.left > 0 && !buffer.is_empty() => {
                self.fault = Some(Fault::Shrunk);
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(read) => {
                self.left -= read as u64;
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.fault = Some(Fault::Read(error));
                Err(kind.into())
            }
        }
    }
}

#[cfg(test)]
#[path = "pack/tests.rs"]
mod tests;
