//! The folder of a site, opened once, and walks below it.
//!
//! A walk opens one name after the other relative to the previous folder and never lets the kernel
//! follow a link: it reads the link's target and walks it like names of the request.
//! Invariant: a walk is at the site's folder or below it. `..` in a link goes back along the walk,
//! and above its start there is nothing. A link to an absolute path is followed only if that path
//! is inside the folder.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::canonical::{Access, open_canonical};
use crate::etag::FileIdentity;
use crate::found_file::FoundFile;

/// The kernel's own limit.
const MAX_LINKS: usize = 40;
/// The folders that one walk holds open at most.
const MAX_OPEN_FOLDERS: usize = 128;

#[derive(Debug)]
pub struct Folder {
    top: Arc<OwnedFd>,
    /// Canonical.
    path: PathBuf,
}

/// A position in the folder.
pub struct FolderWalk<'a> {
    folder: &'a Folder,
    /// The open folders on the way, without the top.
    trail: Vec<Arc<OwnedFd>>,
    links: usize,
}

pub enum Located {
    File(FoundFile),
    /// The walk is at this folder now.
    Folder,
    /// Another file type, no file, or outside of the folder.
    Nothing,
}

// === impl Folder ===

impl Folder {
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let top = open_canonical(&path, Access::Folder)?;
        Ok(Self { top: Arc::new(top.into()), path })
    }

    /// The canonical path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn walk(&self) -> FolderWalk<'_> {
        FolderWalk { folder: self, trail: Vec::new(), links: 0 }
    }
}

// === impl FolderWalk ===

impl FolderWalk<'_> {
    /// Walks on from the current position. After anything but a folder the walk is over.
    pub fn descend<'n>(&mut self, names: impl DoubleEndedIterator<Item = &'n str>) -> io::Result<Located> {
        let mut ahead = names.rev().map(OsString::from).collect::<Vec<_>>();
        while let Some(name) = ahead.pop() {
            if name == ".." {
                if self.trail.pop().is_none() {
                    return Ok(Located::Nothing);
                }
                continue;
            }
            let step = if ahead.is_empty() { self.open_last(&name) } else { self.enter(&name) };
            match step {
                Ok(Step::Folder(_)) if self.trail.len() == MAX_OPEN_FOLDERS => return Ok(Located::Nothing),
                Ok(Step::Folder(folder)) => self.trail.push(folder),
                Ok(Step::File(identity)) => {
                    return Ok(Located::File(FoundFile { folder: self.current().clone(), name, identity }));
                }
                Ok(Step::Link) => match self.follow(&name, &mut ahead) {
                    Ok(Followed::Inside) => {}
                    Ok(Followed::Outside) => return Ok(Located::Nothing),
                    Err(errno) => return nothing_or(errno),
                },
                Ok(Step::Other) => return Ok(Located::Nothing),
                Err(errno) => return nothing_or(errno),
            }
        }
        Ok(Located::Folder)
    }

    fn current(&self) -> &Arc<OwnedFd> {
        self.trail.last().unwrap_or(&self.folder.top)
    }

    /// The last name may be of any file type and is checked before it is opened: opening a pipe or
    /// a device has side effects.
    fn open_last(&self, name: &OsStr) -> Result<Step, Errno> {
        let stat = rustix::fs::statat(self.current(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Step::File(FileIdentity::from_stat(&stat))),
            FileType::Symlink => Ok(Step::Link),
            FileType::Directory => self.enter(name),
            _ => Ok(Step::Other),
        }
    }

    fn enter(&self, name: &OsStr) -> Result<Step, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(self.current().as_fd(), name, flags, Mode::empty()) {
            Ok(folder) => Ok(Step::Folder(Arc::new(folder))),
            // A link or a file: `readlink` decides.
            Err(Errno::NOTDIR | Errno::LOOP) => Ok(Step::Link),
            Err(errno) => Err(errno),
        }
    }

    /// Prepends the target of the link `name` to the names that are still ahead.
    fn follow(&mut self, name: &OsStr, ahead: &mut Vec<OsString>) -> Result<Followed, Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP);
        }
        let target = rustix::fs::readlinkat(self.current().as_fd(), name, Vec::new())?.into_bytes();
        let target = PathBuf::from(OsString::from_vec(target));
        let mut target = target.as_path();
        if target.is_absolute() {
            let Ok(inside) = target.strip_prefix(&self.folder.path) else { return Ok(Followed::Outside) };
            target = inside;
            self.trail.clear();
        }
        for part in target.components().rev() {
            match part {
                Component::Normal(name) => ahead.push(name.to_owned()),
                Component::ParentDir => ahead.push("..".into()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        Ok(Followed::Inside)
    }
}

enum Step {
    Folder(Arc<OwnedFd>),
    File(FileIdentity),
    Link,
    Other,
}

enum Followed {
    Inside,
    Outside,
}

/// Missing and forbidden files are `Nothing`; failures of the system are errors.
fn nothing_or(errno: Errno) -> io::Result<Located> {
    match errno {
        Errno::NOENT
        | Errno::NOTDIR
        | Errno::LOOP
        | Errno::NAMETOOLONG
        | Errno::ACCESS
        | Errno::PERM
        | Errno::INVAL => Ok(Located::Nothing),
        errno => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests;
