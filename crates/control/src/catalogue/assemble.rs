//! Assembles the catalogue from served folders and uploads. Uploads rank after all served folders: the same version in a
//! served folder has precedence.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hearth_apps::discovery::{Found, Layout, discover, resolve_precedence};
use hearth_apps::fingerprint::Stamp;
use hearth_apps::versions::AppVersion;
use hearth_config::{AppOrigin, OperatorConfig};
use hearth_core::{AppName, Owner, VersionName, hex};
use hearth_ipc::{Active, Placement, VersionSpec};
use hearth_store::{
    Activations, ActiveVersion, Deployments, RevisionState, Secrets, SqliteStore, StoreError, TokenHash, Tokens,
};

use super::active::Conflicts;
use super::app_source::{AppSource, ReadError, read_app};
use super::{Catalogue, Problem, State, Version, VersionOrigin};
use crate::install::{Installer, Progress};

const SERVED_AS_BEFORE: &str = "; what was there before is served on";

/// Where versions come from.
pub(crate) struct Sources<'a> {
    pub(crate) store: &'a SqliteStore,
    pub(crate) operator: &'a OperatorConfig,
    pub(crate) roots: &'a [PathBuf],
    pub(crate) installer: &'a Installer,
    /// What was served until now.
    pub(crate) before: &'a Catalogue,
}

/// A folder, with what was read in it.
struct Candidate {
    found: Found,
    version: AppVersion,
    source: Result<AppSource, ReadError>,
    origin: VersionOrigin,
    owner: Option<Owner>,
}

/// The store's data about an app, apart from its versions.
struct StoredApp {
    active: Option<ActiveVersion>,
    secrets: Vec<(String, String)>,
    tokens: Vec<TokenHash>,
}

/// Reads everything. Fails only if the store does.
pub(crate) fn assemble(sources: &Sources<'_>) -> Result<Catalogue, StoreError> {
    let mut catalogue = Catalogue::default();
    let mut candidates = served(sources, &mut catalogue);
    candidates.extend(uploaded(sources)?);

    let (settled, collisions) =
        resolve_precedence(candidates.iter().map(|one| (one.found.clone(), one.version.clone())).collect());
    // One folder may have two names (`latest -> 1.2.3`), and one name two folders.
    let key = |one: &Candidate| (one.found.name.clone(), one.version.clone(), one.found.folder.clone());
    let mut by_key: HashMap<_, Candidate> = candidates.into_iter().map(|one| (key(&one), one)).collect();
    for problem in collisions {
        catalogue.problems.push(Problem { app: None, version: None, message: problem.to_string() });
    }
    let mut kept: HashMap<AppName, StoredApp> = HashMap::new();
    for one in settled {
        let Some(candidate) = by_key.remove(&(one.name.clone(), one.version.clone(), one.folder.clone())) else {
            continue;
        };
        let keep = match kept.entry(one.name.clone()) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(unknown) => {
                unknown.insert(StoredApp::load(sources.store, &one.name)?)
            }
        };
        let problem = match &candidate.source {
            // Messages to cells are JSON, which cannot carry it.
            Ok(_) if one.folder.to_str().is_none() => format!("the name of its folder is not UTF-8: {:?}", one.folder),
            Ok(source) => {
                catalogue.versions.push(version(&candidate, source, keep, sources));
                continue;
            }
            Err(error) if error.hides_app() => {
                let hidden = before_at(&one.folder, sources.before);
                let message = if hidden.is_empty() { error.to_string() } else { format!("{error}{SERVED_AS_BEFORE}") };
                catalogue.hidden.extend(hidden);
                message
            }
            Err(error) => error.to_string(),
        };
        let (app, version) = (Some(one.name.to_string()), Some(one.version.to_string()));
        catalogue.problems.push(Problem { app, version, message: problem });
    }
    catalogue.keep_hidden();
    let activated = |(app, kept): (AppName, StoredApp)| Some((app, kept.active?.version));
    catalogue.activated = kept.into_iter().filter_map(activated).collect();
    catalogue.mark_active(Conflicts::Report);
    Ok(catalogue)
}

/// Versions that were found below a folder that cannot be read now.
fn hidden_beneath(path: &Path, before: &Catalogue) -> Vec<Version> {
    let is_hidden = |one: &&Version| one.origin == VersionOrigin::Served && one.path.starts_with(path);
    before.versions.iter().filter(is_hidden).cloned().collect()
}

/// Versions that were read in a folder that cannot be read now.
fn before_at(folder: &Path, before: &Catalogue) -> Vec<Version> {
    before.versions.iter().filter(|one| one.spec.folder == folder).cloned().collect()
}

/// The apps in the folders that the operator serves.
fn served(sources: &Sources<'_>, catalogue: &mut Catalogue) -> Vec<Candidate> {
    let discovered = discover(sources.roots);
    for problem in discovered.problems {
        let hidden = if problem.hides_folder() { hidden_beneath(&problem.path, sources.before) } else { Vec::new() };
        let message = if hidden.is_empty() { problem.to_string() } else { format!("{problem}{SERVED_AS_BEFORE}") };
        catalogue.problems.push(Problem { app: None, version: None, message });
        catalogue.hidden.extend(hidden);
    }
    let read = |mut found: Found| {
        let source = read_app(&found.folder, &found.name, sources.operator, AppOrigin::Served);
        let stated = source.as_ref().ok().and_then(|source| source.version.as_ref());
        let stated = stated.and_then(|version| version.as_str().parse().ok());
        let version = found.version.clone().or(stated).unwrap_or(AppVersion::Latest);
        if let Ok(AppSource { name: Some(name), .. }) = &source {
            found.name = name.clone();
        }
        Candidate { found, version, source, origin: VersionOrigin::Served, owner: None }
    };
    discovered.found.into_iter().map(read).collect()
}

/// The current revision of each uploaded version.
fn uploaded(sources: &Sources<'_>) -> Result<Vec<Candidate>, StoreError> {
    let all = sources.store.deployments()?;
    let mut revisions: HashMap<(&AppName, &VersionName), usize> = HashMap::new();
    for one in &all {
        *revisions.entry((&one.app, &one.version)).or_default() += 1;
    }
    let current = all.iter().filter(|one| one.state == RevisionState::Current);
    Ok(current
        .filter_map(|one| {
            let folder = sources.store.path(&one.folder);
            let origin = AppOrigin::Uploaded { owner: Some(one.owner.clone()) };
            let source = read_app(&folder, &one.app, sources.operator, origin);
            let version: AppVersion = one.version.as_str().parse().ok()?;
            let found = Found {
                name: one.app.clone(),
                layout: Layout::Flat,
                version: Some(version.clone()),
                folder: std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone()),
                path: folder,
                root: sources.roots.len(),
            };
            let origin =
                VersionOrigin::Uploaded { revision: one.revision.0, revisions: revisions[&(&one.app, &one.version)] };
            Some(Candidate { found, version, source, origin, owner: Some(one.owner.clone()) })
        })
        .collect())
}

fn version(candidate: &Candidate, source: &AppSource, kept: &StoredApp, sources: &Sources<'_>) -> Version {
    let Candidate { found, version, origin, owner, .. } = candidate;
    let settings = source.settings.clone();
    let state = if settings.auto_install {
        match sources.installer.progress(&found.folder) {
            Progress::Done => State::Served,
            Progress::Wanted | Progress::Running => State::Installing,
            Progress::Failed(message) => State::Failed(message),
        }
    } else {
        State::Served
    };
    let mut warnings = source.warnings.clone();
    let identity = Stamp::from_folder(&found.folder).map(|stamp| stamp.to_string()).unwrap_or_else(|error| {
        warnings
            .push(format!("changes of its files cannot be detected, so it is loaded again at each refresh: {error}"));
        hearth_core::time::unix_millis().to_string()
    });
    // Secrets override the plain environment.
    let mut env = settings.env.clone();
    env.extend(kept.secrets.iter().cloned());
    let owner = settings.owner.clone().or(owner.clone()).unwrap_or_else(|| Owner::from(&found.name));
    let spec = VersionSpec {
        app: found.name.clone(),
        version: VersionName::from(version),
        owner,
        identity,
        folder: found.folder.clone(),
        kind: source.kind.clone(),
        active: Active::No,
        hosts: settings.hosts.iter().map(ToString::to_string).collect(),
        settings,
        env: env.into_iter().collect(),
        tokens: kept.tokens.iter().map(|token| hex::encode(&token.0)).collect(),
        placement: Placement::Here,
    };
    // While dependencies are being installed, the version of before is served on.
    let served_meanwhile = match state {
        State::Installing => sources.before.find(&spec.app, &spec.version).and_then(Version::served).cloned(),
        State::Served | State::Failed(_) => None,
    };
    Version { spec, origin: origin.clone(), path: found.path.clone(), state, warnings, served_meanwhile }
}

impl StoredApp {
    fn load(store: &SqliteStore, app: &AppName) -> Result<Self, StoreError> {
        Ok(Self { active: store.active(app)?, secrets: store.secrets(app)?, tokens: store.token_hashes(app)? })
    }
}

#[cfg(test)]
#[path = "assemble/tests.rs"]
mod tests;
