//! What an app's bare name means: a version, and, where that version was uploaded, one revision of it.
//!
//! Each change is kept, so that it can be undone: the newest is what holds, a roll-back takes it away and what was
//! before holds again. A change is either an activation, or an upload that replaced the active version's files.
//! Invariant: what holds is always the current revision of its version; a roll-back makes it so.

use std::time::SystemTime;

use hearth_core::{AppName, VersionName};

use crate::deployment::Revision;
use crate::error::StoreError;

/// What a bare name can point to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Release {
    pub version: VersionName,
    /// None: a version in a folder that the operator serves, which has no revisions.
    pub revision: Option<Revision>,
}

/// That a name came to mean something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    pub app: AppName,
    pub release: Release,
    pub at: SystemTime,
}

pub trait Activations {
    /// From now on the bare name means this version: of an uploaded one, its current revision. Whether there is such a
    /// version is for the caller to know: folders that the operator serves are not recorded here.
    fn activate(&self, app: &AppName, version: &VersionName) -> Result<Release, StoreError>;

    /// Undoes the last change of what the bare name means and says what it means now. None, and nothing changed, when
    /// there is nothing to return to.
    ///
    /// Of an app that was never activated, the last upload is undone, if it replaced a revision of the same version.
    fn rollback(&self, app: &AppName) -> Result<Option<Release>, StoreError>;

    /// What was activated last.
    fn active(&self, app: &AppName) -> Result<Option<Release>, StoreError>;

    /// What holds, for every app that was activated, in the order of their names.
    fn activations(&self) -> Result<Vec<Activation>, StoreError>;

    /// What held and what holds, the newest first.
    fn history(&self, app: &AppName) -> Result<Vec<Activation>, StoreError>;
}
