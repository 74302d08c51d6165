//! Activations: the version that an app's bare name means and, if that version was uploaded, its
//! revision.
//!
//! Every change is kept so that it can be rolled back: the newest one is in effect, and a roll-back
//! removes it. A change is either an activation, or an upload that replaced the files of the active
//! version.
//! Invariant: the version in effect is always the current revision of that version; a roll-back
//! makes it so.

use std::time::SystemTime;

use hearth_core::{AppName, VersionName};

use crate::deployment::Revision;
use crate::error::StoreError;

/// What a bare name can point to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ActiveVersion {
    pub version: VersionName,
    /// `None`: a version in a folder of the operator, which has no revisions.
    pub revision: Option<Revision>,
}

/// A change of what a bare name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activation {
    pub app: AppName,
    pub release: ActiveVersion,
    pub at: SystemTime,
}

pub trait Activations {
    /// Lets the bare name mean this version from now on, in its current revision if it was
    /// uploaded. The caller must check that the version exists: folders of the operator are not
    /// recorded here.
    fn activate(&self, app: &AppName, version: &VersionName) -> Result<ActiveVersion, StoreError>;

    /// Undoes the last change and returns what the bare name means now. If there is nothing to
    /// return to, nothing changes and the result is `None`.
    ///
    /// For an app that was never activated, undoes the last upload if it replaced a revision of the
    /// same version.
    fn rollback(&self, app: &AppName) -> Result<Option<ActiveVersion>, StoreError>;

    /// The activation in effect.
    fn active(&self, app: &AppName) -> Result<Option<ActiveVersion>, StoreError>;

    /// The activations in effect of all apps that have one, ordered by name.
    fn activations(&self) -> Result<Vec<Activation>, StoreError>;

    /// All changes, the newest first.
    fn history(&self, app: &AppName) -> Result<Vec<Activation>, StoreError>;
}
