//! Opening what a canonical path names. Such a path was found to lie where it should, with all links followed; until it is
//! opened, somebody who may write there can put a link in the place of any of its names. So no link is followed while it is
//! opened: what was checked is opened, or nothing.

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
    /// To ask what it is: of anything, without any effect.
    Facts,
    /// To read it. Opening never waits, not even for a pipe; what is opened must be asked whether it is a regular file.
    Read,
    /// To go on from it: a folder.
    Folder,
}

/// Opens the file or folder of this absolute path, none of whose names may be a link. Where one is, the error is `ELOOP` or
/// `ENOTDIR`: look again where the path leads now.
pub fn open_canonical(path: &Path, access: Access) -> io::Result<File> {
    let flags = access.flags();
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = match rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve) {
        // Before Linux 5.6, or where a filter of system calls does not know it.
        Err(Errno::NOSYS | Errno::PERM) => open_by_name(path, flags),
        opened => opened,
    };
    Ok(File::from(opened?))
}

/// Whether somebody has put a link into the path since it was found.
pub fn is_changed(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

/// The same by one name after the other.
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
            // So says the kernel of a link that is not followed, and of a file.
            Err(Errno::NOTDIR) if is_link(&here, name) => return Err(Errno::LOOP),
            opened => opened?,
        };
    }
    let opened = rustix::fs::openat(&here, last, flags | OFlags::NOFOLLOW, Mode::empty())?;
    // With `O_PATH` a link itself is opened.
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
            Self::Facts => OFlags::PATH,
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

    /// By each of the two ways: what is read, or the error.
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
    fn no_link_is_followed_wherever_it_is() {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        fs::create_dir(top.join("folder")).unwrap();
        fs::write(top.join("folder/file"), "text").unwrap();
        symlink("folder", top.join("link")).unwrap();
        symlink("file", top.join("folder/name")).unwrap();
        symlink(top.join("folder/file"), top.join("folder/absolute")).unwrap();
        assert_eq!(both(&top.join("folder/file"), Access::Read).unwrap(), "text");
        for access in [Access::Read, Access::Facts] {
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
        assert!(both(Path::new("/"), Access::Facts).is_ok());
    }

    #[test]
    fn opening_does_not_wait_for_a_pipe() {
        let temp = tempfile::tempdir().unwrap();
        let pipe = temp.path().canonicalize().unwrap().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(!open_canonical(&pipe, Access::Read).unwrap().metadata().unwrap().is_file());
    }
}
