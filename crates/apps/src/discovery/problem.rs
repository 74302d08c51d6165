//! Problems that keep a folder from being served. They are shown to the operator and name the
//! folder and the remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hearth_core::AppName;
use rustix::io::Errno;

use super::name::AppNameError;
use crate::versions::{AppVersion, VersionError};

#[derive(Clone, Debug, thiserror::Error)]
pub struct DiscoveryProblem {
    pub path: PathBuf,
    #[source]
    pub cause: DiscoveryCause,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum DiscoveryCause {
    #[error("cannot be read: {0}")]
    Unreadable(#[source] Arc<io::Error>),
    #[error("is not a folder; apps are served from folders")]
    NotAFolder,
    #[error("{0}; rename the folder")]
    Name(#[source] AppNameError),
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

// === impl DiscoveryProblem ===

impl DiscoveryProblem {
    pub(super) fn new(path: impl Into<PathBuf>, cause: DiscoveryCause) -> Self {
        Self { path: path.into(), cause }
    }

    /// The folder's content is unknown: it may be unchanged.
    pub fn hides_folder(&self) -> bool {
        matches!(&self.cause, DiscoveryCause::Unreadable(error) if hides(error))
    }
}

impl fmt::Display for DiscoveryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.cause)
    }
}

/// Whether two problems are of the same folder and cause, so that a problem is reported once and
/// not after each search.
impl PartialEq for DiscoveryProblem {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.cause.to_string() == other.cause.to_string()
    }
}

impl Eq for DiscoveryProblem {}

/// Whether an error leaves the content unknown: missing permission, no free descriptors, a failing
/// disk.
pub fn hides(error: &io::Error) -> bool {
    const TELLING: [Errno; 5] = [Errno::NOENT, Errno::NOTDIR, Errno::ISDIR, Errno::LOOP, Errno::NAMETOOLONG];
    Errno::from_io_error(error).is_some_and(|error| !TELLING.contains(&error))
}

// === impl DiscoveryCause ===

impl From<io::Error> for DiscoveryCause {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(Arc::new(error))
    }
}
