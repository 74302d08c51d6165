//! Resolves specifiers to files, by the rules of Node and of bundlers for browsers, within the
//! app's folder.
//!
//! oxc_resolver performs the resolution and sees the app's folder as the whole disk. Symbolic links
//! are resolved afterwards in this module, so that the border is checked in one place and ids are
//! canonical.
//!
//! Invariants: results are below the folder; results are cached, so that resolving again touches no
//! disk; failures are not cached for long (code may ask for any number of missing names).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hearth_core::module::{ImportStyle, ModuleError, ModuleId};
use oxc_resolver::{ResolveError, ResolveOptions, ResolverGeneric};

use super::app_root::{AppRoot, JailFs, Refusal};
use super::package_scope::Scopes;
use super::specifier::{Refused, Specifier, package};
use super::synthetic;

/// In order of precedence.
const EXTENSIONS: [&str; 9] = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".json"];

/// TypeScript code may name the output file instead of the input file.
const EXTENSION_ALIASES: [(&str, &[&str]); 4] = [
    (".js", &[".js", ".ts", ".tsx", ".jsx"]),
    (".jsx", &[".jsx", ".tsx"]),
    (".mjs", &[".mjs", ".mts"]),
    (".cjs", &[".cjs", ".cts"]),
];

/// Cached results per app; a graph has one per import.
const MAX_FOUND: usize = 1 << 16;
/// The number of searches without a cached result after which the resolver's own cache, which has each
/// path that was looked for, is cleared.
const MAX_MISSES: usize = 1 << 12;

type Key = (ModuleId, String, ImportStyle);

#[derive(Debug)]
pub(super) struct Resolver {
    root: Arc<AppRoot>,
    import: ResolverGeneric<JailFs>,
    require: ResolverGeneric<JailFs>,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    found: HashMap<Key, ModuleId>,
    misses: usize,
}

/// The specifier and the importing module, for error messages.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    specifier: &'a str,
    from: &'a ModuleId,
}

// === impl Resolver ===

impl Resolver {
    pub fn new(root: Arc<AppRoot>) -> Self {
        let import = ResolverGeneric::new_with_file_system(JailFs::new(root.clone()), options(ImportStyle::Import));
        let require = import.clone_with_options(options(ImportStyle::Require));
        Self { root, import, require, memory: Mutex::default() }
    }

    pub fn resolve(
        &self,
        specifier: &str,
        from: &ModuleId,
        style: ImportStyle,
        scopes: &Scopes,
    ) -> Result<ModuleId, ModuleError> {
        let key = (from.clone(), specifier.to_owned(), style);
        let asked = Asked { specifier, from };
        {
            let memory = self.memory();
            if let Some(id) = memory.found.get(&key) {
                return Ok(id.clone());
            }
        }
        let result = self.search(asked, style, scopes);
        let mut memory = self.memory();
        match &result {
            Ok(id) if memory.found.len() < MAX_FOUND => drop(memory.found.insert(key, id.clone())),
            Ok(_) | Err(_) => memory.misses += 1,
        }
        if memory.misses >= MAX_MISSES {
            memory.misses = 0;
            // `require` is a clone: both share one cache.
            self.import.clear_cache();
        }
        result
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search(&self, asked: Asked<'_>, style: ImportStyle, scopes: &Scopes) -> Result<ModuleId, ModuleError> {
        let folder = if asked.from.is_built_in() { None } else { Path::new(asked.from.as_str()).parent() };
        let folder = folder.unwrap_or(Path::new("/"));
        if let Some(id) = synthetic::resolve(asked.specifier) {
            return Ok(id);
        }
        let resolver = match style {
            ImportStyle::Import => &self.import,
            ImportStyle::Require => &self.require,
        };
        let (wanted, error) =
            match Specifier::parse(asked.specifier, folder).map_err(|refused| asked.refuse(refused))? {
                Specifier::BuiltIn(name) => return Ok(ModuleId::new(name)),
                Specifier::Path(path) => match resolver.resolve("/", &path) {
                    Ok(found) => return self.identify(found.path(), asked),
                    Err(error) => (Some(path), error),
                },
                Specifier::Bare => {
                    let mapped = scopes.of(folder)?.compiler.mapped(asked.specifier);
                    if let Some(found) = mapped.iter().find_map(|path| resolver.resolve("/", path).ok()) {
                        return self.identify(found.path(), asked);
                    }
                    match resolver.resolve(folder, asked.specifier) {
                        Ok(found) => return self.identify(found.path(), asked),
                        Err(error) => (None, error),
                    }
                }
            };
        if error.is_ignore() {
            return Ok(synthetic::empty());
        }
        Err(self.explain(asked, folder, wanted.as_deref(), &error))
    }

    fn identify(&self, path: &Path, asked: Asked<'_>) -> Result<ModuleId, ModuleError> {
        match self.root.canonical(path) {
            Ok(id) => Ok(ModuleId::new(id)),
            Err(Refusal::Outside { link }) => Err(asked.outside(link)),
            Err(Refusal::Io(error)) => Err(asked.not_found(error.to_string())),
        }
    }

    /// Why nothing was found. Links that leave the folder are distinguished from missing files.
    fn explain(&self, asked: Asked<'_>, folder: &Path, path: Option<&str>, error: &ResolveError) -> ModuleError {
        let candidates: Vec<PathBuf> = match (path, package(asked.specifier)) {
            (Some(path), _) => {
                let path = path.trim_end_matches('/');
                std::iter::once("").chain(EXTENSIONS).map(|extension| format!("{path}{extension}").into()).collect()
            }
            (None, Some(package)) => folder.ancestors().map(|f| f.join("node_modules").join(package)).collect(),
            (None, None) => Vec::new(),
        };
        for candidate in candidates {
            if let Err(Refusal::Outside { link }) = self.root.locate(&candidate) {
                return asked.outside(link);
            }
        }
        asked.not_found(match (error, path) {
            (ResolveError::NotFound(_) | ResolveError::ExtensionAlias(..), Some(path)) => {
                format!("there is no {path} in the app's folder, with or without an extension")
            }
            (ResolveError::NotFound(_), None) if !asked.specifier.starts_with('#') => format!(
                "no such package in node_modules from {} up to the app's folder, and no built-in module of this name",
                folder.display()
            ),
            (error, _) => error.to_string(),
        })
    }
}

// === impl Asked ===

impl Asked<'_> {
    fn not_found(self, reason: String) -> ModuleError {
        ModuleError::NotFound { specifier: self.specifier.into(), from: self.from.to_string(), reason }
    }

    fn outside(self, link: Option<String>) -> ModuleError {
        let reason = match link {
            Some(link) if link.contains("/node_modules") => format!(
                "{link} is a symbolic link that leaves it; install packages into the folder itself \
                 (pnpm: node-linker=hoisted and package-import-method=copy; workspaces: bundle or pack them)"
            ),
            Some(link) => format!("{link} is a symbolic link that leaves it"),
            None => "the path climbs above it".into(),
        };
        ModuleError::Outside { specifier: self.specifier.into(), from: self.from.to_string(), reason }
    }

    fn refuse(self, refused: Refused) -> ModuleError {
        match refused {
            Refused::NotFound(reason) => self.not_found(reason),
            Refused::Outside(reason) => ModuleError::Outside {
                specifier: self.specifier.into(),
                from: self.from.to_string(),
                reason: reason.into(),
            },
        }
    }
}

/// Packages without `exports` have their ES build in `module`, which `require` must not get.
fn options(style: ImportStyle) -> ResolveOptions {
    let (condition, main_fields): (_, &[&str]) = match style {
        ImportStyle::Import => ("import", &["browser", "module", "main"]),
        ImportStyle::Require => ("require", &["browser", "main"]),
    };
    ResolveOptions {
        cwd: Some("/".into()),
        alias_fields: vec![vec!["browser".into()]],
        condition_names: ["hearth", "worker", "browser", condition, "default"].map(String::from).into(),
        extension_alias: EXTENSION_ALIASES
            .map(|(written, tried)| (written.into(), tried.iter().map(|&t| t.into()).collect()))
            .into(),
        extensions: EXTENSIONS.map(String::from).into(),
        main_fields: main_fields.iter().map(|&field| field.into()).collect(),
        symlinks: false,
        node_path: false,
        builtin_modules: false,
        ..ResolveOptions::default()
    }
}
