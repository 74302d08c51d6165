//! What runs in a sandbox, whatever it is made of: each language, and what each keeps in a session.

use std::time::Duration;

use bytes::Bytes;
use hearth_sandbox::{Code, ExecCommand, ExecRequest, ExecResult, Language, Sandbox};

use crate::text;

const ALL: [(Language, &str, [&str; 2]); 5] = [
    (Language::Python, "import sys\nprint(6 * 7)", ["x = 41", "print(x + 1)"]),
    (Language::JavaScript, "const os = require('node:os');\nconsole.log(6 * 7)", ["let x = 41", "console.log(x + 1)"]),
    (
        Language::TypeScript,
        "enum E { A = 40 }\ninterface B { c: number }\nconst b: B = { c: 2 };\nconsole.log(E.A + b.c as number)",
        ["type N = number; let x: N = 41", "console.log(x + 1 as number)"],
    ),
    (Language::Bash, "a=(1 42); echo ${a[1]}", ["x=41", "echo $((x + 1))"]),
    (Language::Sh, "echo $((6 * 7))", ["x=41", "echo $((x + 1))"]),
];

/// An emulated machine beside other work needs more than a command's usual minute for a node that compiles first, and what
/// its deadline ends has printed nothing.
const TEST_TIMEOUT: Duration = Duration::from_secs(600);

async fn run(sandbox: &Sandbox, language: Language, code: &str) -> ExecResult {
    let request =
        ExecRequest { timeout: Some(TEST_TIMEOUT), ..ExecRequest::code(language, Bytes::from(code.to_owned())) };
    let result = sandbox.exec(request).await.unwrap();
    assert!(!result.timed_out, "{language}: {result:?}");
    result
}

pub async fn all_run(sandbox: &Sandbox) {
    for (language, code, session) in ALL {
        assert!(sandbox.languages().contains(&language), "there is no {language}: {:?}", sandbox.languages());
        // The second finds another interpreter that waits, or none yet.
        for _ in 0..2 {
            let result = run(sandbox, language, code).await;
            assert_eq!(text(&result.stdout), "42\n", "{language}: {result:?}");
        }
        let in_session = |source: &str| {
            let (source, session) = (Bytes::from(source.to_owned()), Some("one".to_owned()));
            let request = ExecRequest::new(ExecCommand::Code(Code { language, source, session }));
            ExecRequest { timeout: Some(TEST_TIMEOUT), ..request }
        };
        let set = sandbox.exec(in_session(session[0])).await.unwrap();
        assert_eq!(set.exit_code, Some(0), "{language}: {}", text(&set.stderr));
        let got = sandbox.exec(in_session(session[1])).await.unwrap();
        assert_eq!(text(&got.stdout), "42\n", "{language}: {}", text(&got.stderr));
    }
    let wrong = run(sandbox, Language::TypeScript, "interface A {\n  b: string\n}\nlet c: = 1;").await;
    assert_eq!(wrong.exit_code, Some(1));
    assert!(text(&wrong.stderr).starts_with("[code].ts:4:8: SyntaxError: "), "{}", text(&wrong.stderr));
    let thrown = "const a: string = 'deep';\nfunction f(b: string): never {\n  throw new Error(b);\n}\nf(a);";
    let thrown = run(sandbox, Language::TypeScript, thrown).await;
    assert!(text(&thrown.stderr).contains("[code].ts:3:9"), "{}", text(&thrown.stderr));
}
