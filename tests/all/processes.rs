//! Control and its cell: whichever goes, however it goes, requests are answered and nothing is left behind.

use std::process::Command;

use hearth_sys::procfs::ProcStat;

use crate::client::Client;
use crate::folder::{Folder, eventually, says};
use crate::server::Server;
use crate::stream::Events;

/// Echoes the body as it arrives, so that a request is in flight for as long as the client keeps sending.
const ECHO: &str = "export default { fetch: (request) => new Response(request.body) };";
/// Responds when the whole body has arrived.
const WHOLE: &str = "export default { fetch: async (request) => new Response(await request.text()) };";
const COUNTER: &str = "let n = 0; export default { fetch: () => new Response(String(++n)) };";

fn serve(name: &str, flags: &[&str]) -> (Folder, Server) {
    let files = [
        ("hello/index.js", &*says("hello")),
        ("echo/index.js", ECHO),
        ("counter/index.js", COUNTER),
        ("whole/index.js", WHOLE),
    ];
    let folder = Folder::with(name, &files);
    let server = folder.serve(flags);
    (folder, server)
}

fn signal(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// Whether the process runs; a zombie does not.
fn runs(process: u32) -> bool {
    ProcStat::read(process).is_some_and(|process| process.is_alive())
}

/// A request that is in flight until the client ends it.
fn hold(server: &Server) -> Client {
    let mut client = server.connect();
    client.start_chunked("/echo/");
    client.send_chunk("held");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "held");
    client
}

fn finish(mut client: Client) {
    client.send_chunk("finished");
    assert_eq!(client.text_chunk(), "finished");
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
}

#[test]
fn a_cell_that_is_killed_is_replaced_and_no_connection_is_refused() {
    let (_folder, server) = serve("processes-killed", &[]);
    let mut events = Events::follow(&server, "/admin/events");
    for lost in 1..=3 {
        server.expect("/hello/", "hello");
        let cell = server.cell();
        signal(cell, "-KILL");
        eventually(&server, "the cell is gone", || !runs(cell));
        // These connections wait for the next cell.
        let waiting: Vec<Client> = (0..10).map(|_| server.connect()).collect();
        for mut client in waiting {
            assert_eq!(client.get("/hello/").text(), "hello");
        }
        let event = events.find(|event| event["event"] == "cell_lost");
        assert_eq!(event["cell"], cell);
        let crashes = server.ask_json("GET", "/admin/crashes", "");
        let crashes = crashes["crashes"].as_array().unwrap();
        assert_eq!(crashes.len(), lost, "{crashes:?}");
        assert_eq!(crashes[0]["cell"], cell, "the newest comes first");
        assert!(crashes[0]["status"].as_str().unwrap().contains("SIGKILL"), "{crashes:?}");
        assert!(crashes[0]["time"].as_u64() > Some(1_700_000_000_000), "{crashes:?}");
        assert_ne!(server.cell(), cell);
    }
}

#[test]
fn cells_end_with_control() {
    let (_folder, mut server) = serve("processes-control", &[]);
    server.expect("/hello/", "hello");
    let cell = server.cell();
    assert!(runs(cell) && cell != server.id());
    let held = hold(&server);
    server.signal("-KILL");
    server.wait();
    eventually(&server, "the cell ends too", || !runs(cell));
    drop(held);
}

#[test]
fn a_cell_has_neither_environment_nor_arguments_of_the_operator() {
    let (_folder, server) = serve("processes-environment", &[]);
    let of = |process: u32, what: &str| std::fs::read_to_string(format!("/proc/{process}/{what}")).unwrap();
    assert!(of(server.id(), "environ").contains("HEARTH_TEST_SECRET"));
    assert_eq!(of(server.cell(), "environ"), "");
    assert!(!of(server.cell(), "cmdline").contains("--admin-token"));
    let group = |process| of(process, "stat").rsplit_once(')').unwrap().1.split_whitespace().nth(2).unwrap().to_owned();
    assert_ne!(group(server.cell()), group(server.id()), "Ctrl-C is control's alone");
    let oom = |process| of(process, "oom_score_adj").trim().parse::<i32>().unwrap();
    assert!(oom(server.cell()) > oom(server.id()), "control is the last process that the OOM killer chooses");
}

#[test]
fn a_signal_to_all_processes_is_left_to_control() {
    let (_folder, mut server) = serve("processes-group", &["--drain-timeout", "60s", "--workers", "1"]);
    server.expect("/counter/", "1");
    let (held, cell) = (hold(&server), server.cell());
    for word in ["-HUP", "-INT", "-TERM"] {
        signal(cell, word);
    }
    server.expect("/counter/", "2");
    assert_eq!(server.cell(), cell);
    let mut unanswered = server.connect();
    unanswered.start_chunked("/whole/");
    unanswered.send_chunk("all ");
    let mut idle = server.connect();
    assert_eq!(idle.get("/counter/").text(), "3");
    let begun = "hearth_requests_in_flight{app=\"whole\",version=\"latest\"} 1";
    eventually(&server, "it is in flight", || server.ask("GET", "/metrics", "").text().contains(begun));
    server.signal("-TERM");
    server.wait_log("Stopping");
    // The cell has begun to drain when it closes an idle connection.
    assert!(idle.rest().is_empty());
    finish(held);
    unanswered.send_chunk("of it");
    unanswered.send_last_chunk();
    let reply = unanswered.reply();
    assert_eq!((reply.text(), reply.header("connection")), ("all of it", Some("close")));
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("Stopped"), "{log}");
    assert!(!runs(cell));
}

#[test]
fn sighup_reloads_the_configuration_and_a_second_interrupt_ends_at_once() {
    let (_folder, mut server) = serve("processes-signals", &["--drain-timeout", "60s", "--workers", "1"]);
    server.expect("/counter/", "1");
    server.signal("-HUP");
    server.wait_log("configuration reloaded");
    server.expect("/counter/", "2");
    let (mut held, cell) = (hold(&server), server.cell());
    server.interrupt();
    server.wait_log("Stopping");
    server.interrupt();
    assert_eq!(server.wait().0.code(), Some(130));
    held.rest();
    eventually(&server, "the cell ends too", || !runs(cell));
}

#[test]
fn a_stopped_cell_does_not_keep_the_server_from_ending() {
    let (_folder, mut server) = serve("processes-frozen", &["--drain-timeout", "100ms"]);
    server.expect("/hello/", "hello");
    let cell = server.cell();
    signal(cell, "-STOP");
    server.signal("-TERM");
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("cell killed: it is stopped and does not drain"), "{log}");
    eventually(&server, "the cell is gone", || !runs(cell));
}
