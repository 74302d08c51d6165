//! An app's files for the app itself: everything below its folder, but for the files that hold its environment.
//!
//! Invariant: what is opened lies below the folder after all links are followed, and has no name of the environment's,
//! neither as it was asked for nor as it is really called, whatever is put in its place meanwhile.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use hearth_core::files::{AppFiles, FileFacts, FileRefusal, OpenedFile};
use hearth_static::Access;

use super::jail::{Found, Jail, Refusal, is_missing};

#[derive(Clone, Debug)]
pub(super) struct Files {
    jail: Arc<Jail>,
}

impl Files {
    pub fn new(jail: Arc<Jail>) -> Self {
        Self { jail }
    }

    fn find(&self, path: &str, access: Access) -> Result<Found, FileRefusal> {
        let inner = Path::new(path);
        if is_environment(inner.file_name()) {
            return Err(FileRefusal::Hidden);
        }
        let found = self.jail.find(inner, access).map_err(refusal)?;
        if is_environment(found.real.file_name()) {
            return Err(FileRefusal::Hidden);
        }
        if found.facts.is_file() { Ok(found) } else { Err(FileRefusal::NotAFile) }
    }
}

impl AppFiles for Files {
    fn look(&self, path: &str) -> Result<FileFacts, FileRefusal> {
        let facts = self.find(path, Access::Metadata)?.facts;
        Ok(FileFacts { len: facts.len(), modified: facts.modified().ok() })
    }

    fn open(&self, path: &str) -> Result<OpenedFile, FileRefusal> {
        let Found { facts, file, .. } = self.find(path, Access::Read)?;
        Ok(OpenedFile { len: facts.len(), file })
    }
}

/// `.env`, `.env.local`, `.env.production` and the like.
pub(super) fn is_environment(name: Option<&OsStr>) -> bool {
    let Some(name) = name else { return false };
    name == ".env" || name.as_encoded_bytes().starts_with(b".env.")
}

fn refusal(refusal: Refusal) -> FileRefusal {
    match refusal {
        Refusal::Outside { .. } => FileRefusal::Outside,
        Refusal::Io(error) if is_missing(&error) => FileRefusal::Missing,
        // A name that no file can have: a NUL in it.
        Refusal::Io(error) if error.kind() == std::io::ErrorKind::InvalidInput => FileRefusal::Missing,
        Refusal::Io(error) => FileRefusal::Unreadable { reason: error.to_string() },
    }
}
