//! Errors of the store. The message says what the operator can do.

use std::io;
use std::path::{Path, PathBuf};

use hearth_core::{AppName, Owner, VersionName};

use crate::secret::SecretError;
use crate::token::TokenId;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    /// `holder` is a process id, if one could be read.
    #[error(
        "{} is in use by another Hearth{}: stop it, or choose another folder with --data",
        data.display(),
        holder.map(|id| format!(" (process {id})")).unwrap_or_default()
    )]
    InUse { data: PathBuf, holder: Option<u32> },
    #[error(
        "{} is damaged ({detail}): put a backup in its place, or move it away (with -wal and -shm) to start anew; \
         nothing was changed",
        path.display()
    )]
    Corrupt { path: PathBuf, detail: String },
    #[error("{} is not a database of Hearth's: move it away, or choose another folder with --data", path.display())]
    Foreign { path: PathBuf },
    #[error(
        "{} was written by a newer Hearth (schema {found}, this one knows up to {known}): use that one, or put a backup \
         from before in its place",
        path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error("{}: {source}", path.display())]
    Database { path: PathBuf, source: rusqlite::Error },

    #[error(
        "nothing can be kept in {} ({reason}): make room or give the right to write, then start the server again",
        data.display()
    )]
    Unavailable { data: PathBuf, reason: String },

    #[error("{} is empty: put back what it held, or remove it", path.display())]
    KeyEmpty { path: PathBuf },
    #[error("{} does not hold a token (printable letters, no spaces): remove it, and a new one is made", path.display())]
    AdminToken { path: PathBuf },
    #[error("{} does not hold a key (64 hexadecimal digits): put the right one back", path.display())]
    KeyMalformed { path: PathBuf },
    #[error(
        "{} is missing, and {secrets} secrets are encrypted with it: put it back from a backup; if it is lost for good, \
         run sqlite3 {} 'DELETE FROM secrets' and set them anew",
        path.display(), database.display()
    )]
    KeyMissing { path: PathBuf, database: PathBuf, secrets: u64 },
    #[error(
        "{} is not the key that the {secrets} secrets are encrypted with: put the right one back from a backup; if it is \
         lost for good, run sqlite3 {} 'DELETE FROM secrets' and set them anew",
        path.display(), database.display()
    )]
    KeyWrong { path: PathBuf, database: PathBuf, secrets: u64 },
    #[error(
        "the app {app} belongs to {owner}, not to {given}: upload it as owner={owner}, choose another name, or delete what \
         {owner} has of it first"
    )]
    OtherOwner { app: AppName, owner: Owner, given: Owner },
    #[error("the secret {name} of {app} is damaged: set it anew")]
    SecretDamaged { app: AppName, name: String },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("{app} has no secret {name}")]
    NoSecret { app: AppName, name: String },

    #[error("{app} has no token {id}")]
    NoToken { app: AppName, id: TokenId },
    #[error("{app}@{version} was never uploaded, or is deleted already")]
    NoVersion { app: AppName, version: VersionName },
    #[error(
        "{app:?} cannot be the name of an uploaded app: use letters, digits, - _ and . (not first), at most 128, or \
         @scope/name"
    )]
    AppName { app: String },
    #[error(
        "{version:?} cannot be the version of an uploaded app: use one such as 1.2.3 or 1.2.3-beta.1, at most 100 letters"
    )]
    VersionName { version: String },
    #[error("the system gives no random bytes: {0}")]
    Random(getrandom::Error),
}

impl StoreError {
    /// Whether the disk is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            Self::Database { source, .. } => source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::Unavailable { .. } => true,
            _ => false,
        }
    }

    /// Whether the folder cannot be written to: no room, read-only, or another user's.
    pub fn is_unwritable(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        use rusqlite::ErrorCode;
        match self {
            Self::Io { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | PermissionDenied)
            }
            Self::Database { source, .. } => matches!(
                source.sqlite_error_code(),
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::ReadOnly
                        | ErrorCode::CannotOpen
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::PermissionDenied
                )
            ),
            _ => false,
        }
    }

    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
