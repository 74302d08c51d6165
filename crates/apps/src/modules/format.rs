//! The format of a file: by its extension, else by its package and syntax.

use std::path::Path;

use super::package_scope::{Origin, PackageType, Scope};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Code(Language, Goal),
    Json,
    Text,
    Bytes,
    Wasm,
    /// Formats without code.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    JavaScript,
    Jsx,
    TypeScript,
    Tsx,
}

/// The module system that the extension implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    Module,
    CommonJs,
    /// Determined by package and syntax.
    Open,
}

/// The resulting module system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Module,
    CommonJs,
    Script,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Entry,
    Other,
}

/// The module system that a file's syntax implies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Syntax {
    /// `import`, `export`, `import.meta` or a top-level `await`.
    pub module: bool,
    /// `require`, `exports` or `module` that the file does not declare.
    pub common_js: bool,
    /// TypeScript's `export =` or `import x = require()`, which are unambiguous.
    pub common_js_only: bool,
}

const TEXT: [&str; 28] = [
    "txt", "text", "md", "markdown", "html", "htm", "css", "sql", "svg", "xml", "csv", "tsv", "graphql", "gql", "yaml",
    "yml", "toml", "ini", "hbs", "mustache", "ejs", "njk", "liquid", "glsl", "wgsl", "pem", "log", "tpl",
];

// === impl Format ===

impl Format {
    pub fn from_path(path: &str) -> Self {
        let Some(extension) = Path::new(path).extension().and_then(|e| e.to_str()) else {
            // As in Node: a file without an extension is code.
            return Self::Code(Language::JavaScript, Goal::Open);
        };
        match extension.to_ascii_lowercase().as_str() {
            "js" => Self::Code(Language::JavaScript, Goal::Open),
            "mjs" => Self::Code(Language::JavaScript, Goal::Module),
            "cjs" => Self::Code(Language::JavaScript, Goal::CommonJs),
            "jsx" => Self::Code(Language::Jsx, Goal::Open),
            "ts" => Self::Code(Language::TypeScript, Goal::Open),
            "mts" => Self::Code(Language::TypeScript, Goal::Module),
            "cts" => Self::Code(Language::TypeScript, Goal::CommonJs),
            "tsx" => Self::Code(Language::Tsx, Goal::Open),
            "json" => Self::Json,
            "wasm" => Self::Wasm,
            "bin" => Self::Bytes,
            other if TEXT.contains(&other) => Self::Text,
            _ => Self::Unknown,
        }
    }
}

// === impl Kind ===

impl Kind {
    pub fn decide(language: Language, goal: Goal, scope: &Scope, syntax: Syntax, role: Role) -> Self {
        match goal {
            Goal::Module => return Self::Module,
            // TypeScript would turn `import` into `require` here; as a module it means the same.
            Goal::CommonJs if language == Language::TypeScript && syntax.module => return Self::Module,
            Goal::CommonJs => return Self::CommonJs,
            Goal::Open => {}
        }
        if syntax.module {
            Self::Module
        } else if syntax.common_js_only || (syntax.common_js && scope.package != PackageType::Module) {
            Self::CommonJs
        } else if role == Role::Entry {
            Self::Script
        } else if scope.package == PackageType::CommonJs
            || (scope.package == PackageType::Unstated && scope.origin == Origin::Package)
        {
            // A file of a package that has only side effects: Node runs it as CommonJS, in sloppy
            // mode and with a `this`.
            Self::CommonJs
        } else {
            Self::Module
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions() {
        assert_eq!(Format::from_path("/a.b/c"), Format::Code(Language::JavaScript, Goal::Open));
        assert_eq!(Format::from_path("/a.CTS"), Format::Code(Language::TypeScript, Goal::CommonJs));
        assert_eq!(Format::from_path("/a.sql"), Format::Text);
        assert_eq!(Format::from_path("/a.png"), Format::Unknown);
    }

    #[test]
    fn kinds() {
        let decide = |goal, package, origin, (module, common_js), role| {
            let scope = Scope { package, origin, ..Scope::default() };
            let syntax = Syntax { module, common_js, common_js_only: false };
            Kind::decide(Language::JavaScript, goal, &scope, syntax, role)
        };
        use PackageType::{CommonJs, Module, Unstated};
        let (esm, cjs, none) = ((true, false), (false, true), (false, false));
        assert_eq!(decide(Goal::Module, CommonJs, Origin::App, cjs, Role::Entry), Kind::Module);
        assert_eq!(decide(Goal::CommonJs, Module, Origin::App, none, Role::Entry), Kind::CommonJs);
        assert_eq!(decide(Goal::Open, CommonJs, Origin::App, esm, Role::Other), Kind::Module);
        assert_eq!(decide(Goal::Open, Unstated, Origin::App, cjs, Role::Entry), Kind::CommonJs);
        assert_eq!(decide(Goal::Open, Module, Origin::App, cjs, Role::Other), Kind::Module);
        assert_eq!(decide(Goal::Open, Unstated, Origin::App, none, Role::Entry), Kind::Script);
        assert_eq!(decide(Goal::Open, Module, Origin::App, none, Role::Entry), Kind::Script);
        assert_eq!(decide(Goal::Open, Unstated, Origin::App, none, Role::Other), Kind::Module);
        assert_eq!(decide(Goal::Open, Unstated, Origin::Package, none, Role::Other), Kind::CommonJs);
        assert_eq!(decide(Goal::Open, Module, Origin::Package, none, Role::Other), Kind::Module);
    }
}
