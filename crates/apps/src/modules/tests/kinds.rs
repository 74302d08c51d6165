//! Formats and module systems of files.

use super::*;

#[test]
fn by_extension() {
    assert_eq!(kind("a.mjs", "foo()"), "module");
    assert_eq!(kind("a.mts", "foo()"), "module");
    assert_eq!(kind("a.cjs", "foo()"), "commonjs");
    assert_eq!(kind("a.cts", "foo()"), "commonjs");
    assert_eq!(kind("a.json", "not checked here"), "json");
    assert_eq!(kind("a.txt", "x"), "text");
    assert_eq!(kind("a.html", "x"), "text");
    assert_eq!(kind("a.bin", "x"), "bytes");
    assert_eq!(kind("a.wasm", "\0asm"), "wasm");
    assert_eq!(kind("noextension", "foo()"), "module");
}

#[test]
fn by_syntax() {
    for source in [
        "import './b'",
        "export {}",
        "export default 1",
        "import.meta.url",
        "await 1",
        "for await (const x of y) ;",
        "await using x = y()",
        "import './x'; exports.y = 1; require('z')",
    ] {
        assert_eq!(kind("a.js", source), "module", "{source}");
        assert_eq!(kind("a.ts", source), "module", "{source}");
    }
    for source in [
        "exports.a = 1",
        "module.exports = 1",
        "const a = require('a')",
        "if (typeof module === 'object') x()",
        "return require('x')",
        "var await = require('x')",
        "with (a) { exports.x = 1 }",
        "#!/usr/bin/env node\nexports.a = 010",
    ] {
        assert_eq!(kind("a.js", source), "commonjs", "{source}");
    }
    for source in ["import fs = require('fs'); fs.x()", "export = 1", "import type X from 'y'; module.exports = 1 as X"]
    {
        assert_eq!(kind("a.ts", source), "commonjs", "{source}");
    }
    for source in [
        "addEventListener('fetch', () => {})",
        "globalThis.x = 1",
        "(function (exports) { exports.a = 1 })({})",
        "const require = f; require('x')",
        "function module() {} module()",
        "async () => { await 1 }",
        "import('x')",
        "",
    ] {
        assert_eq!(kind("a.js", source), "module", "{source}");
        let app = App::new(&[("a.js", source)]);
        assert_eq!(code(&app.load("/a.js").unwrap()).0, "script", "{source}");
    }
}

#[test]
fn entries() {
    let entry = |name: &str, source: &str, package: &str| {
        let app = App::new(&[(name, source), ("package.json", package)]);
        let loaded = app.load(&format!("/{name}")).unwrap();
        let (kind, text) = code(&loaded);
        (kind, text.to_owned())
    };
    let listen = "addEventListener('fetch', e => {})";
    assert_eq!(entry("a.js", listen, "{}"), ("script", listen.into()));
    assert_eq!(entry("a.js", listen, r#"{"type": "module"}"#).0, "script");
    assert_eq!(entry("a.mjs", listen, "{}").0, "module");
    assert_eq!(entry("a.js", "module.exports = 1", "{}").0, "commonjs");
    assert_eq!(entry("a.js", "export default {}", r#"{"type": "commonjs"}"#).0, "module");
    // After transpiling: type imports are no imports.
    for source in [
        "import type { E } from './e'; addEventListener('fetch', (e: E) => {})",
        "import { E } from './e'; addEventListener('fetch', (e: E) => {})",
        "interface E {} addEventListener('fetch', (e: E) => {}); export type { E }",
    ] {
        let (kind, text) = entry("a.ts", source, "{}");
        assert_eq!(kind, "script", "{source}");
        assert!(!text.contains("export") && !text.contains("import"), "{text}");
    }
    assert_eq!(entry("a.ts", "interface E {} export {}", "{}").0, "module");
}

#[test]
fn by_package() {
    let app = App::new(&[
        ("main.js", ""),
        ("node_modules/esm/package.json", r#"{"type": "module"}"#),
        ("node_modules/esm/none.js", "x()"),
        ("node_modules/esm/cjs.js", "typeof module"),
        ("node_modules/esm/cjs/package.json", r#"{"type": "commonjs"}"#),
        ("node_modules/esm/cjs/none.js", "x()"),
        ("node_modules/old/none.js", "x()"),
        ("node_modules/old/esm.js", "export {}"),
        ("package.json", r#"{"type": "module"}"#),
    ]);
    let kind = |id| code(&app.load(id).unwrap()).0;
    assert_eq!(kind("/node_modules/esm/none.js"), "module");
    assert_eq!(kind("/node_modules/esm/cjs.js"), "module");
    assert_eq!(kind("/node_modules/esm/cjs/none.js"), "commonjs");
    assert_eq!(kind("/node_modules/old/none.js"), "commonjs");
    assert_eq!(kind("/node_modules/old/esm.js"), "module");
}

#[test]
fn by_attribute() {
    let app = App::new(&[
        ("main.js", ""),
        ("a.ts", "let a: 1"),
        ("a.json", "\u{feff}{}"),
        ("a.png", "\u{1}"),
        ("a.wasm", "x"),
    ]);
    let load = |id, kind| app.load_as(id, kind);
    assert_eq!(code(&load("/a.ts", ImportType::Text).unwrap()), ("text", "let a: 1"));
    assert_eq!(code(&load("/a.ts", ImportType::Bytes).unwrap()).0, "bytes");
    assert_eq!(code(&load("/a.json", ImportType::Json).unwrap()), ("json", "{}"));
    assert_eq!(code(&load("/a.json", ImportType::Text).unwrap()).0, "text");
    assert_eq!(code(&load("/a.png", ImportType::Bytes).unwrap()).0, "bytes");
    let wrong = |id, kind| match load(id, kind) {
        Err(error @ ModuleError::WrongType { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(wrong("/a.ts", ImportType::Json).contains("cannot be imported as JSON"));
    assert!(wrong("/a.png", ImportType::Default).contains("with { type: \"bytes\" }"));
    assert!(wrong("/a.wasm", ImportType::Default).contains("WebAssembly"));
}

#[test]
fn bytes_are_exact() {
    let app = App::new(&[("main.js", "")]);
    fs::write(app.path("x.bin"), [0, 255, 254, 10]).unwrap();
    let loaded = app.load("/x.bin").unwrap();
    let ModuleCode::Bytes(bytes) = &loaded.code else { panic!("{loaded:?}") };
    assert_eq!(&bytes[..], [0, 255, 254, 10]);
}
