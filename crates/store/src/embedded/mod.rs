//! The store of one machine: SQLite for records, files for what was uploaded.
//!
//! One server at a time: `DATA/lock` is held as long as an [`Embedded`] lives, and goes with the process that held it.
//! One connection behind one lock: writes are rare (deploys, secrets), reads are few (control keeps what it routes by
//! in memory), and so nothing ever waits for another connection's transaction.

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
use crate::keyfile::Note;
use crate::upload::Uploads;

use self::cipher::Cipher;
use self::database::{Database, Room};
use self::lock::Lock;

pub struct Embedded {
    data: PathBuf,
    database: Database,
    cipher: Cipher,
    uploads: Uploads,
    notes: Vec<Note>,
    /// Last: it is given back when everything else is closed.
    _lock: Lock,
}

impl Embedded {
    /// Opens the store in `data`, which is made if there is none, and clears away what a crash left in `uploads`.
    pub fn open(data: &Path) -> Result<Self, StoreError> {
        let data = std::path::absolute(data).map_err(StoreError::io("open", data))?;
        // A folder that was there keeps its mode: somebody may have chosen it.
        DirBuilder::new().recursive(true).mode(0o700).create(&data).map_err(StoreError::io("create", &data))?;
        let lock = Lock::take(&data)?;
        let apps = data.join(folders::APPS);
        fs::create_dir_all(&apps).map_err(StoreError::io("create", &apps))?;
        let database = Database::open(&data.join("hearth.db"))?;
        let (cipher, note) = secrets::unlock(&data, &database)?;
        let uploads = Uploads::open(data.join("uploads")).map_err(StoreError::io("clear", &data.join("uploads")))?;
        let no_room = (database.room() == Room::Wanted).then(|| Note::NoRoom { path: database.path().to_owned() });
        let notes = note.into_iter().chain(no_room).collect();
        Ok(Self { data, database, cipher, uploads, notes, _lock: lock })
    }

    /// The folder that this is the store of.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What the operator should hear of.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

/// Now, as it is kept.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn time(kept: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(kept).unwrap_or(0))
}
