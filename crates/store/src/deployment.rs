//! Uploaded versions. Uploading a version again makes a new revision. One revision of a version is
//! current; the others are kept for a roll-back: the newest five in total, and the one that the
//! last upload replaced.
//!
//! Folders are removed after their records, never before: a revision that is pruned or deleted
//! loses its record at once, and its folder when [`Deployments::sweep_folders`] learns that it is
//! no longer in use. Revision numbers, and so folders, are never reused.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hearth_core::{AppName, ByteSize, Owner, VersionName};

use crate::activation::ActiveVersion;
use crate::error::StoreError;
use crate::upload::{Unpacked, Uploads};
use hearth_core::hex;

/// Counts the uploads of one version, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// SHA-256 of all files: paths, contents and whether they are executable. Equal folders have equal
/// hashes, regardless of the archive format.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UploadHash(pub [u8; 32]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionState {
    /// Requests for the version get this revision.
    Current,
    /// Kept for a roll-back.
    Superseded,
}

/// The owner, app and version of an upload.
#[derive(Clone, Debug)]
pub struct NewDeployment {
    pub app: AppName,
    pub version: VersionName,
    pub owner: Owner,
}

/// One revision of an uploaded version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    pub app: AppName,
    pub version: VersionName,
    pub revision: Revision,
    pub owner: Owner,
    pub hash: UploadHash,
    /// Relative to DATA; [`Deployments::path`] makes it absolute.
    pub folder: PathBuf,
    pub size: ByteSize,
    pub files: u64,
    pub created_at: SystemTime,
    pub state: RevisionState,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    pub revisions: Vec<Deployment>,
    /// What the bare name means now, if an activation is left.
    pub active: Option<ActiveVersion>,
}

pub trait Deployments {
    /// The folder in which archives are received and unpacked before they are published.
    fn uploads(&self) -> &Uploads;

    /// Makes an unpacked upload the current revision of its version. The files are durable when
    /// this returns; on an error nothing has changed. It is an error if another owner has any
    /// version of the app. If the version is active, the change can be rolled back.
    fn publish(&self, unpacked: Unpacked, deployment: NewDeployment) -> Result<Deployment, StoreError>;

    /// The owner of an app's uploads.
    fn owner(&self, app: &AppName) -> Result<Option<Owner>, StoreError>;

    /// All revisions of all versions, by app, version and revision.
    fn deployments(&self) -> Result<Vec<Deployment>, StoreError>;

    /// The revisions of one version, the newest first.
    fn revisions(&self, app: &AppName, version: &VersionName) -> Result<Vec<Deployment>, StoreError>;

    /// Deletes an uploaded version with all its revisions. If it was active, the previous
    /// activation is in effect again.
    fn delete_version(&self, app: &AppName, version: &VersionName) -> Result<Deleted, StoreError>;

    /// Removes the folders of revisions that have no record, except those in use. Returns the
    /// removed folders, relative to DATA. Folders in use may be given as in [`Deployment`] or as
    /// absolute paths.
    fn sweep_folders(&self, in_use: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError>;

    /// The absolute path of a folder that is recorded relative to DATA.
    fn path(&self, folder: &Path) -> PathBuf;
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for UploadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for UploadHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UploadHash({self})")
    }
}
