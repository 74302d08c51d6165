//! Resolves specifiers to files, by the rules of Node and of bundlers, within the app's folder.
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
use oxc_resolver::{Resolution, ResolveError};

use super::app_root::{AppRoot, Refusal};
use super::conditions::{Builds, EXTENSIONS, Packages};
use super::package_scope::Scopes;
use super::specifier::{self, Refused, Specifier, package};
use super::synthetic;

/// Cached results per app; a graph has one per import.
const MAX_FOUND: usize = 1 << 16;
/// The number of searches without a cached result after which the resolver's own cache, which has each
/// path that was looked for, is cleared.
const MAX_MISSES: usize = 1 << 12;

type Key = (ModuleId, String, ImportStyle);

#[derive(Debug)]
pub(super) struct Resolver {
    root: Arc<AppRoot>,
    import: Builds,
    require: Builds,
    packages: Packages,
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
        let import = Builds::new(&root, ImportStyle::Import);
        let require = import.beside(ImportStyle::Require);
        let packages = Packages::new(root.clone());
        Self { root, import, require, packages, memory: Mutex::default() }
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
            // All builds share one cache.
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
        let builds = match style {
            ImportStyle::Import => &self.import,
            ImportStyle::Require => &self.require,
        };
        let parsed = Specifier::parse(asked.specifier, folder).map_err(|refused| asked.refuse(refused))?;
        let (wanted, error) = match parsed {
            Specifier::BuiltIn(name) => return Ok(ModuleId::new(name)),
            Specifier::Path(path) => {
                let resolver = builds.for_path(scopes.of(folder)?.origin, self.packages.around(folder));
                match resolver.resolve("/", &path) {
                    Ok(found) => return self.identify(found.path(), asked),
                    Err(error) => (Some(path), error),
                }
            }
            Specifier::Bare => {
                let scope = scopes.of(folder)?;
                let resolver = builds.for_path(scope.origin, Default::default());
                let mapped = scope.compiler.mapped(asked.specifier);
                if let Some(found) = mapped.iter().find_map(|path| resolver.resolve("/", path).ok()) {
                    return self.identify(found.path(), asked);
                }
                match self.package(builds, asked.specifier, folder) {
                    Ok(found) => return self.identify(found.path(), asked),
                    Err(error) => (None, error),
                }
            }
            Specifier::Foreign { scheme, name } => match self.package(builds, &name, folder) {
                Ok(found) => return self.identify(found.path(), asked),
                Err(_) => return Err(asked.not_found(specifier::not_installed(scheme, &name))),
            },
        };
        if error.is_ignore() {
            return Ok(synthetic::empty());
        }
        Err(self.explain(asked, folder, wanted.as_deref(), &error))
    }

    /// The best build of a package that there is. The error is that of the build for Node.
    fn package(&self, builds: &Builds, specifier: &str, folder: &Path) -> Result<Resolution, ResolveError> {
        let build = self.packages.named(specifier, folder);
        let mut first = None;
        for resolver in builds.in_order(build) {
            match resolver.resolve(folder, specifier) {
                Ok(found) => return Ok(found),
                Err(error) if error.is_ignore() => return Err(error),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| ResolveError::NotFound(specifier.to_owned())))
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
            (ResolveError::NotFound(_), None) if !asked.specifier.starts_with('#') => {
                let name = package(asked.specifier).unwrap_or(asked.specifier);
                format!(
                    "no such package in node_modules from {} up to the app's folder, and no built-in module of this name; \
                     run `npm install {name}` in the app's folder",
                    folder.display()
                )
            }
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
