//! Checks one app: its manifest and `.env`, its entry and files, and whether its modules can be loaded.

use std::io;
use std::path::{Path, PathBuf};

use hearth_apps::versions::AppVersion;
use hearth_apps::{ENTRIES, MANIFESTS};
use hearth_config::{
    AppOrigin, Env, Layers, Manifest, OperatorConfig, Resolved, Settings, package_identity, parse_dotenv,
};
use hearth_core::AppName;
use serde_json::{Value, json};

use super::finding::Finding;
use super::graph;

const LOCK_FILES: [&str; 3] = ["package-lock.json", "npm-shrinkwrap.json", "bun.lock"];

/// An app that was checked.
#[derive(Debug)]
pub struct Checked {
    pub name: AppName,
    pub version: AppVersion,
    pub folder: PathBuf,
}

impl Checked {
    pub fn json(&self) -> Value {
        let folder = self.folder.display().to_string();
        json!({ "name": self.name.as_str(), "version": self.version.to_string(), "folder": folder })
    }
}

/// Checks the app in `folder`, whose name and version are by default those of the folder.
pub fn check(
    folder: &Path,
    name: &AppName,
    version: Option<AppVersion>,
    operator: &OperatorConfig,
    findings: &mut Vec<Finding>,
) -> Checked {
    let mut app = App { folder, name: name.clone(), findings };
    let manifest = app.manifest();
    let dotenv = app.dotenv();
    let package = package_identity(folder);
    if let Some(warning) = &package.warning {
        app.findings.push(Finding::of_warning(name, warning));
    }
    let said = manifest.as_ref().and_then(|manifest| manifest.version.clone()).or(package.version);
    let said = said.and_then(|version| version.as_str().parse().ok());
    if let Some(manifest) = &manifest {
        app.name = manifest.name.clone().unwrap_or(app.name);
        let layers = Layers {
            app: operator.apps.get(&app.name),
            manifest,
            dotenv: dotenv.as_ref(),
            defaults: Some(&operator.defaults),
            origin: AppOrigin::Served,
        };
        match Settings::resolve(&layers, &operator.ceilings) {
            Ok(Resolved { settings, warnings }) => {
                app.findings.extend(warnings.iter().map(|warning| Finding::of_warning(&app.name, warning)));
                app.files(manifest, &settings);
            }
            Err(errors) => {
                app.findings.extend(errors.iter().map(|error| Finding::of_config(Some(&app.name), error)));
            }
        }
    }
    Checked { name: app.name, version: version.or(said).unwrap_or(AppVersion::Latest), folder: folder.to_owned() }
}

struct App<'a> {
    folder: &'a Path,
    name: AppName,
    findings: &'a mut Vec<Finding>,
}

// === impl App ===

impl App<'_> {
    /// `None` if it cannot be parsed: then nothing that depends on it is checked.
    fn manifest(&mut self) -> Option<Manifest> {
        for name in MANIFESTS {
            let file = self.folder.join(name);
            let Some(text) = self.text(&file) else { continue };
            return Manifest::parse(&text?, &file).map_err(|errors| self.config(&errors)).ok();
        }
        Some(Manifest::default())
    }

    fn dotenv(&mut self) -> Option<Env> {
        let file = self.folder.join(".env");
        let text = self.text(&file)??;
        parse_dotenv(&text, &file).map_err(|errors| self.config(&errors)).ok()
    }

    /// `None` if there is no such file, `Some(None)` if it cannot be read.
    fn text(&mut self, file: &Path) -> Option<Option<String>> {
        match std::fs::read_to_string(file) {
            Ok(text) => Some(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.error(file, format!("cannot be read: {error}"));
                Some(None)
            }
        }
    }

    /// Checks that the files exist which the settings name.
    fn files(&mut self, manifest: &Manifest, settings: &Settings) {
        if let Some(folder) = &settings.static_folder
            && !self.folder.join(folder).is_dir()
        {
            self.manifest_error(manifest, "static", format!("there is no folder {}", folder.display()));
        }
        let installs = settings.auto_install;
        if installs && !LOCK_FILES.iter().any(|name| self.folder.join(name).is_file()) {
            let message = "needs a lock file: add package-lock.json (npm install) or bun.lock (bun install)";
            self.manifest_error(manifest, "autoInstall", message.to_owned());
        }
        let Some(entry) = self.entry(manifest, settings) else { return };
        let ending = entry.extension().unwrap_or_default().to_ascii_lowercase();
        if ending == "html" || ending == "htm" {
            return;
        }
        let is_installed = self.folder.join("node_modules").is_dir();
        let found = graph::check(self.folder, &entry);
        if !found.is_empty() && installs && !is_installed {
            let message = "its modules were not all checked: its dependencies are installed when it is served";
            let finding = Finding::warning(&self.folder.join(&entry), message.to_owned());
            self.findings.push(finding.of_app(&self.name));
            return;
        }
        self.findings.extend(found.into_iter().map(|finding| finding.of_app(&self.name)));
    }

    fn entry(&mut self, manifest: &Manifest, settings: &Settings) -> Option<PathBuf> {
        match &settings.entrypoint {
            Some(entry) if self.folder.join(entry).is_file() => Some(entry.clone()),
            Some(entry) => {
                self.manifest_error(manifest, "entrypoint", format!("there is no file {}", entry.display()));
                None
            }
            None => {
                let found = ENTRIES.iter().find(|entry| self.folder.join(entry).is_file()).map(PathBuf::from);
                if found.is_none() {
                    let message = "has no entry: add an index.ts, index.js or index.html, or say `entrypoint:` in its manifest.yaml";
                    self.error(self.folder, message.to_owned());
                }
                found
            }
        }
    }

    fn error(&mut self, file: &Path, message: String) {
        self.findings.push(Finding::error(file, message).of_app(&self.name));
    }

    fn config(&mut self, errors: &hearth_config::ConfigErrors) {
        self.findings.extend(errors.iter().map(|error| Finding::of_config(Some(&self.name), error)));
    }

    /// An error about a key of the manifest, or about the folder if no manifest has the key.
    fn manifest_error(&mut self, manifest: &Manifest, key: &str, message: String) {
        let place = manifest.place(key);
        let file = if place.position.is_some() { place.file.as_path() } else { self.folder };
        let finding = Finding::error(file, format!("{key}: {message}")).at(place.position);
        self.findings.push(finding.of_app(&self.name));
    }
}
