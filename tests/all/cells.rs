//! Whatever an app or somebody else does to a cell, others go on: nobody is refused, whoever did it is named and shut away,
//! and does it to nobody else a second time.

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::client::Reply;
use crate::folder::{Folder, eventually, says};
use crate::server::Server;
use crate::visitors::Visitors;

/// Ends V8, and with it the process, whatever the limits.
const ABORT: &str = r#""x".repeat(2 ** 27 + 1e7).split("").length"#;
/// Goes on for seconds after it was terminated.
const STUCK: &str = r#""a".repeat(14e4).lastIndexOf("a".repeat(7e4) + "b")"#;
const VISITORS: usize = 3;

/// Aborts take hundreds of megabytes each: one at a time.
static HEAVY: Mutex<()> = Mutex::new(());

fn heavy() -> MutexGuard<'static, ()> {
    HEAVY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An app that does it when it is asked to.
fn culprit(what: &str) -> String {
    format!(
        r#"const doit = () => {what};
        export default {{
          fetch(request, env, ctx) {{
            switch (new URL(request.url).pathname) {{
              case "/do": return new Response(String(doit()));
              case "/later":
                ctx.waitUntil(new Promise((done) => setTimeout(() => done(doit()), 10)));
                return new Response("later");
              case "/stream": return new Response(new ReadableStream({{
                start(controller) {{ controller.enqueue(new TextEncoder().encode("begun")); }},
                async pull() {{ await new Promise((done) => setTimeout(done, 50)); doit(); }},
              }}));
              default: return new Response("fine");
            }}
          }},
        }};"#
    )
}

fn serve(name: &str, what: &str, configuration: &str) -> (Folder, Server) {
    let folder = Folder::with(name, &[("victim/index.js", &*says("well")), ("culprit/index.js", &culprit(what))]);
    let server = serve_folder(&folder, configuration);
    server.expect("/victim/", "well");
    server.expect("/culprit/", "fine");
    (folder, server)
}

/// With a standby, and when that is there.
fn serve_folder(folder: &Folder, configuration: &str) -> Server {
    // Where no app is looked for.
    folder.write(".settings/hearth.yaml", configuration);
    let file = folder.of(".settings/hearth.yaml");
    let server = folder.serve(&["--standby", "1", "--config", file.to_str().unwrap(), "--threads", "2"]);
    await_standby(&server);
    server
}

fn metric(server: &Server, name: &str) -> u64 {
    let text = server.ask("GET", "/metrics", "").text().to_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
    line.map_or(0, |value| value.parse::<f64>().unwrap() as u64)
}

#[track_caller]
fn await_standby(server: &Server) {
    eventually(server, "a cell stands by", || metric(server, "hearth_cells_standby") == 1);
}

fn crashes(server: &Server) -> Vec<Value> {
    server.ask_json("GET", "/admin/crashes", "")["crashes"].as_array().unwrap().clone()
}

fn cordons(server: &Server) -> Vec<Value> {
    server.ask_json("GET", "/admin/cordons", "")["cordons"].as_array().unwrap().clone()
}

/// The answer, unless the connection ends before it.
fn provoke(server: &Server, path: &str) -> Option<Reply> {
    let mut client = server.connect();
    client.start("GET", path, &[("connection", "close")]);
    let bytes = client.rest();
    let (head, body) = std::str::from_utf8(&bytes).unwrap().split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
    let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers = lines.filter_map(header).collect();
    Some(Reply { status, reason: String::new(), headers, body: body.as_bytes().to_vec() })
}

/// The newest crash, once there are so many.
#[track_caller]
fn crash(server: &Server, count: usize) -> Value {
    eventually(server, "the crash is told", || crashes(server).len() >= count);
    crashes(server)[0].clone()
}

fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// All processes that a server has started, and that still run.
fn children(server: &Server) -> Vec<u32> {
    let parent = server.id().to_string();
    let stat = |process: &u32| std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let all =
        std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    all.filter(|process| {
        let text = stat(process);
        let mut fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        !matches!(fields.next(), None | Some("Z" | "X")) && fields.next() == Some(&parent)
    })
    .collect()
}

/// As many cells are there as were made and not lost.
#[track_caller]
fn await_balance(server: &Server) {
    eventually(server, "created - destroyed = live", || {
        let live = metric(server, "hearth_cells_serving") + metric(server, "hearth_cells_standby");
        metric(server, "hearth_cells_created_total") - metric(server, "hearth_cells_destroyed_total") == live
            && children(server).len() as u64 == live
    });
}

#[test]
fn who_aborts_is_named_and_hurts_nobody_twice() {
    let _one = heavy();
    let (folder, server) = serve("cells-abort", ABORT, "");
    let visitors = Visitors::come(&server, VISITORS, "/victim/", "well");
    visitors.await_more(&server, 20);
    let mut client = server.connect();
    client.start("GET", "/culprit/do", &[("x-request-id", "the-fatal-one")]);
    assert!(client.rest().is_empty());
    let told = crash(&server, 1);
    assert_eq!(
        (&told["app"], &told["version"], &told["owner"]),
        (&"culprit".into(), &"latest".into(), &"culprit".into())
    );
    assert_eq!((&told["phase"], &told["cause"]), (&"handling".into(), &"crashed".into()), "{told}");
    assert_eq!(told["request_id"], "the-fatal-one", "{told}");
    assert!(told["request"].as_u64() > Some(0), "{told}");
    assert!(told["last_words"].to_string().contains("Fatal JavaScript invalid size error"), "{told}");
    assert!(server.wait_log("The cell is gone, and an app did it").contains("app=culprit"));
    visitors.await_more(&server, 20);
    assert!(visitors.lost() <= VISITORS as u64, "only what was in flight is lost");
    let shut = cordons(&server);
    assert_eq!((&shut[0]["owner"], &shut[0]["why"]), (&"culprit".into(), &"crashed".into()), "{shut:?}");
    server.expect("/culprit/", "fine");
    // Again, and again, until nobody is let in any more: the others do not notice.
    let before = visitors.lost();
    let mut refused = None;
    for count in 2..10 {
        let answer = provoke(&server, "/culprit/do");
        refused = answer.filter(|reply| reply.status == 503 && reply.code() == "cordoned");
        if refused.is_some() {
            break;
        }
        assert_eq!(crash(&server, count)["app"], "culprit");
    }
    let refused = refused.expect("who goes on is refused");
    assert!(refused.header("retry-after").is_some_and(|after| (1..=60).contains(&after.parse::<u32>().unwrap())));
    visitors.await_more(&server, 20);
    assert_eq!(visitors.lost(), before, "the log:\n{}", server.log());
    assert_eq!(cordons(&server).len(), 1);
    // Something new gets another chance.
    folder.say("culprit", "better now");
    eventually(&server, "it is released", || cordons(&server).is_empty());
    server.expect("/culprit/", "better now");
    assert_eq!(visitors.go(&server), before);
    await_balance(&server);
}

#[test]
fn who_takes_long_to_abort_is_replaced_first_and_named_then() {
    let _one = heavy();
    let table = "(() => { const a = []; a.length = 2 ** 32 - 1; return a.fill(1).length; })()";
    let heap = "(() => { const all = []; for (;;) all.push(new Array(1.3e8).fill(0)); })()";
    for (what, words) in [(table, "invalid table size"), (heap, "out of memory")] {
        let (_folder, server) = serve("cells-slow", what, "stuck_limit: 1s\ndrain_timeout: 60s\n");
        let visitors = Visitors::come(&server, 1, "/victim/", "well");
        let mut client = server.connect();
        client.start("GET", "/culprit/do", &[]);
        let told = crash(&server, 1);
        assert_eq!(told["app"], "culprit", "{told}");
        assert!(told["last_words"].to_string().contains(words), "{told}");
        visitors.await_more(&server, 5);
        assert!(visitors.go(&server) <= 1);
        assert_eq!(cordons(&server)[0]["owner"], "culprit");
    }
}

#[test]
fn who_aborts_is_named_whatever_it_is_doing() {
    let _one = heavy();
    let folder = Folder::with("cells-phases", &[("victim/index.js", &*says("well"))]);
    for app in ["later", "stream"] {
        folder.write(&format!("{app}/index.js"), culprit(ABORT));
    }
    folder.write("load/index.js", format!("globalThis.x = {ABORT}; {}", says("never")));
    let server = serve_folder(&folder, "");
    let visitors = Visitors::come(&server, 1, "/victim/", "well");
    let phases = [
        ("later", "/later/later", "wait_until"),
        ("stream", "/stream/stream", "streaming"),
        ("load", "/load/", "loading"),
    ];
    for (count, (app, path, phase)) in (1..).zip(phases) {
        provoke(&server, path);
        let told = crash(&server, count);
        assert_eq!((&told["app"], &told["phase"]), (&app.into(), &phase.into()), "{told}");
        visitors.await_more(&server, 5);
        await_standby(&server);
    }
    let cron = format!("export default {{ fetch: () => new Response('cron'), scheduled() {{ {ABORT}; }} }};");
    folder.write("cron/manifest.yaml", "crons: ['* * * * * *']\n");
    folder.write("cron/index.js", cron);
    let told = crash(&server, 4);
    assert_eq!((&told["app"], &told["phase"]), (&"cron".into(), &"handling".into()), "{told}");
    visitors.await_more(&server, 5);
    visitors.go(&server);
    folder.remove("cron");
}

#[test]
fn a_killed_and_a_frozen_cell_are_replaced_by_the_standby() {
    let (_folder, server) = serve("cells-killed", "1", "");
    let visitors = Visitors::come(&server, VISITORS, "/victim/", "well");
    for (count, word, cause) in [(1, "-KILL", "crashed"), (2, "-STOP", "frozen"), (3, "-KILL", "crashed")] {
        visitors.await_more(&server, 5);
        signal(server.cell(), word);
        let told = crash(&server, count);
        assert_eq!((&told["cause"], told.get("app")), (&cause.into(), None), "{told}");
        visitors.await_more(&server, 5);
        await_standby(&server);
    }
    assert!(cordons(&server).is_empty(), "nobody did it");
    let lost = visitors.go(&server);
    assert!(lost <= 3 * VISITORS as u64, "only what was in flight is lost: {lost}");
    await_balance(&server);
}

#[test]
fn a_standby_that_is_lost_is_nobodys_loss() {
    let (_folder, server) = serve("cells-standby", "1", "");
    let visitors = Visitors::come(&server, 1, "/victim/", "well");
    let standby = children(&server).into_iter().find(|process| *process != server.cell()).unwrap();
    signal(standby, "-KILL");
    crash(&server, 1);
    await_standby(&server);
    assert_eq!(visitors.go(&server), 0);
}

#[test]
fn replacing_cells_costs_no_request() {
    let (_folder, server) = serve("cells-replace", "1", "");
    let visitors = Visitors::come(&server, VISITORS, "/victim/", "well");
    for _ in 0..5 {
        let cell = server.cell();
        let mut streaming = server.connect();
        streaming.start("GET", "/culprit/stream", &[]);
        assert_eq!(streaming.head().status, 200);
        assert_eq!(streaming.text_chunk(), "begun");
        assert_eq!(server.ask_json("POST", "/admin/replace", "")["replaced"], true);
        eventually(&server, "the log says who serves", || server.cell() != cell);
        visitors.await_more(&server, 10);
        streaming.disconnect();
    }
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
    await_balance(&server);
    assert_eq!(crashes(&server).len(), 0);
}

#[test]
fn upgrading_costs_no_request() {
    let (_folder, server) = serve("cells-upgrade", "1", "");
    let visitors = Visitors::come(&server, VISITORS, "/victim/", "well");
    let counted = || metric(&server, "hearth_requests_total{app=\"victim\",version=\"latest\",status=\"200\"}");
    for _ in 0..2 {
        visitors.await_more(&server, 10);
        let (before, cells) = (counted(), children(&server));
        assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
        // Before there are, nobody may be there to be asked.
        eventually(&server, "cells of the new program serve", || {
            children(&server).iter().any(|cell| !cells.contains(cell)) && metric(&server, "hearth_cells_standby") == 1
        });
        eventually(&server, "those of the old one are gone", || {
            !children(&server).iter().any(|cell| cells.contains(cell))
        });
        visitors.await_more(&server, 10);
        assert!(counted() >= before, "counters never go back");
    }
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
    await_balance(&server);
}

#[test]
fn a_stuck_cell_is_replaced_and_who_does_it_twice_shut_away() {
    let _one = heavy();
    let (folder, server) = serve("cells-stuck", STUCK, "stuck_limit: 200ms\ndefaults: { cpu: 200ms }\n");
    let visitors = Visitors::come(&server, 1, "/victim/", "well");
    let cell = server.cell();
    let ask = |server: &Server| {
        let mut client = server.connect();
        client.start("GET", "/culprit/do", &[]);
        client
    };
    let first = ask(&server);
    let line = server.wait_log("The cell is replaced");
    assert!(line.contains("reason=stuck") && line.contains(&format!("cell={cell}")), "{line}");
    eventually(&server, "another serves", || server.cell() != cell);
    assert!(cordons(&server).is_empty(), "once is an accident");
    visitors.await_more(&server, 5);
    let second = ask(&server);
    eventually(&server, "it is shut away", || cordons(&server).iter().any(|one| one["why"] == "stuck"));
    visitors.await_more(&server, 5);
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
    drop((first, second, folder));
}

#[test]
fn a_cell_that_grows_is_replaced() {
    let _one = heavy();
    let hoard = "(globalThis.kept ??= []).push(new Uint8Array(16 << 20).fill(1))";
    let (_folder, server) = serve("cells-memory", hoard, "cell_memory: 220mb\ndefaults: { memory: 1gb }\n");
    let visitors = Visitors::come(&server, 1, "/victim/", "well");
    let cell = server.cell();
    eventually(&server, "it is replaced", || {
        server.get("/culprit/do");
        server.cell() != cell
    });
    assert!(server.wait_log("The cell is replaced").contains("reason=memory"));
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
}

#[test]
fn several_cells_share_the_work() {
    let (_folder, server) = serve("cells-several", "1", "cells: 2\n");
    eventually(&server, "two serve", || metric(&server, "hearth_cells_serving") == 2);
    let visitors = Visitors::come(&server, 2, "/victim/", "well");
    visitors.await_more(&server, 10);
    signal(server.cell(), "-KILL");
    crash(&server, 1);
    visitors.await_more(&server, 10);
    eventually(&server, "two serve again", || metric(&server, "hearth_cells_serving") == 2);
    assert_eq!(server.ask_json("POST", "/admin/replace", "")["replaced"], true);
    let requests = metric(&server, "hearth_requests_total{app=\"victim\",version=\"latest\",status=\"200\"}");
    visitors.await_more(&server, 10);
    assert!(visitors.go(&server) <= 2);
    let later = metric(&server, "hearth_requests_total{app=\"victim\",version=\"latest\",status=\"200\"}");
    assert!(later >= requests + 10, "counters never go back: {requests} {later}");
    await_balance(&server);
}

#[test]
fn owners_can_be_shut_away_and_released_by_hand() {
    let (_folder, server) = serve("cells-cordon", "1", "");
    let visitors = Visitors::come(&server, 1, "/culprit/", "fine");
    server.ask("PUT", "/admin/cordons/nobody", "").assert_error(404, "not_found", &["no owner nobody"]);
    server.ask("DELETE", "/admin/cordons/culprit", "").assert_error(404, "not_found", &["no cell of its own"]);
    for _ in 0..2 {
        assert_eq!(server.ask_json("PUT", "/admin/cordons/culprit", "")["cordoned"], true);
        eventually(&server, "it has a cell", || cordons(&server)[0]["state"] == "serving");
        assert_eq!(cordons(&server)[0]["why"], "operator");
        visitors.await_more(&server, 10);
        assert_eq!(server.ask_json("DELETE", "/admin/cordons/culprit", "")["cordoned"], false);
        visitors.await_more(&server, 10);
        await_balance(&server);
    }
    // Before its cell is even there.
    for _ in 0..3 {
        server.ask_json("PUT", "/admin/cordons/culprit", "");
        server.ask_json("DELETE", "/admin/cordons/culprit", "");
        visitors.await_more(&server, 5);
    }
    await_balance(&server);
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
}

#[test]
fn without_control_no_process_is_left() {
    let folder = Folder::with("cells-control", &[("a/index.js", &*says("a")), ("b/index.js", &*says("b"))]);
    let mut server = serve_folder(&folder, "isolate_owners: true\n");
    server.expect("/a/", "a");
    server.expect("/b/", "b");
    let all = children(&server);
    assert_eq!(all.len(), 4, "a main cell, a standby, and one for each owner: {all:?}");
    server.signal("-KILL");
    server.wait();
    let runs = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    eventually(&server, "all are gone", || !all.iter().any(runs));
}
