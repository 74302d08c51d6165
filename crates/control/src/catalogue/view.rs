//! Apps as the admin API shows them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Catalogue, Problem, State, Version, VersionOrigin};
use hearth_ipc::{Active, Kind};

#[derive(Clone, Debug, Serialize)]
pub(crate) struct AppView {
    name: String,
    owner: String,
    /// The active version; `None` if all are pre-releases or cannot be served.
    active: Option<String>,
    versions: Vec<VersionView>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct VersionView {
    version: String,
    active: bool,
    /// `worker` or `site`
    kind: &'static str,
    /// `served`, `installing` or `failed`
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    folder: String,
    /// `folder` or `upload`
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revisions: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    crons: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct CatalogueView {
    apps: Vec<AppView>,
    problems: Vec<Problem>,
}

impl Catalogue {
    pub(crate) fn view(&self) -> CatalogueView {
        let mut by_name: BTreeMap<&str, Vec<&Version>> = BTreeMap::new();
        for version in &self.versions {
            by_name.entry(version.spec.app.as_str()).or_default().push(version);
        }
        let apps = by_name.into_iter().filter_map(|(name, versions)| AppView::new(name, &versions)).collect();
        CatalogueView { apps, problems: self.problems.clone() }
    }

    pub(crate) fn view_of(&self, name: &str) -> Option<AppView> {
        AppView::new(name, &self.of_app(name).collect::<Vec<_>>())
    }
}

impl AppView {
    fn new(name: &str, versions: &[&Version]) -> Option<Self> {
        let active = versions.iter().find(|version| version.spec.active == Active::Yes);
        let shown = active.or(versions.first())?;
        Some(Self {
            name: name.to_owned(),
            owner: shown.spec.owner.to_string(),
            active: active.map(|version| version.spec.version.to_string()),
            versions: versions.iter().map(|version| VersionView::new(version)).collect(),
        })
    }
}

impl VersionView {
    fn new(version: &Version) -> Self {
        let spec = &version.spec;
        let (source, revision, revisions) = match version.origin {
            VersionOrigin::Served => ("folder", None, None),
            VersionOrigin::Uploaded { revision, revisions } => ("upload", Some(revision), Some(revisions)),
        };
        Self {
            version: spec.version.to_string(),
            active: spec.active == Active::Yes,
            kind: match spec.kind {
                Kind::Worker { .. } => "worker",
                Kind::Site { .. } => "site",
            },
            state: match version.state {
                State::Served => "served",
                State::Installing => "installing",
                State::Failed(_) => "failed",
            },
            error: match &version.state {
                State::Failed(message) => Some(message.clone()),
                State::Served | State::Installing => None,
            },
            warnings: version.warnings.clone(),
            folder: spec.folder.display().to_string(),
            source,
            revision,
            revisions,
            hosts: spec.hosts.clone(),
            crons: spec.settings.crons.iter().map(ToString::to_string).collect(),
        }
    }
}
