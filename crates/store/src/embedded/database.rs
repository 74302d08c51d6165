//! `DATA/hearth.db`: opened, recognised, brought to today's schema.
//!
//! WAL with `synchronous = FULL`: what was answered with "done" is there after a power cut. The cheaper NORMAL would
//! lose the last transactions then, and a deploy or a roll-back that is undone by itself costs more than the one
//! `fsync` that it takes; there are too few writes for more.
//!
//! Invariant: a file that is not ours, not whole or from the future is left as it is. The check of `application_id`,
//! `user_version` and `quick_check` comes before the first statement that writes.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::error::StoreError;

/// "HRTH": marks the file as ours.
const APPLICATION: i64 = 0x4852_5448;

/// Each brings the schema to the next number; the first makes it. Never changed after a release, only added to.
const MIGRATIONS: [&str; 2] = [include_str!("schema/1.sql"), include_str!("schema/2.sql")];

const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Others may look into the file with tools of their own.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Database {
    path: PathBuf,
    connection: Mutex<Connection>,
    room: Room,
}

/// Whether the disk had room for what SQLite needs beside the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    There,
    Wanted,
}

/// Whether tools of others may look into the file meanwhile. That takes a file of its own, for the index of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    WithOthers,
    Alone,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        // Its owner's alone from the first moment; SQLite gives the files that it makes beside it the same mode. What fails
        // here fails below too, with a better word for it.
        let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let failed = |error| match error {
            Fault::Store(error) => error,
            Fault::Sqlite(error) => explain(path, error),
        };
        let (connection, room) = match open(path, Sharing::WithOthers) {
            Ok(connection) => (connection, Room::There),
            // On a full disk there is no memory to share, but what is kept can be read.
            Err(Fault::Sqlite(error)) if is_want_of_room(&error) => {
                let connection = open(path, Sharing::Alone).map_err(|_| failed(error.into()))?;
                (connection, Room::Wanted)
            }
            Err(error) => return Err(failed(error)),
        };
        keep_private(path).map_err(StoreError::io("open", path))?;
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection), room })
    }

    pub(super) fn room(&self) -> Room {
        self.room
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read<T>(&self, f: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, StoreError> {
        f(&self.lock()).map_err(|fault| self.explain(fault))
    }

    /// All of what `f` does is kept when this returns `Ok`, and nothing of it otherwise.
    pub(super) fn write<T>(&self, f: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        let mut connection = self.lock();
        let done = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(Fault::Sqlite)
            .and_then(|transaction| {
                let value = f(&transaction)?;
                transaction.commit()?;
                Ok(value)
            });
        done.map_err(|fault| self.explain(fault))
    }

    fn explain(&self, fault: Fault) -> StoreError {
        match fault {
            Fault::Store(error) => error,
            Fault::Sqlite(error) => explain(&self.path, error),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A transaction that a panic went through was rolled back as it was dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What can go wrong inside a transaction: SQLite's own errors get their path further out.
#[derive(Debug)]
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn explain(path: &Path, error: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { path, detail: error.to_string() }
        }
        _ => StoreError::Database { path, source: error },
    }
}

/// A file from before that was not: now it is known to be ours.
fn keep_private(path: &Path) -> io::Result<()> {
    for end in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(end);
        match std::fs::set_permissions(&file, Permissions::from_mode(0o600)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn is_want_of_room(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure | ErrorCode::CannotOpen))
}

fn open(path: &Path, sharing: Sharing) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    if sharing == Sharing::Alone {
        // Said before the file is first looked at, it keeps the index of the log in the process's own memory.
        connection.pragma_update(None, "locking_mode", "exclusive")?;
    }
    let version = recognise(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    migrate(&mut connection, version)?;
    Ok(connection)
}

/// The schema that the file has; 0 for one that is still empty.
fn recognise(connection: &Connection, path: &Path) -> Result<i64, Fault> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let application = number("application_id")?;
    let version = number("user_version")?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 && application == 0 && version == 0 {
        return Ok(0);
    }
    let path = path.to_owned();
    if application != APPLICATION || version < 1 {
        return Err(StoreError::Foreign { path }.into());
    }
    if version > KNOWN {
        return Err(StoreError::Newer { path, found: version, known: KNOWN }.into());
    }
    let detail: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if detail != "ok" {
        return Err(StoreError::Corrupt { path, detail }.into());
    }
    Ok(version)
}

fn migrate(connection: &mut Connection, from: i64) -> Result<(), Fault> {
    for (step, sql) in (1..).zip(MIGRATIONS) {
        if step <= from {
            continue;
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", step)?;
        transaction.commit()?;
    }
    Ok(())
}
