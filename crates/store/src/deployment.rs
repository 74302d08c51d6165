//! Versions that were uploaded. The same version again is a new revision; one revision of a version is current, the
//! others are kept for a roll-back: the newest five in all, and the one that the last upload replaced.
//!
//! Folders go after their records, never before: a revision that is pruned or deleted loses its record at once, its
//! folder when [`Deployments::sweep_folders`] hears that nobody uses it any more. A revision's number is never used
//! again, so neither is its folder.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hearth_core::{AppName, ByteSize, Owner, VersionName};

use crate::activation::Release;
use crate::error::StoreError;
use crate::hex;
use crate::upload::{Unpacked, Uploads};

/// Counts the uploads of one version, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub u64);

/// SHA-256 of all files: their paths, what they hold and whether they can be run. Equal folders have equal hashes,
/// whatever archive they came in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 32]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// What the version means.
    Current,
    /// Kept for a roll-back.
    Superseded,
}

/// Whose upload it is and what it shall be called.
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
    pub hash: ContentHash,
    /// Relative to DATA; [`Deployments::path`] makes it whole.
    pub folder: PathBuf,
    pub size: ByteSize,
    pub files: u64,
    pub created_at: SystemTime,
    pub standing: Standing,
}

/// What a deletion did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deleted {
    pub revisions: Vec<Deployment>,
    /// What the bare name means now, if anything that was activated is left.
    pub active: Option<Release>,
}

pub trait Deployments {
    /// Where archives are received and unpacked, before they are published.
    fn uploads(&self) -> &Uploads;

    /// Makes what was unpacked the current revision of its version. It is on disk for good when this returns; on an
    /// error nothing has changed. It is an error if another owner has any version of the app. If the version is the active one, the change can be rolled back.
    fn publish(&self, unpacked: Unpacked, deployment: NewDeployment) -> Result<Deployment, StoreError>;

    /// The owner of what was uploaded of an app.
    fn owner(&self, app: &AppName) -> Result<Option<Owner>, StoreError>;

    /// All revisions of all versions, by app, version and revision.
    fn deployments(&self) -> Result<Vec<Deployment>, StoreError>;

    /// The revisions of one version, the newest first.
    fn revisions(&self, app: &AppName, version: &VersionName) -> Result<Vec<Deployment>, StoreError>;

    /// Forgets an uploaded version with all its revisions. If it was active, what was active before it is again.
    fn delete_version(&self, app: &AppName, version: &VersionName) -> Result<Deleted, StoreError>;

    /// Removes the folders of revisions that are no longer recorded, except those in use. Returns what it removed,
    /// relative to DATA. Folders in use may be given as they are in [`Deployment`] or whole.
    fn sweep_folders(&self, in_use: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError>;

    /// The whole path of a folder that is kept relative to DATA.
    fn path(&self, folder: &Path) -> PathBuf;
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}
