//! File access of an app at run time: everything below its folder, except for environment files.
//!
//! Invariant: an opened file is below the folder with all links resolved, and neither its requested
//! nor its real name is that of an environment file, even if files are replaced meanwhile.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use hearth_core::files::{AppFiles, FileFacts, FileRefusal, OpenedFile};
use hearth_static::Access;

use super::app_root::{AppRoot, Found, Refusal, is_missing};

#[derive(Clone, Debug)]
pub(super) struct Files {
    root: Arc<AppRoot>,
}

impl Files {
    pub fn new(root: Arc<AppRoot>) -> Self {
        Self { root }
    }

    fn find(&self, path: &str, access: Access) -> Result<Found, FileRefusal> {
        let inner = Path::new(path);
        if is_environment(inner.file_name()) {
            return Err(FileRefusal::Hidden);
        }
        let found = self.root.find(inner, access).map_err(refusal)?;
        if is_environment(found.real.file_name()) {
            return Err(FileRefusal::Hidden);
        }
        if found.facts.is_file() { Ok(found) } else { Err(FileRefusal::NotAFile) }
    }
}

impl AppFiles for Files {
    fn metadata(&self, path: &str) -> Result<FileFacts, FileRefusal> {
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
        // A name with a NUL, which no file can have.
        Refusal::Io(error) if error.kind() == std::io::ErrorKind::InvalidInput => FileRefusal::Missing,
        Refusal::Io(error) => FileRefusal::Unreadable { reason: error.to_string() },
    }
}
