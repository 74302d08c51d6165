//! A version of an app, as a cell serves it: everything is decided, nothing is looked up any more. Control makes these out
//! of folders, manifests, the operator's configuration and the store.

use std::fmt;
use std::path::PathBuf;

use hearth_config::Settings;
use hearth_core::{AppName, Owner, VersionName};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct VersionSpec {
    pub app: AppName,
    pub version: VersionName,
    pub owner: Owner,
    /// Another one when code, manifest, environment, secrets or tokens are another. Who has the same is left alone.
    pub identity: String,
    pub folder: PathBuf,
    pub kind: Kind,
    /// Whether this is what the bare name means.
    pub active: Active,
    pub hosts: Vec<String>,
    pub settings: Settings,
    /// All that the app sees as `env`, secrets included.
    pub env: Vec<(String, String)>,
    /// SHA-256 of each token that opens the app, in hexadecimal.
    pub tokens: Vec<String>,
    pub place: Place,
}

/// Where a cell finds a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// In itself.
    Here,
    /// In a cell of its owner's own, which listens at this Unix socket.
    Cordon(PathBuf),
    /// Nowhere yet: its dependencies are being installed.
    Installing,
    /// Nowhere, until this time in milliseconds since 1970: its owner's cell went down too often.
    Shut { until: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// JavaScript: the entry, within the folder.
    Worker { entry: PathBuf },
    /// A page and its files, without JavaScript of the server's: the index, within the folder.
    Site { index: PathBuf },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Active {
    Yes,
    No,
}

impl fmt::Debug for VersionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its environment holds secrets.
        f.debug_struct("VersionSpec").field("app", &self.app).field("version", &self.version).finish_non_exhaustive()
    }
}
