//! Removes the server's own folders with all that is in them, and nothing else: links are not
//! followed, and mounts in them are left alone. A folder that something is mounted in stays.

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, ResolveFlags, fstat, openat, openat2, unlinkat};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Blocks.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = openat(CWD, parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let name = std::ffi::CString::new(name.as_encoded_bytes())?;
    Ok(remove(std::os::fd::AsFd::as_fd(&parent), &name)?)
}

fn remove(parent: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        done => return done,
    }
    let folder = inner(parent, name)?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        if entry.file_name() != c"." && entry.file_name() != c".." {
            remove(std::os::fd::AsFd::as_fd(&folder), entry.file_name())?;
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Opens a folder of the same mount.
fn inner(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    match openat2(parent, name, FOLDER, Mode::empty(), resolve) {
        // Before Linux 5.6: of the same file system, at least.
        Err(Errno::NOSYS) => {
            let folder = openat(parent, name, FOLDER, Mode::empty())?;
            if fstat(&folder)?.st_dev == fstat(parent)?.st_dev { Ok(folder) } else { Err(Errno::XDEV) }
        }
        opened => opened,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_tree_is_removed_and_link_targets_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        fs::create_dir_all(own.join("a/b")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("kept"), "kept").unwrap();
        fs::write(own.join("a/file"), "gone").unwrap();
        symlink(&other, own.join("a/b/link")).unwrap();
        symlink("/dev/null", own.join("null")).unwrap();
        remove_tree(&own).unwrap();
        assert!(!own.exists());
        assert_eq!(fs::read_to_string(other.join("kept")).unwrap(), "kept");
        assert_eq!(remove_tree(&own).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn no_mount_is_entered() {
        let root = openat(CWD, "/", FOLDER, Mode::empty()).unwrap();
        assert_eq!(inner(root.as_fd(), c"proc").unwrap_err(), Errno::XDEV);
        assert_eq!(inner(root.as_fd(), c"..").unwrap_err(), Errno::XDEV);
    }
}
