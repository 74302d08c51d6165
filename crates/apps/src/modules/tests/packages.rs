//! Packages with the layouts of well-known ones.

use super::*;

/// All names, through re-exports, as the runtime collects them.
fn names(app: &App, id: &str) -> Vec<String> {
    let loaded = app.load(id).unwrap();
    let ModuleCode::CommonJs { exports, reexports, .. } = &loaded.code else { panic!("{loaded:?}") };
    let mut all = exports.clone();
    for specifier in reexports {
        all.extend(names(app, &app.require(specifier, id)));
    }
    all
}

#[test]
fn like_react() {
    let switch = |name: &str| {
        format!(
            "'use strict';\n\nif (process.env.NODE_ENV === 'production') {{\n  module.exports = require('./cjs/{name}.production.js');\n}} else {{\n  module.exports = require('./cjs/{name}.development.js');\n}}\n"
        )
    };
    let server = "'use strict';\nvar b;\nvar l;\nif (process.env.NODE_ENV === 'production') {\n  b = require('./cjs/server.production.js');\n} else {\n  b = require('./cjs/server.development.js');\n}\nexports.version = b.version;\nexports.renderToReadableStream = b.renderToReadableStream;\nif (b.resume) {\n  exports.resume = b.resume;\n}\n";
    let (react, runtime) = (switch("react"), switch("jsx-runtime"));
    let app = App::new(&[
        (
            "main.tsx",
            "import React, { createElement } from 'react'; import { renderToReadableStream } from 'react-dom/server';\nexport default { fetch: () => renderToReadableStream(<p>{createElement}</p>) }",
        ),
        (
            "node_modules/react/package.json",
            r#"{"main": "index.js", "exports": {".": {"react-server": "./rs.js", "default": "./index.js"}, "./jsx-runtime": "./jsx-runtime.js"}}"#,
        ),
        ("node_modules/react/index.js", &react),
        ("node_modules/react/jsx-runtime.js", &runtime),
        (
            "node_modules/react/cjs/react.production.js",
            "\"use strict\";\nvar A = Symbol.for('a');\nfunction noop() {}\nexports.Children = {};\nexports.createElement = function () {};\nexports.useState = noop;\n",
        ),
        ("node_modules/react/cjs/jsx-runtime.production.js", "exports.Fragment = 1; exports.jsx = exports.jsxs = f;"),
        (
            "node_modules/react-dom/package.json",
            r#"{"exports": {"./server": {"workerd": "./server.edge.js", "worker": "./server.edge.js", "node": "./server.node.js", "default": "./server.node.js"}}}"#,
        ),
        ("node_modules/react-dom/server.edge.js", server),
        ("node_modules/react-dom/server.node.js", "require('util')"),
        (
            "node_modules/react-dom/cjs/server.production.js",
            "var React = require('react'); exports.renderToReadableStream = f; exports.version = '19'",
        ),
    ]);
    // Not the development builds, which do not exist here.
    assert_eq!(app.modules.preload().unwrap(), 7);
    assert_eq!(names(&app, &app.import("react", "/main.tsx")), ["Children", "createElement", "useState"]);
    let server = app.import("react-dom/server", "/main.tsx");
    assert_eq!(server, "/node_modules/react-dom/server.edge.js");
    assert_eq!(names(&app, &server), ["version", "renderToReadableStream", "resume"]);
}

#[test]
fn like_hono() {
    let app = App::new(&[
        (
            "src/index.ts",
            "import { Hono } from 'hono'; import { cors } from 'hono/cors'; const app = new Hono(); app.use(cors()); export default app",
        ),
        ("package.json", r#"{"dependencies": {"hono": "4"}}"#),
        (
            "node_modules/hono/package.json",
            r#"{"type": "module", "main": "dist/cjs/index.js", "module": "dist/index.js", "exports": {
            ".": {"types": "./dist/types/index.d.ts", "import": "./dist/index.js", "require": "./dist/cjs/index.js"},
            "./cors": {"types": "./x.d.ts", "import": "./dist/cors.js", "require": "./dist/cjs/cors.js"}}}"#,
        ),
        (
            "node_modules/hono/dist/index.js",
            "// src/index.ts\nimport { Hono } from \"./hono.js\";\nexport {\n  Hono\n};\n",
        ),
        ("node_modules/hono/dist/hono.js", "var Hono = class {};\nexport { Hono };\n"),
        ("node_modules/hono/dist/cors.js", "var cors = () => {};\nexport { cors };\n"),
        ("node_modules/hono/dist/cjs/package.json", r#"{"type": "commonjs"}"#),
        (
            "node_modules/hono/dist/cjs/index.js",
            "\"use strict\";\nvar src_exports = {};\n__export(src_exports, { Hono: () => Hono });\nmodule.exports = __toCommonJS(src_exports);\n// Annotate the CommonJS export names for ESM import in node:\n0 && (module.exports = {\n  Hono\n});\n",
        ),
    ]);
    assert_eq!(app.modules.preload().unwrap(), 4);
    assert_eq!(app.import("hono", "/src/index.ts"), "/node_modules/hono/dist/index.js");
    let required = app.require("hono", "/src/index.ts");
    assert_eq!(required, "/node_modules/hono/dist/cjs/index.js");
    assert_eq!(names(&app, &required), ["Hono"]);
}

/// pnpm's layout works if its store is below the folder.
#[test]
fn like_pnpm() {
    use std::os::unix::fs::symlink;
    let app = App::new(&[
        ("main.js", "import 'a'"),
        ("node_modules/.pnpm/a@1/node_modules/a/index.js", "import 'b'"),
        ("node_modules/.pnpm/b@1/node_modules/b/index.js", "export {}"),
    ]);
    symlink(".pnpm/a@1/node_modules/a", app.path("node_modules/a")).unwrap();
    symlink("../../b@1/node_modules/b", app.path("node_modules/.pnpm/a@1/node_modules/b")).unwrap();
    assert_eq!(app.modules.preload().unwrap(), 3);
    assert_eq!(app.import("a", "/main.js"), "/node_modules/.pnpm/a@1/node_modules/a/index.js");
    assert!(app.import("b", "/main.js").starts_with("cannot find"));
}
