//! Files that are being written. Each grows under a name of its own next to its place, and takes the place at once when it is
//! whole: nobody ever sees half a file, and a write that fails leaves what was there.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use hearth_agent::{CallId, Failure, FailureKind, Missing};
use nix::fcntl::OFlag;

use crate::files::{absolute, failure, open};

/// Of a file that was not there and whose writer does not say.
const MODE: u32 = 0o644;

#[derive(Default)]
pub struct Writes {
    open: HashMap<CallId, Unfinished>,
}

struct Unfinished {
    file: File,
    grows_at: PathBuf,
    place: PathBuf,
    /// As the client wrote it.
    name: String,
    is_finished: bool,
}

impl Writes {
    pub fn begin(&mut self, id: CallId, path: &str, mode: Option<u32>, missing: Missing) -> Result<(), Failure> {
        let place = absolute(path)?;
        let failed = |error: std::io::Error| failure(path, &error);
        let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
            return Err(Failure { kind: FailureKind::Invalid, message: format!("{path} names no file") });
        };
        if missing == Missing::Create {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mode = match (mode, fs::symlink_metadata(&place)) {
            (_, Ok(there)) if there.is_dir() => {
                return Err(Failure { kind: FailureKind::Invalid, message: format!("{path}: is a folder") });
            }
            (Some(mode), _) => mode & 0o7777,
            (None, Ok(there)) if there.is_file() => there.mode() & 0o7777,
            (None, _) => MODE,
        };
        let mut own_name = std::ffi::OsString::from(format!(".hearth-{id}-"));
        // Long names stay within what a file system takes.
        own_name.push(if name.len() < 200 { name } else { "long".as_ref() });
        let grows_at = folder.join(own_name);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        let file = File::from(open(&grows_at, flags).map_err(failed)?);
        let unfinished = Unfinished { file, grows_at, place: place.clone(), name: path.to_owned(), is_finished: false };
        unfinished.file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
        self.open.insert(id, unfinished);
        Ok(())
    }

    /// Of a write that has failed, nothing.
    pub fn chunk(&mut self, id: CallId, bytes: &[u8]) -> Result<(), Failure> {
        let Some(write) = self.open.get_mut(&id) else { return Ok(()) };
        let written = write.file.write_all(bytes).map_err(|error| failure(&write.name, &error));
        if written.is_err() {
            self.open.remove(&id);
        }
        written
    }

    /// `None` of a write that has failed: that was told.
    pub fn finish(&mut self, id: CallId) -> Option<Result<(), Failure>> {
        let mut write = self.open.remove(&id)?;
        let moved = fs::rename(&write.grows_at, &write.place).map_err(|error| failure(&write.name, &error));
        write.is_finished = moved.is_ok();
        Some(moved)
    }

    pub fn cancel(&mut self, id: CallId) -> Option<Failure> {
        let write = self.open.remove(&id)?;
        Some(Failure { kind: FailureKind::Cancelled, message: format!("{}: cancelled", write.name) })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_finished {
            // Gone already, if the sandbox's programs removed it.
            let _ = fs::remove_file(&self.grows_at);
        }
    }
}
