//! TypeScript and JSX, `NODE_ENV`, source maps, syntax errors.

use super::*;

fn js(name: &str, source: &str) -> String {
    code(&load(name, source).unwrap()).1.to_owned()
}

fn js_with(config: &str, options: &str, name: &str, source: &str) -> String {
    let options = format!("{{\"compilerOptions\": {options}}}");
    let app = App::new(&[("main.mjs", ""), (config, &options), (name, source)]);
    code(&app.load(&format!("/{name}")).unwrap()).1.to_owned()
}

fn message(name: &str, source: &str) -> String {
    match load(name, source) {
        Err(ModuleError::Syntax { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn types_are_removed() {
    let out = js(
        "a.ts",
        "import { T, v } from './t'; import type { U } from './u'; export const x: T = v as U; export type { T }",
    );
    assert_eq!(out, "import{v}from\"./t\";export const x=v;");
    let out = js_with(
        "tsconfig.json",
        r#"{"verbatimModuleSyntax": true}"#,
        "a.ts",
        "import { T } from './t'; import type U from './u'",
    );
    assert_eq!(out, "import{T}from\"./t\";");
    assert!(js("a.ts", "export enum E { A = 1, B }").contains("E[E[`B`]=2]=`B`"));
    assert!(js("a.ts", "export namespace N { export const a = 1 }").contains("=_N.a=1"));
    assert!(js("a.ts", "export class C { constructor(private x: number) {} }").contains("this.x=x"));
    assert!(js("a.ts", "export const f = <T,>(x: T) => x satisfies T; let y = <any>f;").contains("=x=>x"));
}

#[test]
fn jsx() {
    let source = "export default () => <><p a='1'>{x}</p></>";
    assert!(js("a.jsx", source).contains("from\"react/jsx-runtime\""));
    assert!(js("a.tsx", source).contains("from\"react/jsx-runtime\""));
    for config in ["tsconfig.json", "deno.json"] {
        let out = js_with(config, r#"{"jsx": "react-jsx", "jsxImportSource": "hono/jsx"}"#, "src/deep/a.tsx", source);
        assert!(out.contains("from\"hono/jsx/jsx-runtime\""), "{out}");
    }
    let classic = r#"{"jsx": "react", "jsxFactory": "h", "jsxFragmentFactory": "Fragment"}"#;
    let out = js_with("tsconfig.json", classic, "a.tsx", &format!("import {{ h, Fragment }} from 'preact'; {source}"));
    assert!(out.contains("h(Fragment") && out.contains("import{h,Fragment}"), "{out}");
    let out = js("a.tsx", &format!("/** @jsx h */\n/** @jsxFrag F */ {source}"));
    assert!(out.contains("h(") && !out.contains("jsx-runtime"), "{out}");
    let out = js_with(
        "tsconfig.json",
        r#"{"jsx": "react"}"#,
        "src/a.tsx",
        &format!("/** @jsxImportSource preact */ {source}"),
    );
    assert!(out.contains("preact/jsx-runtime"), "{out}");
    let out = js("a.jsx", &format!("/** @jsxImportSource preact */ {source}"));
    assert!(out.contains("preact/jsx-runtime"), "{out}");
    let out = js("a.tsx", &format!("/** @jsxRuntime classic @jsx h @jsxFrag F */ {source}"));
    assert!(out.contains("h(F"), "{out}");
    assert!(matches!(load("a.js", source), Err(ModuleError::Syntax { .. })));
}

#[test]
fn decorators() {
    let source = "function d(...x: any[]): any {} @d export class C { @d m(@d a: string) {} }";
    let legacy = r#"{"experimentalDecorators": true, "emitDecoratorMetadata": true}"#;
    let options = format!("{{\"compilerOptions\": {legacy}}}");
    let app = App::new(&[("main.ts", source), ("tsconfig.json", &options)]);
    let loaded = app.load("/main.ts").unwrap();
    let (_, out) = code(&loaded);
    for helper in ["decorate", "decorateParam", "decorateMetadata"] {
        let specifier = format!("hearth:transpiled/helpers/{helper}");
        assert!(out.contains(&specifier), "{out}");
        let id = app.import(&specifier, "/main.ts");
        assert_eq!(code(&app.load(&id).unwrap()).0, "commonjs");
    }
    assert_eq!(app.modules.preload().unwrap(), 4);
    let message = message("a.ts", "@d class C {}");
    assert!(message.starts_with("/a.ts:1:1: decorators are not known to V8"), "{message}");
    assert!(self::message("a.js", "class C { @d x }").contains("experimentalDecorators"));
}

#[test]
fn plain_javascript_is_unchanged() {
    let source = "// comment\nexport   const a=1 ;\n";
    let loaded = load("a.js", source).unwrap();
    assert_eq!(code(&loaded), ("module", source));
    assert!(loaded.source_map.is_none());
}

#[test]
fn node_env() {
    let loaded = load("a.js", "export const dev = process.env.NODE_ENV !== 'production'").unwrap();
    assert_eq!(code(&loaded).1, "export const dev = \"production\"         !== 'production'");
    assert!(loaded.source_map.is_none());
    assert_eq!(js("a.ts", "export const e: string = process.env.NODE_ENV"), "export const e=`production`;");
    assert!(
        js("a.ts", "import process from 'p'; export const e = process.env.NODE_ENV").contains("process.env.NODE_ENV")
    );
}

#[test]
fn source_maps() {
    let source =
        "type A = 1;\n\nexport function äö(x: number): string {\n  throw new Error(`ä${x}`); f(1 as any);\n}\n";
    let loaded = load("src/a.ts", source).unwrap();
    assert_eq!(original(&loaded, "throw"), ("/src/a.ts".into(), 3, 2));
    assert_eq!(original(&loaded, "new Error"), ("/src/a.ts".into(), 3, 8));
    assert_eq!(original(&loaded, "f(1"), ("/src/a.ts".into(), 3, 28));
    let map = loaded.source_map.as_ref().unwrap();
    assert_eq!(map.original(1000, 0), None);
}

#[test]
fn syntax_errors() {
    assert_eq!(
        message("src/a.ts", "let a = 1;\nlet b: = 2;\n"),
        "/src/a.ts:2:8: Unexpected token\n  2 | let b: = 2;\n    |        ^"
    );
    assert!(
        message("a.js", "f(a b)").starts_with("/a.js:1:5: Expected `,` or `)` but found"),
        "{}",
        message("a.js", "f(a b)")
    );
    assert!(message("a.cjs", "}").starts_with("/a.cjs:1:1: "));
    assert!(message("a.tsx", "<a>").starts_with("/a.tsx:1:"));
    assert!(
        message("a.ts", "let a: 1; break;").starts_with("/a.ts:1:11: Illegal break"),
        "{}",
        message("a.ts", "let a: 1; break;")
    );
    let twice =
        "type T<X> = X extends A<infer U> ? X extends B<infer U> ? U : 1 : X extends [infer U, infer U] ? U : 2; f()";
    assert_eq!(js("a.ts", twice), "f();");
}

#[test]
fn invalid_configuration_is_reported() {
    let app =
        App::new(&[("main.js", ""), ("a/tsconfig.json", "{"), ("a/a.ts", ""), ("b/package.json", "["), ("b/b.js", "")]);
    assert!(app.load("/a/a.ts").unwrap_err().to_string().starts_with("cannot read /a/tsconfig.json"));
    assert!(app.load("/b/b.js").unwrap_err().to_string().starts_with("cannot read /b/package.json"));
}
