//! A version of an app with everything resolved, as a cell serves it. Control builds these from folders, manifests, the
//! operator's configuration and the store.

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
    /// Changes with code, manifest, environment, secrets and tokens. A cell keeps a version whose identity is the same.
    pub identity: String,
    pub folder: PathBuf,
    pub kind: Kind,
    /// Whether the bare app name resolves to this version.
    pub active: Active,
    pub hosts: Vec<String>,
    pub settings: Settings,
    /// The app's `env`, secrets included.
    pub env: Vec<(String, String)>,
    /// SHA-256 of each access token of the app, in hexadecimal.
    pub tokens: Vec<String>,
    pub placement: Placement,
}

/// Where a version is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// In this cell.
    Here,
    /// In the owner's own cell, which listens at this Unix socket.
    Cordon(PathBuf),
    /// Nowhere yet: dependencies are being installed.
    Installing,
    /// Nowhere until this time, in milliseconds since 1970, since the owner's cell crashed too often.
    Shut { until: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// JavaScript; the entry file, relative to the folder.
    Worker { entry: PathBuf },
    /// Static files without server-side JavaScript; the index file, relative to the folder.
    Site { index: PathBuf },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Active {
    Yes,
    No,
}

impl fmt::Debug for VersionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `env` holds secrets.
        f.debug_struct("VersionSpec").field("app", &self.app).field("version", &self.version).finish_non_exhaustive()
    }
}
