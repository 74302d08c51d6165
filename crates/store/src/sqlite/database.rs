//! `DATA/hearth.db`: opened, verified, and migrated to the current schema.
//!
//! WAL with `synchronous = FULL`: a change that was reported as done survives a power cut. NORMAL
//! would lose the last transactions then; a deploy or roll-back that reverts itself costs more than
//! one `fsync`, and writes are rare.
//!
//! Invariant: a file of another program, a damaged one, or one of a newer version is left
//! unchanged. `application_id`, `user_version` and `quick_check` are checked before the first
//! statement that writes.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::error::StoreError;

/// "HRTH": marks the file as Hearth's.
const APPLICATION: i64 = 0x4852_5448;

/// Each migration brings the schema to the next number; the first creates it. Released migrations
/// never change; new ones are appended.
const MIGRATIONS: [&str; 2] = [include_str!("schema/1.sql"), include_str!("schema/2.sql")];

const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Other tools may open the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Database {
    path: PathBuf,
    connection: Mutex<Connection>,
    room: Room,
    /// Why nothing may be written.
    refusal: Option<Refusal>,
}

struct Refusal {
    data: PathBuf,
    reason: String,
}

/// Whether the disk had room for SQLite's files beside the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    There,
    Wanted,
}

/// Whether other tools may open the file meanwhile. This needs a file for the shared index of the
/// WAL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sharing {
    WithOthers,
    Alone,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        // Only the owner has access from the first moment; SQLite gives its other files the same
        // mode. If this fails, opening fails below, too, with a better message.
        let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let failed = |error| match error {
            Fault::Store(error) => error,
            Fault::Sqlite(error) => explain(path, error),
        };
        let (connection, room) = match open(path, Sharing::WithOthers) {
            Ok(connection) => (connection, Room::There),
            // On a full disk there is no shared index, but the records can be read.
            Err(Fault::Sqlite(error)) if is_want_of_room(&error) => {
                let connection = open(path, Sharing::Alone).map_err(|_| failed(error.into()))?;
                (connection, Room::Wanted)
            }
            Err(error) => return Err(failed(error)),
        };
        keep_private(path).map_err(StoreError::io("open", path))?;
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection), room, refusal: None })
    }

    /// An empty database in memory, for a `data` folder that cannot be written to. It refuses all writes, so that nothing
    /// is answered with "done" that the next start would not know.
    pub(super) fn unavailable(data: &Path, reason: String) -> Result<Self, StoreError> {
        let path = data.join("hearth.db");
        let open = || {
            let mut connection = Connection::open_in_memory()?;
            migrate(&mut connection, 0)?;
            Ok(connection)
        };
        let connection = open().map_err(|fault| match fault {
            Fault::Store(error) => error,
            Fault::Sqlite(error) => explain(&path, error),
        })?;
        let refusal = Some(Refusal { data: data.to_owned(), reason });
        Ok(Self { path, connection: Mutex::new(connection), room: Room::Wanted, refusal })
    }

    /// Whether anything may be written.
    pub(super) fn check_available(&self) -> Result<(), StoreError> {
        match &self.refusal {
            Some(Refusal { data, reason }) => {
                Err(StoreError::Unavailable { data: data.clone(), reason: reason.clone() })
            }
            None => Ok(()),
        }
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

    /// All changes of `f` are kept if this returns `Ok`, and none otherwise.
    pub(super) fn write<T>(&self, f: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.check_available()?;
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
        // A transaction that a panic interrupted was rolled back when it was dropped.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Errors inside a transaction; SQLite's own errors get their path in the caller.
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

/// A database that was made before the mark existed: its tables show that it is Hearth's.
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
    connection.busy_timeout(LOCK_TIMEOUT)?;
    if sharing == Sharing::Alone {
        // Set before the first access, this keeps the WAL's index in the process's own memory.
        connection.pragma_update(None, "locking_mode", "exclusive")?;
    }
    let version = recognise(&connection, path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    migrate(&mut connection, version)?;
    Ok(connection)
}

/// The schema version of the file; 0 if it is empty.
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
