//! Uploaded versions: publishing, listing, deletion.
//!
//! Publishing: first the files are made durable; then, in one transaction, the next number is
//! taken, the folder is moved to its place, and the records are written. A crash before the commit
//! leaves a folder without a record, which is not served; the next upload of that version or the
//! next sweep removes it.

use std::fs;
use std::path::{Path, PathBuf};

use hearth_core::{AppName, ByteSize, Owner, VersionName};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::activation::ActiveVersion;
use crate::deployment::{Deleted, Deployment, Deployments, NewDeployment, Revision, RevisionState, UploadHash};
use crate::error::StoreError;
use crate::upload::{Unpacked, Uploads, sync_folder, sync_tree};

use super::activations::{active, current, number, point, revision};
use super::database::Fault;
use super::{SqliteStore, folders, now, time};

/// Revisions per version, including the current one. The revision that the last upload replaced is
/// kept in addition: after a roll-back it need not be among the newest.
const MAX_REVISIONS: i64 = 5;

const COLUMNS: &str =
    "SELECT app, version, revision, owner, hash, folder, size, files, created_at, revision IS v.current
    FROM deployments JOIN versions v USING (app, version)";

impl Deployments for SqliteStore {
    fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    fn publish(&self, unpacked: Unpacked, new: NewDeployment) -> Result<Deployment, StoreError> {
        folders::check(&new.app, &new.version)?;
        sync_tree(unpacked.folder()).map_err(StoreError::io("write", unpacked.folder()))?;
        let deployment = self.database.write(|db| {
            check_owner(db, &new)?;
            let revision = next_revision(db, &new)?;
            let folder = folders::revision_folder(&new.app, &new.version, revision);
            self.move_to_final_folder(&unpacked, &folder)?;
            record(db, &new, &unpacked, revision, &folder)
        })?;
        Ok(deployment)
    }

    fn owner(&self, app: &AppName) -> Result<Option<Owner>, StoreError> {
        self.database.read(|db| Ok(owners(db, app)?.into_iter().next()))
    }

    fn deployments(&self) -> Result<Vec<Deployment>, StoreError> {
        self.database.read(|db| {
            let mut all = db.prepare(&format!("{COLUMNS} ORDER BY app, version, revision"))?;
            Ok(all.query_map([], deployment)?.collect::<Result<_, _>>()?)
        })
    }

    fn revisions(&self, app: &AppName, version: &VersionName) -> Result<Vec<Deployment>, StoreError> {
        self.database.read(|db| revisions(db, app, version))
    }

    fn delete_version(&self, app: &AppName, version: &VersionName) -> Result<Deleted, StoreError> {
        self.database.write(|db| {
            let gone = revisions(db, app, version)?;
            if gone.is_empty() {
                return Err(StoreError::NoVersion { app: app.clone(), version: version.clone() }.into());
            }
            let key = [app.as_str(), version.as_str()];
            db.execute("DELETE FROM deployments WHERE app = ? AND version = ?", key)?;
            db.execute("UPDATE versions SET current = NULL WHERE app = ? AND version = ?", key)?;
            db.execute("DELETE FROM activations WHERE app = ? AND version = ?", key)?;
            Ok(Deleted { revisions: gone, active: settle_active(db, app)? })
        })
    }

    fn sweep_folders(&self, in_use: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError> {
        let apps = self.data.join(folders::APPS);
        // In a transaction, so that nothing is published between the query and its result.
        let gone = self.database.write(|db| {
            let mut kept = Vec::new();
            let mut all = db.prepare("SELECT folder FROM deployments")?;
            for folder in all.query_map([], |row| row.get::<_, String>(0))? {
                kept.push(PathBuf::from(folder?));
            }
            let keeps = |name: Option<&std::ffi::OsStr>| kept.iter().chain(in_use).any(|used| used.file_name() == name);
            let mut gone = Vec::new();
            for entry in fs::read_dir(&apps).map_err(StoreError::io("read", &apps))? {
                let path = entry.map_err(StoreError::io("read", &apps))?.path();
                if !keeps(path.file_name()) {
                    gone.push(self.uploads.discard(&path).map_err(StoreError::io("remove", &path))?);
                }
            }
            Ok(gone)
        })?;
        // Outside of the transaction, since large folders take time. A folder that cannot be
        // removed is tried again at the next start.
        Ok(gone.into_iter().map(|folder| Path::new(folders::APPS).join(folder.clear())).collect())
    }

    fn path(&self, folder: &Path) -> PathBuf {
        self.data.join(folder)
    }
}

impl SqliteStore {
    /// Moves an unpacked upload to its final place.
    fn move_to_final_folder(&self, unpacked: &Unpacked, folder: &Path) -> Result<(), StoreError> {
        let target = self.data.join(folder);
        if fs::symlink_metadata(&target).is_ok() {
            // The number was free, so this folder is a crash's leftover.
            fs::remove_dir_all(&target).map_err(StoreError::io("remove", &target))?;
        }
        fs::rename(unpacked.folder(), &target).map_err(StoreError::io("create", &target))?;
        let apps = self.data.join(folders::APPS);
        sync_folder(&apps).map_err(StoreError::io("write", &apps))
    }
}

/// An app's name, with its secrets, belongs to its first owner until all its uploads are deleted.
fn check_owner(db: &Connection, new: &NewDeployment) -> Result<(), Fault> {
    match owners(db, &new.app)?.into_iter().find(|owner| *owner != new.owner) {
        Some(owner) => Err(StoreError::OtherOwner { app: new.app.clone(), owner, given: new.owner.clone() }.into()),
        None => Ok(()),
    }
}

fn owners(db: &Connection, app: &AppName) -> Result<Vec<Owner>, rusqlite::Error> {
    let mut owners = db.prepare("SELECT DISTINCT owner FROM deployments WHERE app = ? ORDER BY owner")?;
    let owners = owners.query_map([app.as_str()], |row| row.get::<_, String>(0))?;
    owners.map(|owner| owner.map(Owner::new)).collect()
}

fn next_revision(db: &Connection, new: &NewDeployment) -> Result<Revision, Fault> {
    let sql = "SELECT last_revision FROM versions WHERE app = ? AND version = ?";
    let last = db.query_row(sql, [new.app.as_str(), new.version.as_str()], |row| row.get::<_, i64>(0)).optional()?;
    Ok(revision(last.unwrap_or(0) + 1))
}

fn record(
    db: &Connection,
    new: &NewDeployment,
    unpacked: &Unpacked,
    revision: Revision,
    folder: &Path,
) -> Result<Deployment, Fault> {
    let (app, version) = (new.app.as_str(), new.version.as_str());
    let created_at = now();
    let replaced = current(db, &new.app, &new.version)?;
    db.execute(
        "INSERT INTO versions (app, version, last_revision, current) VALUES (?1, ?2, ?3, ?3)
            ON CONFLICT DO UPDATE SET last_revision = ?3, current = ?3",
        params![app, version, number(revision)],
    )?;
    db.execute(
        "INSERT INTO deployments (app, version, revision, owner, hash, folder, size, files, replaced, created_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        params![
            app,
            version,
            number(revision),
            new.owner.as_str(),
            unpacked.hash().0,
            folder.to_str().expect("names are checked, and ASCII"),
            i64::try_from(unpacked.size().bytes()).unwrap_or(i64::MAX),
            i64::try_from(unpacked.files()).unwrap_or(i64::MAX),
            replaced.map(number),
            created_at,
        ],
    )?;
    if active(db, &new.app)?.is_some_and(|release| release.version == new.version) {
        point(db, &new.app, &ActiveVersion { version: new.version.clone(), revision: Some(revision) })?;
    }
    prune(db, new, replaced)?;
    Ok(Deployment {
        app: new.app.clone(),
        version: new.version.clone(),
        revision,
        owner: new.owner.clone(),
        hash: unpacked.hash(),
        folder: folder.to_owned(),
        size: unpacked.size(),
        files: unpacked.files(),
        created_at: time(created_at),
        state: RevisionState::Current,
    })
}

/// Deletes the oldest revisions and the activations that point to them. The newest one is current
/// at this moment, so the current one is never among them.
fn prune(db: &Connection, new: &NewDeployment, replaced: Option<Revision>) -> Result<(), Fault> {
    let kept = "SELECT revision FROM deployments WHERE app = ?1 AND version = ?2 ORDER BY revision DESC LIMIT ?3";
    for table in ["activations", "deployments"] {
        let sql = format!(
            "DELETE FROM {table} WHERE app = ?1 AND version = ?2 AND revision NOT IN ({kept}) AND revision IS NOT ?4"
        );
        db.execute(&sql, params![new.app.as_str(), new.version.as_str(), MAX_REVISIONS, replaced.map(number)])?;
    }
    Ok(())
}

/// What the bare name means after a deletion: the newest remaining activation, with the current
/// revision of its version, which may have been uploaded since.
fn settle_active(db: &Connection, app: &AppName) -> Result<Option<ActiveVersion>, Fault> {
    let Some(left) = active(db, app)? else { return Ok(None) };
    let release = ActiveVersion { revision: current(db, app, &left.version)?, ..left };
    point(db, app, &release)?;
    Ok(Some(release))
}

fn revisions(db: &Connection, app: &AppName, version: &VersionName) -> Result<Vec<Deployment>, Fault> {
    let mut some = db.prepare(&format!("{COLUMNS} WHERE app = ? AND version = ? ORDER BY revision DESC"))?;
    Ok(some.query_map([app.as_str(), version.as_str()], deployment)?.collect::<Result<_, _>>()?)
}

fn deployment(row: &Row<'_>) -> rusqlite::Result<Deployment> {
    let count = |kept: i64| u64::try_from(kept).unwrap_or(0);
    Ok(Deployment {
        app: AppName::new(row.get::<_, String>(0)?),
        version: VersionName::new(row.get::<_, String>(1)?),
        revision: revision(row.get(2)?),
        owner: Owner::new(row.get::<_, String>(3)?),
        hash: UploadHash(row.get(4)?),
        folder: PathBuf::from(row.get::<_, String>(5)?),
        size: ByteSize(count(row.get(6)?)),
        files: count(row.get(7)?),
        created_at: time(row.get(8)?),
        state: if row.get(9)? { RevisionState::Current } else { RevisionState::Superseded },
    })
}
