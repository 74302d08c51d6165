#![allow(clippy::unwrap_used)]

use super::transpile;

/// Without its map, and with strings as people write them.
fn code(source: &str) -> String {
    let code = transpile("[code].ts", source).unwrap();
    let code = code.split("\n//# sourceMappingURL=data:application/json").next().unwrap();
    code.trim_end_matches('\n').replace('`', "\"")
}

fn fault(source: &str) -> String {
    transpile("[code].ts", source).unwrap_err().to_string()
}

#[test]
fn types_are_gone() {
    assert_eq!(code("interface A { b: string }\nconst a: A = { b: 'c' };\ntype T<U> = U[];"), "const a={b:\"c\"};");
    assert_eq!(code("let x = f<number>(y as any)! satisfies Z;"), "let x=f(y);");
    assert_eq!(code("declare const z: number; abstract class Q { abstract m(): void; n?: string }"), "class Q{n}");
}

#[test]
fn what_is_more_than_types_is_code() {
    assert!(code("enum Color { Red, Green = 'g' }").starts_with("var Color="));
    assert!(code("namespace N { export const a = 1 }").contains("N.a=1"));
    assert_eq!(code("class P { constructor(private readonly a: number) {} }"), "class P{a;constructor(a){this.a=a}}");
}

#[test]
fn a_script_stays_one_and_imports_of_types_do_not_make_a_module() {
    assert_eq!(
        code("import type { A } from './a'; import { B } from './b'; let b: B = require('./c');"),
        "let b=require(\"./c\");"
    );
    assert_eq!(
        code("import fs = require('node:fs'); fs.existsSync('/')"),
        "const fs=require(\"node:fs\");fs.existsSync(\"/\");"
    );
    assert_eq!(code("import { a } from './a'; a()"), "import{a}from\"./a\";a();");
    assert_eq!(code("return 1"), "return 1;");
    assert_eq!(code("const a = await b"), "const a=await b;");
}

#[test]
fn faults_say_where() {
    let wrong = fault("let a: number = 1;\n\nlet b: = 2;");
    assert!(wrong.starts_with("[code].ts:3:8: SyntaxError: "), "{wrong}");
    let decorated = fault("class A {\n  @d m() {}\n}");
    assert_eq!(
        decorated,
        "[code].ts:2:3: SyntaxError: decorators are not supported: node does not know them\n  @d m() {}\n  ^"
    );
}

#[test]
fn there_is_a_map_unless_the_source_is_very_long() {
    let short = transpile("[code].ts", "let a: number").unwrap();
    assert!(short.contains("\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,"), "{short}");
    let long = transpile("[code].ts", &"{let a: number;}".repeat(100_000)).unwrap();
    assert!(!long.contains("sourceMappingURL"));
}
