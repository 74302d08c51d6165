//! Files that are being written. Each is written under a temporary name in its folder and renamed
//! when it is complete: no reader ever sees half a file, and a failed write leaves the old one.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use hearth_sandbox_agent::{AgentCallId, CallFailure, FailureKind, Missing};
use nix::fcntl::OFlag;

use crate::files::{absolute, failure, open};

/// Mode of a new file where none is given.
const DEFAULT_MODE: u32 = 0o644;

#[derive(Default)]
pub struct FileWriters {
    open: HashMap<AgentCallId, PendingFile>,
}

struct PendingFile {
    file: File,
    temp_path: PathBuf,
    target: PathBuf,
    /// The path as the client gave it.
    name: String,
    is_finished: bool,
}

impl FileWriters {
    pub fn begin(
        &mut self,
        id: AgentCallId,
        path: &str,
        mode: Option<u32>,
        missing: Missing,
    ) -> Result<(), CallFailure> {
        let target = absolute(path)?;
        let failed = |error: std::io::Error| failure(path, &error);
        let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
            return Err(CallFailure { kind: FailureKind::Invalid, message: format!("{path} names no file") });
        };
        if missing == Missing::Create {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mode = match (mode, fs::symlink_metadata(&target)) {
            (_, Ok(there)) if there.is_dir() => {
                return Err(CallFailure { kind: FailureKind::Invalid, message: format!("{path}: is a folder") });
            }
            (Some(mode), _) => mode & 0o7777,
            (None, Ok(there)) if there.is_file() => there.mode() & 0o7777,
            (None, _) => DEFAULT_MODE,
        };
        let mut own_name = std::ffi::OsString::from(format!(".hearth-{id}-"));
        // Long names stay within the limit of file systems.
        own_name.push(if name.len() < 200 { name } else { "long".as_ref() });
        let temp_path = folder.join(own_name);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        let file = File::from(open(&temp_path, flags).map_err(failed)?);
        let pending =
            PendingFile { file, temp_path, target: target.clone(), name: path.to_owned(), is_finished: false };
        pending.file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
        self.open.insert(id, pending);
        Ok(())
    }

    /// Chunks of a failed write are ignored.
    pub fn chunk(&mut self, id: AgentCallId, bytes: &[u8]) -> Result<(), CallFailure> {
        let Some(write) = self.open.get_mut(&id) else { return Ok(()) };
        let written = write.file.write_all(bytes).map_err(|error| failure(&write.name, &error));
        if written.is_err() {
            self.open.remove(&id);
        }
        written
    }

    /// `None` for a write that has failed: that was reported.
    pub fn finish(&mut self, id: AgentCallId) -> Option<Result<(), CallFailure>> {
        let mut write = self.open.remove(&id)?;
        let moved = fs::rename(&write.temp_path, &write.target).map_err(|error| failure(&write.name, &error));
        write.is_finished = moved.is_ok();
        Some(moved)
    }

    pub fn cancel(&mut self, id: AgentCallId) -> Option<CallFailure> {
        let write = self.open.remove(&id)?;
        Some(CallFailure { kind: FailureKind::Cancelled, message: format!("{}: cancelled", write.name) })
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // Gone already, if the sandbox's programs removed it.
            let _ = fs::remove_file(&self.temp_path);
        }
    }
}
