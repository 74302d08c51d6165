//! The module loader of one app: an entry, the app's folder, and the modules loaded so far.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hearth_core::files::AppFiles;
use hearth_core::module::{ImportStyle, ImportType, ModuleCode, ModuleError, ModuleId, ModuleLoader, ModuleSource};

use super::app_root::{self, AppRoot, Refusal};
use super::compile::File;
use super::files::{Files, is_environment};
use super::format::{Format, Role};
use super::package_scope::Scopes;
use super::resolve::Resolver;
use super::scan::Import;
use super::synthetic;

/// The modules of the app in a folder.
///
/// An app is immutable while it is open: a file is read when it is first needed (or by
/// [`preload`](Self::preload)) and never again; errors are cached as well.
pub struct AppModules {
    entry: ModuleId,
    root: Arc<AppRoot>,
    resolver: Resolver,
    scopes: Scopes,
    files: Arc<Files>,
    loaded: Mutex<Places>,
}

type Loaded = Result<Arc<Module>, ModuleError>;
/// One slot per module, so that a slow load only blocks threads that want the same module.
type Places = HashMap<(ModuleId, ImportType), Arc<OnceLock<Loaded>>>;

/// A module and its imports.
#[derive(Debug)]
pub(super) struct Module {
    pub source: Arc<ModuleSource>,
    pub imports: Vec<Import>,
}

// === impl AppModules ===

impl AppModules {
    /// `entry` is absolute or relative to `folder`; it must be a file below `folder` with links
    /// resolved.
    pub fn open(folder: &Path, entry: &Path) -> Result<Self, ModuleError> {
        let (name, from) = (entry.display().to_string(), folder.display().to_string());
        let root =
            AppRoot::new(folder).map_err(|error| ModuleError::Read { id: from.clone(), reason: error.to_string() })?;
        let not_found = |reason: String| ModuleError::NotFound { specifier: name.clone(), from: from.clone(), reason };
        let real = std::fs::canonicalize(folder.join(entry)).map_err(|error| not_found(error.to_string()))?;
        let id = match root.inner(&real) {
            Ok(id) if real.is_file() => ModuleId::new(id),
            Ok(_) => return Err(not_found("it is not a file".into())),
            Err(Refusal::Io(error)) => return Err(not_found(error.to_string())),
            Err(Refusal::Outside { .. }) => {
                let reason = "the entry must be a file in it".into();
                return Err(ModuleError::Outside { specifier: name, from, reason });
            }
        };
        let root = Arc::new(root);
        Ok(Self {
            entry: id,
            resolver: Resolver::new(root.clone()),
            scopes: Scopes::new(root.clone()),
            files: Arc::new(Files::new(root.clone())),
            root,
            loaded: Mutex::default(),
        })
    }

    /// The loaded modules: ids with a short description, for display.
    pub fn loaded(&self) -> Vec<(ModuleId, String)> {
        let places = self.places();
        let all = places.iter().filter_map(|((id, _), place)| Some((id.clone(), described(place.get()?))));
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    }

    /// Returns a module, from memory if it was loaded before. Two threads that request it at once
    /// share one load.
    pub(super) fn module(&self, id: &ModuleId, kind: ImportType) -> Loaded {
        let key = (id.clone(), kind);
        let place = self.places().entry(key.clone()).or_default().clone();
        let loaded = place.get_or_init(|| self.read(id, kind).map(Arc::new)).clone();
        if matches!(loaded, Err(ModuleError::Read { .. })) {
            // Missing files are not cached, since code can ask for any number of names.
            self.places().remove(&key);
        }
        loaded
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, id: &ModuleId, kind: ImportType) -> Result<Module, ModuleError> {
        let done = |code| {
            let source = ModuleSource { id: id.clone(), code, source_map: None };
            Ok(Module { source: Arc::new(source), imports: Vec::new() })
        };
        if id.is_built_in() {
            return match hearth_node::file(id.as_str()).is_some() {
                true => done(ModuleCode::BuiltIn),
                false => Err(unreadable(id, "there is no such built-in module".into())),
            };
        }
        if let Some(source) = synthetic::load(id) {
            return Ok(Module { source: Arc::new(source), imports: Vec::new() });
        }
        let format = Format::from_path(id.as_str());
        if let Some(error) = mismatch(id, kind, format) {
            return Err(error);
        }
        let bytes = self.bytes(id)?;
        match (kind, format) {
            (ImportType::Text, _) | (ImportType::Default, Format::Text) => done(ModuleCode::Text(text(bytes))),
            (ImportType::Json, _) | (ImportType::Default, Format::Json) => done(ModuleCode::Json(text(bytes))),
            (ImportType::Default, Format::Wasm) if !bytes.starts_with(b"\0asm") => {
                Err(wrong(id, "WebAssembly", "it does not start as a WebAssembly module does".into()))
            }
            (ImportType::Default, Format::Wasm) => done(ModuleCode::Wasm(bytes.into())),
            (ImportType::Default, Format::Code(language, goal)) => {
                let source = text(bytes);
                let scope = self.scopes.of(Path::new(id.as_str()).parent().unwrap_or(Path::new("/")))?;
                let role = if *id == self.entry { Role::Entry } else { Role::Other };
                let compiled = File { id: id.clone(), source, language, goal, scope, role }.compile()?;
                let source_map = compiled.map.map(|map| Arc::new(map) as _);
                let source = ModuleSource { id: id.clone(), code: compiled.code, source_map };
                Ok(Module { source: Arc::new(source), imports: compiled.imports })
            }
            (ImportType::Bytes, _) | (ImportType::Default, Format::Bytes | Format::Unknown) => {
                done(ModuleCode::Bytes(bytes.into()))
            }
        }
    }

    fn bytes(&self, id: &ModuleId) -> Result<Vec<u8>, ModuleError> {
        if is_environment(Path::new(id.as_str()).file_name()) {
            return Err(unreadable(
                id,
                "it holds the environment, of which an app sees what is meant for it as `env`".into(),
            ));
        }
        self.root.read(Path::new(id.as_str())).map_err(|refusal| match refusal {
            Refusal::Io(error) => unreadable(id, error.to_string()),
            Refusal::Outside { .. } => unreadable(id, "it lies outside the app's folder".into()),
        })
    }
}

impl ModuleLoader for AppModules {
    fn entry(&self) -> ModuleId {
        self.entry.clone()
    }

    fn resolve(&self, specifier: &str, from: &ModuleId, style: ImportStyle) -> Result<ModuleId, ModuleError> {
        self.resolver.resolve(specifier, from, style, &self.scopes)
    }

    fn load(&self, id: &ModuleId, kind: ImportType) -> Result<Arc<ModuleSource>, ModuleError> {
        self.module(id, kind).map(|module| module.source.clone())
    }

    fn files(&self) -> Option<Arc<dyn AppFiles>> {
        Some(self.files.clone())
    }
}

impl fmt::Debug for AppModules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppModules").field("entry", &self.entry).field("root", &self.root).finish_non_exhaustive()
    }
}

/// Why a file of that format cannot be imported that way, by its name.
fn mismatch(id: &ModuleId, kind: ImportType, format: Format) -> Option<ModuleError> {
    match (kind, format) {
        (ImportType::Json, Format::Code(..) | Format::Wasm | Format::Bytes) => {
            Some(wrong(id, "JSON", "its extension says that it is something else".into()))
        }
        (ImportType::Default, Format::Unknown) if id.as_str().ends_with(".node") => {
            Some(wrong(id, "a module", "native add-ons cannot run here".into()))
        }
        (ImportType::Default, Format::Unknown) => Some(wrong(
            id,
            "a module",
            "its extension is not known; add with { type: \"text\" } or with { type: \"bytes\" } to the import".into(),
        )),
        _ => None,
    }
}

fn described(loaded: &Loaded) -> String {
    match loaded.as_ref().map(|module| &module.source.code) {
        Ok(ModuleCode::Module(code)) => format!("module, {} bytes", code.len()),
        Ok(ModuleCode::Script(code)) => format!("script, {} bytes", code.len()),
        Ok(ModuleCode::CommonJs { exports, reexports, .. }) => {
            format!("CommonJS, {} names, all of {reexports:?}", exports.len())
        }
        Ok(ModuleCode::Json(_)) => "JSON".into(),
        Ok(ModuleCode::Text(_)) => "text".into(),
        Ok(ModuleCode::Bytes(_)) => "bytes".into(),
        Ok(ModuleCode::Wasm(_)) => "WebAssembly".into(),
        Ok(ModuleCode::BuiltIn) => "built in".into(),
        Err(error) => format!("error: {error}"),
    }
}

fn text(bytes: Vec<u8>) -> Arc<str> {
    app_root::text(bytes).into()
}

fn unreadable(id: &ModuleId, reason: String) -> ModuleError {
    ModuleError::Read { id: id.to_string(), reason }
}

fn wrong(id: &ModuleId, wanted: &'static str, reason: String) -> ModuleError {
    ModuleError::WrongType { id: id.to_string(), wanted, reason }
}
