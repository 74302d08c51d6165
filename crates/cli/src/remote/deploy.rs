//! `hearth deploy`: packs and uploads a folder, and activates the version.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use hearth_apps::discovery::check_name;
use hearth_config::{Manifest, package_identity};
use hearth_control::action::Action;
use hearth_core::{AppName, VersionName};
use hearth_store::{Dependencies, UploadError, UploadLimits, Uploads, pack};
use serde_json::{Value, json};

use super::Session;
use super::error::RemoteError;
use super::options::DeployOptions;
use super::progress::Progress;
use super::responses::{Activated, App, State, Uploaded, Version};
use crate::check::is_app as holds_an_app;
use crate::manifest;
use crate::terminal::{ConsoleStream, Style, Tint, count, escape, escape_lines, size, time};

const ARCHIVES: [&str; 3] = [".tgz", ".tar.gz", ".zip"];
/// How often the server is polled while it installs dependencies.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The archive to upload, with its name and version.
struct Package {
    name: String,
    version: String,
    archive: File,
    length: u64,
}

/// The result of a deploy.
enum Outcome {
    Active,
    /// Active, but it fails to load with this message.
    Failing(String),
    /// Uploaded and not activated, as requested.
    Uploaded,
    /// Not served yet: its dependencies are being installed.
    Installing,
}

pub(super) fn deploy(session: &Session, options: &DeployOptions) -> Result<(), RemoteError> {
    let mut progress = Progress::new();
    let Package { name, version, archive, length } = package(options, &mut progress)?;
    let action = Action::Upload { name, version, owner: options.owner.clone() };
    let (mut value, uploaded) = session.server.upload::<Uploaded>(&action, archive, length, &mut progress)?;
    let state = match uploaded.state {
        State::Installing if !options.no_wait => wait(session, &uploaded, &mut progress)?,
        state => state,
    };
    progress.clear();
    print_warnings(session, &uploaded)?;
    let outcome = match state {
        State::Failed => return Err(why(session, &uploaded)?),
        State::Installing => Outcome::Installing,
        State::Served if options.no_activate => Outcome::Uploaded,
        State::Served => activate(session, &uploaded)?,
    };
    complete(&mut value, &outcome, state, &uploaded);
    session.output.answer(&value, |style| summary(&uploaded, &outcome, style))?;
    match outcome {
        Outcome::Failing(message) => {
            Err(RemoteError::Failing { app: uploaded.name, version: uploaded.version, message })
        }
        Outcome::Active | Outcome::Uploaded | Outcome::Installing => Ok(()),
    }
}

fn activate(session: &Session, uploaded: &Uploaded) -> Result<Outcome, RemoteError> {
    let (name, version) = (uploaded.name.clone(), uploaded.version.clone());
    let (_, activated) = session.server.ask::<Activated>(&Action::Activate { name, version })?;
    Ok(activated.failing.map_or(Outcome::Active, Outcome::Failing))
}

/// Adds what happened since to the upload's response.
fn complete(value: &mut Value, outcome: &Outcome, state: State, uploaded: &Uploaded) {
    let Some(fields) = value.as_object_mut() else { return };
    if let Outcome::Active | Outcome::Failing(_) = outcome {
        fields.insert("active".into(), json!(uploaded.version));
    }
    if let Outcome::Failing(message) = outcome {
        fields.insert("failing".into(), json!(message));
    }
    if state == State::Served {
        fields.insert("state".into(), json!("served"));
    }
    let address = uploaded.addresses().active;
    fields.insert("path".into(), json!(address.as_deref().filter(|address| address.starts_with('/'))));
    fields.insert("address".into(), json!(address));
}

fn summary(uploaded: &Uploaded, outcome: &Outcome, style: Style) -> String {
    let (name, version) = (escape(&uploaded.name), escape(&uploaded.version));
    let version_name = style.paint(Tint::Bold, &format!("{name}@{version}"));
    let what = format!("revision {}, {}, {}", uploaded.revision, count(uploaded.files, "file"), size(uploaded.size));
    let addresses = uploaded.addresses();
    let address = |address: Option<&str>| address.map_or("no host leads to it".to_owned(), escape);
    match outcome {
        Outcome::Active | Outcome::Failing(_) => {
            format!("{version_name} ({what}) is active: {}", address(addresses.active.as_deref()))
        }
        Outcome::Uploaded => {
            let active = uploaded.active.as_deref().filter(|active| *active != uploaded.version);
            let bare = addresses.active.as_deref().unwrap_or(&uploaded.name);
            let active =
                active.map_or(String::new(), |active| format!("; {} is still {}", escape(bare), escape(active)));
            let served = addresses.version.as_deref().map_or(String::new(), |path| format!(": {}", escape(path)));
            format!("{version_name} ({what}) is served{served}{active}")
        }
        Outcome::Installing => format!(
            "{version_name} ({what}) is uploaded; its dependencies are being installed\n\
             then: hearth activate {name} {version}"
        ),
    }
}

fn package(options: &DeployOptions, progress: &mut Progress) -> Result<Package, RemoteError> {
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
    let limit = UploadLimits::default().archive;
    if facts.len() > limit.bytes() {
        return Err(UploadError::ArchiveTooLarge { limit }.into());
    }
    let archive = File::open(path).map_err(|error| failed("open", error))?;
    let (name, version) = match (&options.name, &options.version) {
        (Some(name), Some(version)) => (name.clone(), version.clone()),
        // Name and version that no flag gives are read from the archive's manifest.
        _ => {
            let temp = tempfile::tempdir().map_err(|error| failed("unpack", error))?;
            let unpacked = Uploads::aside(temp.path())?.unpack(&archive, &UploadLimits::default())?;
            let (_, said) = identity(unpacked.folder(), options)?;
            let name = said.name.ok_or_else(|| RemoteError::NoName { path: path.clone() })?;
            (name, said.version.ok_or_else(|| RemoteError::NoVersion { path: path.clone() })?)
        }
    };
    check(&name)?;
    let mut archive = archive;
    archive.seek(SeekFrom::Start(0)).map_err(|error| failed("read", error))?;
    Ok(Package { name, version, archive, length: facts.len() })
}

/// An app's name and version, as far as they are known.
struct Identity {
    name: Option<String>,
    version: Option<String>,
}

/// Flags rank above the manifest, and that above `package.json`.
fn identity(folder: &Path, options: &DeployOptions) -> Result<(Manifest, Identity), RemoteError> {
    let manifest = manifest::read(folder)?;
    let package = package_identity(folder);
    let name = manifest.name.clone().or(package.name).map(|name: AppName| name.to_string());
    let version = manifest.version.clone().or(package.version).map(|version: VersionName| version.to_string());
    let said = Identity { name: options.name.clone().or(name), version: options.version.clone().or(version) };
    Ok((manifest, said))
}

fn check(name: &str) -> Result<(), RemoteError> {
    check_name(name).map_err(|source| RemoteError::Name { name: name.to_owned(), source })
}

fn folder(options: &DeployOptions, progress: &mut Progress) -> Result<Package, RemoteError> {
    let folder = std::fs::canonicalize(&options.path).map_err(|source| RemoteError::File {
        action: "open",
        path: options.path.clone(),
        source,
    })?;
    if !holds_an_app(&folder) {
        return Err(RemoteError::NoApp { path: folder });
    }
    let (manifest, said) = identity(&folder, options)?;
    let own_name = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = said.name.or_else(own_name).ok_or_else(|| RemoteError::NoName { path: folder.clone() })?;
    check(&name)?;
    let version = said.version.ok_or_else(|| RemoteError::NoVersion { path: folder.clone() })?;

    let dependencies = match manifest.auto_install {
        Some(true) => Dependencies::LeaveOut,
        _ => Dependencies::Include,
    };
    progress.show(|| format!("Packing {}", escape(&name)));
    let failed = |source| RemoteError::File { action: "make", path: std::env::temp_dir(), source };
    // A file without a name: it is removed with this process.
    let mut archive = tempfile::tempfile().map_err(failed)?;
    pack(&folder, dependencies, std::io::BufWriter::new(&mut archive))?;
    let (length, limit) = (archive.metadata().map_err(failed)?.len(), UploadLimits::default().archive);
    if length > limit.bytes() {
        return Err(UploadError::ArchiveTooLarge { limit }.into());
    }
    archive.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok(Package { name, version, archive, length })
}

/// Waits until the version is served, or has failed.
fn wait(session: &Session, uploaded: &Uploaded, progress: &mut Progress) -> Result<State, RemoteError> {
    let began = Instant::now();
    loop {
        match find(session, uploaded)?.map(|version| version.state) {
            Some(State::Installing) => {}
            Some(state) => return Ok(state),
            None => return Ok(State::Failed),
        }
        progress.show(|| format!("Installing dependencies: {}", time(began.elapsed())));
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The version, if the server lists it.
fn find(session: &Session, uploaded: &Uploaded) -> Result<Option<Version>, RemoteError> {
    let (_, app) = session.server.ask::<App>(&Action::App { name: uploaded.name.clone() })?;
    Ok(app.versions.into_iter().find(|version| version.version == uploaded.version))
}

fn why(session: &Session, uploaded: &Uploaded) -> Result<RemoteError, RemoteError> {
    let message = find(session, uploaded)?.and_then(|version| version.error);
    let message = escape_lines(&message.unwrap_or_else(|| "`hearth apps` says why".to_owned()));
    Ok(RemoteError::Unserved { app: uploaded.name.clone(), version: uploaded.version.clone(), message })
}

/// Prints the version's warnings, and one if a served folder shadows the upload of the same version.
fn print_warnings(session: &Session, uploaded: &Uploaded) -> Result<(), RemoteError> {
    let Some(version) = find(session, uploaded)? else { return Ok(()) };
    let version_name = escape(&format!("{}@{}", uploaded.name, uploaded.version));
    let word = Style::for_stream(ConsoleStream::Error).paint(Tint::Yellow, "warning");
    for warning in &version.warnings {
        eprintln!("{word}: {version_name}: {}", escape_lines(warning));
    }
    if version.source == "folder" {
        eprintln!("{word}: a folder that the server serves is {version_name} too, and goes before this upload");
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "deploy/tests.rs"]
mod tests;
