//! `hearth deploy`: a folder, packed and uploaded, and made the active version.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::time::{Duration, Instant};

use hearth_config::package_identity;
use hearth_control::action::Action;
use hearth_core::{AppName, VersionName};
use hearth_store::{Dependencies, pack};
use serde_json::{Value, json};

use super::Session;
use super::answers::{App, State, Uploaded};
use super::error::RemoteError;
use super::options::DeployOptions;
use super::progress::Progress;
use crate::manifest;
use crate::terminal::{Style, Tint, count, escape, escape_lines, size, time};

const ARCHIVES: [&str; 3] = [".tgz", ".tar.gz", ".zip"];
/// How often the server is asked whether it is done with the dependencies.
const PERIOD: Duration = Duration::from_millis(500);

/// What is uploaded, and as what.
struct Parcel {
    name: String,
    version: String,
    archive: File,
    length: u64,
}

/// What became of it.
enum Outcome {
    Active,
    /// As it was wanted.
    Uploaded,
    /// Not yet: its dependencies are being installed.
    Installing,
}

pub(super) fn deploy(session: &Session, options: &DeployOptions) -> Result<(), RemoteError> {
    let mut progress = Progress::new();
    let Parcel { name, version, archive, length } = parcel(options, &mut progress)?;
    let action = Action::Upload { name, version, owner: options.owner.clone() };
    let (mut value, uploaded) = session.server.upload::<Uploaded>(&action, archive, length, &mut progress)?;
    let state = match uploaded.state {
        State::Installing if options.wait => wait(session, &uploaded, &mut progress)?,
        state => state,
    };
    progress.clear();
    warn_if_covered(session, &uploaded)?;
    let outcome = match state {
        State::Failed => return Err(why(session, &uploaded)?),
        State::Installing => Outcome::Installing,
        State::Served if options.no_activate => Outcome::Uploaded,
        State::Served => {
            let (name, version) = (uploaded.name.clone(), uploaded.version.clone());
            session.server.value(&Action::Activate { name, version })?;
            Outcome::Active
        }
    };
    complete(&mut value, &outcome, state, &uploaded);
    session.output.answer(&value, |style| told(&uploaded, &outcome, style))
}

/// The upload's answer, with what happened since.
fn complete(value: &mut Value, outcome: &Outcome, state: State, uploaded: &Uploaded) {
    let Some(fields) = value.as_object_mut() else { return };
    if let Outcome::Active = outcome {
        fields.insert("active".into(), json!(uploaded.version));
    }
    if state == State::Served {
        fields.insert("state".into(), json!("served"));
    }
    fields.insert("path".into(), json!(format!("/{}/", uploaded.name)));
}

fn told(uploaded: &Uploaded, outcome: &Outcome, style: Style) -> String {
    let (name, version) = (escape(&uploaded.name), escape(&uploaded.version));
    let who = style.paint(Tint::Bold, &format!("{name}@{version}"));
    let what = format!("revision {}, {}, {}", uploaded.revision, count(uploaded.files, "file"), size(uploaded.size));
    match outcome {
        Outcome::Active => format!("{who} ({what}) is active: /{name}/"),
        Outcome::Uploaded => {
            let active = uploaded.active.as_deref().filter(|active| *active != uploaded.version);
            let active = active.map_or(String::new(), |active| format!("; /{name}/ is still {}", escape(active)));
            format!("{who} ({what}) is served: /{name}@{version}/{active}")
        }
        Outcome::Installing => format!(
            "{who} ({what}) is uploaded; its dependencies are being installed\n\
             then: hearth activate {name} {version} (or deploy with --wait)"
        ),
    }
}

fn parcel(options: &DeployOptions, progress: &mut Progress) -> Result<Parcel, RemoteError> {
    let path = &options.path;
    let failed = |action, source| RemoteError::File { action, path: path.clone(), source };
    let facts = std::fs::metadata(path).map_err(|error| failed("open", error))?;
    if facts.is_dir() {
        return folder(options, progress);
    }
    let file_name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    if !ARCHIVES.iter().any(|ending| file_name.ends_with(ending)) {
        return Err(RemoteError::NoArchive { path: path.clone() });
    }
    // What is in an archive is the server's to read.
    let name = options.name.clone().ok_or_else(|| RemoteError::NoName { path: path.clone() })?;
    let version = options.version.clone().ok_or_else(|| RemoteError::NoVersion { path: path.clone() })?;
    let archive = File::open(path).map_err(|error| failed("open", error))?;
    Ok(Parcel { name, version, archive, length: facts.len() })
}

fn folder(options: &DeployOptions, progress: &mut Progress) -> Result<Parcel, RemoteError> {
    let folder = std::fs::canonicalize(&options.path).map_err(|source| RemoteError::File {
        action: "open",
        path: options.path.clone(),
        source,
    })?;
    let manifest = manifest::read(&folder)?;
    let package = package_identity(&folder);
    let own_name = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let said = manifest.name.clone().or(package.name).map(|name: AppName| name.to_string());
    let name = options.name.clone().or(said).or_else(own_name);
    let said = manifest.version.clone().or(package.version).map(|version: VersionName| version.to_string());
    let version = options.version.clone().or(said);
    let name = name.ok_or_else(|| RemoteError::NoName { path: folder.clone() })?;
    let version = version.ok_or_else(|| RemoteError::NoVersion { path: folder.clone() })?;

    let dependencies = match manifest.auto_install {
        Some(true) => Dependencies::LeaveOut,
        _ => Dependencies::Include,
    };
    progress.show(|| format!("Packing {}", escape(&name)));
    let failed = |source| RemoteError::File { action: "make", path: std::env::temp_dir(), source };
    // Without a name: gone with this process, however it ends.
    let mut archive = tempfile::tempfile().map_err(failed)?;
    pack(&folder, dependencies, std::io::BufWriter::new(&mut archive))?;
    let length = archive.metadata().map_err(failed)?.len();
    archive.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok(Parcel { name, version, archive, length })
}

/// Until the version is served, or cannot be.
fn wait(session: &Session, uploaded: &Uploaded, progress: &mut Progress) -> Result<State, RemoteError> {
    let began = Instant::now();
    loop {
        match state(session, uploaded)?.map(|version| version.0) {
            Some(State::Installing) => {}
            Some(state) => return Ok(state),
            None => return Ok(State::Failed),
        }
        progress.show(|| format!("Installing dependencies: {}", time(began.elapsed())));
        std::thread::sleep(PERIOD);
    }
}

/// State, error and source of the version, where it is there.
fn state(session: &Session, uploaded: &Uploaded) -> Result<Option<(State, Option<String>, String)>, RemoteError> {
    let (_, app) = session.server.ask::<App>(&Action::App { name: uploaded.name.clone() })?;
    let mut versions = app.versions.into_iter();
    let found = versions.find(|version| version.version == uploaded.version);
    Ok(found.map(|version| (version.state, version.error, version.source)))
}

fn why(session: &Session, uploaded: &Uploaded) -> Result<RemoteError, RemoteError> {
    let message = state(session, uploaded)?.and_then(|(_, error, _)| error);
    let message = escape_lines(&message.unwrap_or_else(|| "`hearth apps` says why".to_owned()));
    Ok(RemoteError::Unserved { app: uploaded.name.clone(), version: uploaded.version.clone(), message })
}

/// A folder that the server serves goes before an upload of the same version.
fn warn_if_covered(session: &Session, uploaded: &Uploaded) -> Result<(), RemoteError> {
    if let Some((_, _, source)) = state(session, uploaded)? {
        if source == "folder" {
            let who = escape(&format!("{}@{}", uploaded.name, uploaded.version));
            eprintln!("hearth: a folder that the server serves is {who} too, and goes before this upload");
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "deploy/tests.rs"]
mod tests;
