//! Everything that is there, put together. An upload is to be had like a folder that comes after all that the operator
//! serves: the same version in a served folder goes before it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hearth_apps::discovery::{Found, Layout, discover, resolve_precedence};
use hearth_apps::fingerprint::Stamp;
use hearth_apps::versions::AppVersion;
use hearth_config::{AppOrigin, OperatorConfig};
use hearth_core::{AppName, Owner, VersionName};
use hearth_ipc::{Active, Placement, VersionSpec};
use hearth_store::{
    Activations, ActiveVersion, Deployments, RevisionState, Secrets, SqliteStore, StoreError, TokenHash, Tokens,
};

use super::active::Conflicts;
use super::reading::{ReadError, Reading, read};
use super::{Catalogue, Problem, Provenance, State, Version};
use crate::install::{Installer, Progress};

const AS_BEFORE: &str = "; what was there before is served on";

/// Where versions come from.
pub(crate) struct Sources<'a> {
    pub(crate) store: &'a SqliteStore,
    pub(crate) operator: &'a OperatorConfig,
    pub(crate) roots: &'a [PathBuf],
    pub(crate) installer: &'a Installer,
    /// What was served until now.
    pub(crate) before: &'a Catalogue,
}

/// A folder with what stands in it.
struct Candidate {
    found: Found,
    version: AppVersion,
    reading: Result<Reading, ReadError>,
    provenance: Provenance,
    owner: Option<Owner>,
}

/// What the store says about an app, beside its versions.
struct Kept {
    active: Option<ActiveVersion>,
    secrets: Vec<(String, String)>,
    tokens: Vec<TokenHash>,
}

/// Looks at all there is. Fails only where the store does.
pub(crate) fn assemble(sources: &Sources<'_>) -> Result<Catalogue, StoreError> {
    let mut catalogue = Catalogue::default();
    let mut candidates = served(sources, &mut catalogue);
    candidates.extend(uploaded(sources)?);

    let (settled, collisions) =
        resolve_precedence(candidates.iter().map(|one| (one.found.clone(), one.version.clone())).collect());
    // One folder may have two names (`latest -> 1.2.3`), and a name two folders.
    let key = |one: &Candidate| (one.found.name.clone(), one.version.clone(), one.found.folder.clone());
    let mut by_key: HashMap<_, Candidate> = candidates.into_iter().map(|one| (key(&one), one)).collect();
    for problem in collisions {
        catalogue.problems.push(Problem { app: None, version: None, message: problem.to_string() });
    }
    let mut kept: HashMap<AppName, Kept> = HashMap::new();
    for one in settled {
        let Some(candidate) = by_key.remove(&(one.name.clone(), one.version.clone(), one.folder.clone())) else {
            continue;
        };
        let keep = match kept.entry(one.name.clone()) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(unknown) => unknown.insert(Kept::of(sources.store, &one.name)?),
        };
        let problem = match &candidate.reading {
            // It could not even be told to a cell.
            Ok(_) if one.folder.to_str().is_none() => format!("the name of its folder is not UTF-8: {:?}", one.folder),
            Ok(reading) => {
                catalogue.versions.push(version(&candidate, reading, keep, sources));
                continue;
            }
            Err(error) if error.hides_app() => {
                let hidden = before_at(&one.folder, sources.before);
                let message = if hidden.is_empty() { error.to_string() } else { format!("{error}{AS_BEFORE}") };
                catalogue.hidden.extend(hidden);
                message
            }
            Err(error) => error.to_string(),
        };
        let (app, version) = (Some(one.name.to_string()), Some(one.version.to_string()));
        catalogue.problems.push(Problem { app, version, message: problem });
    }
    catalogue.keep_hidden();
    let activated = |(app, kept): (AppName, Kept)| Some((app, kept.active?.version));
    catalogue.activated = kept.into_iter().filter_map(activated).collect();
    catalogue.mark_active(Conflicts::Told);
    Ok(catalogue)
}

/// What was found beneath a folder that cannot be looked into now.
fn hidden_beneath(path: &Path, before: &Catalogue) -> Vec<Version> {
    let is_hidden = |one: &&Version| one.provenance == Provenance::Served && one.path.starts_with(path);
    before.versions.iter().filter(is_hidden).cloned().collect()
}

/// What was read in a folder that cannot be read now.
fn before_at(folder: &Path, before: &Catalogue) -> Vec<Version> {
    before.versions.iter().filter(|one| one.spec.folder == folder).cloned().collect()
}

/// What lies in the folders that the operator serves.
fn served(sources: &Sources<'_>, catalogue: &mut Catalogue) -> Vec<Candidate> {
    let discovered = discover(sources.roots);
    for problem in discovered.problems {
        let hidden = if problem.hides_folder() { hidden_beneath(&problem.path, sources.before) } else { Vec::new() };
        let message = if hidden.is_empty() { problem.to_string() } else { format!("{problem}{AS_BEFORE}") };
        catalogue.problems.push(Problem { app: None, version: None, message });
        catalogue.hidden.extend(hidden);
    }
    let read = |mut found: Found| {
        let reading = read(&found.folder, &found.name, sources.operator, AppOrigin::Served);
        let said = reading.as_ref().ok().and_then(|reading| reading.version.as_ref());
        let said = said.and_then(|version| version.as_str().parse().ok());
        let version = found.version.clone().or(said).unwrap_or(AppVersion::Latest);
        if let Ok(Reading { name: Some(name), .. }) = &reading {
            found.name = name.clone();
        }
        Candidate { found, version, reading, provenance: Provenance::Served, owner: None }
    };
    discovered.found.into_iter().map(read).collect()
}

/// What was uploaded: of each version, the revision that counts.
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
            let reading = read(&folder, &one.app, sources.operator, origin);
            let version: AppVersion = one.version.as_str().parse().ok()?;
            let found = Found {
                name: one.app.clone(),
                layout: Layout::Flat,
                version: Some(version.clone()),
                folder: std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone()),
                path: folder,
                root: sources.roots.len(),
            };
            let provenance =
                Provenance::Uploaded { revision: one.revision.0, revisions: revisions[&(&one.app, &one.version)] };
            Some(Candidate { found, version, reading, provenance, owner: Some(one.owner.clone()) })
        })
        .collect())
}

fn version(candidate: &Candidate, reading: &Reading, kept: &Kept, sources: &Sources<'_>) -> Version {
    let Candidate { found, version, provenance, owner, .. } = candidate;
    let settings = reading.settings.clone();
    let state = if settings.auto_install {
        match sources.installer.progress(&found.folder) {
            Progress::Done => State::Served,
            Progress::Wanted | Progress::Running => State::Installing,
            Progress::Failed(message) => State::Failed(message),
        }
    } else {
        State::Served
    };
    let mut warnings = reading.warnings.clone();
    let identity = Stamp::from_folder(&found.folder).map(|stamp| stamp.to_string()).unwrap_or_else(|error| {
        warnings.push(format!("whether it has changed cannot be told, so it is loaded anew at each look: {error}"));
        hearth_core::time::unix_millis().to_string()
    });
    // Secrets lie above what everybody can read.
    let mut env = settings.env.clone();
    env.extend(kept.secrets.iter().cloned());
    let owner = settings.owner.clone().or(owner.clone()).unwrap_or_else(|| Owner::from(&found.name));
    let spec = VersionSpec {
        app: found.name.clone(),
        version: VersionName::from(version),
        owner,
        identity,
        folder: found.folder.clone(),
        kind: reading.kind.clone(),
        active: Active::No,
        hosts: settings.hosts.iter().map(ToString::to_string).collect(),
        settings,
        env: env.into_iter().collect(),
        tokens: kept.tokens.iter().map(hex).collect(),
        placement: Placement::Here,
    };
    // While dependencies are installed, what was served before is served on.
    let stand_in = match state {
        State::Installing => sources.before.find(&spec.app, &spec.version).and_then(Version::served).cloned(),
        State::Served | State::Failed(_) => None,
    };
    Version { spec, provenance: provenance.clone(), path: found.path.clone(), state, warnings, stand_in }
}

impl Kept {
    fn of(store: &SqliteStore, app: &AppName) -> Result<Self, StoreError> {
        Ok(Self { active: store.active(app)?, secrets: store.secrets(app)?, tokens: store.token_hashes(app)? })
    }
}

fn hex(hash: &TokenHash) -> String {
    hash.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "assemble/tests.rs"]
mod tests;
