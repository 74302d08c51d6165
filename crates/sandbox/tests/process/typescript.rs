//! TypeScript, whatever node there is: it is turned into JavaScript by a program of Hearth's inside the sandbox.

use bytes::Bytes;
use hearth_sandbox::{Code, ExecCommand, ExecRequest, ExecResult, Language, Sandbox};

use crate::{out, pool, sandbox, sh};

async fn run(sandbox: &Sandbox, code: impl Into<Bytes>) -> ExecResult {
    sandbox.execute(Language::TypeScript, code).await.unwrap()
}

async fn in_session(sandbox: &Sandbox, code: &str) -> ExecResult {
    let (language, source) = (Language::TypeScript, Bytes::from(code.to_owned()));
    let command = ExecCommand::Code(Code { language, source, session: Some("one".to_owned()) });
    sandbox.exec(ExecRequest::new(command)).await.unwrap()
}

fn said(result: &ExecResult) -> String {
    String::from_utf8_lossy(&result.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_write_runs() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    assert!(sandbox.languages().contains(&Language::TypeScript));
    for (code, printed) in [
        ("interface A { b: string }\nconst a: A = { b: 'c' };\nconsole.log(a.b as string)", "c\n"),
        ("enum E { A = 1, B }\nnamespace N { export const x: number = E.B }\nconsole.log(E[1], N.x)", "A 2\n"),
        (
            "class P { constructor(private readonly v: number) {} get(): number { return this.v } }\nconsole.log(new P(7).get())",
            "7\n",
        ),
        (
            "import { readFileSync } from 'node:fs';\nimport type { Stats } from 'node:fs';\nconsole.log(await Promise.resolve(readFileSync('/etc/hostname', 'utf8').trim()))",
            "sandbox\n",
        ),
        (
            "import os = require('node:os');\nconsole.log(os.EOL.length, typeof require('node:path').join)",
            "1 function\n",
        ),
        (
            "import { A } from './types-only';\nlet a: A | undefined;\nconsole.log(a, __filename)",
            "undefined /work/[code].js\n",
        ),
    ] {
        let result = run(&sandbox, code).await;
        assert_eq!((out(&result).as_str(), result.exit_code), (printed, Some(0)), "{code}: {}", said(&result));
    }
    let reads = ExecRequest {
        stdin: Some("given".into()),
        ..ExecRequest::code(
            Language::TypeScript,
            "const t: string = require('fs').readFileSync(0, 'utf8'); console.log(t)",
        )
    };
    assert_eq!(out(&sandbox.exec(reads).await.unwrap()), "given\n");
    let long = format!("const a: string = '{}';\nconsole.log(a.length)", "y".repeat(5 << 20));
    assert_eq!(out(&run(&sandbox, long).await), format!("{}\n", 5 << 20));
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_where_they_are_in_the_source() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let wrong = run(&sandbox, "interface A {\n  b: string\n}\nlet c: = 1;").await;
    assert_eq!((out(&wrong).as_str(), wrong.exit_code), ("", Some(1)));
    assert!(said(&wrong).starts_with("[code].ts:4:8: SyntaxError: "), "{}", said(&wrong));
    let thrown =
        "interface A {\n  b: string\n}\nfunction f(a: A): never {\n  throw new Error(a.b);\n}\nf({ b: 'deep' });";
    for module in ["", "export {};"] {
        let result = run(&sandbox, format!("{thrown}{module}")).await;
        let text = said(&result);
        assert_eq!(result.exit_code, Some(1), "{text}");
        assert!(text.contains("Error: deep") && text.contains("/work/[code].ts:5:9"), "{text}");
        assert!(text.contains("[code].ts:7:"), "{text}");
    }
    // Nothing of a module stays beside what people have there.
    assert_eq!(out(&sh(&sandbox, "ls -A /work").await), "");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_keeps_variables_of_any_type() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let set =
        in_session(&sandbox, "type N = number; let x: N = await Promise.resolve(21); enum E { A = 2 } // x").await;
    assert_eq!(set.exit_code, Some(0), "{}", said(&set));
    assert_eq!(out(&in_session(&sandbox, "console.log(x * E.A as number)").await), "42\n");
    let wrong = in_session(&sandbox, "\nlet y: = 1").await;
    assert_eq!(wrong.exit_code, Some(1));
    assert!(said(&wrong).starts_with("[code].ts:2:8: SyntaxError: "), "{}", said(&wrong));
    let thrown = in_session(&sandbox, "interface B {}\n\nfunction g(): never {\n  throw new Error('deep');\n}").await;
    assert_eq!(thrown.exit_code, Some(0), "{}", said(&thrown));
    let thrown = in_session(&sandbox, "let z: number = 1;\ng()").await;
    assert_eq!(thrown.exit_code, Some(1), "{}", said(&thrown));
    let text = said(&thrown);
    assert!(text.contains("[code].ts:4:9") && text.contains("[code].ts:2:1"), "{text}");
    drop(sandbox);
    pool.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_the_compiler_breaks_nothing_else() {
    let pool = pool().await;
    let sandbox = sandbox(&pool).await;
    let deep = run(&sandbox, format!("let a: number = {}1", "(".repeat(1 << 20))).await;
    assert_eq!(deep.exit_code, Some(1), "{}", said(&deep));
    assert!(said(&deep).contains("[code].ts: cannot be compiled"), "{}", said(&deep));
    assert_eq!(out(&run(&sandbox, "let a: number = 1; console.log(a)").await), "1\n");
    drop(sandbox);
    pool.shutdown().await;
}
