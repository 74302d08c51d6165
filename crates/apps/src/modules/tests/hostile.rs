//! Hostile input: garbage, and deep nesting.

use super::*;

/// A fast generator with a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn text(&mut self, parts: &[&str], most: usize) -> String {
        (0..self.below(most + 1)).map(|_| parts[self.below(parts.len())]).collect()
    }
}

#[test]
fn garbage_specifiers() {
    let app = App::new(&[
        ("src/main.js", ""),
        (
            "package.json",
            r##"{"name": "me", "exports": {"./*": "./src/*"}, "imports": {"#*": "./src/*", "#a": null}}"##,
        ),
        ("node_modules/p/package.json", r#"{"exports": {"./*": "./*", "./a/": "./"}, "browser": {"./x": false}}"#),
        ("node_modules/p/x.js", ""),
        (
            "node_modules/q/package.json",
            r#"{"exports": [{"import": [null, "./../../../x"]}, "x"], "main": 7, "browser": 1}"#,
        ),
    ]);
    let parts = [
        ".",
        "..",
        "/",
        "//",
        "\\",
        "\0",
        "#",
        "?",
        "%2e",
        "%",
        "@",
        "p",
        "q",
        "me",
        "node:",
        "file:",
        "a",
        " ",
        "\u{feff}",
        "é",
        "\u{10ffff}",
        "*",
        "x.js",
        ".ts",
        ":",
        "~",
        "C:",
        "\n",
        "node_modules",
        "package.json",
        "src",
        "main.js",
        "$",
    ];
    let mut random = Random(42);
    let outside = app.folder.path().join("outside");
    write(&outside, &[("main.js", "")]);
    for _ in 0..8_000 {
        let specifier = random.text(&parts, 6);
        for style in [ImportStyle::Import, ImportStyle::Require] {
            if let Ok(id) = app.resolve(&specifier, "/src/main.js", style) {
                let inside = app.path(id.trim_start_matches('/'));
                assert!(!id.starts_with('/') || id.starts_with("/hearth:") || inside.exists(), "{specifier:?} {id}");
            }
        }
    }
}

#[test]
fn garbage_packages() {
    let values = [
        "null",
        "1",
        "[]",
        "{}",
        "\"\"",
        "\"./\"",
        "\"../..\"",
        "\"./x.js\"",
        "{\"\": null}",
        "{\".\": {\"import\": []}}",
        "\"#\"",
        "[[[]]]",
    ];
    let mut random = Random(7);
    for _ in 0..150 {
        let fields = ["exports", "imports", "main", "module", "browser", "type", "name"];
        let fields: Vec<_> = fields.map(|f| format!("\"{f}\": {}", values[random.below(values.len())])).into();
        let package = format!("{{{}}}", fields.join(","));
        let app = App::new(&[
            ("main.js", ""),
            ("package.json", &package),
            ("node_modules/p/package.json", &package),
            ("node_modules/p/x.js", ""),
        ]);
        for specifier in ["p", "p/x.js", "#", "#x", "./", "/", "x.js"] {
            let _ = app.resolve(specifier, "/main.js", ImportStyle::Import);
            let _ = app.resolve(specifier, "/node_modules/p/x.js", ImportStyle::Require);
        }
        let _ = app.load("/main.js");
    }
}

#[test]
fn garbage_sources() {
    let parts = [
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "=>",
        "=",
        "a",
        "1",
        "import ",
        "export ",
        "default ",
        "type ",
        "class ",
        "@d ",
        "<a>",
        "</a>",
        "`",
        "${",
        "\"",
        "'",
        "/",
        "*",
        "//",
        "/*",
        "\n",
        "enum ",
        "namespace ",
        "declare ",
        "async ",
        "await ",
        ";",
        "exports.x",
        "module.exports",
        "require('x')",
        "process.env.NODE_ENV",
        "Object.defineProperty(exports, 'a'",
        "?",
        ":",
        "function ",
        "\u{2028}",
        "é",
        "\\u{61}",
        "\0",
        "#x",
        "extends ",
        "const ",
        ".",
        "...",
        "x",
        "<",
        ">",
        "as ",
        "\u{feff}",
        "import x = require('y');",
        "export = ",
        "abstract ",
        "new ",
        "if (",
        "else ",
        "for ",
        "of ",
        "0 && (",
        "static ",
    ];
    let mut random = Random(99);
    for round in 0..3_000 {
        let source = random.text(&parts, 20);
        let name = ["a.ts", "a.tsx", "a.js", "a.jsx", "a.cjs", "a.mts", "a.cts"][round % 7];
        if let Err(error) = load(name, &source) {
            assert!(!error.to_string().contains("bug"), "{name} {source:?}: {error}");
        }
    }
}

/// The maximum depth would need gigabytes without optimisation; this depth shows the proportion.
#[test]
fn deep_nesting() {
    let depth = 3_000;
    let shapes = [
        ("(", "1", ")"),
        ("[", "", "]"),
        ("!", "1", ""),
        ("a=", "1", ""),
        ("a=>", "1", ""),
        ("a?b:", "1", ""),
        ("a+", "1", ""),
        ("", "a", ".b"),
        ("", "a", "()"),
        ("new ", "a", ""),
        ("if(a)", ";", ""),
        ("if(a);else ", ";", ""),
        ("{", "", "}"),
        ("({a:", "1", "})"),
        ("`${", "1", "}`"),
        ("function f(){", "", "}"),
        ("(class extends ", "a", "{})"),
        ("a:", ";", ""),
        ("- ", "1", ""),
        ("a&&", "1", ""),
        ("exports.a=", "1", ""),
        ("f(", "", ")"),
    ];
    for (open, inner, close) in shapes {
        let source = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
        for name in ["a.js", "a.ts"] {
            let _ = load(name, &source);
            let _ = load(name, &open.repeat(depth));
        }
    }
    for (open, inner, close) in
        [("[", "A", "]"), ("keyof ", "A", ""), ("A<", "A", ">"), ("()=>", "A", ""), ("", "A", "[]"), ("(", "A", ")")]
    {
        let _ = load("a.ts", &format!("type T={}{inner}{}", open.repeat(depth), close.repeat(depth)));
    }
    for (open, inner, close) in [("<a>", "", "</a>"), ("<a b={", "1", "}/>")] {
        let _ = load("a.tsx", &format!("x={}{inner}{}", open.repeat(depth), close.repeat(depth)));
    }
}

#[test]
fn sources_beyond_the_bound_are_refused() {
    let source = "(".repeat(3_000_000);
    let Err(ModuleError::Syntax { message, .. }) = load("a.js", &source) else { panic!("parsed") };
    assert!(message.contains("too large to be parsed safely"), "{message}");
}

#[test]
fn deep_configuration() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let app = App::new(&[
        ("main.js", ""),
        ("a/package.json", &deep),
        ("a/a.js", ""),
        ("b/tsconfig.json", &deep),
        ("b/b.ts", ""),
        ("c.json", &deep),
    ]);
    assert!(app.load("/a/a.js").is_err());
    assert!(app.load("/b/b.ts").is_err());
    assert!(app.load("/c.json").is_ok());
    let looped = r#"{"extends": "./tsconfig.json"}"#;
    let app = App::new(&[("main.ts", "let a: 1"), ("tsconfig.json", looped)]);
    assert!(app.load("/main.ts").is_ok());
}
