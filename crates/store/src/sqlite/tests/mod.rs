//! the embedded store over real folders.

mod activating;
mod cordons;
mod deploying;
mod opening;
mod secrets;
mod together;
mod tokens;

use std::io::Cursor;
use std::path::{Path, PathBuf};

use hearth_core::{AppName, Owner, VersionName};
use tempfile::TempDir;

use crate::upload::Unpacked;
use crate::{Activations, ActiveVersion, Deployment, Deployments, NewDeployment, Revision, SqliteStore, UploadLimits};

/// A store in a temporary folder.
struct Fixture {
    store: Option<SqliteStore>,
    temp: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let store = Some(SqliteStore::open(&temp.path().join("data")).unwrap());
        Self { store, temp }
    }

    fn data(&self) -> PathBuf {
        self.temp.path().join("data")
    }

    fn store(&self) -> &SqliteStore {
        self.store.as_ref().unwrap()
    }

    fn close(&mut self) {
        self.store = None;
    }

    fn reopen(&mut self) {
        self.close();
        self.store = Some(SqliteStore::open(&self.data()).unwrap());
    }

    fn unpack(&self, text: &str) -> Unpacked {
        self.store().uploads().unpack(Cursor::new(archive(text)), &UploadLimits::default()).unwrap()
    }

    /// Uploads a version of the app `shop` with one file that holds `text`.
    fn upload(&self, version: &str, text: &str) -> Deployment {
        self.store().publish(self.unpack(text), deployment("shop", version)).unwrap()
    }

    fn text(&self, deployment: &Deployment) -> String {
        std::fs::read_to_string(self.store().path(&deployment.folder).join("index.js")).unwrap()
    }

    fn activate(&self, version: &str) -> ActiveVersion {
        self.store().activate(&shop(), &VersionName::new(version)).unwrap()
    }

    fn active(&self) -> Option<ActiveVersion> {
        self.store().active(&shop()).unwrap()
    }

    fn rollback(&self) -> Option<ActiveVersion> {
        self.store().rollback(&shop()).unwrap()
    }

    /// The current revision of a version of `shop`.
    fn current(&self, version: &str) -> u64 {
        let all = self.store().revisions(&shop(), &VersionName::new(version)).unwrap();
        let current: Vec<_> = all.iter().filter(|d| d.state == crate::RevisionState::Current).collect();
        assert_eq!(current.len(), 1, "{all:?}");
        current[0].revision.0
    }

    fn revisions(&self, version: &str) -> Vec<u64> {
        let all = self.store().revisions(&shop(), &VersionName::new(version)).unwrap();
        all.iter().map(|d| d.revision.0).collect()
    }

    fn folders(&self) -> Vec<String> {
        names(&self.data().join("apps"))
    }
}

fn shop() -> AppName {
    AppName::new("shop")
}

fn deployment(app: &str, version: &str) -> NewDeployment {
    NewDeployment { app: AppName::new(app), version: VersionName::new(version), owner: Owner::new("acme") }
}

fn release(version: &str, revision: u64) -> ActiveVersion {
    ActiveVersion { version: VersionName::new(version), revision: Some(Revision(revision)) }
}

/// A version in a folder of the operator.
fn served(version: &str) -> ActiveVersion {
    ActiveVersion { version: VersionName::new(version), revision: None }
}

fn archive(text: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    builder.append_data(&mut header, "index.js", text.as_bytes()).unwrap();
    builder.into_inner().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
