//! The site's folder, opened once, and the way down from it.
//!
//! A walk opens one name after the other, each below the folder that was opened before, and never follows a link
//! unseen: a link's target is read and walked like names of the request. Invariant: a walk stands in the site's folder
//! or below it. Dot-dot in a link goes back the way that was walked, and above its start there is nothing; a link to an
//! absolute path is followed only when that path is inside the folder.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::canonical::{Access, open_canonical};
use crate::identity::Identity;
use crate::spot::Spot;

/// As many as the system follows itself.
const MOST_LINKS: usize = 40;
/// Open at once, whatever links say.
const MOST_FOLDERS: usize = 128;

#[derive(Debug)]
pub struct Folder {
    top: Arc<OwnedFd>,
    /// Without links.
    path: PathBuf,
}

/// Somewhere in the folder.
pub struct Walk<'a> {
    folder: &'a Folder,
    /// The folders on the way, the top not among them.
    trail: Vec<Arc<OwnedFd>>,
    links: usize,
}

pub enum Place {
    File(Spot),
    /// The walk stands in it.
    Folder,
    /// Neither; or nothing at all; or outside.
    Nothing,
}

// === impl Folder ===

impl Folder {
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = path.canonicalize()?;
        let top = open_canonical(&path, Access::Folder)?;
        Ok(Self { top: Arc::new(top.into()), path })
    }

    /// Where it is, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn walk(&self) -> Walk<'_> {
        Walk { folder: self, trail: Vec::new(), links: 0 }
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// Goes on from here. After anything but a folder the walk is over.
    pub fn go<'n>(&mut self, names: impl DoubleEndedIterator<Item = &'n str>) -> io::Result<Place> {
        let mut ahead = names.rev().map(OsString::from).collect::<Vec<_>>();
        while let Some(name) = ahead.pop() {
            if name == ".." {
                if self.trail.pop().is_none() {
                    return Ok(Place::Nothing);
                }
                continue;
            }
            let step = if ahead.is_empty() { self.last(&name) } else { self.enter(&name) };
            match step {
                Ok(Step::Folder(_)) if self.trail.len() == MOST_FOLDERS => return Ok(Place::Nothing),
                Ok(Step::Folder(folder)) => self.trail.push(folder),
                Ok(Step::File(identity)) => {
                    return Ok(Place::File(Spot { folder: self.here().clone(), name, identity }));
                }
                Ok(Step::Link) => match self.follow(&name, &mut ahead) {
                    Ok(Followed::Inside) => {}
                    Ok(Followed::Outside) => return Ok(Place::Nothing),
                    Err(errno) => return nothing_or(errno),
                },
                Ok(Step::Other) => return Ok(Place::Nothing),
                Err(errno) => return nothing_or(errno),
            }
        }
        Ok(Place::Folder)
    }

    fn here(&self) -> &Arc<OwnedFd> {
        self.trail.last().unwrap_or(&self.folder.top)
    }

    /// The last name may be anything, and is looked at before it is opened: opening a pipe or a device has effects.
    fn last(&self, name: &OsStr) -> Result<Step, Errno> {
        let stat = rustix::fs::statat(self.here(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Step::File(Identity::of(&stat))),
            FileType::Symlink => Ok(Step::Link),
            FileType::Directory => self.enter(name),
            _ => Ok(Step::Other),
        }
    }

    fn enter(&self, name: &OsStr) -> Result<Step, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(self.here().as_fd(), name, flags, Mode::empty()) {
            Ok(folder) => Ok(Step::Folder(Arc::new(folder))),
            // A link or a file: reading the link will tell.
            Err(Errno::NOTDIR | Errno::LOOP) => Ok(Step::Link),
            Err(errno) => Err(errno),
        }
    }

    /// Puts the target of the link `name` before what is still ahead.
    fn follow(&mut self, name: &OsStr, ahead: &mut Vec<OsString>) -> Result<Followed, Errno> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Errno::LOOP);
        }
        let target = rustix::fs::readlinkat(self.here().as_fd(), name, Vec::new())?.into_bytes();
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
    File(Identity),
    Link,
    Other,
}

enum Followed {
    Inside,
    Outside,
}

/// What is not there, or not for us, is nothing; that the system fails is an error.
fn nothing_or(errno: Errno) -> io::Result<Place> {
    match errno {
        Errno::NOENT
        | Errno::NOTDIR
        | Errno::LOOP
        | Errno::NAMETOOLONG
        | Errno::ACCESS
        | Errno::PERM
        | Errno::INVAL => Ok(Place::Nothing),
        errno => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests;
