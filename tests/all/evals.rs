//! `runtime: isolate`: JavaScript that a cell runs instead of a sandbox, with the same result.

use serde_json::{Value, json};

use crate::cells::scene::{ABORT, cordons, crash, heavy};
use crate::folder::{Folder, eventually, says};
use crate::server::Server;
use crate::visitors::Visitors;

/// A server with sandboxes, none of which is started ahead.
fn server(name: &str) -> (Folder, Server) {
    let folder = Folder::with(name, &[("hello/index.js", &says("hello"))]);
    let server = folder.serve(&["--mcp", "127.0.0.1:0", "--pool-enabled", "false"]);
    (folder, server)
}

struct Place<'a> {
    server: &'a Server,
    id: String,
}

impl<'a> Place<'a> {
    fn new(server: &'a Server) -> Self {
        let made = server.ask_json("POST", "/admin/sandboxes", "{}");
        let id = made["sandbox_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        Self { server, id }
    }

    fn run(&self, code: &str, more: Value) -> Value {
        let mut arguments = json!({ "language": "javascript", "runtime": "isolate", "code": code });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.server.ask_json("POST", &format!("/admin/sandboxes/{}/exec", self.id), arguments.to_string())
    }
}

#[test]
fn code_in_an_isolate_has_the_result_fields_of_a_command() {
    let (_folder, server) = server("evals-run");
    let place = Place::new(&server);
    let run = |code: &str| place.run(code, json!({}));

    let told = run("console.log('hé', { a: 1 }); console.error('careful'); console.log(typeof require, 2 ** 10);");
    assert_eq!((&told["stdout"], &told["stderr"]), (&json!("hé { a: 1 }\nundefined 1024\n"), &json!("careful\n")));
    assert_eq!((&told["exit_code"], &told["timed_out"], &told["truncated"]), (&json!(0), &json!(false), &json!(false)));

    let later = run("setTimeout(() => console.log('later'), 20); console.log(await Promise.resolve('now'));");
    assert_eq!((&later["stdout"], &later["exit_code"]), (&json!("now\nlater\n"), &json!(0)));

    let chain =
        run("Promise.resolve().then(() => {}).then(() => {}).then(() => {}).then(() => console.log('at last'))");
    assert_eq!(chain["stdout"], "at last\n");

    for (code, part) in [
        ("console.log('before'); throw new Error('boom')", "boom"),
        ("setTimeout(() => { throw new TypeError('in a timer') }, 1)", "in a timer"),
        ("setTimeout(async () => { throw new TypeError('in a promise') }, 1)", "in a promise"),
        ("let x = ;", "SyntaxError"),
        ("import pad from 'left-pad'", "run it in the sandbox"),
        ("await fetch('http://127.0.0.1:1/')", "TypeError"),
    ] {
        let failed = run(code);
        assert_eq!(failed["exit_code"], 1, "{code}: {failed}");
        assert!(failed["stderr"].as_str().unwrap().contains(part), "{code}: {failed}");
    }
    let fresh = run("console.log(globalThis.left); globalThis.left = 1;");
    assert_eq!(fresh["stdout"], "undefined\n");
    assert_eq!(run("console.log(globalThis.left)")["stdout"], "undefined\n", "nothing is left of a run");
    let env = place.run("console.log(env.GREETING)", json!({ "env": { "GREETING": "hi" } }));
    assert_eq!(env["stdout"], "hi\n");
}

#[test]
fn code_that_does_not_end_is_terminated() {
    let (_folder, server) = server("evals-end");
    let place = Place::new(&server);
    for code in ["for (;;) {}", "await new Promise(() => {})", "setInterval(() => {}, 10)"] {
        let told = place.run(code, json!({ "timeout_ms": 300 }));
        assert_eq!(told["timed_out"], true, "{code}: {told}");
    }
    // On a slow machine this may take a while.
    let partly = [1_000, 5_000, 25_000].into_iter().find(|timeout| {
        let code = "console.log('so far'); await new Promise(() => {})";
        let told = place.run(code, json!({ "timeout_ms": timeout }));
        assert_eq!(told["timed_out"], true, "{told}");
        told["stdout"] == "so far\n"
    });
    assert!(partly.is_some(), "what was written before the end is kept");
    let flood = "for (let i = 0; i < 5000; i++) console.log('x'.repeat(999))";
    let flooded = place.run(flood, json!({}));
    assert_eq!((&flooded["truncated"], flooded["stdout"].as_str().unwrap().len()), (&json!(true), 1 << 20));
    let hungry = place.run("const all = []; for (;;) all.push(new Array(1e6).fill({}))", json!({}));
    assert!(hungry["exit_code"] == 1 || hungry["timed_out"] == true, "{hungry}");
    assert_eq!(place.run("console.log('well')", json!({}))["stdout"], "well\n");
    server.expect("/hello/", "hello");
}

#[test]
fn code_that_crashes_its_cell_affects_no_app() {
    let _one = heavy();
    let (folder, server) = server("evals-crash");
    // The name of evaluated code cannot be that of an app.
    folder.say("eval", "an app");
    eventually(&server, "the app is there", || server.get("/eval/").text() == "an app");
    let place = Place::new(&server);
    let (visitors, cell) = (Visitors::come(&server, 2, "/eval/", "an app"), server.cell());
    for count in 1..=2 {
        let told = place.run(ABORT, json!({}));
        assert_eq!(told["exit_code"], -1, "{told}");
        assert!(told["stderr"].as_str().unwrap().contains("made V8 give up"), "{told}");
        let crash = crash(&server, count);
        assert_eq!((&crash["owner"], &crash["app"]), (&json!("evaluated code"), &json!("evaluated code")), "{crash}");
        assert_ne!(crash["cell"], cell);
        assert_eq!(place.run("console.log('well')", json!({}))["stdout"], "well\n");
        visitors.await_more(&server, 10);
    }
    assert_eq!(cordons(&server).len(), 0, "it has a cell of its own already");
    assert_eq!(server.cell(), cell);
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
}
