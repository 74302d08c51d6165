//! Small files that hold a key: made once, with mode 0600, and then only read.
//!
//! A key file appears whole or not at all (it is written beside its place and linked into it, which fails if somebody
//! was faster), so two processes that make it at the same time end up with the same key. What is there is never written
//! over.

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::hex;

/// Something that the operator should hear of, and that stops nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    ReadableByOthers {
        path: PathBuf,
        mode: u32,
    },
    /// The disk is full: what is kept is served, and nothing new can be kept until the next start.
    NoRoom {
        path: PathBuf,
    },
}

/// Where a key is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Made,
    Found,
}

#[derive(Debug)]
pub(crate) struct KeyFile {
    pub text: String,
    pub origin: Origin,
    pub note: Option<Note>,
}

/// What the file at `path` holds; `None` if there is none.
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
    let note = (mode & 0o077 != 0).then(|| Note::ReadableByOthers { path: path.to_owned(), mode });
    Ok(Some(KeyFile { text, origin: Origin::Found, note }))
}

/// What the file at `path` holds, or, if there is none, what `make` gives, which it then holds.
pub(crate) fn read_or_make(
    path: &Path,
    make: impl FnOnce() -> Result<String, StoreError>,
) -> Result<KeyFile, StoreError> {
    if let Some(found) = read(path)? {
        return Ok(found);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(StoreError::io("create", folder))?;
    let origin = place(path, &make()?)?;
    let found = read(path)?.ok_or_else(|| StoreError::io("read", path)(io::ErrorKind::NotFound.into()))?;
    Ok(KeyFile { origin, ..found })
}

fn place(path: &Path, text: &str) -> Result<Origin, StoreError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".tmp-{}", hex::encode(&hex::random::<8>()?)));
    let beside = PathBuf::from(beside);
    let written = write(&beside, text).map_err(StoreError::io("write", &beside)).and_then(|()| {
        match fs::hard_link(&beside, path) {
            Ok(()) => Ok(Origin::Made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Origin::Found),
            Err(error) => Err(StoreError::io("create", path)(error)),
        }
    });
    // Whatever happened; and the link that counts is the other one.
    let _ = fs::remove_file(&beside);
    let origin = written?;
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(StoreError::io("write", folder))?;
    Ok(origin)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // A mode given to `open` is cut by the umask, never widened; said again for masks that cut the owner's own rights.
    file.set_permissions(Permissions::from_mode(0o600))?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

impl fmt::Display for Note {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_once_and_private() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("deep/er/a.key");
        assert!(read(&path).unwrap().is_none());
        let made = read_or_make(&path, || Ok("one".into())).unwrap();
        assert_eq!((made.text.as_str(), made.origin, made.note), ("one", Origin::Made, None));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let found = read_or_make(&path, || panic!("there is one")).unwrap();
        assert_eq!((found.text.as_str(), found.origin), ("one", Origin::Found));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn who_is_slower_takes_what_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.key");
        let late = read_or_make(&path, || {
            write(&path, "theirs").unwrap();
            Ok("ours".into())
        });
        let late = late.unwrap();
        assert_eq!((late.text.as_str(), late.origin), ("theirs", Origin::Found));
    }

    #[test]
    fn open_doors_are_noted_and_empty_files_refused() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.key");
        fs::write(&path, "x\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let note = read(&path).unwrap().unwrap().note.unwrap().to_string();
        assert!(note.contains("a.key can be read by others (mode 0644): run chmod 600"), "{note}");
        fs::write(&path, " \n").unwrap();
        assert!(matches!(read(&path), Err(StoreError::KeyEmpty { .. })));
    }
}
