//! Names that CommonJS modules export.

use super::*;

fn exports(source: &str) -> (Vec<String>, Vec<String>) {
    let loaded = load("a.cjs", source).unwrap();
    let ModuleCode::CommonJs { exports, reexports, .. } = &loaded.code else { panic!("{loaded:?}") };
    (exports.clone(), reexports.clone())
}

fn names(source: &str) -> String {
    exports(source).0.join(" ")
}

fn all_of(source: &str) -> String {
    exports(source).1.join(" ")
}

#[test]
fn assignments() {
    assert_eq!(
        names("exports.a = exports.b = void 0; module.exports.c = 1; exports['d-e'] = 1; exports.a = 2"),
        "a b c d-e"
    );
    assert_eq!(names("module.exports = { a, b: 1, 'c': 2, d() {}, get e() {}, [f]: 1, default: 3 }"), "a b c d e");
    assert_eq!(names("exports = module.exports = { a }; module.exports.b = 1"), "a b");
    assert_eq!(names("module.exports = exports = f; exports.a = 1; module['exports'].b = 1"), "a");
    assert_eq!(names("(function () { exports.a = 1; if (x) exports.b = 1 })()"), "a b");
    assert_eq!(names("module.exports = class { static a = 1 }"), "");
    assert_eq!(names("other.exports = { a }; x.exports.b = 1"), "");
}

#[test]
fn definitions() {
    assert_eq!(
        names(
            "Object.defineProperty(exports, '__esModule', { value: true }); Object.defineProperty(module.exports, 'a', {})"
        ),
        "__esModule a"
    );
    assert_eq!(names("Object.assign(exports, { a: 1 }); Object.defineProperty(other, 'b', {})"), "a");
    assert_eq!(names("__export(exports, { a: () => a, b: () => b })"), "a b");
    assert_eq!(names("_export(exports, { a: function () { return a } })"), "a");
    assert_eq!(names("0 && (module.exports = { a, b })"), "a b");
}

#[test]
fn reexports() {
    assert_eq!(all_of("module.exports = require('./x')"), "./x");
    assert_eq!(all_of("module.exports = { ...require('x'), ...require(`y`), a: 1 }"), "x y");
    assert_eq!(all_of("const x = require('x'); module.exports = x"), "x");
    assert_eq!(all_of("__exportStar(require('a'), exports); tslib_1.__exportStar(require('b'), exports)"), "a b");
    assert_eq!(all_of("(0, tslib.__exportStar)(require('a'), exports); __export(require('b'))"), "a b");
    assert_eq!(all_of("__reExport(src_exports, require('./x'), module.exports)"), "./x");
    assert_eq!(all_of("_export_star(require('a'), exports)"), "a");
    let babel = "var _x = _interopRequireWildcard(require('x'));
        Object.keys(_x).forEach(function (key) {
          if (key === 'default' || key === '__esModule') return;
          Object.defineProperty(exports, key, { enumerable: true, get: function () { return _x[key]; } });
        });";
    assert_eq!(all_of(babel), "x");
    assert_eq!(
        all_of("var x = require('x'); Object.keys(x).forEach(k => console.log(k)); module.exports = f(require('y'))"),
        ""
    );
}

#[test]
fn the_live_branch() {
    let source = "'use strict';
        if (process.env.NODE_ENV === 'production') {
          module.exports = require('./prod.js');
        } else {
          module.exports = require('./dev.js');
        }";
    assert_eq!(all_of(source), "./prod.js");
    assert_eq!(names("'production' !== process.env.NODE_ENV && (function () { exports.a = 1 })(); exports.b = 1"), "b");
    assert_eq!(names("process.env.NODE_ENV !== 'production' ? exports.a = 1 : exports.b = 1"), "b");
    assert_eq!(names("if (!(process.env.NODE_ENV != 'production')) exports.a = 1; else exports.b = 1"), "a");
    assert_eq!(names("if (x && process.env.NODE_ENV === 'development') exports.a = 1; else exports.b = 1"), "b");
    assert_eq!(names("if (x) exports.a = 1; else exports.b = 1"), "a b");
}

#[test]
fn typescript() {
    let app = App::new(&[
        ("main.mjs", ""),
        ("a.cts", "import x = require('./x'); export = { a: x.y as number, b: 2 }"),
        ("b.ts", "enum E { A } exports.e = E.A; if (process.env.NODE_ENV !== 'production') exports.f = 1"),
        ("c.tsx", "module.exports.page = () => <p/>"),
    ]);
    let exports = |id| match &app.load(id).unwrap().code {
        ModuleCode::CommonJs { exports, body, .. } => (exports.join(" "), body.to_string()),
        other => panic!("{other:?}"),
    };
    assert_eq!(exports("/a.cts").0, "a b");
    assert!(exports("/a.cts").1.contains("require(\"./x\")"), "{}", exports("/a.cts").1);
    assert_eq!(exports("/b.ts").0, "e");
    assert_eq!(exports("/c.tsx").0, "page");
    assert!(exports("/c.tsx").1.contains("require(\"react/jsx-runtime\")"), "{}", exports("/c.tsx").1);
    let mixed = load("d.ts", "import x = require('./x'); export const y = x;");
    assert!(matches!(mixed, Err(ModuleError::Syntax { message, .. }) if message.contains("cannot be mixed")));
}

#[test]
fn a_hashbang_becomes_a_comment() {
    let loaded = load("a.cjs", "#!/usr/bin/env node\nexports.a = 1").unwrap();
    assert_eq!(code(&loaded).1, "///usr/bin/env node\nexports.a = 1");
}
