//! Loss and replacement of cells: other apps are served without a refused request, the app that crashed a cell is named,
//! and its owner is cordoned before it can crash a shared cell again.

pub mod scene;
mod starting;
mod walls;

use hearth_sys::procfs::ProcStat;
use serde_json::Value;

use self::scene::{
    ABORT, STUCK, VISITORS, await_balance, await_standby, children, cordons, crash, crashes, culprit, heavy, metric,
    provoke, serve, serve_folder, signal,
};
use crate::folder::{Folder, eventually, says};
use crate::server::Server;
use crate::visitors::Visitors;

#[test]
fn an_aborting_app_is_named_and_cordoned() {
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
    assert!(server.wait_log("cell crashed by an app").contains("app=culprit"));
    visitors.await_more(&server, 20);
    assert!(visitors.lost() <= VISITORS as u64, "only what was in flight is lost");
    let shut = cordons(&server);
    assert_eq!((&shut[0]["owner"], &shut[0]["why"]), (&"culprit".into(), &"crashed".into()), "{shut:?}");
    server.expect("/culprit/", "fine");
    // It crashes its own cell until the cordon is shut. Other apps are not affected.
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
    let refused = refused.expect("a repeated crash is refused");
    assert!(refused.header("retry-after").is_some_and(|after| (1..=60).contains(&after.parse::<u32>().unwrap())));
    visitors.await_more(&server, 20);
    assert_eq!(visitors.lost(), before, "the log:\n{}", server.log());
    assert_eq!(cordons(&server).len(), 1);
    // A new version releases the cordon.
    folder.say("culprit", "better now");
    eventually(&server, "it is released", || cordons(&server).is_empty());
    server.expect("/culprit/", "better now");
    assert_eq!(visitors.go(&server), before);
    await_balance(&server);
}

#[test]
fn an_aborting_app_is_named_in_every_phase() {
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
    for (round, (app, path, phase)) in phases.into_iter().enumerate() {
        // First in a main cell, then in its cordon cell.
        for (attempt, most) in [(1, 1), (2, 0)] {
            let lost = visitors.lost();
            provoke(&server, path);
            let told = crash(&server, round * 2 + attempt);
            assert_eq!((&told["app"], &told["phase"]), (&app.into(), &phase.into()), "{told}");
            visitors.await_more(&server, 5);
            assert!(visitors.lost() - lost <= most, "{phase}, attempt {attempt}; the log:\n{}", server.log());
            await_standby(&server);
        }
    }
    let cron = format!("export default {{ fetch: () => new Response('cron'), scheduled() {{ {ABORT}; }} }};");
    folder.write("cron/manifest.yaml", "crons: ['* * * * * *']\n");
    folder.write("cron/index.js", cron);
    let before = visitors.lost();
    let told = crash(&server, 7);
    assert_eq!((&told["app"], &told["phase"]), (&"cron".into(), &"handling".into()), "{told}");
    visitors.await_more(&server, 5);
    let lost = visitors.lost();
    assert!(lost - before <= 1, "the log:\n{}", server.log());
    // The cron runs again by itself.
    assert_eq!(crash(&server, 8)["app"], "cron");
    visitors.await_more(&server, 5);
    assert_eq!(visitors.go(&server), lost, "the log:\n{}", server.log());
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
    assert!(cordons(&server).is_empty(), "no app caused it");
    let lost = visitors.go(&server);
    assert!(lost <= 3 * VISITORS as u64, "only what was in flight is lost: {lost}");
    await_balance(&server);
}

#[test]
fn losing_a_standby_loses_no_request() {
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
        eventually(&server, "the log names the serving cell", || server.cell() != cell);
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
        // Until then a query may reach no cell.
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
fn requests_in_flight_outlive_successive_upgrades() {
    let echo = "export default { fetch: (request) => new Response(request.body) };";
    let folder = Folder::with("cells-upgrades", &[("echo/index.js", echo), ("victim/index.js", &says("well"))]);
    let server = serve_folder(&folder, "drain_timeout: 60s\n");
    let visitors = Visitors::come(&server, 1, "/victim/", "well");
    let mut held = server.connect();
    held.start_chunked("/echo/");
    for round in 0..3 {
        held.send_chunk(format!("round {round}"));
        if round == 0 {
            assert_eq!(held.head().status, 200);
        }
        assert_eq!(held.text_chunk(), format!("round {round}"));
        let cell = server.cell();
        assert_eq!(server.ask_json("POST", "/admin/upgrade", "")["upgrading"], true);
        eventually(&server, "cells of the new program serve", || server.cell() != cell);
        visitors.await_more(&server, 10);
    }
    held.send_chunk("after all");
    assert_eq!(held.text_chunk(), "after all", "the log:\n{}", server.log());
    held.send_last_chunk();
    assert_eq!(held.chunk(), None);
    // The draining cell would wait for one more request on the connection.
    held.disconnect();
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
    await_balance(&server);
}

#[test]
fn a_stuck_cell_is_replaced_and_a_second_stuck_turn_cordons_the_owner() {
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
    let line = server.wait_log("cell replaced");
    assert!(line.contains("reason=stuck") && line.contains(&format!("cell={cell}")), "{line}");
    eventually(&server, "another serves", || server.cell() != cell);
    assert!(cordons(&server).is_empty(), "one stuck turn is tolerated");
    visitors.await_more(&server, 5);
    let second = ask(&server);
    eventually(&server, "the owner is cordoned", || cordons(&server).iter().any(|one| one["why"] == "stuck"));
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
    assert!(server.wait_log("cell replaced").contains("reason=memory"));
    let line = server.wait_log("cell too large");
    assert!(line.contains("heaviest=\"culprit "), "the largest holder is named: {line}");
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
fn the_pool_report_adds_up_all_cells() {
    let (_folder, server) = serve("cells-pool", "1", "cells: 2\nisolates: 30\nspares: 1\nmemory_budget: 1gb\n");
    eventually(&server, "two serve", || metric(&server, "hearth_cells_serving") == 2);
    let number = |path: &str| server.report().pointer(path).and_then(Value::as_f64).unwrap();
    // Each cell starts a worker for its first request to an app.
    eventually(&server, "both have been asked", || {
        server.expect("/victim/", "well");
        number("/owners/victim/misses") >= 2.0
    });
    for _ in 0..20 {
        server.expect("/victim/", "well");
    }
    eventually(&server, "no worker starts or ends", || {
        number("/spares/ready") == 2.0 && number("/created") - number("/destroyed") == number("/live")
    });
    assert_eq!((number("/total"), number("/spares/wanted")), (60.0, 2.0), "{}", server.report());
    assert_eq!(
        number("/memory/budget"),
        f64::from(1 << 30),
        "the memory budget is of the machine: {}",
        server.report()
    );
    assert_eq!(number("/cached") + number("/spares/ready"), number("/live"), "{}", server.report());
    let (hits, misses, rate) = (number("/hits"), number("/misses"), number("/hit_rate"));
    assert!(hits >= 20.0 && hits == number("/modes/pooled/hits"), "{}", server.report());
    assert!(
        (hits / (hits + misses) - rate).abs() < 0.01,
        "the rate is of all requests, not a sum: {}",
        server.report()
    );
}

#[test]
fn owners_can_be_cordoned_and_released_by_the_operator() {
    let (_folder, server) = serve("cells-cordon", "1", "");
    let visitors = Visitors::come(&server, 1, "/culprit/", "fine");
    server.ask("PUT", "/admin/cordons/unknown", "").assert_error(404, "not_found", &["no owner unknown"]);
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
    // Even before its cell has started.
    for _ in 0..3 {
        server.ask_json("PUT", "/admin/cordons/culprit", "");
        server.ask_json("DELETE", "/admin/cordons/culprit", "");
        visitors.await_more(&server, 5);
    }
    await_balance(&server);
    assert_eq!(visitors.go(&server), 0, "the log:\n{}", server.log());
}

#[test]
fn no_process_outlives_control() {
    let folder = Folder::with("cells-control", &[("a/index.js", &*says("a")), ("b/index.js", &*says("b"))]);
    let mut server = serve_folder(&folder, "isolate_owners: true\n");
    server.expect("/a/", "a");
    server.expect("/b/", "b");
    let all = children(&server);
    assert_eq!(all.len(), 4, "a main cell, a standby, and one for each owner: {all:?}");
    server.signal("-KILL");
    server.wait();
    let runs = |process: &u32| ProcStat::read(*process).is_some_and(|process| process.is_alive());
    eventually(&server, "all are gone", || !all.iter().any(runs));
}
