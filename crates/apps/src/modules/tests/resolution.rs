//! Resolution of specifiers.

use super::*;

#[test]
fn relative_and_absolute() {
    let app = App::new(&[
        ("src/main.ts", ""),
        ("src/a.ts", ""),
        ("src/b.js", ""),
        ("src/b.ts", ""),
        ("src/c.mts", ""),
        ("src/d.cts", ""),
        ("src/e.tsx", ""),
        ("src/dir/index.ts", ""),
        ("src/dir2/package.json", r#"{"main": "./x.js"}"#),
        ("src/dir2/x.js", ""),
        ("data.json", "{}"),
        ("src/we ird#1.js", ""),
    ]);
    let import = |specifier| app.import(specifier, "/src/main.ts");
    assert_eq!(import("./a"), "/src/a.ts");
    assert_eq!(import("./a.ts"), "/src/a.ts");
    assert_eq!(import("./a.js"), "/src/a.ts");
    assert_eq!(import("./b.js"), "/src/b.js");
    assert_eq!(import("./c.mjs"), "/src/c.mts");
    assert_eq!(import("./d.cjs"), "/src/d.cts");
    assert_eq!(import("./e.jsx"), "/src/e.tsx");
    assert_eq!(import("./e.js"), "/src/e.tsx");
    assert_eq!(import("./dir"), "/src/dir/index.ts");
    assert_eq!(import("./dir/"), "/src/dir/index.ts");
    assert_eq!(import("./dir2"), "/src/dir2/x.js");
    assert_eq!(import("../data"), "/data.json");
    assert_eq!(import("/src/a"), "/src/a.ts");
    assert_eq!(import("./a?v=1"), "/src/a.ts");
    assert_eq!(import("./we ird#1.js"), "/src/we ird#1.js");
    assert_eq!(
        app.import("..", "/src/dir/index.ts"),
        "cannot find \"..\", imported from /src/dir/index.ts: \
        there is no /src in the app's folder, with or without an extension"
    );
}

#[test]
fn errors_name_their_reason() {
    let app = App::new(&[("src/main.ts", "")]);
    let import = |specifier| app.import(specifier, "/src/main.ts");
    assert!(import("./none").contains("there is no /src/none in the app's folder"));
    assert!(import("none").contains("no such package in node_modules from /src"));
    assert!(import("node:nothing").contains("no such module"));
    assert!(import("https://x.org/y.js").contains("https: URLs"));
    assert!(import("").contains("empty"));
    assert!(matches!(
        app.resolve("x", "/src/main.ts", ImportStyle::Import),
        Err(ModuleError::NotFound { specifier, from, .. }) if specifier == "x" && from == "/src/main.ts"
    ));
}

#[test]
fn built_in() {
    let app = App::new(&[("main.js", "")]);
    for specifier in ["node:async_hooks", "async_hooks"] {
        assert_eq!(app.import(specifier, "/main.js"), "node:async_hooks");
        assert_eq!(app.require(specifier, "/main.js"), "node:async_hooks");
    }
    assert!(matches!(app.load("node:async_hooks").unwrap().code, ModuleCode::BuiltIn));
    assert!(app.load("node:nothing").is_err());
}

#[test]
fn conditions_follow_the_package_and_the_style() {
    let exports = r#"{"exports": {
        ".": {"node": "./node.js", "require": "./require.cjs", "import": "./import.js", "default": "./default.js"},
        "./ours": {"hearth": "./hearth.js", "workerd": "./workerd.js", "default": "./default.js"},
        "./workerd": {"workerd": "./workerd.js", "default": "./default.js"},
        "./worker": {"module": "./module.js", "worker": "./worker.js", "default": "./default.js"},
        "./browser": {"development": "./dev.js", "browser": "./browser.js", "default": "./default.js"},
        "./nested": {"browser": {"require": "./require.cjs", "import": "./import.js"}},
        "./dir/*": "./files/*.js",
        "./hidden/*": null
    }}"#;
    let mut files = vec![("main.js", ""), ("node_modules/p/package.json", exports)];
    let names =
        ["node", "import", "default", "hearth", "workerd", "module", "worker", "dev", "browser", "files/a", "x"];
    let paths: Vec<String> = names.iter().map(|name| format!("node_modules/p/{name}.js")).collect();
    files.extend(paths.iter().map(|path| (path.as_str(), "")));
    files.push(("node_modules/p/require.cjs", ""));
    let app = App::new(&files);
    let import = |specifier| app.import(specifier, "/main.js").replace("/node_modules/p/", "");
    let require = |specifier| app.require(specifier, "/main.js").replace("/node_modules/p/", "");
    assert_eq!(import("p"), "import.js", "the package has builds for workers");
    assert_eq!(require("p"), "require.cjs");
    assert_eq!(import("p/ours"), "hearth.js");
    assert_eq!(import("p/workerd"), "workerd.js", "the package knows Node, too");
    assert_eq!(import("p/worker"), "worker.js");
    assert_eq!(import("p/browser"), "default.js", "better than the one for browsers");
    assert_eq!(import("p/nested"), "import.js", "the one for browsers is the only one");
    assert_eq!(require("p/nested"), "require.cjs");
    assert_eq!(import("p/dir/a"), "files/a.js");
    assert!(import("p/x.js").contains("is not exported under the conditions"), "{}", import("p/x.js"));
    assert!(import("p/hidden/a").contains("cannot find"));
}

#[test]
fn main_fields() {
    let app = App::new(&[
        ("src/main.js", ""),
        ("node_modules/a/package.json", r#"{"browser": "b.js", "module": "m.js", "main": "c.js"}"#),
        ("node_modules/a/b.js", ""),
        ("node_modules/m/package.json", r#"{"module": "m.js", "main": "c.js"}"#),
        ("node_modules/m/m.js", ""),
        ("node_modules/m/c.js", ""),
        ("node_modules/only/package.json", r#"{"module": "m.js"}"#),
        ("node_modules/only/m.js", ""),
        ("node_modules/@s/c/package.json", r#"{"main": "lib"}"#),
        ("node_modules/@s/c/lib/index.js", ""),
        ("node_modules/chart.js/index.js", ""),
        (
            "node_modules/o/package.json",
            r#"{"browser": {"./n.js": "./b.js", "gone": false, "q": "./q.js"}, "main": "n.js"}"#,
        ),
        ("node_modules/o/n.js", ""),
        ("node_modules/o/b.js", ""),
        ("node_modules/o/q.js", ""),
        ("src/node_modules/near/index.js", ""),
    ]);
    let import = |specifier| app.import(specifier, "/src/main.js");
    assert_eq!(import("a"), "/node_modules/a/b.js");
    assert_eq!(import("m"), "/node_modules/m/c.js");
    assert_eq!(import("only"), "/node_modules/only/m.js");
    assert_eq!(app.require("m", "/src/main.js"), "/node_modules/m/c.js");
    assert_eq!(import("@s/c"), "/node_modules/@s/c/lib/index.js");
    assert_eq!(import("@s/c/lib"), "/node_modules/@s/c/lib/index.js");
    assert_eq!(import("chart.js"), "/node_modules/chart.js/index.js");
    assert_eq!(import("o"), "/node_modules/o/n.js", "the build for Node");
    assert_eq!(app.import("q", "/node_modules/o/b.js"), "/node_modules/o/q.js");
    assert_eq!(import("near"), "/src/node_modules/near/index.js");
    let empty = app.require("gone", "/node_modules/o/b.js");
    assert_eq!(code(&app.load(&empty).unwrap()), ("commonjs", ""));
}

#[test]
fn imports_and_self_reference() {
    let app = App::new(&[
        ("src/main.js", ""),
        (
            "package.json",
            r##"{"name": "me", "exports": {"./x": "./src/x.js"}, "imports": {"#x": "./src/x.js", "#d/*": "./src/*.js"}}"##,
        ),
        ("src/x.js", ""),
    ]);
    let import = |specifier| app.import(specifier, "/src/main.js");
    assert_eq!(import("#x"), "/src/x.js");
    assert_eq!(import("#d/x"), "/src/x.js");
    assert_eq!(import("me/x"), "/src/x.js");
    assert!(import("#none").contains("is not defined"));
}

#[test]
fn tsconfig_paths() {
    let app = App::new(&[
        ("src/main.ts", ""),
        (
            "tsconfig.json",
            r#"{"extends": "./base", "compilerOptions": {
            // Comments and trailing commas are common in these files.
            "paths": {"@/*": ["./src/*"], "lib": ["./none", "./lib/index.ts"],},
        },}"#,
        ),
        ("base.json", r#"{"compilerOptions": {"jsxImportSource": "x"}}"#),
        ("src/a.ts", ""),
        ("lib/index.ts", ""),
        ("node_modules/p/index.js", ""),
        ("based/tsconfig.json", r#"{"compilerOptions": {"baseUrl": "."}}"#),
        ("based/deep/a.ts", ""),
    ]);
    assert_eq!(app.import("@/a", "/src/main.ts"), "/src/a.ts");
    assert_eq!(app.import("@/a.js", "/src/main.ts"), "/src/a.ts");
    assert_eq!(app.import("lib", "/src/main.ts"), "/lib/index.ts");
    assert_eq!(app.import("p", "/src/main.ts"), "/node_modules/p/index.js");
    assert_eq!(app.import("deep/a", "/based/deep/a.ts"), "/based/deep/a.ts");
    assert!(app.import("@/a", "/node_modules/p/index.js").starts_with("cannot find"));
}

#[test]
fn many_misses_do_not_accumulate() {
    let app = App::new(&[("main.js", ""), ("a.js", ""), ("b.js", "")]);
    assert_eq!(app.import("./a", "/main.js"), "/a.js");
    for index in 0..10_000 {
        assert!(app.resolve(&format!("./{index}"), "/main.js", ImportStyle::Import).is_err());
    }
    assert_eq!(app.import("./a", "/main.js"), "/a.js", "what was found stays found");
    assert_eq!(app.import("./b", "/main.js"), "/b.js", "what was not looked for yet is still found");
}
