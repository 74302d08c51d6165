//! Which of a package's builds Hearth takes.
//!
//! Hearth has the web's APIs and Node's modules, and neither a DOM nor Cloudflare's services. So the order of preference is:
//!
//! 1. a build that the package made for workers: the conditions `hearth`, `worker`, and `workerd` where `node` stands beside
//!    it. A package that names `workerd` alone means Cloudflare's own modules by it (`cloudflare:sockets` in `postgres`);
//! 2. the build for Node: `node`, and without conditions `main`, as Node does, or else `module`, which is written for
//!    bundlers (some name `__dirname` in it, or leave out the default export). The build for browsers of many packages lacks
//!    what servers need, or throws (`ws`, `axios`, `undici`);
//! 3. the build for browsers, with its `browser` map, where that is all there is.
//!
//! A package's `exports` are in an order of its own, and the first condition that is set counts. The three are therefore
//! asked one after the other, the first for packages that name such conditions alone.
//!
//! `browser` maps replace files of the packages of group 1, and of the app itself, which names them on purpose.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hearth_core::module::ImportStyle;
use oxc_resolver::{ResolveOptions, ResolverGeneric};
use serde_json::Value;

use super::app_root::{AppRoot, JailFs, Refusal, is_missing};
use super::package_scope::Origin;
use super::specifier::package;

/// In order of precedence.
pub(super) const EXTENSIONS: [&str; 9] = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".json"];

/// TypeScript code may name the output file instead of the input file.
const EXTENSION_ALIASES: [(&str, &[&str]); 4] = [
    (".js", &[".js", ".ts", ".tsx", ".jsx"]),
    (".jsx", &[".jsx", ".tsx"]),
    (".mjs", &[".mjs", ".mts"]),
    (".cjs", &[".cjs", ".cts"]),
];

/// Packages whose conditions are remembered, per app.
const MAX_PACKAGES: usize = 1 << 12;

/// A `package.json` deeper than this is not looked into.
const MAX_DEPTH: u32 = 16;

type Resolver = ResolverGeneric<JailFs>;

/// The resolvers of one style, best first. All share one cache.
#[derive(Debug)]
pub(super) struct Builds {
    workers: Resolver,
    workerd: Resolver,
    node: Resolver,
    browser: Resolver,
}

/// The conditions for workers that a package names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WorkerBuild {
    #[default]
    None,
    /// `worker` or `hearth`.
    Worker,
    /// `workerd` too, beside `node`.
    Workerd,
}

/// What packages name, by their folders.
#[derive(Debug)]
pub(super) struct Packages {
    root: Arc<AppRoot>,
    known: Mutex<HashMap<PathBuf, WorkerBuild>>,
}

// === impl Builds ===

impl Builds {
    pub fn new(root: &Arc<AppRoot>, style: ImportStyle) -> Self {
        Self::of(
            &ResolverGeneric::new_with_file_system(JailFs::new(root.clone()), options(style, &[], Fields::Node)),
            style,
        )
    }

    /// With the cache of others.
    pub fn beside(&self, style: ImportStyle) -> Self {
        Self::of(&self.node, style)
    }

    fn of(base: &Resolver, style: ImportStyle) -> Self {
        let with = |conditions, fields| base.clone_with_options(options(style, conditions, fields));
        Self {
            workers: with(&["hearth", "worker"], Fields::Browser),
            workerd: with(&["hearth", "worker", "workerd"], Fields::Browser),
            node: with(&["hearth", "node"], Fields::Node),
            browser: with(&["hearth", "worker", "browser"], Fields::Browser),
        }
    }

    /// To be asked in this order.
    pub fn in_order(&self, build: WorkerBuild) -> impl Iterator<Item = &Resolver> {
        let first = match build {
            WorkerBuild::None => None,
            WorkerBuild::Worker => Some(&self.workers),
            WorkerBuild::Workerd => Some(&self.workerd),
        };
        first.into_iter().chain([&self.node, &self.browser])
    }

    /// For paths: a package of the first group, and the app itself, mean what their `browser` maps say.
    pub fn for_path(&self, origin: Origin, build: WorkerBuild) -> &Resolver {
        match (origin, build) {
            (Origin::Package, WorkerBuild::None) => &self.node,
            _ => &self.browser,
        }
    }

    pub fn clear_cache(&self) {
        self.node.clear_cache();
    }
}

// === impl Packages ===

impl Packages {
    pub fn new(root: Arc<AppRoot>) -> Self {
        Self { root, known: Mutex::default() }
    }

    /// The build of the package that a bare specifier means, for a module in `folder`.
    pub fn named(&self, specifier: &str, folder: &Path) -> WorkerBuild {
        let Some(name) = package(specifier) else { return self.around(folder) };
        let mut places = folder.ancestors().map(|folder| folder.join("node_modules").join(name));
        places.find_map(|place| self.at(&place)).unwrap_or_default()
    }

    /// The build of the package that a folder is in.
    pub fn around(&self, folder: &Path) -> WorkerBuild {
        let mut inside =
            folder.ancestors().take_while(|folder| folder.file_name().is_none_or(|name| name != "node_modules"));
        inside.find_map(|folder| self.at(folder)).unwrap_or_default()
    }

    /// Nothing where there is no `package.json`.
    fn at(&self, folder: &Path) -> Option<WorkerBuild> {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return Some(*known);
        }
        let found = match self.root.read_text(&folder.join("package.json")) {
            Ok(text) => read(&text?),
            Err(Refusal::Io(error)) if is_missing(&error) => return None,
            // The resolver says what is wrong with it.
            Err(_) => WorkerBuild::None,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_PACKAGES {
            known.insert(folder.to_owned(), found);
        }
        Some(found)
    }
}

fn read(text: &str) -> WorkerBuild {
    if !["\"hearth\"", "\"worker\"", "\"workerd\""].iter().any(|name| text.contains(name)) {
        return WorkerBuild::None;
    }
    let Ok(package) = serde_json::from_str::<Value>(text) else { return WorkerBuild::None };
    let has = |name| {
        ["exports", "imports"].iter().any(|field| package.get(field).is_some_and(|it| names(it, name, MAX_DEPTH)))
    };
    match has("workerd") && (has("node") || has("worker")) {
        true => WorkerBuild::Workerd,
        false if has("worker") || has("hearth") => WorkerBuild::Worker,
        false => WorkerBuild::None,
    }
}

/// Whether a condition has this name.
fn names(value: &Value, name: &str, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    match value {
        Value::Object(map) => map.contains_key(name) || map.values().any(|value| names(value, name, depth)),
        Value::Array(list) => list.iter().any(|value| names(value, name, depth)),
        _ => false,
    }
}

#[derive(Clone, Copy)]
enum Fields {
    Node,
    Browser,
}

/// Packages without `exports` have their ES build in `module`, which `require` must not get.
fn options(style: ImportStyle, conditions: &[&str], fields: Fields) -> ResolveOptions {
    let condition = match style {
        ImportStyle::Import => "import",
        ImportStyle::Require => "require",
    };
    let main_fields: &[&str] = match (style, fields) {
        (ImportStyle::Import, Fields::Browser) => &["browser", "module", "main"],
        (ImportStyle::Require, Fields::Browser) => &["browser", "main"],
        (ImportStyle::Import, Fields::Node) => &["main", "module"],
        (ImportStyle::Require, Fields::Node) => &["main"],
    };
    let conditions = conditions.iter().copied().chain([condition, "default"]);
    ResolveOptions {
        cwd: Some("/".into()),
        alias_fields: match fields {
            Fields::Node => Vec::new(),
            Fields::Browser => vec![vec!["browser".into()]],
        },
        condition_names: conditions.map(String::from).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_builds_are_found_by_their_conditions() {
        assert_eq!(read(r#"{"exports": {".": {"node": "./n.js", "worker": "./w.js"}}}"#), WorkerBuild::Worker);
        assert_eq!(read(r##"{"imports": {"#x": {"hearth": "./h.js"}}}"##), WorkerBuild::Worker);
        assert_eq!(read(r#"{"exports": {".": [{"workerd": "./w.js", "node": "./n.js"}]}}"#), WorkerBuild::Workerd);
        assert_eq!(read(r#"{"exports": {".": {"workerd": "./w.js", "default": "./n.js"}}}"#), WorkerBuild::None);
        assert_eq!(read(r#"{"name": "worker", "scripts": {"worker": "x"}}"#), WorkerBuild::None);
        assert_eq!(read(r#"{"exports": "worker""#), WorkerBuild::None);
    }
}
