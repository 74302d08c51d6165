//! The package scope of a file: the `type` of its package, and the nearest `tsconfig.json`.
//!
//! Both are searched from the file's folder up to the app's folder, and cached per folder. A
//! package ends at a `node_modules`; packages do not use the app's `tsconfig.json`, and their own
//! ones are not read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::module::ModuleError;
use serde::Deserialize;

use super::app_root::{AppRoot, Refusal};
use super::tsconfig::CompilerOptions;

/// Names of files with `compilerOptions`; the first that exists counts.
const CONFIGS: [&str; 4] = ["tsconfig.json", "deno.json", "deno.jsonc", "jsconfig.json"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum PackageType {
    Module,
    CommonJs,
    #[default]
    Unstated,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    #[default]
    App,
    /// Below a `node_modules`.
    Package,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub package: PackageType,
    pub origin: Origin,
    pub compiler: Arc<CompilerOptions>,
}

#[derive(Debug)]
pub(super) struct Scopes {
    root: Arc<AppRoot>,
    known: Mutex<HashMap<String, Scope>>,
}

#[derive(Deserialize)]
struct PackageJson {
    #[serde(rename = "type", default)]
    kind: serde_json::Value,
}

// === impl Scopes ===

impl Scopes {
    pub fn new(root: Arc<AppRoot>) -> Self {
        Self { root, known: Mutex::default() }
    }

    /// The scope of a folder, by its inner path.
    pub fn of(&self, folder: &Path) -> Result<Scope, ModuleError> {
        let key = folder.to_string_lossy().into_owned();
        if let Some(scope) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(scope.clone());
        }
        let mut scope = match folder.parent() {
            Some(parent) => self.of(parent)?,
            None => Scope::default(),
        };
        if folder.file_name().is_some_and(|name| name == "node_modules") {
            scope = Scope { origin: Origin::Package, ..Scope::default() };
        }
        if let Some(package) = self.package_type(&folder.join("package.json"))? {
            scope.package = package;
        }
        if scope.origin == Origin::App {
            for config in CONFIGS {
                if let Some(options) = CompilerOptions::read(&self.root, &folder.join(config))? {
                    scope.compiler = Arc::new(options);
                    break;
                }
            }
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, scope.clone());
        Ok(scope)
    }

    fn package_type(&self, file: &Path) -> Result<Option<PackageType>, ModuleError> {
        let Some(text) = read_config(&self.root, file)? else { return Ok(None) };
        let package: PackageJson = serde_json::from_str(&text).map_err(|error| unreadable(file, error.to_string()))?;
        Ok(Some(match package.kind.as_str() {
            Some("module") => PackageType::Module,
            Some("commonjs") => PackageType::CommonJs,
            _ => PackageType::Unstated,
        }))
    }
}

/// Reads an optional file. A file that a link places outside of the folder counts as missing.
pub(super) fn read_config(root: &AppRoot, file: &Path) -> Result<Option<String>, ModuleError> {
    match root.read_text(file) {
        Ok(text) => Ok(text),
        Err(Refusal::Outside { .. }) => Ok(None),
        Err(Refusal::Io(error)) => Err(unreadable(file, error.to_string())),
    }
}

pub(super) fn unreadable(file: &Path, reason: String) -> ModuleError {
    ModuleError::Read { id: file.display().to_string(), reason }
}
