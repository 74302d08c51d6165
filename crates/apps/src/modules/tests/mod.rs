//! The loader over temporary folders.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use hearth_core::module::{
    ImportStyle, ImportType, ModuleCode, ModuleError, ModuleId, ModuleLoader, ModuleSource, SourceMap,
};
use tempfile::TempDir;

use super::AppModules;

mod border;
mod commonjs;
mod files;
mod hostile;
mod kinds;
mod packages;
mod resolution;
mod transpiling;
mod warming;

/// An app in a folder `app` of a temporary folder, with the first file as its entry.
struct App {
    folder: TempDir,
    modules: AppModules,
}

impl App {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("app"), files);
        Self::open(folder, files[0].0)
    }

    fn open(folder: TempDir, entry: &str) -> Self {
        let modules = AppModules::open(&folder.path().join("app"), Path::new(entry)).unwrap();
        Self { folder, modules }
    }

    fn path(&self, inner: &str) -> std::path::PathBuf {
        self.folder.path().join("app").join(inner)
    }

    fn resolve(&self, specifier: &str, from: &str, style: ImportStyle) -> Result<String, ModuleError> {
        self.modules.resolve(specifier, &ModuleId::new(from), style).map(|id| id.to_string())
    }

    /// The id that an `import` in `from` resolves to.
    fn import(&self, specifier: &str, from: &str) -> String {
        self.resolve(specifier, from, ImportStyle::Import).unwrap_or_else(|error| format!("{error}"))
    }

    fn require(&self, specifier: &str, from: &str) -> String {
        self.resolve(specifier, from, ImportStyle::Require).unwrap_or_else(|error| format!("{error}"))
    }

    fn load(&self, id: &str) -> Result<Arc<ModuleSource>, ModuleError> {
        self.load_as(id, ImportType::Default)
    }

    fn load_as(&self, id: &str, kind: ImportType) -> Result<Arc<ModuleSource>, ModuleError> {
        self.modules.load(&ModuleId::new(id), kind)
    }
}

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }
}

/// The module in a file of that name, which is not the entry.
fn load(name: &str, source: &str) -> Result<Arc<ModuleSource>, ModuleError> {
    App::new(&[("main.mjs", ""), (name, source)]).load(&format!("/{name}"))
}

/// A module's kind and code.
fn code(source: &ModuleSource) -> (&'static str, &str) {
    match &source.code {
        ModuleCode::Module(code) => ("module", code),
        ModuleCode::Script(code) => ("script", code),
        ModuleCode::CommonJs { body, .. } => ("commonjs", body),
        ModuleCode::Json(code) => ("json", code),
        ModuleCode::Text(code) => ("text", code),
        ModuleCode::Bytes(_) => ("bytes", ""),
        ModuleCode::Wasm(_) => ("wasm", ""),
        ModuleCode::BuiltIn => ("built in", ""),
    }
}

fn kind(name: &str, source: &str) -> &'static str {
    code(&load(name, source).unwrap()).0
}

/// The original position of the first occurrence of `needle` in the code, 0-based.
fn original(source: &ModuleSource, needle: &str) -> (String, u32, u32) {
    let (_, code) = code(source);
    let at = code.find(needle).unwrap_or_else(|| panic!("no {needle:?} in {code}"));
    let line = code[..at].matches('\n').count() as u32;
    let column = code[..at].rsplit('\n').next().unwrap().encode_utf16().count() as u32;
    let map: &Arc<dyn SourceMap> = source.source_map.as_ref().unwrap();
    map.original(line, column).unwrap()
}
