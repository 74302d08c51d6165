//! Reads one app's folder: manifest, `.env`, entry, and the operator's settings for it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hearth_apps::discovery::hides;
use hearth_apps::{ENTRIES, MANIFESTS};
use hearth_config::{
    AppOrigin, ConfigErrors, Env, Layers, Manifest, OperatorConfig, Resolved, Settings, package_identity, parse_dotenv,
};
use hearth_core::{AppName, VersionName};
use hearth_ipc::Kind;
use rustix::fs::{Mode, OFlags};

/// Only this much of a manifest or `.env` is read.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// The content of an app's folder, resolved.
#[derive(Clone, Debug)]
pub(crate) struct AppSource {
    /// The name in the manifest, if any.
    pub(crate) name: Option<AppName>,
    /// The version in the manifest, or else in `package.json`.
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
    /// Whether the error only means that the app cannot be read now.
    pub(crate) fn hides_app(&self) -> bool {
        matches!(self, Self::Io { source, .. } if hides(source))
    }
}

/// Reads the app in `folder`, whose name is `name` unless its manifest has another.
pub(crate) fn read_app(
    folder: &Path,
    name: &AppName,
    operator: &OperatorConfig,
    origin: AppOrigin,
) -> Result<AppSource, ReadError> {
    let manifest = match first_of(folder, &MANIFESTS)? {
        Some((file, text)) => Manifest::parse(&text, &file)?,
        None => Manifest::default(),
    };
    let dotenv: Option<Env> = match first_of(folder, &[".env"])? {
        Some((file, text)) => Some(parse_dotenv(&text, &file)?),
        None => None,
    };
    let package = package_identity(folder);
    let app_name = manifest.name.clone().filter(|_| origin == AppOrigin::Served).unwrap_or_else(|| name.clone());
    let layers = Layers {
        app: operator.apps.get(&app_name),
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
    Ok(AppSource { name: manifest.name, version: manifest.version.or(package.version), settings, kind, warnings })
}

/// Checks that the folder of static files lies inside the app's, links resolved.
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

/// The first of these files that exists, with its text.
fn first_of(folder: &Path, names: &[&str]) -> Result<Option<(PathBuf, String)>, ReadError> {
    for name in names {
        let file = folder.join(name);
        let failed = |source| ReadError::Io { file: file.clone(), source };
        let opened = match open(&file) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error)),
        };
        let mut text = String::new();
        opened.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(failed)?;
        return Ok(Some((file, text)));
    }
    Ok(None)
}

/// Opens a regular file, and never blocks on a pipe. A link is followed only to a file of the link's owner, since Hearth may
/// read files that the user with write access to the folder may not, such as the `.env` of another app.
fn open(file: &Path) -> io::Result<File> {
    let opened =
        File::from(rustix::fs::open(file, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    let (target, named) = (opened.metadata()?, file.symlink_metadata()?);
    if !target.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let is_itself = (named.dev(), named.ino()) == (target.dev(), target.ino());
    if is_itself || (named.is_symlink() && named.uid() == target.uid()) {
        return Ok(opened);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "it is a link of user {} to a file of user {}, and links are followed to files of the same user only: copy the file",
            named.uid(),
            target.uid()
        ),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn a_link_is_followed_to_files_of_its_own_user_only() {
        let folder = tempfile::tempdir().unwrap();
        let (own, link) = (folder.path().join("own.env"), folder.path().join(".env"));
        std::fs::write(&own, "A=1").unwrap();
        symlink(&own, &link).unwrap();
        assert_eq!(first_of(folder.path(), &[".env"]).unwrap().unwrap().1, "A=1");
        // A file of another user: root changes the owner of the link, others link to a file of root.
        match rustix::process::geteuid().is_root() {
            true => lchown(&link, Some(12345), None).unwrap(),
            false => {
                std::fs::remove_file(&link).unwrap();
                symlink("/etc/passwd", &link).unwrap();
            }
        }
        let error = first_of(folder.path(), &[".env"]).unwrap_err().to_string();
        assert!(error.contains("it is a link of user") && error.contains("copy the file"), "{error}");
    }

    #[test]
    fn a_pipe_is_refused_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join(".env");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(first_of(folder.path(), &[".env"]).unwrap_err().to_string().contains("it is not a file"));
    }
}
