//! `autoInstall`: installs the dependencies of the lock file, without install scripts, before a version is served. Control
//! does this, since cells can neither write files nor start programs.
//!
//! States of a folder: `Wanted -> Running -> Done | Failed`; a folder whose lock file has changed is `Wanted` again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hearth_core::hex;
use sha2::{Digest, Sha256};
use tokio::process::Command;
use tokio::sync::Semaphore;

use crate::catalogue::{Catalogue, State};
use crate::control::Control;
use crate::event::EventKind;

/// An install that takes longer hangs.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// File in `node_modules` with the hash of the installed lock file; written last.
const MARKER: &str = ".hearth-lock";
/// Lines of an installer's stderr that are shown.
const MAX_SHOWN_LINES: usize = 20;
/// The environment variables of an installer. There are no others, since an app's `.npmrc` can send any of them to any host.
const PASSED_VARIABLES: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "XDG_CACHE_HOME",
    "npm_config_registry",
    "npm_config_cache",
];

/// Clones share the state.
#[derive(Clone)]
pub(crate) struct Installer {
    folders: Arc<Mutex<HashMap<PathBuf, Install>>>,
    /// Installs run one at a time, since each uses the whole machine.
    slot: Arc<Semaphore>,
}

struct Install {
    /// Hash of the lock file.
    lock_file: Option<String>,
    progress: Progress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Wanted,
    Running,
    Done,
    Failed(String),
}

/// The package manager, by the lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Npm,
    Bun,
}

impl Default for Installer {
    fn default() -> Self {
        Self { folders: Arc::default(), slot: Arc::new(Semaphore::new(1)) }
    }
}

impl Installer {
    /// The state of a folder; an unknown folder becomes `Wanted`.
    pub(crate) fn progress(&self, folder: &Path) -> Progress {
        let Some((_, lock_file)) = Tool::for_folder(folder) else {
            return Progress::Failed(
                "autoInstall needs a lock file: add package-lock.json (npm install) or bun.lock (bun install)".into(),
            );
        };
        let changed = fingerprint(&lock_file);
        let mut folders = self.lock();
        let install = folders
            .entry(folder.to_owned())
            .or_insert(Install { lock_file: changed.clone(), progress: Progress::Wanted });
        if install.lock_file != changed && install.progress != Progress::Running {
            *install = Install { lock_file: changed, progress: Progress::Wanted };
        }
        if install.progress == Progress::Wanted
            && install.lock_file.is_some()
            && installed_hash(folder) == install.lock_file
        {
            install.progress = Progress::Done;
        }
        install.progress.clone()
    }

    /// Makes failed installs `Wanted` again.
    pub(crate) fn retry_failed(&self) {
        for install in self.lock().values_mut().filter(|install| matches!(install.progress, Progress::Failed(_))) {
            install.progress = Progress::Wanted;
        }
    }

    /// Starts the wanted installs of the catalogue.
    pub(crate) fn start_wanted(&self, control: &Control, catalogue: &Catalogue) {
        for version in catalogue.versions.iter().filter(|version| version.state == State::Installing) {
            let folder = version.spec.folder.clone();
            match self.lock().get_mut(&folder) {
                Some(install) if install.progress == Progress::Wanted => install.progress = Progress::Running,
                _ => continue,
            }
            let (app, version) = (version.spec.app.to_string(), version.spec.version.to_string());
            tracing::info!(app, version, "installing dependencies");
            control.shared.events.record(EventKind::Installing { app: app.clone(), version: version.clone() });
            let (control, installer) = (control.clone(), self.clone());
            tokio::spawn(async move {
                let done = installer.install(&folder).await;
                match &done {
                    Progress::Failed(message) => {
                        tracing::error!(app, version, "dependencies not installed: {message}");
                        control.shared.events.record(EventKind::InstallFailed {
                            app,
                            version,
                            message: message.clone(),
                        });
                    }
                    _ => tracing::info!(app, version, "dependencies installed"),
                }
                if let Some(install) = installer.lock().get_mut(&folder) {
                    install.progress = done;
                }
                control.shared.refresh_requested.notify_one();
            });
        }
    }

    async fn install(&self, folder: &Path) -> Progress {
        // The semaphore is never closed.
        let _slot = self.slot.acquire().await;
        let Some((tool, lock_file)) = Tool::for_folder(folder) else {
            return Progress::Failed("the lock file is gone".into());
        };
        // Hashed before the install: a lock file that changes meanwhile is not what is installed.
        let installed = fingerprint(&lock_file);
        let mut command = tool.command();
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        match tokio::time::timeout(INSTALL_TIMEOUT, command.output()).await {
            Ok(Ok(output)) if output.status.success() => {
                // Without the marker the install is repeated at the next start, which does no harm.
                let modules = folder.join("node_modules");
                let _ = std::fs::create_dir_all(&modules);
                let _ = std::fs::write(modules.join(MARKER), installed.unwrap_or_default());
                Progress::Done
            }
            Ok(Ok(output)) => {
                let words = String::from_utf8_lossy(&output.stderr).into_owned();
                let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
                let last = lines[lines.len().saturating_sub(MAX_SHOWN_LINES)..].join("\n");
                Progress::Failed(format!("{} ended with {}: {last}", tool.name(), output.status))
            }
            Ok(Err(error)) => Progress::Failed(format!("{} cannot be started: {error}", tool.name())),
            Err(_) => Progress::Failed(format!("{} took longer than {INSTALL_TIMEOUT:?}", tool.name())),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Install>> {
        // Nothing that can panic runs under this lock.
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tool {
    fn for_folder(folder: &Path) -> Option<(Self, PathBuf)> {
        let files = [("package-lock.json", Self::Npm), ("npm-shrinkwrap.json", Self::Npm), ("bun.lock", Self::Bun)];
        let mut there = files.into_iter().map(|(name, tool)| (tool, folder.join(name)));
        there.find(|(_, file)| file.is_file())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Bun => "bun",
        }
    }

    /// Installs exactly what the lock file says and runs no scripts. `--git=git` overrides a program that an app's `.npmrc`
    /// could name.
    fn command(self) -> Command {
        let mut command = Command::new(self.name());
        command.env_clear().envs(PASSED_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        match self {
            Self::Npm => command.args(["ci", "--ignore-scripts", "--git=git", "--no-audit", "--no-fund", "--omit=dev"]),
            Self::Bun => command.args(["install", "--frozen-lockfile", "--ignore-scripts", "--production"]),
        };
        command
    }
}

/// The hash of the lock file that is installed; `None` if no install has finished.
fn installed_hash(folder: &Path) -> Option<String> {
    std::fs::read_to_string(folder.join("node_modules").join(MARKER)).ok()
}

fn fingerprint(lock_file: &Path) -> Option<String> {
    let text = std::fs::read(lock_file).ok()?;
    Some(hex::encode(&Sha256::digest(&text)))
}
