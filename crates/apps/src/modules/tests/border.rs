//! No module comes from outside the app's folder.

use std::os::unix::fs::symlink;

use super::*;

/// An app beside a folder `outside` with a module and a package.
fn app() -> App {
    let app = App::new(&[("src/main.js", ""), ("src/inside.js", ""), ("etc/passwd", "inner")]);
    let outside = app.folder.path().join("outside");
    write(&outside, &[("secret.js", ""), ("pkg/package.json", r#"{"main": "m.js"}"#), ("pkg/m.js", "")]);
    app
}

fn refused(result: Result<String, ModuleError>) -> String {
    match result {
        Err(error @ ModuleError::Outside { .. }) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn paths_that_climb() {
    let app = app();
    for style in [ImportStyle::Import, ImportStyle::Require] {
        for specifier in [
            "../../outside/secret.js",
            "../../../../../../../../etc/passwd",
            "/../outside/secret.js",
            "./x/../../../outside/secret.js",
            "file:///etc/passwd",
            "pkg/../../../outside/secret.js",
            "./%2e%2e/%2e%2e/outside/secret.js",
            "..%2f..%2foutside%2fsecret.js",
            "./inside.js\0.png",
        ] {
            refused(app.resolve(specifier, "/src/main.js", style));
        }
    }
    // Absolute paths are relative to the app's folder.
    assert_eq!(app.import("/etc/passwd", "/src/main.js"), "/etc/passwd");
    assert!(app.import("/etc/hostname", "/src/main.js").starts_with("cannot find"));
    let real = app.folder.path().join("outside/secret.js").display().to_string();
    assert!(app.import(&real, "/src/main.js").starts_with("cannot find"));
}

#[test]
fn links_inside_are_one_module() {
    let app = app();
    symlink("inside.js", app.path("src/relative.js")).unwrap();
    symlink(app.path("src/inside.js"), app.path("src/absolute.js")).unwrap();
    symlink(app.path("src"), app.path("folder")).unwrap();
    for specifier in ["./relative.js", "./absolute", "/folder/inside", "/folder/relative.js"] {
        assert_eq!(app.import(specifier, "/src/main.js"), "/src/inside.js");
    }
    assert!(app.load("/src/absolute.js").is_ok());
}

#[test]
fn links_to_outside() {
    let app = app();
    let outside = app.folder.path().join("outside");
    symlink(outside.join("secret.js"), app.path("src/link.js")).unwrap();
    symlink("../../outside", app.path("src/folder")).unwrap();
    symlink("../folder/secret.js", app.path("src/twice.js")).unwrap();
    symlink("folder/secret.js", app.path("src/chain.js")).unwrap();
    for specifier in ["./link.js", "./link", "./folder/secret.js", "./folder/secret", "./chain.js"] {
        let message = refused(app.resolve(specifier, "/src/main.js", ImportStyle::Import));
        assert!(message.contains("symbolic link"), "{message}");
        assert!(!message.contains("outside/"), "tells where it leads: {message}");
    }
    for id in ["/src/link.js", "/src/folder/secret.js", "/../outside/secret.js", "/src/../../outside/secret.js"] {
        for kind in [ImportType::Default, ImportType::Text, ImportType::Bytes, ImportType::Json] {
            assert!(app.load_as(id, kind).is_err(), "{id}");
        }
    }
}

#[test]
fn packages_linked_from_outside() {
    let app = app();
    let outside = app.folder.path().join("outside");
    fs::create_dir(app.path("node_modules")).unwrap();
    symlink(outside.join("pkg"), app.path("node_modules/pkg")).unwrap();
    let message = refused(app.resolve("pkg", "/src/main.js", ImportStyle::Import));
    assert!(message.contains("/node_modules/pkg is a symbolic link") && message.contains("pnpm"), "{message}");
    refused(app.resolve("pkg/m.js", "/src/main.js", ImportStyle::Require));

    let app = self::app();
    let outside = app.folder.path().join("outside");
    symlink(&outside, app.path("node_modules")).unwrap();
    let message = refused(app.resolve("pkg", "/src/main.js", ImportStyle::Import));
    assert!(message.contains("/node_modules is a symbolic link"), "{message}");
}

#[test]
fn packages_above_the_folder_are_not_seen() {
    let app = app();
    write(app.folder.path(), &[("node_modules/above/index.js", "")]);
    assert!(app.import("above", "/src/main.js").starts_with("cannot find"));
}

#[test]
fn packages_that_point_outside() {
    let app = App::new(&[
        ("main.js", ""),
        ("package.json", r##"{"imports": {"#x": "../../outside/secret.js", "#y": "./../outside/secret.js"}}"##),
        ("node_modules/a/package.json", r#"{"main": "../../../outside/secret.js"}"#),
        ("node_modules/b/package.json", r#"{"exports": "./../../../outside/secret.js"}"#),
        ("node_modules/c/package.json", r#"{"browser": {"./i.js": "../../../outside/secret.js"}, "main": "./i.js"}"#),
        ("node_modules/c/i.js", ""),
        ("node_modules/e/package.json", r#"{"browser": "../../../outside/secret.js"}"#),
        ("node_modules/d/package.json", r#"{"exports": {"./*": "./*"}}"#),
        (
            "tsconfig.json",
            r#"{"compilerOptions": {"paths": {"@/*": ["../outside/*"]}}, "extends": "../outside/tsconfig.json"}"#,
        ),
    ]);
    write(&app.folder.path().join("outside"), &[("secret.js", ""), ("tsconfig.json", "not json")]);
    assert_eq!(app.import("c", "/main.js"), "/node_modules/c/i.js");
    for specifier in ["#x", "#y", "a", "b", "e", "d/../../../../outside/secret.js", "@/secret.js"] {
        assert!(app.resolve(specifier, "/main.js", ImportStyle::Import).is_err(), "{specifier}");
    }
}

#[test]
fn entries() {
    let app = app();
    let open = |folder: &str, entry: &str| AppModules::open(&app.folder.path().join(folder), Path::new(entry));
    let outside = app.folder.path().join("outside/secret.js");
    for entry in ["../outside/secret.js", outside.to_str().unwrap()] {
        assert!(matches!(open("app", entry), Err(ModuleError::Outside { .. })), "{entry}");
    }
    symlink(&outside, app.path("link.js")).unwrap();
    assert!(matches!(open("app", "link.js"), Err(ModuleError::Outside { .. })));
    assert!(matches!(open("app", "none.js"), Err(ModuleError::NotFound { .. })));
    assert!(matches!(open("app", "src"), Err(ModuleError::NotFound { .. })));
    assert!(matches!(open("none", "a.js"), Err(ModuleError::Read { .. })));
    let absolute = app.path("src/main.js");
    assert_eq!(open("app", absolute.to_str().unwrap()).unwrap().entry().as_str(), "/src/main.js");
    // The folder itself may be a link.
    symlink(app.path(""), app.folder.path().join("alias")).unwrap();
    assert_eq!(open("alias", "src/main.js").unwrap().entry().as_str(), "/src/main.js");
}

#[test]
fn only_regular_files_are_read() {
    let app = app();
    symlink("/dev/zero", app.path("src/zero.js")).unwrap();
    fs::create_dir(app.path("src/dir.js")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(app.path("src/fifo.js")).status().unwrap();
    assert!(made.success());
    for id in ["/src/zero.js", "/src/dir.js", "/src/fifo.js", "/src/none.js"] {
        assert!(matches!(app.load(id), Err(ModuleError::Read { .. })), "{id}");
    }
}

#[test]
fn the_environment_is_no_module() {
    let app = App::new(&[("src/main.js", ""), (".env", "KEY=1"), ("src/.env.local", "KEY=2"), ("src/.envelope", "x")]);
    symlink("../.env", app.path("src/linked.txt")).unwrap();
    for id in ["/.env", "/src/.env.local"] {
        let error = app.load_as(id, ImportType::Text).unwrap_err().to_string();
        assert!(error.contains("holds the environment"), "{id}: {error}");
    }
    // A link is resolved, so its target's name counts.
    assert_eq!(app.import("./linked.txt", "/src/main.js"), "/.env");
    assert!(app.load_as("/src/.envelope", ImportType::Text).is_ok());
}
