//! The catalogue: versions that cells can serve, from folders and uploads.
//!
//! ```text
//! served folders ─ discovery ─┐
//!                             ├─ app_source.rs: manifest, .env, entry ─ assemble.rs: active versions ─> Catalogue
//! uploads ────────── store ───┘
//! ```
//! An app that cannot be served is listed as a problem; the others are served all the same.

mod active;
mod app_source;
mod assemble;
mod view;

use std::collections::HashMap;
use std::path::PathBuf;

use hearth_core::{AppName, VersionName};
use hearth_ipc::{Active, Placement, VersionSpec};

pub(crate) use active::Conflicts;
pub(crate) use app_source::{ReadError, read_app};
pub(crate) use assemble::{Sources, assemble};

/// All that is served, and all that is not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) versions: Vec<Version>,
    pub(crate) problems: Vec<Problem>,
    /// Versions that were activated explicitly.
    pub(crate) activated: HashMap<AppName, VersionName>,
    /// Versions of folders that cannot be read now, as they were before.
    hidden: Vec<Version>,
}

/// A version of an app, from a folder or an upload.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) spec: VersionSpec,
    pub(crate) origin: VersionOrigin,
    /// Where it was found; may be a link to its folder.
    pub(crate) path: PathBuf,
    pub(crate) state: State,
    pub(crate) warnings: Vec<String>,
    /// What is served in its place while it is being installed.
    pub(crate) served_meanwhile: Option<VersionSpec>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VersionOrigin {
    Served,
    Uploaded { revision: u64, revisions: usize },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Served,
    /// Its dependencies are being installed: it is not served yet.
    Installing,
    /// The reason why it cannot be served.
    Failed(String),
}

/// Something that looks like an app and cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Problem {
    /// The app's name, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) app: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) message: String,
}

impl Catalogue {
    /// The versions that are sent to cells, those that are being installed included.
    pub(crate) fn specs(&self) -> Vec<VersionSpec> {
        self.versions.iter().filter_map(Version::spec_for_cells).collect()
    }

    pub(crate) fn of_app<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Version> + use<'a> {
        let name = name.to_owned();
        self.versions.iter().filter(move |version| version.spec.app.as_str() == name)
    }

    /// The version that the bare name resolves to.
    pub(crate) fn active(&self, name: &str) -> Option<&Version> {
        self.of_app(name).find(|version| version.spec.active == Active::Yes)
    }

    pub(crate) fn find(&self, app: &AppName, version: &VersionName) -> Option<&Version> {
        self.versions.iter().find(|one| one.spec.app == *app && one.spec.version == *version)
    }

    /// All versions by name, for many lookups.
    pub(crate) fn index(&self) -> HashMap<(&AppName, &VersionName), &Version> {
        self.versions.iter().map(|version| ((&version.spec.app, &version.spec.version), version)).collect()
    }

    pub(crate) fn find_mut(&mut self, app: &AppName, version: &VersionName) -> Option<&mut Version> {
        self.versions.iter_mut().find(|one| one.spec.app == *app && one.spec.version == *version)
    }

    /// Serves versions that cannot be read now as before: a missing permission, or too few file descriptors, does not mean
    /// that they were removed.
    fn keep_hidden(&mut self) {
        for version in self.hidden.clone() {
            let VersionSpec { app, version: name, .. } = &version.spec;
            self.versions.retain(|other| other.spec.app != *app || other.spec.version != *name);
            self.versions.push(version);
        }
    }

    /// Whether something could not be read.
    pub(crate) fn is_partial(&self) -> bool {
        !self.hidden.is_empty()
    }

    pub(crate) fn app_count(&self) -> usize {
        let mut names: Vec<&AppName> = self.versions.iter().map(|version| &version.spec.app).collect();
        names.sort();
        names.dedup();
        names.len()
    }

    /// Number of apps and versions that cannot be served.
    pub(crate) fn problem_count(&self) -> usize {
        let failed = self.versions.iter().filter(|version| matches!(version.state, State::Failed(_))).count();
        self.problems.len() + failed
    }
}

impl Version {
    /// The spec that is served under its name, if any.
    pub(crate) fn served(&self) -> Option<&VersionSpec> {
        match self.state {
            State::Served => Some(&self.spec),
            State::Installing => self.served_meanwhile.as_ref(),
            State::Failed(_) => None,
        }
    }

    /// The spec that is sent to cells.
    fn spec_for_cells(&self) -> Option<VersionSpec> {
        match (self.served(), &self.state) {
            (Some(spec), _) => Some(spec.clone()),
            // The content of its folder changes all the time, so it has no identity.
            (None, State::Installing) => {
                Some(VersionSpec { placement: Placement::Installing, identity: String::new(), ..self.spec.clone() })
            }
            (None, _) => None,
        }
    }

    fn set_active(&mut self, active: Active) {
        self.spec.active = active;
        if let Some(spec) = &mut self.served_meanwhile {
            spec.active = active;
        }
    }
}
