//! Opens files by canonical path. A canonical path was checked with all links resolved, but a
//! process with write access can replace any of its components with a link before it is opened. No
//! link is therefore followed while opening: either the checked file is opened, or nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read its metadata: works for all file types and has no side effect.
    Metadata,
    /// To read it. Opening never blocks, not even on a pipe; the caller must check that the result
    /// is a regular file.
    Read,
    /// To walk on from it; it must be a folder.
    Folder,
}

/// Opens the file or folder at this absolute path, no component of which may be a link. If one is,
/// the error is `ELOOP` or `ENOTDIR`, and the caller should resolve the path again.
pub fn open_canonical(path: &Path, access: Access) -> io::Result<File> {
    let flags = access.flags();
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        // `openat2` is missing before Linux 5.6 and in some seccomp filters.
        Err(Errno::NOSYS | Errno::PERM) => open_by_name(path, flags),
        opened => opened,
    };
    Ok(File::from(opened?))
}

/// Whether a component of the path became a link after the path was checked.
pub fn is_changed(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// The fallback: opens one component after the other.
fn open_by_name(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let folder = Access::Folder.flags();
    let mut here = rustix::fs::openat(CWD, "/", folder, Mode::empty())?;
    let mut names: Vec<&OsStr> = Vec::new();
    for part in path.components() {
        match part {
            Component::RootDir => {}
            Component::Normal(name) => names.push(name),
            Component::ParentDir | Component::CurDir | Component::Prefix(_) => return Err(Errno::INVAL),
        }
    }
    let last = names.pop().unwrap_or(OsStr::new("."));
    for name in names {
        here = match rustix::fs::openat(&here, name, folder | OFlags::NOFOLLOW, Mode::empty()) {
            // The kernel reports `ENOTDIR` for a link that is not followed, and for a file.
            Err(Errno::NOTDIR) if is_link(&here, name) => return Err(Errno::LOOP),
            opened => opened?,
        };
    }
    let opened = rustix::fs::openat(&here, last, flags | OFlags::NOFOLLOW, Mode::empty())?;
    // `O_PATH` opens the link itself.
    let is_link = flags.contains(OFlags::PATH)
        && rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode).is_symlink();
    if is_link { Err(Errno::LOOP) } else { Ok(opened) }
}

fn is_link(folder: &OwnedFd, name: &OsStr) -> bool {
    rustix::fs::readlinkat(folder, name, Vec::new()).is_ok()
}

// === impl Access ===

impl Access {
    fn flags(self) -> OFlags {
        let own = match self {
            Self::Metadata => OFlags::PATH,
            Self::Read => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY,
            Self::Folder => OFlags::PATH | OFlags::DIRECTORY,
        };
        own | OFlags::CLOEXEC
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// The result of both implementations, which must agree: the content, or the error.
    fn both(path: &Path, access: Access) -> io::Result<String> {
        let read = |file: io::Result<File>| {
            let mut text = String::new();
            let mut file = file?;
            if access == Access::Read {
                file.read_to_string(&mut text)?;
            }
            Ok(text)
        };
        let first = read(open_canonical(path, access));
        let second = read(open_by_name(path, access.flags()).map(File::from).map_err(io::Error::from));
        let code = |result: &io::Result<String>| result.as_ref().map_err(io::Error::raw_os_error).cloned();
        assert_eq!(code(&first), code(&second), "{path:?} {access:?}");
        first
    }

    #[test]
    fn no_link_is_followed_in_any_position() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir(top.join("folder")).unwrap();
        fs::write(top.join("folder/file"), "text").unwrap();
        symlink("folder", top.join("link")).unwrap();
        symlink("file", top.join("folder/name")).unwrap();
        symlink(top.join("folder/file"), top.join("folder/absolute")).unwrap();
        assert_eq!(both(&top.join("folder/file"), Access::Read).unwrap(), "text");
        for access in [Access::Read, Access::Metadata] {
            for path in ["link/file", "folder/name", "folder/absolute"] {
                let error = both(&top.join(path), access).unwrap_err();
                assert!(is_changed(&error), "{path} {access:?}: {error}");
            }
            let error = both(&top.join("folder/missing"), access).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert!(!is_changed(&error));
            assert_eq!(both(&top.join("folder/file/x"), access).unwrap_err().kind(), io::ErrorKind::NotADirectory);
        }
        assert!(both(&top.join("folder"), Access::Folder).is_ok());
        assert!(both(&top.join("folder/file"), Access::Folder).is_err());
        assert!(both(Path::new("/"), Access::Metadata).is_ok());
    }

    #[test]
    fn opening_does_not_block_on_a_pipe() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().canonicalize().unwrap().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(!open_canonical(&pipe, Access::Read).unwrap().metadata().unwrap().is_file());
    }
}
