//! The command line: `eval`, `--version`, and what is said when something is wrong.

use crate::server::{app, run};

fn evaluate(code: &str) -> String {
    let ended = run(&["eval", code]);
    assert!(ended.status.success(), "{code}: {}", ended.stderr);
    ended.stdout.trim_end().to_owned()
}

/// Ends with an error that says all of `parts`, in a few lines, and nothing on standard output.
#[track_caller]
fn assert_refused(arguments: &[&str], parts: &[&str]) {
    let ended = run(arguments);
    assert!(!ended.status.success() && ended.stdout.is_empty(), "{arguments:?}: {}", ended.stdout);
    for part in parts {
        assert!(ended.stderr.contains(part), "no {part:?} in {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("panicked") && ended.stderr.lines().count() < 15, "{}", ended.stderr);
}

#[test]
fn the_version_names_v8() {
    let ended = run(&["--version"]);
    assert!(ended.status.success());
    let version = ended.stdout.trim_end();
    assert!(version.starts_with("hearth 0.") && version.contains(" (V8 14.") && version.ends_with(')'), "{version}");
}

#[test]
fn expressions_are_evaluated() {
    assert_eq!(evaluate("1 + 1"), "2");
    assert_eq!(evaluate("'text'"), "text");
    assert_eq!(evaluate("await Promise.resolve(`${[1, 2]}`)"), "1,2");
    assert_eq!(evaluate("new URL('../b', 'http://x/a/c').pathname"), "/b");
    assert_eq!(evaluate("const a = 2; return a * 3"), "6");
    assert_eq!(evaluate("await new Promise((resolve) => setTimeout(resolve, 1, 'later'))"), "later");
}

#[test]
fn values_are_shown_as_the_console_would() {
    assert_eq!(evaluate("({ a: [1, 'x'], b: new Map([[1, 2]]) })"), "{ a: [ 1, 'x' ], b: Map(1) { 1 => 2 } }");
    assert_eq!(evaluate("undefined"), "undefined");
}

#[test]
fn an_expression_that_throws_is_an_error() {
    assert_refused(&["eval", "null.x"], &["TypeError"]);
    assert_refused(&["eval", "1 +"], &["SyntaxError"]);
    assert_refused(&["eval", "throw 'text'"], &["text"]);
}

#[test]
fn limits_hold_for_expressions() {
    assert_refused(&["eval", "for (;;);", "--cpu", "100ms"], &["CPU time limit exceeded", "--cpu"]);
    assert_refused(&["eval", "await new Promise(() => {})", "--wall", "100ms"], &["time until the response", "--wall"]);
}

#[test]
fn a_missing_file_is_named() {
    assert_refused(&["run", "/nowhere/app.ts"], &["hearth: ", "/nowhere/app.ts", "No such file"]);
}

#[test]
fn a_folder_is_no_file() {
    assert_refused(&["run", "/tmp", "--listen", "127.0.0.1:0"], &["hearth: ", "/tmp"]);
}

#[test]
fn bad_flags_are_named_with_what_they_take() {
    let file = app("warm/counter");
    let file = file.to_str().unwrap();
    for (flags, parts) in [
        (["--listen", "nowhere"], ["--listen", "nowhere"]),
        (["--cpu", "fast"], ["--cpu", "fast"]),
        (["--wall=-1s", "--dev"], ["--wall", "-1"]),
        (["--memory", "lots"], ["--memory", "lots"]),
        (["--memory", "10m"], ["--memory", "10m"]),
        (["--env", "no value"], ["--env", "KEY=VALUE"]),
        (["--env", "=x"], ["--env", "KEY=VALUE"]),
        (["--egress", "http://x/"], ["--egress", "http://x/"]),
        (["--workers", "0"], ["--workers", "0"]),
        (["--unknown", "x"], ["--unknown", "unexpected"]),
    ] {
        assert_refused(&[&["run", file][..], &flags].concat(), &parts);
    }
    assert_refused(&["run"], &["<FILE>"]);
    assert_refused(&["serve-me"], &["serve-me"]);
}

#[test]
fn an_address_in_use_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let file = app("warm/counter");
    assert_refused(&["run", file.to_str().unwrap(), "--listen", &address], &["cannot listen on", &address]);
}

#[test]
fn without_arguments_it_says_what_it_can_do() {
    let ended = run(&[]);
    assert!(!ended.status.success());
    assert!(ended.stderr.contains("run") && ended.stderr.contains("eval"), "{}", ended.stderr);
}
