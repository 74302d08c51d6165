//! A regular file that was found, and its content.
//! Invariant: the opened file has the identity that was found, so the headers describe the body.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::etag::FileIdentity;

#[derive(Clone, Debug)]
pub struct FoundFile {
    /// The folder that contains the file; it is inside the site's folder.
    pub folder: Arc<OwnedFd>,
    pub name: OsString,
    pub identity: FileIdentity,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not the file that was found any more: look it up again.
    #[error("the file was changed")]
    Changed,
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file exists, but permissions forbid reading.
    #[error("the file may not be read")]
    Denied,
}

impl FoundFile {
    /// Never blocks, whatever replaced the file.
    pub fn open(&self) -> Result<File, OpenError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.folder.as_fd(), &self.name, flags, Mode::empty());
        let file = File::from(file.map_err(|errno| match errno {
            Errno::NOENT | Errno::LOOP | Errno::NXIO => OpenError::Changed,
            Errno::ACCESS | Errno::PERM => OpenError::Denied,
            errno => OpenError::Io(errno.into()),
        })?);
        self.check(&file)?;
        Ok(file)
    }

    /// Reads the whole file.
    pub fn read(&self) -> Result<Vec<u8>, OpenError> {
        let file = self.open()?;
        let size = self.identity.size;
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        (&file).take(size).read_to_end(&mut content)?;
        self.check(&file)?;
        if content.len() as u64 == size { Ok(content) } else { Err(OpenError::Changed) }
    }

    /// The file with `suffix` added to its name, if it exists.
    pub fn sibling(&self, ending: &str) -> Option<Self> {
        let mut name = self.name.clone();
        name.push(ending);
        let stat = rustix::fs::statat(self.folder.as_fd(), &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then(|| Self { folder: self.folder.clone(), name, identity: FileIdentity::from_stat(&stat) })
    }

    fn check(&self, file: &File) -> Result<(), OpenError> {
        let stat = rustix::fs::fstat(file).map_err(io::Error::from)?;
        if FileIdentity::from_stat(&stat) == self.identity { Ok(()) } else { Err(OpenError::Changed) }
    }
}
