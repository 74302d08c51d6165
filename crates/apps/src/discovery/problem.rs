//! What keeps a folder from being served. It is shown to the operator, so it names the folder and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hearth_core::AppName;
use rustix::io::Errno;

use super::name::NameError;
use crate::versions::{AppVersion, VersionError};

#[derive(Clone, Debug, thiserror::Error)]
pub struct Problem {
    pub path: PathBuf,
    #[source]
    pub cause: Cause,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum Cause {
    #[error("cannot be read: {0}")]
    Unreadable(#[source] Arc<io::Error>),
    #[error("is not a folder; apps are served from folders")]
    NotAFolder,
    #[error("{0}; rename the folder")]
    Name(#[source] NameError),
    #[error("{0}; rename the folder")]
    Version(#[source] VersionError),
    #[error("its name is not UTF-8; rename the folder")]
    NotText,
    #[error(
        "holds no app: there is no manifest.yaml, no package.json and no entry (index.ts, index.tsx, index.js, index.mjs, \
         index.html, also in src/)"
    )]
    NoApp,
    #[error("is a link that leads out of {}; only links in the served folder itself may lead elsewhere", .0.display())]
    LeadsOut(PathBuf),
    #[error("is {name}@{version}, as {} is, which is served; remove one of them or change its version", .served.display())]
    Collision { name: AppName, version: AppVersion, served: PathBuf },
}

// === impl Problem ===

impl Problem {
    pub(super) fn new(path: impl Into<PathBuf>, cause: Cause) -> Self {
        Self { path: path.into(), cause }
    }

    /// What lies there is not known: it may be as it was before.
    pub fn hides_folder(&self) -> bool {
        matches!(&self.cause, Cause::Unreadable(error) if hides(error))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

/// The same folder with the same fault: what was told once need not be told after each search.
impl PartialEq for Problem {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.cause.to_string() == other.cause.to_string()
    }
}

impl Eq for Problem {}

/// Whether an error says nothing about what is there: no right to look, no descriptors left, a disk that fails.
pub fn hides(error: &io::Error) -> bool {
    const TELLING: [Errno; 5] = [Errno::NOENT, Errno::NOTDIR, Errno::ISDIR, Errno::LOOP, Errno::NAMETOOLONG];
    Errno::from_io_error(error).is_some_and(|error| !TELLING.contains(&error))
}

// === impl Cause ===

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(Arc::new(error))
    }
}
