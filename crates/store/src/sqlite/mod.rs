//! The store of one machine: SQLite for records, files for uploads.
//!
//! One server at a time: `DATA/lock` is held while a [`SqliteStore`] lives and is released with its
//! process. There is one connection behind one mutex: writes are rare (deploys, secrets), and reads
//! are few (control keeps its routes in memory), so no connection waits for another's transaction.

mod activations;
mod cipher;
mod cordons;
mod database;
mod deployments;
mod folders;
mod lock;
mod secrets;
#[cfg(test)]
mod tests;
mod tokens;

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::StoreError;
use crate::key_file::KeyFileWarning;
use crate::upload::Uploads;

use self::cipher::Cipher;
use self::database::{Database, Room};
use self::lock::Lock;

pub struct SqliteStore {
    data: PathBuf,
    database: Database,
    cipher: Cipher,
    uploads: Uploads,
    warnings: Vec<KeyFileWarning>,
    /// Last field: released after everything else is closed.
    _lock: Lock,
}

impl SqliteStore {
    /// Opens the store in `data`, which is created if missing, and removes a crash's leftovers in
    /// `uploads`.
    pub fn open(data: &Path) -> Result<Self, StoreError> {
        let data = std::path::absolute(data).map_err(StoreError::io("open", data))?;
        // An existing folder keeps its mode, which the operator may have chosen.
        DirBuilder::new().recursive(true).mode(0o700).create(&data).map_err(StoreError::io("create", &data))?;
        let lock = Lock::acquire(&data)?;
        let apps = data.join(folders::APPS);
        fs::create_dir_all(&apps).map_err(StoreError::io("create", &apps))?;
        let database = Database::open(&data.join("hearth.db"))?;
        let (cipher, warning) = secrets::unlock(&data, &database)?;
        let uploads = Uploads::open(data.join("uploads")).map_err(StoreError::io("clear", &data.join("uploads")))?;
        let no_room =
            (database.room() == Room::Wanted).then(|| KeyFileWarning::NoRoom { path: database.path().to_owned() });
        let warnings = warning.into_iter().chain(no_room).collect();
        Ok(Self { data, database, cipher, uploads, warnings, _lock: lock })
    }

    /// The store's folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Warnings for the operator.
    pub fn warnings(&self) -> &[KeyFileWarning] {
        &self.warnings
    }
}

/// The current time as it is stored.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn time(kept: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(kept).unwrap_or(0))
}
