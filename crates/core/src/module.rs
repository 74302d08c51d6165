//! An app's modules as the runtime gets them: resolved, transpiled, ready to compile. Where they come from (a folder, a
//! bundle) is known to the loader, which never reads modules from outside of the app.

mod in_memory;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::files::AppFiles;

pub use in_memory::InMemory;

/// A module's name within its app: an absolute path below the app's folder, such as `/src/index.ts`.
/// Built-in modules have a scheme: `node:async_hooks`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModuleId(Arc<str>);

/// A module, ready for V8.
#[derive(Debug)]
pub struct ModuleSource {
    pub id: ModuleId,
    pub code: ModuleCode,
    /// Maps the code that V8 sees to the source; None where the two are the same.
    pub source_map: Option<Arc<dyn SourceMap>>,
}

#[derive(Debug)]
pub enum ModuleCode {
    /// An ES module.
    Module(Arc<str>),
    /// A classic script: service-worker style, no imports or exports.
    Script(Arc<str>),
    /// A CommonJS module: the body of `(exports, require, module, __filename, __dirname) => {...}`.
    CommonJs {
        body: Arc<str>,
        /// Names that importing modules can see beside `default`, found by reading the code.
        exports: Vec<String>,
        /// Specifiers of modules whose names are exported too (`module.exports = require(...)`).
        reexports: Vec<String>,
    },
    Json(Arc<str>),
    Text(Arc<str>),
    Bytes(Bytes),
    Wasm(Bytes),
    /// A module of the runtime's own.
    BuiltIn,
}

/// How a specifier was written, which decides the conditions of its resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportStyle {
    /// `import`, static or dynamic.
    Import,
    /// `require()` in a CommonJS module.
    Require,
}

/// The `type` import attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImportType {
    /// None was given: by extension.
    Default,
    Json,
    Text,
    Bytes,
}

/// Finds and reads an app's modules. Both calls may touch the disk; neither leaves the app's folder.
pub trait ModuleLoader: Send + Sync + fmt::Debug {
    fn entry(&self) -> ModuleId;

    fn resolve(&self, specifier: &str, from: &ModuleId, style: ImportStyle) -> Result<ModuleId, ModuleError>;

    /// The same module each time, from memory after the first.
    fn load(&self, id: &ModuleId, kind: ImportType) -> Result<Arc<ModuleSource>, ModuleError>;

    /// The files beside the modules, where there is a folder.
    fn files(&self) -> Option<Arc<dyn AppFiles>> {
        None
    }
}

/// Positions are 0-based.
pub trait SourceMap: Send + Sync + fmt::Debug {
    /// File, line and column of what was written there, where that is known.
    fn original(&self, line: u32, column: u32) -> Option<(String, u32, u32)>;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    #[error("cannot find {specifier:?}, imported from {from}: {reason}")]
    NotFound { specifier: String, from: String, reason: String },
    #[error("{specifier:?}, imported from {from}, lies outside the app's folder: {reason}")]
    Outside { specifier: String, from: String, reason: String },
    #[error("cannot read {id}: {reason}")]
    Read { id: String, reason: String },
    #[error("{message}")]
    Syntax { id: String, message: String },
    #[error("{id} cannot be imported as {wanted}: {reason}")]
    WrongType { id: String, wanted: &'static str, reason: String },
}

// === impl ModuleId ===

impl ModuleId {
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `node:` and the like.
    pub fn is_built_in(&self) -> bool {
        !self.0.starts_with('/')
    }
}

impl fmt::Display for ModuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ModuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}
