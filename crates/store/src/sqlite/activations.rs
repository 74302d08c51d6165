//! Activations as rows that a change inserts and a roll-back deletes.

use hearth_core::{AppName, VersionName};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::activation::{Activation, Activations, ActiveVersion};
use crate::deployment::Revision;
use crate::error::StoreError;

use super::database::Fault;
use super::{SqliteStore, now, time};

/// The number of changes per app that can be undone; older ones are deleted.
const MAX_CHANGES: i64 = 50;

impl Activations for SqliteStore {
    fn activate(&self, app: &AppName, version: &VersionName) -> Result<ActiveVersion, StoreError> {
        self.database.write(|db| {
            let release = ActiveVersion { version: version.clone(), revision: current(db, app, version)? };
            point(db, app, &release)?;
            Ok(release)
        })
    }

    fn rollback(&self, app: &AppName) -> Result<Option<ActiveVersion>, StoreError> {
        self.database.write(|db| match active(db, app)? {
            Some(release) => undo_activation(db, app, &release),
            None => undo_upload(db, app),
        })
    }

    fn active(&self, app: &AppName) -> Result<Option<ActiveVersion>, StoreError> {
        self.database.read(|db| active(db, app))
    }

    fn activations(&self) -> Result<Vec<Activation>, StoreError> {
        self.database.read(|db| {
            let sql = "SELECT app, version, revision, at FROM activations
                WHERE id IN (SELECT max(id) FROM activations GROUP BY app) ORDER BY app";
            Ok(db.prepare(sql)?.query_map([], activation)?.collect::<Result<_, _>>()?)
        })
    }

    fn history(&self, app: &AppName) -> Result<Vec<Activation>, StoreError> {
        self.database.read(|db| {
            let sql = "SELECT app, version, revision, at FROM activations WHERE app = ? ORDER BY id DESC";
            Ok(db.prepare(sql)?.query_map([app.as_str()], activation)?.collect::<Result<_, _>>()?)
        })
    }
}

pub(super) fn active(db: &Connection, app: &AppName) -> Result<Option<ActiveVersion>, Fault> {
    let sql = "SELECT app, version, revision, at FROM activations WHERE app = ? ORDER BY id DESC LIMIT 1";
    let newest = db.query_row(sql, [app.as_str()], activation).optional()?;
    Ok(newest.map(|activation| activation.release))
}

/// Inserts a change unless it repeats the one in effect.
pub(super) fn point(db: &Connection, app: &AppName, release: &ActiveVersion) -> Result<(), Fault> {
    if active(db, app)?.as_ref() == Some(release) {
        return Ok(());
    }
    let revision = release.revision.map(number);
    db.execute(
        "INSERT INTO activations (app, version, revision, at) VALUES (?, ?, ?, ?)",
        params![app.as_str(), release.version.as_str(), revision, now()],
    )?;
    db.execute(
        "DELETE FROM activations WHERE app = ?1 AND id NOT IN
            (SELECT id FROM activations WHERE app = ?1 ORDER BY id DESC LIMIT ?2)",
        params![app.as_str(), MAX_CHANGES],
    )?;
    Ok(())
}

/// The current revision of an uploaded version.
pub(super) fn current(db: &Connection, app: &AppName, version: &VersionName) -> Result<Option<Revision>, Fault> {
    let sql = "SELECT current FROM versions WHERE app = ? AND version = ?";
    let current = db.query_row(sql, [app.as_str(), version.as_str()], |row| row.get::<_, Option<i64>>(0)).optional()?;
    Ok(current.flatten().map(revision))
}

pub(super) fn set_current(
    db: &Connection,
    app: &AppName,
    version: &VersionName,
    current: Revision,
) -> Result<(), Fault> {
    db.execute(
        "UPDATE versions SET current = ? WHERE app = ? AND version = ?",
        params![number(current), app.as_str(), version.as_str()],
    )?;
    Ok(())
}

/// Deletes the newest change, and then changes that repeat the new top: a deletion of a version can
/// leave such rows.
fn undo_activation(db: &Connection, app: &AppName, from: &ActiveVersion) -> Result<Option<ActiveVersion>, Fault> {
    let sql = "SELECT id, version, revision FROM activations WHERE app = ?
            AND (version <> ? OR revision IS NOT ?) ORDER BY id DESC LIMIT 1";
    let before = db
        .query_row(sql, params![app.as_str(), from.version.as_str(), from.revision.map(number)], |row| {
            Ok((row.get::<_, i64>(0)?, release(row, 1)?))
        })
        .optional()?;
    let Some((id, to)) = before else { return Ok(None) };
    db.execute("DELETE FROM activations WHERE app = ? AND id > ?", params![app.as_str(), id])?;
    if let Some(revision) = to.revision {
        set_current(db, app, &to.version, revision)?;
    }
    Ok(Some(to))
}

/// For an app that was never activated: returns to the previous revision of the version that was
/// uploaded last.
fn undo_upload(db: &Connection, app: &AppName) -> Result<Option<ActiveVersion>, Fault> {
    let sql = "SELECT version FROM deployments WHERE app = ? ORDER BY id DESC LIMIT 1";
    let last = db.query_row(sql, [app.as_str()], |row| row.get::<_, String>(0)).optional()?;
    let Some(version) = last.map(VersionName::new) else { return Ok(None) };
    // The revision that it replaced may be gone by now.
    let sql = "SELECT old.revision FROM versions v
        JOIN deployments new ON new.app = v.app AND new.version = v.version AND new.revision = v.current
        JOIN deployments old ON old.app = v.app AND old.version = v.version AND old.revision = new.replaced
        WHERE v.app = ? AND v.version = ?";
    let before = db.query_row(sql, [app.as_str(), version.as_str()], |row| row.get::<_, i64>(0)).optional()?;
    let Some(before) = before.map(revision) else { return Ok(None) };
    set_current(db, app, &version, before)?;
    Ok(Some(ActiveVersion { version, revision: Some(before) }))
}

fn activation(row: &Row<'_>) -> rusqlite::Result<Activation> {
    Ok(Activation { app: AppName::new(row.get::<_, String>(0)?), release: release(row, 1)?, at: time(row.get(3)?) })
}

/// From the column of the version and, after it, that of the revision.
fn release(row: &Row<'_>, at: usize) -> rusqlite::Result<ActiveVersion> {
    let version = VersionName::new(row.get::<_, String>(at)?);
    Ok(ActiveVersion { version, revision: row.get::<_, Option<i64>>(at + 1)?.map(revision) })
}

pub(super) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

pub(super) fn revision(kept: i64) -> Revision {
    Revision(u64::try_from(kept).unwrap_or(0))
}
