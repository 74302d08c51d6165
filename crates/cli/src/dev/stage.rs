//! What is served. One app gets a folder of its own to be found in: a link to the app, beside a configuration that puts it at
//! the root of `localhost` and of the address. A folder of apps is served as it is. All of it is gone when the stage is dropped.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use hearth_apps::app_folder;
use hearth_core::AppName;
use serde_json::json;
use tempfile::TempDir;

use super::DevOptions;
use crate::check::{Place, Report, is_app, name_of};
use crate::manifest;

#[derive(Debug)]
pub struct Stage {
    /// Where apps are found.
    pub root: PathBuf,
    /// What to check after a change.
    pub watched: PathBuf,
    pub show: Show,
    /// `hearth.yaml`, where this is not the operator's own.
    pub config: Option<PathBuf>,
    pub data: PathBuf,
    /// Removed at the end.
    _made: TempDir,
}

/// What is on stage.
#[derive(Debug, PartialEq, Eq)]
pub enum Show {
    One { name: AppName, folder: PathBuf },
    Several,
}

#[derive(Debug, thiserror::Error)]
pub enum StageError {
    #[error("cannot open {}: {source}", path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Place(String),
    #[error(
        "{} does not look like an app: add a manifest.yaml with `entrypoint: {}`, or use `hearth run`",
        folder.display(), entry.display()
    )]
    NoApp { folder: PathBuf, entry: PathBuf },
    #[error("cannot make {}: {source}", path.display())]
    Make { path: PathBuf, source: io::Error },
}

// === impl Stage ===

impl Stage {
    pub fn set(options: &DevOptions) -> Result<Self, StageError> {
        let path =
            options.path.canonicalize().map_err(|source| StageError::Open { path: options.path.clone(), source })?;
        let made = TempDir::with_prefix("hearth-dev-")
            .map_err(|source| StageError::Make { path: std::env::temp_dir(), source })?;
        if path.is_file() {
            let folder = app_folder(&path);
            let entry = path.strip_prefix(&folder).ok().map(Path::to_owned);
            return Self::one(made, options, folder, entry);
        }
        match Place::of(&path).map_err(|finding| StageError::Place(finding.message))? {
            Place::App { folder, .. } => Self::one(made, options, folder, None),
            Place::Folder(root) => {
                let data = data(&made, options);
                Ok(Self { watched: root.clone(), root, show: Show::Several, config: None, data, _made: made })
            }
        }
    }

    /// The apps, each with its folder.
    pub fn apps(&self) -> Vec<(AppName, PathBuf)> {
        match &self.show {
            Show::One { name, folder } => vec![(name.clone(), folder.clone())],
            Show::Several => Report::of(std::slice::from_ref(&self.root), None).folders_by_name(),
        }
    }

    fn one(made: TempDir, options: &DevOptions, folder: PathBuf, entry: Option<PathBuf>) -> Result<Self, StageError> {
        if !is_app(&folder) {
            return Err(StageError::NoApp { folder, entry: entry.unwrap_or_default() });
        }
        // The manifest may say; while it cannot be read, what the folder says has to do.
        let name = manifest::read(&folder).ok().and_then(|manifest| manifest.name).unwrap_or_else(|| name_of(&folder));
        let (root, config) = (made.path().join("apps"), made.path().join("hearth.yaml"));
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StageError::Make { path, source }
        };
        std::fs::create_dir(&root).map_err(failed(&root))?;
        // The manifest's name counts, scope and all; the link needs any.
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

/// The app at the root of `localhost` and of the address that is listened on. As JSON, which is YAML too.
fn configuration(name: &AppName, entry: Option<&Path>, listen: IpAddr) -> String {
    let mut hosts = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string()];
    if let IpAddr::V4(address) = listen {
        if !address.is_unspecified() && !address.is_loopback() {
            hosts.push(address.to_string());
        }
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
    fn one_app_is_alone_on_stage() {
        let temp = tempfile::tempdir().unwrap();
        for name in ["mine", "other"] {
            std::fs::create_dir(temp.path().join(name)).unwrap();
            std::fs::write(temp.path().join(name).join("main.ts"), "").unwrap();
            std::fs::write(temp.path().join(name).join("manifest.yaml"), "name: called\nentrypoint: main.ts").unwrap();
        }
        let folder = temp.path().join("mine").canonicalize().unwrap();
        for path in [folder.clone(), folder.join("main.ts")] {
            let stage = Stage::set(&options(&path)).unwrap();
            assert_eq!(stage.show, Show::One { name: AppName::new("called"), folder: folder.clone() });
            let links: Vec<_> = std::fs::read_dir(&stage.root).unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(links.len(), 1);
            assert_eq!(links[0].canonicalize().unwrap(), folder);
            let made = stage.root.clone();
            drop(stage);
            assert!(!made.exists() && folder.join("main.ts").exists());
        }
        let stage = Stage::set(&options(temp.path())).unwrap();
        assert_eq!((stage.show, stage.config), (Show::Several, None));
        assert!(matches!(Stage::set(&options(Path::new("/nowhere"))), Err(StageError::Open { .. })));
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
