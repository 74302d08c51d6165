//! One app's folder, read: its manifest, its `.env`, its entry, and what the operator says about it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hearth_apps::discovery::hides;
use hearth_apps::{ENTRIES, MANIFESTS};
use hearth_config::{
    ConfigErrors, Env, Layers, Manifest, OperatorConfig, Origin, Resolved, Settings, package_identity, parse_dotenv,
};
use hearth_core::{AppName, VersionName};
use hearth_link::Kind;

/// Longer files are no manifests.
const LARGEST: u64 = 2 << 20;

/// All that a folder says, and what it comes to.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// What the manifest says the app is called, where it does.
    pub(crate) name: Option<AppName>,
    /// What the manifest, or else `package.json`, says its version is.
    pub(crate) version: Option<VersionName>,
    pub(crate) settings: Settings,
    pub(crate) kind: Kind,
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    #[error("{} cannot be read: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    #[error("{} has no entry: add an index.ts, index.js or index.html, or say `entrypoint:` in its manifest.yaml", folder.display())]
    NoEntry { folder: PathBuf },
    #[error("static: {} is no folder inside the app's folder", folder.display())]
    NoStatic { folder: PathBuf },
    #[error("{}: entrypoint: there is no file {}", manifest.display(), entry.display())]
    EntryMissing { manifest: PathBuf, entry: PathBuf },
}

impl ReadError {
    /// It says nothing about what is there.
    pub(crate) fn hides_app(&self) -> bool {
        matches!(self, Self::Io { source, .. } if hides(source))
    }
}

/// Reads the app in `folder`, which the operator calls `name`.
pub(crate) fn read(
    folder: &Path,
    name: &AppName,
    operator: &OperatorConfig,
    origin: Origin,
) -> Result<Reading, ReadError> {
    let manifest = match first_of(folder, &MANIFESTS)? {
        Some((file, text)) => Manifest::parse(&text, &file)?,
        None => Manifest::default(),
    };
    let dotenv: Option<Env> = match first_of(folder, &[".env"])? {
        Some((file, text)) => Some(parse_dotenv(&text, &file)?),
        None => None,
    };
    let package = package_identity(folder);
    let called = manifest.name.clone().filter(|_| origin == Origin::Served).unwrap_or_else(|| name.clone());
    let layers = Layers {
        app: operator.apps.get(&called),
        manifest: &manifest,
        dotenv: dotenv.as_ref(),
        defaults: Some(&operator.defaults),
        origin,
    };
    let Resolved { settings, warnings } = Settings::resolve(&layers, &operator.ceilings)?;
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    warnings.extend(package.warning.as_ref().map(ToString::to_string));
    let entry = entry(folder, &manifest, &settings)?;
    if let Some(assets) = &settings.static_folder {
        check_inside(folder, assets)?;
    }
    let is_page = entry
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm"));
    let kind = if is_page { Kind::Site { index: entry } } else { Kind::Worker { entry } };
    Ok(Reading { name: manifest.name, version: manifest.version.or(package.version), settings, kind, warnings })
}

/// What is served before the worker is a folder inside the app's, links followed.
fn check_inside(folder: &Path, assets: &Path) -> Result<(), ReadError> {
    let named = folder.join(assets);
    let real = |path: &Path| path.canonicalize().map_err(|source| ReadError::Io { file: path.to_owned(), source });
    let (top, found) = (real(folder)?, real(&named)?);
    if found.starts_with(&top) && found.is_dir() { Ok(()) } else { Err(ReadError::NoStatic { folder: named }) }
}

fn entry(folder: &Path, manifest: &Manifest, settings: &Settings) -> Result<PathBuf, ReadError> {
    match &settings.entrypoint {
        Some(entry) if folder.join(entry).is_file() => Ok(entry.clone()),
        Some(entry) => {
            let manifest = manifest.source.file.clone();
            Err(ReadError::EntryMissing { manifest, entry: entry.clone() })
        }
        None => {
            let found = ENTRIES.iter().find(|entry| folder.join(entry).is_file());
            found.map(PathBuf::from).ok_or_else(|| ReadError::NoEntry { folder: folder.to_owned() })
        }
    }
}

/// The first of these files that is there, with its text.
fn first_of(folder: &Path, names: &[&str]) -> Result<Option<(PathBuf, String)>, ReadError> {
    for name in names {
        let file = folder.join(name);
        let failed = |source| ReadError::Io { file: file.clone(), source };
        // A pipe of that name would never be read to its end.
        match std::fs::metadata(&file) {
            Ok(facts) if facts.is_file() => {}
            Ok(_) => return Err(failed(io::Error::other("it is not a file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        }
        let opened = File::open(&file).map_err(failed)?;
        let mut text = String::new();
        opened.take(LARGEST).read_to_string(&mut text).map_err(failed)?;
        return Ok(Some((file, text)));
    }
    Ok(None)
}
