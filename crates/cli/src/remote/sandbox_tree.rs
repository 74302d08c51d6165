//! `hearth sandbox cp --recursive`: a folder, into a sandbox or out of it, file by file. Links are not followed, and
//! folders without files are not copied.
//!
//! What a sandbox says of its files is not trusted: a name that is no plain file name would lead out of the folder that
//! is copied to, and ends the copy.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hearth_control::action::Action;
use hearth_control::sandboxes::SandboxAction;
use serde_json::Value;

use super::Session;
use super::error::RemoteError;
use super::progress::Progress;
use super::responses::{SandboxFile, SandboxFolder};
use crate::terminal::escape;

/// Folders within folders.
const MAX_DEPTH: usize = 64;
/// Files of one copy.
const MAX_FILES: usize = 100_000;

/// A copy under way.
struct Copy<'a> {
    session: &'a Session,
    id: &'a str,
    files: usize,
    progress: Progress,
}

pub(super) fn upload(session: &Session, folder: &Path, id: &str, path: &str) -> Result<(), RemoteError> {
    Copy::new(session, id).upload(folder, path.trim_end_matches('/'), 0)
}

pub(super) fn download(session: &Session, id: &str, path: &str, folder: &Path) -> Result<(), RemoteError> {
    Copy::new(session, id).download(path.trim_end_matches('/'), folder, 0)
}

impl<'a> Copy<'a> {
    fn new(session: &'a Session, id: &'a str) -> Self {
        Self { session, id, files: 0, progress: Progress::new() }
    }

    fn upload(&mut self, folder: &Path, path: &str, depth: usize) -> Result<(), RemoteError> {
        self.check_depth(depth, path)?;
        let failed = |source| file_error("read", folder, source);
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (here, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let Ok(name) = entry.file_name().into_string() else {
                return Err(RemoteError::BadTree { path: here, why: "its name is not UTF-8" });
            };
            let there = format!("{path}/{name}");
            if kind.is_dir() {
                self.upload(&here, &there, depth + 1)?;
            } else if kind.is_file() {
                self.upload_file(&here, there)?;
            } else {
                eprintln!("not copied: {} is neither a file nor a folder", escape(&here.to_string_lossy()));
            }
        }
        Ok(())
    }

    fn upload_file(&mut self, here: &Path, path: String) -> Result<(), RemoteError> {
        self.count_file(&path)?;
        let content = fs::read(here).map_err(|source| file_error("read", here, source))?;
        let mode = fs::metadata(here).map_err(|source| file_error("read", here, source))?.permissions().mode();
        let mode = Some(format!("{:o}", mode & 0o777));
        let write = SandboxAction::WriteFile { id: self.id.to_owned(), path, mode };
        let length = content.len() as u64;
        let content = std::io::Cursor::new(content);
        self.session.server.upload::<Value>(&Action::Sandbox(write), content, length, &mut self.progress)?;
        Ok(())
    }

    fn download(&mut self, path: &str, folder: &Path, depth: usize) -> Result<(), RemoteError> {
        self.check_depth(depth, path)?;
        fs::create_dir_all(folder).map_err(|source| file_error("create", folder, source))?;
        let mut cursor = None;
        loop {
            let list = SandboxAction::Files { id: self.id.to_owned(), path: path.to_owned(), cursor };
            let (_, page) = self.session.server.ask::<SandboxFolder>(&Action::Sandbox(list))?;
            for file in &page.entries {
                self.download_entry(path, file, folder, depth)?;
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(());
            }
        }
    }

    fn download_entry(
        &mut self,
        path: &str,
        file: &SandboxFile,
        folder: &Path,
        depth: usize,
    ) -> Result<(), RemoteError> {
        let name = plain_name(&file.name)?;
        let (there, here) = (format!("{path}/{name}"), folder.join(name));
        match file.kind.as_str() {
            "directory" => self.download(&there, &here, depth + 1),
            "file" => {
                self.count_file(&there)?;
                let read = SandboxAction::ReadFile { id: self.id.to_owned(), path: there };
                let content = self.session.server.bytes(&Action::Sandbox(read))?;
                fs::write(&here, content).map_err(|source| file_error("write", &here, source))?;
                let mode = u32::from_str_radix(&file.mode, 8).unwrap_or(0o644) & 0o777;
                let permissions = Permissions::from_mode(mode | 0o600);
                fs::set_permissions(&here, permissions).map_err(|source| file_error("write", &here, source))
            }
            _ => {
                eprintln!("not copied: {} is neither a file nor a folder", escape(&there));
                Ok(())
            }
        }
    }

    fn check_depth(&self, depth: usize, path: &str) -> Result<(), RemoteError> {
        match depth {
            0..=MAX_DEPTH => Ok(()),
            _ => Err(RemoteError::BadTree { path: path.into(), why: "it lies in more than 64 folders" }),
        }
    }

    fn count_file(&mut self, path: &str) -> Result<(), RemoteError> {
        self.files += 1;
        match self.files {
            0..=MAX_FILES => Ok(()),
            _ => Err(RemoteError::BadTree { path: path.into(), why: "there are more than 100,000 files" }),
        }
    }
}

/// The name, if it is one of a file in its folder.
fn plain_name(name: &str) -> Result<&str, RemoteError> {
    match name {
        "" | "." | ".." => Err(RemoteError::BadTree { path: name.into(), why: "that is no file name" }),
        name if name.contains(['/', '\0']) => {
            Err(RemoteError::BadTree { path: name.into(), why: "that is no file name" })
        }
        name => Ok(name),
    }
}

fn file_error(action: &'static str, path: &Path, source: std::io::Error) -> RemoteError {
    RemoteError::File { action, path: PathBuf::from(path), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_of_the_folder_are_refused() {
        for name in ["", ".", "..", "/etc/passwd", "../up", "a/b", "a\0"] {
            assert!(matches!(plain_name(name), Err(RemoteError::BadTree { .. })), "{name:?}");
        }
        for name in ["a", "...", "..a", "a b", "é"] {
            assert!(plain_name(name).is_ok(), "{name:?}");
        }
    }
}
