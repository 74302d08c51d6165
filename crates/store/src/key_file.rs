//! Small files that hold a key: created once with mode 0600, then only read.
//!
//! A key file appears atomically: it is written to a temporary file, then hard-linked to its name,
//! which fails if another process was faster. Two processes that create it at the same time
//! therefore end up with the same key. An existing file is never overwritten.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::random::random;
use hearth_core::hex;

/// A condition that the operator should know of; the server starts nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFileWarning {
    ReadableByOthers {
        path: PathBuf,
        mode: u32,
    },
    /// The disk is full: existing records are served, and changes fail until the next start.
    NoRoom {
        path: PathBuf,
    },
    /// The folder cannot be written to and holds nothing: there is no store until the next start.
    Unavailable {
        data: PathBuf,
        reason: String,
    },
    /// A key could not be kept: it is gone with this process.
    KeyNotKept {
        path: PathBuf,
        reason: String,
    },
}

impl KeyFileWarning {
    /// Whether the server lacks something until it is started again.
    pub fn is_degradation(&self) -> bool {
        match self {
            Self::ReadableByOthers { .. } => false,
            Self::NoRoom { .. } | Self::Unavailable { .. } | Self::KeyNotKept { .. } => true,
        }
    }
}

/// Whether a key was found or created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFileOrigin {
    Created,
    Found,
}

#[derive(Debug)]
pub(crate) struct KeyFile {
    pub text: String,
    pub origin: KeyFileOrigin,
    pub warning: Option<KeyFileWarning>,
}

/// The content of the file at `path`; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<KeyFile>, StoreError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text.trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", path)(error)),
    };
    if text.is_empty() {
        return Err(StoreError::KeyEmpty { path: path.to_owned() });
    }
    let mode = fs::metadata(path).map_err(StoreError::io("read", path))?.permissions().mode() & 0o777;
    let warning = (mode & 0o077 != 0).then(|| KeyFileWarning::ReadableByOthers { path: path.to_owned(), mode });
    Ok(Some(KeyFile { text, origin: KeyFileOrigin::Found, warning }))
}

/// The content of the file at `path`; if there is none, it is created with what `create` returns.
pub(crate) fn read_or_create(
    path: &Path,
    create: impl FnOnce() -> Result<String, StoreError>,
) -> Result<KeyFile, StoreError> {
    if let Some(found) = read(path)? {
        return Ok(found);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(StoreError::io("create", folder))?;
    let origin = link_new(path, &create()?)?;
    let found = read(path)?.ok_or_else(|| StoreError::io("read", path)(io::ErrorKind::NotFound.into()))?;
    Ok(KeyFile { origin, ..found })
}

fn link_new(path: &Path, text: &str) -> Result<KeyFileOrigin, StoreError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".tmp-{}", hex::encode(&random::<8>()?)));
    let beside = PathBuf::from(beside);
    let written = write(&beside, text).map_err(StoreError::io("write", &beside)).and_then(|()| {
        match fs::hard_link(&beside, path) {
            Ok(()) => Ok(KeyFileOrigin::Created),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(KeyFileOrigin::Found),
            Err(error) => Err(StoreError::io("create", path)(error)),
        }
    });
    // In any case; the key's name is the other link.
    let _ = fs::remove_file(&beside);
    let origin = written?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(StoreError::io("write", folder))?;
    Ok(origin)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // The umask can only remove bits from the mode given to `open`; this also restores the owner's
    // bits.
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

impl fmt::Display for KeyFileWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadableByOthers { path, mode } => {
                let path = path.display();
                write!(f, "{path} can be read by others (mode {mode:04o}): run chmod 600 {path}")
            }
            Self::NoRoom { path } => {
                let path = path.display();
                write!(
                    f,
                    "there is no room beside {path}: what is kept is served, and deploys, secrets and cordons may not be \
                    kept; make room, then start the server again"
                )
            }
            Self::Unavailable { data, reason } => write!(
                f,
                "nothing can be kept in {} ({reason}): apps in folders are served; deploys, secrets and tokens are refused; \
                make room or give the right to write, then start the server again",
                data.display()
            ),
            Self::KeyNotKept { path, reason } => write!(
                f,
                "the token cannot be kept in {} ({reason}): it is random and lost with this process; give one by a flag or \
                variable, or start the server again when the folder can be written to",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_once_and_private() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("deep/er/a.key");
        assert!(read(&path).unwrap().is_none());
        let made = read_or_create(&path, || Ok("one".into())).unwrap();
        assert_eq!((made.text.as_str(), made.origin, made.warning), ("one", KeyFileOrigin::Created, None));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let found = read_or_create(&path, || panic!("there is one")).unwrap();
        assert_eq!((found.text.as_str(), found.origin), ("one", KeyFileOrigin::Found));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn the_slower_process_takes_the_existing_key() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.key");
        let late = read_or_create(&path, || {
            write(&path, "theirs").unwrap();
            Ok("ours".into())
        });
        let late = late.unwrap();
        assert_eq!((late.text.as_str(), late.origin), ("theirs", KeyFileOrigin::Found));
    }

    #[test]
    fn readable_files_give_a_warning_and_empty_files_are_refused() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.key");
        fs::write(&path, "x\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let warning = read(&path).unwrap().unwrap().warning.unwrap().to_string();
        assert!(warning.contains("a.key can be read by others (mode 0644): run chmod 600"), "{warning}");
        fs::write(&path, " \n").unwrap();
        assert!(matches!(read(&path), Err(StoreError::KeyEmpty { .. })));
    }
}
