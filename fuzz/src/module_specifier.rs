//! Specifiers in an app's folder that has all kinds of ways out: links, packages and configuration that point outside.
//!
//! - What is found is a file of the folder by its one canonical name, a built-in module, or one of the loader's own.
//! - No byte comes from outside, whether a specifier is resolved or a name is loaded that was not resolved.
//! - An error does not tell where the folder lies on disk.
//! - A loader with a memory answers as a fresh one does; what was found is found by its own name, too.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hearth_apps::AppModules;
use hearth_core::module::{ImportStyle, ImportType, ModuleCode, ModuleError, ModuleId, ModuleLoader};
use tempfile::TempDir;

/// In every file outside the app's folder.
const SECRET: &str = "/* outside */";
const MODULES: [&str; 5] =
    ["/src/main.ts", "/main.js", "/node_modules/p/lib/x.js", "/node_modules/@s/r/index.js", "node:async_hooks"];
const OUTSIDE: [&str; 5] =
    ["outside/secret.js", "outside/index.js", "outside/pkg/index.js", "secret.js", "node_modules/above/index.js"];
const INSIDE: [(&str, &str); 13] = [
    ("main.js", ""),
    ("src/main.ts", ""),
    ("src/inside.js", ""),
    ("src/data.json", "{}"),
    ("src/dir/index.tsx", ""),
    (
        "package.json",
        r##"{"name": "me", "exports": {"./*": "./src/*"}, "imports": {"#in/*": "./src/*", "#out/*": "./../outside/*",
            "#secret": "../secret.js", "#p": "p"}, "browser": {"fs": false, "./src/inside.js": "./src/dir/index.tsx"}}"##,
    ),
    (
        "tsconfig.json",
        r#"{"compilerOptions": {"paths": {"@/*": ["./src/*", "../outside/*"], "~*": ["../*"], "out": ["src/out"]}}}"#,
    ),
    (
        "node_modules/p/package.json",
        r#"{"exports": {".": "./lib/x.js", "./*": "./*", "./up/*": "./../../../outside/*"}}"#,
    ),
    ("node_modules/p/lib/x.js", ""),
    ("node_modules/q/package.json", r#"{"main": "../../../outside/secret.js", "module": "../../src/out/secret.js"}"#),
    (
        "node_modules/@s/r/package.json",
        r#"{"browser": {"./index.js": "../../../../outside/secret.js", "x": "../../../src/link.js"}}"#,
    ),
    ("node_modules/@s/r/index.js", ""),
    ("node_modules/@s/r/other.js", ""),
];
/// Name and what it leads to.
const LINKS: [(&str, &str); 7] = [
    ("src/link.js", "../../secret.js"),
    ("src/out", "../../outside"),
    ("src/again", "out"),
    ("src/loop", "loop"),
    ("src/alias.js", "inside.js"),
    ("node_modules/linked", "../../outside/pkg"),
    ("above", ".."),
];

thread_local! {
    static APP: App = App::new();
}

struct App {
    _folder: TempDir,
    /// Canonical.
    root: PathBuf,
    /// Has answered what was asked in the last `ROUNDS` checks: a loader that misses too often stops looking.
    old: RefCell<(AppModules, usize)>,
}

/// Checks that one loader goes through.
const ROUNDS: usize = 100;

pub fn check(data: &[u8]) {
    APP.with(|app| app.check(&String::from_utf8_lossy(data)));
}

// === impl App ===

impl App {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let above = fs::canonicalize(folder.path()).expect("the folder is there");
        for name in OUTSIDE {
            write(&above.join(name), SECRET);
        }
        let root = above.join("app");
        for (name, content) in INSIDE {
            write(&root.join(name), content);
        }
        for (name, target) in LINKS {
            symlink(target, root.join(name)).expect("a link can be made");
        }
        Self { old: RefCell::new((open(&root), 0)), _folder: folder, root }
    }

    fn check(&self, specifier: &str) {
        let fresh = open(&self.root);
        let (old, checks) = &mut *self.old.borrow_mut();
        if *checks == ROUNDS {
            (*old, *checks) = (open(&self.root), 0);
        }
        *checks += 1;
        for from in MODULES.map(ModuleId::new) {
            for style in [ImportStyle::Import, ImportStyle::Require] {
                let found = fresh.resolve(specifier, &from, style);
                assert_eq!(old.resolve(specifier, &from, style), found, "the memory says something else");
                assert_eq!(fresh.resolve(specifier, &from, style), found, "not the same twice");
                match found {
                    Ok(id) => self.found(&fresh, &id, style),
                    Err(error) => self.refused(&error),
                }
            }
        }
        for kind in [ImportType::Default, ImportType::Bytes, ImportType::Text, ImportType::Json] {
            for name in [specifier.to_owned(), format!("/{specifier}"), format!("/src/{specifier}")] {
                self.loaded(&fresh, &ModuleId::new(name), kind);
            }
        }
    }

    fn found(&self, modules: &AppModules, id: &ModuleId, style: ImportStyle) {
        let name = id.as_str();
        if id.is_built_in() || name.starts_with("/hearth:/") {
            assert!(modules.load(id, ImportType::Default).is_ok(), "{id} is found and not there");
            return;
        }
        let real = fs::canonicalize(self.root.join(&name[1..])).expect("what is found is there");
        assert_eq!(real.to_str(), Some(format!("{}{name}", self.root.display()).as_str()), "not its canonical name");
        assert!(real.is_file());
        self.loaded(modules, id, ImportType::Bytes);
        // Where `browser` puts another file in its place, its name leads there.
        if name != "/src/inside.js" && name != "/node_modules/@s/r/index.js" {
            assert_eq!(modules.resolve(name, &ModuleId::new("/main.js"), style).as_ref(), Ok(id), "by its own name");
        }
    }

    /// What is loaded is what the folder has under that name.
    fn loaded(&self, modules: &AppModules, id: &ModuleId, kind: ImportType) {
        let source = match modules.load(id, kind) {
            Ok(source) => source,
            Err(error) => return self.refused(&error),
        };
        let bytes: &[u8] = match &source.code {
            ModuleCode::Module(text) | ModuleCode::Script(text) | ModuleCode::Json(text) | ModuleCode::Text(text) => {
                text.as_bytes()
            }
            ModuleCode::CommonJs { body, .. } => body.as_bytes(),
            ModuleCode::Bytes(bytes) | ModuleCode::Wasm(bytes) => bytes,
            ModuleCode::BuiltIn => return assert!(id.is_built_in()),
        };
        assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{id} is from outside");
        if id.as_str().starts_with("/hearth:/") {
            return;
        }
        let real =
            fs::canonicalize(self.root.join(id.as_str().trim_start_matches('/'))).expect("what is loaded is there");
        assert!(real.starts_with(&self.root), "{id} is outside");
        if kind == ImportType::Bytes {
            assert_eq!(fs::read(real).ok().as_deref(), Some(bytes));
        }
    }

    fn refused(&self, error: &ModuleError) {
        let (text, root) = (error.to_string(), self.root.parent().and_then(Path::to_str).expect("it has a text"));
        assert!(!text.contains(root), "tells where the folder is: {text}");
    }
}

fn open(root: &Path) -> AppModules {
    AppModules::open(root, Path::new("main.js")).expect("the app is there")
}

fn write(file: &Path, content: &str) {
    let folder = file.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).and_then(|()| fs::write(file, content)).expect("a file can be written");
}
