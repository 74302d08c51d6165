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
use crate::random::random;
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
    /// Last field: released after everything else is closed. `None` if `data` cannot be written to.
    _lock: Option<Lock>,
}

impl SqliteStore {
    /// Opens the store in `data`, which is created if missing, and removes a crash's leftovers in
    /// `uploads`.
    ///
    /// If `data` holds no store yet and cannot be written to (no room, read-only), the store is empty and refuses
    /// changes, so that apps in folders can be served without it. A warning says so.
    pub fn open(data: &Path) -> Result<Self, StoreError> {
        let data = std::path::absolute(data).map_err(StoreError::io("open", data))?;
        match Self::open_writable(data.clone()) {
            Err(error) if error.is_unwritable() && holds_no_store(&data) => Self::unavailable(data, &error),
            opened => opened,
        }
    }

    fn unavailable(data: PathBuf, error: &StoreError) -> Result<Self, StoreError> {
        let reason = error.to_string();
        let database = Database::unavailable(&data, reason.clone())?;
        let cipher = Cipher::new(&random::<32>()?);
        let uploads = Uploads::unopened(data.join("uploads"));
        let warnings = vec![KeyFileWarning::Unavailable { data: data.clone(), reason }];
        Ok(Self { data, database, cipher, uploads, warnings, _lock: None })
    }

    fn open_writable(data: PathBuf) -> Result<Self, StoreError> {
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
        Ok(Self { data, database, cipher, uploads, warnings, _lock: Some(lock) })
    }

    /// The store's folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// An error if the store refuses changes: see [`open`](Self::open).
    pub fn check_available(&self) -> Result<(), StoreError> {
        self.database.check_available()
    }

    /// Warnings for the operator.
    pub fn warnings(&self) -> &[KeyFileWarning] {
        &self.warnings
    }
}

/// Whether `data` has never held a store. A database without tables has at most one page, and no log beside it.
fn holds_no_store(data: &Path) -> bool {
    const PAGE: u64 = 4096;
    let is_at_most = |name: &str, bytes: u64| match fs::metadata(data.join(name)) {
        Ok(file) => file.len() <= bytes,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    is_at_most("hearth.db", PAGE) && is_at_most("hearth.db-wal", 0)
}

/// The current time as it is stored.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn time(kept: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(kept).unwrap_or(0))
}
