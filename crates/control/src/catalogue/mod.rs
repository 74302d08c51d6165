//! From folders and uploads to versions that a cell can serve.
//!
//! ```text
//! served folders ─ discovery ─┐
//!                             ├─ reading.rs: manifest, .env, entry ─ assemble.rs: who is active ─> Catalogue
//! uploads ────────── store ───┘
//! ```
//! Nothing here fails as a whole: an app that cannot be served is a problem beside those that can.

mod active;
mod assemble;
mod reading;
mod view;

use std::collections::HashMap;
use std::path::PathBuf;

use hearth_core::{AppName, VersionName};
use hearth_ipc::{Active, Placement, VersionSpec};

pub(crate) use active::Conflicts;
pub(crate) use assemble::{Sources, assemble};
pub(crate) use reading::{ReadError, read};

/// All that is served, and all that is not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) versions: Vec<Version>,
    pub(crate) problems: Vec<Problem>,
    /// What somebody said that a bare name means.
    pub(crate) activated: HashMap<AppName, VersionName>,
    /// Versions that lie where nothing can be read now, as they were before.
    hidden: Vec<Version>,
}

/// A version of an app, however it came here.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) spec: VersionSpec,
    pub(crate) provenance: Provenance,
    /// Where it was found: a link to its folder, perhaps.
    pub(crate) path: PathBuf,
    pub(crate) state: State,
    pub(crate) warnings: Vec<String>,
    /// What is served in its place while it is being installed.
    pub(crate) stand_in: Option<VersionSpec>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Provenance {
    Served,
    Uploaded { revision: u64, revisions: usize },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Served,
    /// Its dependencies are being installed: it is not served yet.
    Installing,
    /// It cannot be served, and why.
    Failed(String),
}

/// Something that looks like an app and is none that can be served.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Problem {
    /// The app's name, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) app: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) message: String,
}

impl Catalogue {
    /// What cells are told to serve, or to say of that it comes.
    pub(crate) fn specs(&self) -> Vec<VersionSpec> {
        self.versions.iter().filter_map(Version::told).collect()
    }

    pub(crate) fn of_app<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Version> + use<'a> {
        let name = name.to_owned();
        self.versions.iter().filter(move |version| version.spec.app.as_str() == name)
    }

    /// What the bare name means.
    pub(crate) fn active(&self, name: &str) -> Option<&Version> {
        self.of_app(name).find(|version| version.spec.active == Active::Yes)
    }

    pub(crate) fn find(&self, app: &AppName, version: &VersionName) -> Option<&Version> {
        self.versions.iter().find(|one| one.spec.app == *app && one.spec.version == *version)
    }

    /// All versions by name, for who looks up many.
    pub(crate) fn index(&self) -> HashMap<(&AppName, &VersionName), &Version> {
        self.versions.iter().map(|version| ((&version.spec.app, &version.spec.version), version)).collect()
    }

    pub(crate) fn find_mut(&mut self, app: &AppName, version: &VersionName) -> Option<&mut Version> {
        self.versions.iter_mut().find(|one| one.spec.app == *app && one.spec.version == *version)
    }

    /// Versions that cannot be read now are served as they were: no right to look, or no descriptor left, says nothing about
    /// what is there.
    fn keep_hidden(&mut self) {
        for version in self.hidden.clone() {
            let VersionSpec { app, version: name, .. } = &version.spec;
            self.versions.retain(|other| other.spec.app != *app || other.spec.version != *name);
            self.versions.push(version);
        }
    }

    /// Whether a part of what is there could not be read.
    pub(crate) fn is_partial(&self) -> bool {
        !self.hidden.is_empty()
    }

    pub(crate) fn app_count(&self) -> usize {
        let mut names: Vec<&AppName> = self.versions.iter().map(|version| &version.spec.app).collect();
        names.sort();
        names.dedup();
        names.len()
    }

    /// How much cannot be served.
    pub(crate) fn problem_count(&self) -> usize {
        let failed = self.versions.iter().filter(|version| matches!(version.state, State::Failed(_))).count();
        self.problems.len() + failed
    }
}

impl Version {
    /// What is served under its name, if anything is.
    pub(crate) fn served(&self) -> Option<&VersionSpec> {
        match self.state {
            State::Served => Some(&self.spec),
            State::Installing => self.stand_in.as_ref(),
            State::Failed(_) => None,
        }
    }

    /// What cells are told of it.
    fn told(&self) -> Option<VersionSpec> {
        match (self.served(), &self.state) {
            (Some(spec), _) => Some(spec.clone()),
            // Whatever is in its folder changes all the time.
            (None, State::Installing) => {
                Some(VersionSpec { placement: Placement::Installing, identity: String::new(), ..self.spec.clone() })
            }
            (None, _) => None,
        }
    }

    fn set_active(&mut self, active: Active) {
        self.spec.active = active;
        if let Some(stand_in) = &mut self.stand_in {
            stand_in.active = active;
        }
    }
}
