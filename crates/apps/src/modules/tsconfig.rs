//! The `compilerOptions` that change what code does, from `tsconfig.json` or `deno.json`: JSX,
//! decorators, kept imports, and `paths`. `extends` is followed within the app's folder; a missing
//! base (often from a development dependency) is skipped, since it mostly concerns type checking.

use std::path::{Path, PathBuf};

use hearth_core::module::ModuleError;
use serde::Deserialize;

use super::app_root::{AppRoot, normal};
use super::package_scope::{read_config, unreadable};

/// Deeper chains of `extends` do not occur.
const MAX_EXTENDS: u32 = 8;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CompilerOptions {
    pub jsx: Option<String>,
    pub jsx_import_source: Option<String>,
    pub jsx_factory: Option<String>,
    pub jsx_fragment_factory: Option<String>,
    pub experimental_decorators: Option<bool>,
    pub emit_decorator_metadata: Option<bool>,
    pub verbatim_module_syntax: Option<bool>,
    pub use_define_for_class_fields: Option<bool>,
    base_url: Option<String>,
    paths: Option<serde_json::Map<String, serde_json::Value>>,
    /// Inner path of the folder that `base_url`, or else `paths`, is relative to.
    #[serde(skip)]
    base: PathBuf,
}

#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    extends: serde_json::Value,
    #[serde(rename = "compilerOptions", default)]
    compiler_options: CompilerOptions,
}

// === impl CompilerOptions ===

impl CompilerOptions {
    /// `None` if there is no such file.
    pub fn read(root: &AppRoot, file: &Path) -> Result<Option<Self>, ModuleError> {
        Self::read_chain(root, file, MAX_EXTENDS)
    }

    fn read_chain(root: &AppRoot, file: &Path, left: u32) -> Result<Option<Self>, ModuleError> {
        let Some(mut text) = read_config(root, file)? else { return Ok(None) };
        json_strip_comments::strip(&mut text).map_err(|error| unreadable(file, error.to_string()))?;
        if text.trim().is_empty() {
            return Ok(Some(Self::default()));
        }
        let config: Config = serde_json::from_str(&text).map_err(|error| unreadable(file, error.to_string()))?;
        let folder = file.parent().unwrap_or(Path::new("/"));
        let mut options = config.compiler_options;
        options.base = match &options.base_url {
            Some(url) => folder.join(url),
            None => folder.to_path_buf(),
        };
        let bases: Vec<&str> = match &config.extends {
            serde_json::Value::String(one) => vec![one],
            serde_json::Value::Array(many) => many.iter().filter_map(|base| base.as_str()).collect(),
            _ => Vec::new(),
        };
        if left > 0 {
            for base in bases.into_iter().rev() {
                for candidate in extended(base, folder) {
                    if let Some(base) = Self::read_chain(root, &candidate, left - 1)? {
                        options = options.over(base);
                        break;
                    }
                }
            }
        }
        Ok(Some(options))
    }

    /// These options where set, those of `base` elsewhere.
    fn over(self, base: Self) -> Self {
        let own_paths = self.paths.is_some() || self.base_url.is_some();
        Self {
            jsx: self.jsx.or(base.jsx),
            jsx_import_source: self.jsx_import_source.or(base.jsx_import_source),
            jsx_factory: self.jsx_factory.or(base.jsx_factory),
            jsx_fragment_factory: self.jsx_fragment_factory.or(base.jsx_fragment_factory),
            experimental_decorators: self.experimental_decorators.or(base.experimental_decorators),
            emit_decorator_metadata: self.emit_decorator_metadata.or(base.emit_decorator_metadata),
            verbatim_module_syntax: self.verbatim_module_syntax.or(base.verbatim_module_syntax),
            use_define_for_class_fields: self.use_define_for_class_fields.or(base.use_define_for_class_fields),
            base: if own_paths { self.base } else { base.base },
            base_url: self.base_url.or(base.base_url),
            paths: self.paths.or(base.paths),
        }
    }

    /// The inner paths that a bare specifier stands for, best first.
    pub fn mapped(&self, specifier: &str) -> Vec<String> {
        let mut targets: Vec<String> = Vec::new();
        if let Some(paths) = &self.paths {
            let best = paths.iter().filter_map(|(pattern, targets)| {
                let (rank, rest) = matched(pattern, specifier)?;
                Some((rank, rest, targets))
            });
            if let Some((_, rest, found)) = best.max_by_key(|(rank, ..)| *rank) {
                let found = found.as_array().into_iter().flatten().filter_map(|target| target.as_str());
                targets.extend(found.map(|target| target.replacen('*', rest, 1)));
            }
        }
        if self.base_url.is_some() && !specifier.starts_with('#') {
            targets.push(specifier.to_owned());
        }
        let inner = |target: String| normal(&self.base.join(target))?.to_str().map(|path| format!("/{path}"));
        targets.into_iter().filter_map(inner).collect()
    }
}

/// How well a pattern with at most one `*` matches, and the text of the `*`.
fn matched<'a>(pattern: &str, specifier: &'a str) -> Option<(usize, &'a str)> {
    match pattern.split_once('*') {
        None => (pattern == specifier).then_some((usize::MAX, "")),
        Some((before, after)) => {
            let rest = specifier.strip_prefix(before)?.strip_suffix(after)?;
            Some((before.len(), rest))
        }
    }
}

/// Possible paths of a configuration's base.
fn extended(base: &str, folder: &Path) -> Vec<PathBuf> {
    if base.starts_with('.') || base.starts_with('/') {
        return vec![json(folder.join(base))];
    }
    let packages = folder.ancestors().map(|folder| folder.join("node_modules").join(base));
    packages.flat_map(|path| [path.join("tsconfig.json"), json(path)]).collect()
}

/// The path, and the path with the extension that may be omitted.
fn json(path: PathBuf) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == "json") {
        return path;
    }
    let mut path = path.into_os_string();
    path.push(".json");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert_eq!(matched("@/*", "@/a/b"), Some((2, "a/b")));
        assert_eq!(matched("x", "x"), Some((usize::MAX, "")));
        assert_eq!(matched("@/*.css", "@/a.js"), None);
        assert_eq!(matched("aa*aa", "aaa"), None);
    }

    #[test]
    fn paths_stay_inside() {
        let config: Config = serde_json::from_str(
            r#"{"compilerOptions": {"paths": {"@/*": ["./src/*", "../../*"], "@/lib/*": ["lib/*"]}}}"#,
        )
        .unwrap();
        let options = CompilerOptions { base: "/app".into(), ..config.compiler_options };
        assert_eq!(options.mapped("@/a"), ["/app/src/a"]);
        assert_eq!(options.mapped("@/lib/a"), ["/app/lib/a"]);
        assert!(options.mapped("react").is_empty());
    }
}
