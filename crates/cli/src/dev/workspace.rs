//! What is served. For one app a temporary folder is made: a link to the app, and a configuration that puts it at the root of
//! `localhost` and of the address. A folder of apps is served as it is. The temporary folder is removed on drop.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use hearth_apps::app_folder;
use hearth_core::AppName;
use serde_json::json;
use tempfile::TempDir;

use super::DevOptions;
use crate::check::{CheckReport, CheckTarget, is_app, name_of};
use crate::manifest;

#[derive(Debug)]
pub struct Workspace {
    /// The folder of apps.
    pub root: PathBuf,
    /// The folders to check after a change.
    pub watched: PathBuf,
    pub show: Show,
    /// The generated `hearth.yaml`; `None` where the operator's own is used.
    pub config: Option<PathBuf>,
    pub data: PathBuf,
    /// Removed on drop.
    _made: TempDir,
}

/// What the workspace serves.
#[derive(Debug, PartialEq, Eq)]
pub enum Show {
    One { name: AppName, folder: PathBuf },
    Several,
}

#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Target(String),
    #[error(
        "{} does not look like an app: add a manifest.yaml with `entrypoint: {}`, or use `hearth run`",
        folder.display(), entry.display()
    )]
    NoApp { folder: PathBuf, entry: PathBuf },
    #[error("cannot make {}: {source}", path.display())]
    Make { path: PathBuf, source: io::Error },
}

// === impl Workspace ===

impl Workspace {
    pub fn new(options: &DevOptions) -> Result<Self, WorkspaceError> {
        let path = options
            .path
            .canonicalize()
            .map_err(|source| WorkspaceError::Open { path: options.path.clone(), source })?;
        let made = TempDir::with_prefix("hearth-dev-")
            .map_err(|source| WorkspaceError::Make { path: std::env::temp_dir(), source })?;
        if path.is_file() {
            let folder = app_folder(&path);
            let entry = path.strip_prefix(&folder).ok().map(Path::to_owned);
            return Self::one(made, options, folder, entry);
        }
        match CheckTarget::from_path(&path).map_err(|finding| WorkspaceError::Target(finding.message))? {
            CheckTarget::App { folder, .. } => Self::one(made, options, folder, None),
            CheckTarget::Folder(root) => {
                let data = data(&made, options);
                Ok(Self { watched: root.clone(), root, show: Show::Several, config: None, data, _made: made })
            }
        }
    }

    /// The apps, each with its folder.
    pub fn apps(&self) -> Vec<(AppName, PathBuf)> {
        match &self.show {
            Show::One { name, folder } => vec![(name.clone(), folder.clone())],
            Show::Several => CheckReport::new(std::slice::from_ref(&self.root), None).folders_by_name(),
        }
    }

    fn one(
        made: TempDir,
        options: &DevOptions,
        folder: PathBuf,
        entry: Option<PathBuf>,
    ) -> Result<Self, WorkspaceError> {
        if !is_app(&folder) {
            return Err(WorkspaceError::NoApp { folder, entry: entry.unwrap_or_default() });
        }
        // The manifest may name the app; while it cannot be read, the folder's name is used.
        let name = manifest::read(&folder).ok().and_then(|manifest| manifest.name).unwrap_or_else(|| name_of(&folder));
        let (root, config) = (made.path().join("apps"), made.path().join("hearth.yaml"));
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| WorkspaceError::Make { path, source }
        };
        std::fs::create_dir(&root).map_err(failed(&root))?;
        // The link may have any name: the manifest's name counts, with its scope.
        let link = root.join(name.as_str().rsplit('/').next().unwrap_or("app"));
        std::os::unix::fs::symlink(&folder, &link).map_err(failed(&link))?;
        let text = configuration(&name, entry.as_deref(), options.listen.ip());
        std::fs::write(&config, text).map_err(failed(&config))?;
        let data = data(&made, options);
        let show = Show::One { name, folder: folder.clone() };
        Ok(Self { root, watched: folder, show, config: Some(config), data, _made: made })
    }
}

fn data(made: &TempDir, options: &DevOptions) -> PathBuf {
    options.data.clone().unwrap_or_else(|| made.path().join("data"))
}

/// A configuration that puts the app at the root of `localhost` and of the listening address. JSON, which is YAML too.
fn configuration(name: &AppName, entry: Option<&Path>, listen: IpAddr) -> String {
    let mut hosts = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string()];
    if let IpAddr::V4(address) = listen
        && !address.is_unspecified()
        && !address.is_loopback()
    {
        hosts.push(address.to_string());
    }
    let mut app = json!({ "hosts": hosts });
    if let Some(entry) = entry {
        app["entrypoint"] = json!(entry.to_string_lossy());
    }
    json!({ "apps": { name.as_str(): app } }).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use hearth_config::OperatorConfig;

    use super::*;

    fn options(path: &Path) -> DevOptions {
        DevOptions { path: path.to_owned(), listen: "127.0.0.1:0".parse().unwrap(), data: None }
    }

    #[test]
    fn one_app_has_a_workspace_of_its_own() {
        let temp = tempfile::tempdir().unwrap();
        for name in ["mine", "other"] {
            std::fs::create_dir(temp.path().join(name)).unwrap();
            std::fs::write(temp.path().join(name).join("main.ts"), "").unwrap();
            std::fs::write(temp.path().join(name).join("manifest.yaml"), "name: called\nentrypoint: main.ts").unwrap();
        }
        let folder = temp.path().join("mine").canonicalize().unwrap();
        for path in [folder.clone(), folder.join("main.ts")] {
            let workspace = Workspace::new(&options(&path)).unwrap();
            assert_eq!(workspace.show, Show::One { name: AppName::new("called"), folder: folder.clone() });
            let links: Vec<_> =
                std::fs::read_dir(&workspace.root).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(links.len(), 1);
            assert_eq!(links[0].canonicalize().unwrap(), folder);
            let made = workspace.root.clone();
            drop(workspace);
            assert!(!made.exists() && folder.join("main.ts").exists());
        }
        let workspace = Workspace::new(&options(temp.path())).unwrap();
        assert_eq!((workspace.show, workspace.config), (Show::Several, None));
        assert!(matches!(Workspace::new(&options(Path::new("/nowhere"))), Err(WorkspaceError::Open { .. })));
    }

    #[test]
    fn the_configuration_can_be_read() {
        let text = configuration(&AppName::new("@a/b"), Some(Path::new("src/main \"x\".ts")), [10, 0, 0, 7].into());
        let config = OperatorConfig::parse(&text, Path::new("hearth.yaml")).unwrap();
        let app = &config.apps[&AppName::new("@a/b")];
        assert_eq!(app.entrypoint.as_deref(), Some(Path::new("src/main \"x\".ts")));
        let hosts: Vec<String> = app.hosts.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(hosts, ["localhost", "127.0.0.1", "10.0.0.7"]);
    }
}
