//! Warm pools: the ways of running, what one owner can do to another, and numbers that add up.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, Reply};
use crate::server::{AMPLE, PATIENCE, Server, apps, scratch, serve_folder};

const MODES: [&str; 5] = ["auto", "pooled", "pinned", "oneshot", "shared"];

pub fn many(flags: &[&str]) -> Server {
    serve_folder(&apps().join("pools/many"), flags)
}

/// A number of the admin API's report, by its path.
pub fn count(server: &Server, path: &str) -> u64 {
    let report = server.report();
    report.pointer(path).and_then(serde_json::Value::as_u64).unwrap_or_else(|| panic!("no {path} in {report}"))
}

/// Waits until it is so.
#[track_caller]
pub fn wait_for(what: &str, server: &Server, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}: {}", server.report());
        // A client that asks without a pause keeps a small machine from what it is waiting for.
        thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until nothing runs and every isolate is accounted for.
#[track_caller]
fn assert_adds_up(server: &Server) {
    wait_for("isolates are left over", server, || {
        let report = server.report();
        let number = |path: &str| report.pointer(path).and_then(serde_json::Value::as_i64).unwrap();
        let kept = number("/cached") + number("/modes/shared/cached") + number("/spares/ready");
        let idle = number("/running") == 0 && number("/queued") == 0 && number("/live") == kept;
        let settled = |mode: &&str| {
            let of = |what: &str| number(&format!("/modes/{mode}/{what}"));
            // What `shared` keeps is isolates, and each of its workers serves one event.
            let kept = if *mode == "shared" { 0 } else { of("cached") };
            of("created") - of("destroyed") == kept && of("leased") == 0 && of("waiting") == 0
        };
        idle && number("/created") - number("/destroyed") == number("/live")
            && MODES.iter().filter(|mode| **mode != "auto").all(settled)
    });
}

/// Sends `requests` at once, each on a connection of its own.
fn at_once(server: &Server, requests: usize, path: &str) -> Vec<Reply> {
    let mut clients: Vec<Client> = (0..requests).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.start("GET", path, &[]);
    }
    clients.iter_mut().map(Client::reply).collect()
}

pub fn write_app(folder: &Path, name: &str, code: &str) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("index.js"), code).unwrap();
}

#[test]
fn every_mode_serves_and_keeps_what_it_should() {
    for mode in MODES {
        let room = ["--max-queued", "50", "--queue-timeout", "50s"];
        let server = many(&[&["--execution", mode, "--workers", "1"][..], &room].concat());
        let texts = [1, 2, 3].map(|_| server.get("/counter/").text().to_owned());
        match mode {
            "auto" | "pooled" | "pinned" => assert_eq!(texts, ["1", "2", "3"], "{mode} keeps module state"),
            _ => assert_eq!(texts, ["1", "1", "1"], "{mode} keeps nothing"),
        }
        assert_eq!(at_once(&server, 15, "/good/").iter().filter(|reply| reply.text() == "good").count(), 15, "{mode}");
        server.get("/missing/").assert_error(404, "no_app", &[]);
        assert_adds_up(&server);
    }
}

#[test]
fn every_mode_stops_loops_and_goes_on() {
    for mode in MODES {
        let server = many(&["--execution", mode, "--cpu", "500ms", "--wall", AMPLE]);
        server.get("/hog/loop").assert_error(503, "limit_cpu", &[]);
        server.get("/never/").assert_error(504, "limit_wall", &["of 1.0s"]);
        server.expect("/hog/", "hog");
        assert_adds_up(&server);
    }
}

#[test]
fn every_mode_streams_both_ways() {
    for mode in MODES {
        let server = many(&["--execution", mode]);
        let mut client = server.connect();
        client.start_chunked("/stream/echo");
        client.send_chunk("one");
        assert_eq!(client.head().status, 200, "{mode}");
        assert_eq!(client.text_chunk(), "one");
        client.send_chunk("two");
        assert_eq!(client.text_chunk(), "two");
        client.send_last_chunk();
        assert_eq!(client.chunk(), None);
        assert_adds_up(&server);
    }
}

#[test]
fn fifty_concurrent_first_requests_start_no_more_isolates_than_needed() {
    let server = many(&["--workers", "2", "--concurrency", "32", "--queue-timeout", "50s"]);
    assert!(at_once(&server, 50, "/good/").iter().all(|reply| reply.text() == "good"));
    let created = count(&server, "/modes/pooled/created");
    assert!((1..=2).contains(&created), "50 requests fit into two workers: {created}");
    assert_adds_up(&server);
}

#[test]
fn a_thousand_recycles_leave_threads_files_and_memory_flat() {
    let server = many(&["--max-requests", "1"]);
    let mut client = server.connect();
    let mut recycle = |times: usize| {
        for _ in 0..times {
            assert_eq!(client.get("/counter/").text(), "1", "a worker serves one request");
        }
    };
    recycle(100);
    assert_adds_up(&server);
    let before = (server.threads(), server.files(), server.memory());
    recycle(1000);
    assert_adds_up(&server);
    // The lane has some more threads while the machine is slow; they go when they have had nothing to do.
    wait_for(&format!("more threads, files or memory than {before:?}"), &server, || {
        let (threads, files, memory) = (server.threads(), server.files(), server.memory());
        threads <= before.0 + 20 && files <= before.1 + 8 && memory < before.2 + (48 << 20)
    });
    assert_eq!(count(&server, "/modes/pooled/created"), 1100);
}

#[test]
fn whatever_one_owner_does_another_is_served_even_on_one_thread() {
    for what in ["loop", "memory", "never", "storm", "search"] {
        let server = many(&["--threads", "1", "--wall", "10s", "--memory", "64mb"]);
        server.expect("/good/", "good");
        let mut hogs: Vec<Client> = (0..4).map(|_| server.connect()).collect();
        for hog in &mut hogs {
            hog.start("GET", &format!("/hog/{what}"), &[]);
        }
        for _ in 0..50 {
            server.expect("/good/", "good");
        }
        for hog in &mut hogs {
            let status = hog.reply().status;
            assert!(matches!(status, 200 | 503 | 504), "/hog/{what} was answered {status}");
        }
        server.expect("/good/", "good");
    }
}

#[test]
fn a_stuck_turn_holds_its_own_thread_alone() {
    let server = many(&["--threads", "1", "--cpu", "500ms", "--wall", AMPLE]);
    server.expect("/good/", "good");
    let mut hog = server.connect();
    hog.start("GET", "/hog/search", &[]);
    server.wait_log("turn is stuck");
    let refused = server.get("/hog/");
    refused.assert_error(503, "stuck", &[]);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.report().pointer("/stuck").unwrap(), &serde_json::json!(["hog"]));
    for _ in 0..20 {
        server.expect("/good/", "good");
    }
    assert_eq!(hog.reply().code(), "limit_cpu");
    server.wait_log("stuck turn ended");
    server.expect("/hog/", "hog");
    assert_adds_up(&server);
}

#[test]
fn twenty_requests_that_never_settle_use_up_nothing_for_others() {
    let server = many(&["--threads", "1", "--wall", "10s", "--queue-timeout", "50s"]);
    let mut hogs: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    for hog in &mut hogs {
        hog.start("GET", "/hog/never", &[]);
    }
    assert!(at_once(&server, 100, "/good/").iter().all(|reply| reply.text() == "good"));
    for hog in &mut hogs {
        hog.reply().assert_error(504, "limit_wall", &[]);
    }
    server.expect("/hog/", "hog");
    assert_adds_up(&server);
}

#[test]
fn a_late_reply_never_reaches_the_next_request() {
    let server = many(&["--workers", "1"]);
    let mut gone = server.connect();
    gone.start("GET", "/stream/wait", &[]);
    server.expect("/stream/", "stream");
    wait_for("the first one has not come", &server, || count(&server, "/owners/stream/running") == 1);
    gone.disconnect();
    let mut client = server.connect();
    assert_eq!(client.get("/stream/release").text(), "released");
    assert_eq!(client.get("/stream/").text(), "stream");
    server.expect("/stream/", "stream");
    assert_adds_up(&server);
}

#[test]
fn eviction_takes_the_idle_and_never_a_request_in_flight() {
    let server = many(&["--isolates", "1", "--workers", "1", "--queue-timeout", "50s"]);
    server.expect("/counter/", "1");
    let mut client = server.connect();
    client.start_chunked("/stream/echo");
    client.send_chunk("begun");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "begun");
    assert_eq!(count(&server, "/evictions"), 1, "the idle counter had to go");
    // There is room for one, and it is in use: the next one waits, and the stream goes on.
    let mut next = server.connect();
    next.start("GET", "/good/", &[]);
    for text in ["a", "b", "c"] {
        client.send_chunk(text);
        assert_eq!(client.text_chunk(), text);
    }
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
    assert_eq!(next.reply().text(), "good");
    server.expect("/counter/", "1");
    assert_adds_up(&server);
}

#[test]
fn a_pass_through_body_survives_the_reuse_of_its_worker() {
    let server = many(&["--workers", "1"]);
    let mut client = server.connect();
    client.start_chunked("/stream/echo");
    client.send_chunk("begun");
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "begun");
    for n in 0..50 {
        server.expect("/stream/", "stream");
        client.send_chunk(n.to_string());
        assert_eq!(client.text_chunk(), n.to_string());
    }
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
}

#[test]
fn many_apps_in_turn_fit_into_few_isolates() {
    let folder = scratch("many-apps");
    for n in 0..120 {
        write_app(&folder, &format!("app{n}"), &format!("export default {{ fetch: () => new Response('{n}') }}"));
    }
    let server = serve_folder(&folder, &["--isolates", "10"]);
    for round in 0..2 {
        for n in 0..120 {
            server.expect(&format!("/app{n}/"), &n.to_string());
        }
        assert!(count(&server, "/cached") <= 10, "round {round}");
    }
    let evictions = count(&server, "/evictions");
    assert!(evictions >= 220);
    let logged = |text: &str| server.log().lines().filter(|line| line.contains(text)).count() as u64;
    wait_for("an eviction is not logged, or twice", &server, || logged("vict") == evictions);
    assert_eq!(logged("hearth::pool: worker evicted app=app"), evictions);
    assert_adds_up(&server);
}

#[test]
fn owners_that_grow_together_are_stopped_before_the_process_is() {
    let folder = scratch("growing");
    let code = std::fs::read_to_string(apps().join("pools/many/kept/index.js")).unwrap();
    for n in 0..=40 {
        write_app(&folder, &format!("app{n}"), &code);
    }
    // It is the budget alone that stops an app.
    let limits = ["--memory", "64mb", "--cpu", AMPLE, "--wall", AMPLE];
    let mut server = serve_folder(&folder, &[&["--memory-budget", "256mb"][..], &limits].concat());
    let clients: Vec<_> = (0..40)
        .map(|n| {
            let mut client = server.connect();
            client.start("GET", &format!("/app{n}/?mb=40"), &[]);
            client
        })
        .collect();
    let mut stopped = Vec::new();
    for (n, mut client) in clients.into_iter().enumerate() {
        let reply = client.reply();
        if reply.status != 200 {
            stopped.push(n);
        }
        match reply.status {
            200 => {}
            // It may be found out just after the request's own turn.
            _ if reply.code() == "collateral" => assert!(reply.text().contains("--memory-budget"), "{}", reply.text()),
            _ => reply.assert_error(503, "limit_budget", &["memory of all apps together", "--memory-budget"]),
        }
    }
    wait_for("too much is held", &server, || count(&server, "/memory/heaps") < 400 << 20);
    for n in stopped {
        server.expect(&format!("/app{n}/?mb=1"), "8");
    }
    // An app that grows while the others do not has the room for it.
    assert_eq!(server.get("/app40/?mb=40").status, 200, "{}", server.log());
    assert!(server.is_running());
}

#[test]
fn what_was_destroyed_gives_its_memory_back() {
    let server = many(&["--memory", "64mb", "--cpu", AMPLE, "--wall", AMPLE]);
    server.expect("/good/", "good");
    let before = server.memory();
    for _ in 0..8 {
        server.get("/hog/memory").assert_error(503, "limit_heap", &[]);
    }
    assert_adds_up(&server);
    // Some of it goes a few seconds later.
    wait_for("memory is held for good", &server, || server.memory() < before + (128 << 20));
}

#[test]
fn a_full_queue_and_a_long_wait_are_refused() {
    let flags = ["--workers", "1", "--concurrency", "1", "--queue", "1", "--queue-timeout", "10s", "--wall", "50s"];
    let server = many(&flags);
    server.expect("/hog/", "hog");
    let mut first = server.connect();
    first.start("GET", "/hog/never", &[]);
    wait_for("the first does not run", &server, || count(&server, "/owners/hog/running") == 1);
    let (mut second, mut third) = (server.connect(), server.connect());
    second.start("GET", "/hog/", &[]);
    wait_for("the second does not wait", &server, || count(&server, "/owners/hog/queued") == 1);
    third.start("GET", "/hog/", &[]);
    let full = third.reply();
    full.assert_error(503, "no_capacity", &["full"]);
    assert_eq!(full.header("retry-after"), Some("1"));
    second.reply().assert_error(503, "no_capacity", &["too long"]);
    server.expect("/good/", "good");
    assert_eq!(count(&server, "/owners/hog/refused/full"), 1);
    assert_eq!(count(&server, "/owners/hog/refused/late"), 1);
}

#[test]
fn workers_are_replaced_by_age_and_when_idle() {
    let server = many(&["--workers", "1", "--idle-timeout", "100ms"]);
    server.expect("/counter/", "1");
    wait_for("an idle worker stays", &server, || count(&server, "/cached") == 0);
    server.expect("/counter/", "1");

    let server = many(&["--workers", "1", "--ttl", "5s", "--wall", "5s"]);
    server.expect("/counter/", "1");
    wait_for("an old worker stays", &server, || server.get("/counter/").text() == "1");
    assert_adds_up(&server);
}

#[test]
fn the_admin_api_wants_its_token() {
    let server = many(&[]);
    let admin = server.admin();
    let mut client = Client::connect(&admin);
    assert_eq!(client.get("/health/live").status, 200);
    client.get("/admin/pool").assert_error(401, "unauthorized", &["Bearer"]);
    client.start("GET", "/admin/pool", &[("authorization", "Bearer wrong")]);
    client.reply().assert_error(401, "unauthorized", &[]);
    server.get("/admin/pool").assert_error(404, "no_app", &[]);
    server.expect("/good/", "good");
    server.expect("/good/", "good");
    wait_for("nothing is kept", &server, || count(&server, "/cached") == 1);
    let report = server.report();
    for (path, value) in [("/total", 1000), ("/cached", 1), ("/capacity", 999), ("/hits", 1), ("/misses", 1)] {
        assert_eq!(report.pointer(path).unwrap(), &serde_json::json!(value), "{path} in {report}");
    }
    assert_eq!(report["hit_rate"], serde_json::json!(0.5));
}

#[test]
fn the_names_of_other_programs_work_too() {
    let file = apps().join("pools/many");
    let server = Server::start(
        &["serve", file.to_str().unwrap()],
        &[
            ("ISOLATE_POOL_SIZE", "7"),
            ("WORKER_POOL_SIZE", "1"),
            ("CONTEXT_MAX_REUSES", "2"),
            ("MAX_QUEUED_WORKERS", "3"),
            ("ISOLATE_HEAP_INITIAL_MB", "24"),
            ("ISOLATE_HEAP_MAX_MB", "48"),
            ("BOUVET_POOL_ENABLED", "false"),
        ],
    );
    assert_eq!(count(&server, "/total"), 7);
    for (name, flag) in [
        ("ISOLATE_POOL_SIZE=7", "--isolates"),
        ("WORKER_POOL_SIZE=1", "--threads"),
        ("CONTEXT_MAX_REUSES=2", "--max-requests"),
        ("MAX_QUEUED_WORKERS=3", "--max-queued"),
        ("ISOLATE_HEAP_INITIAL_MB=24", "--initial-heap"),
        ("ISOLATE_HEAP_MAX_MB=48", "--memory"),
    ] {
        server.wait_log(&format!("{name} is used for {flag}"));
    }
    let started = server.wait_log("pool started");
    for part in ["isolates=7", "max_queued=3", "initial_heap=24mb", "memory="] {
        assert!(started.contains(part), "{part} in {started}");
    }
    let texts = [1, 2, 3].map(|_| server.get("/counter/").text().to_owned());
    assert_eq!(texts, ["1", "2", "1"]);
    server.get("/hog/memory").assert_error(503, "limit_heap", &["of 48mb"]);
}

#[test]
fn the_names_of_other_programs_rank_below_the_configuration_and_are_held_to_its_bounds() {
    let folder = scratch("borrowed");
    let config = folder.join("hearth.yaml");
    let text = "isolates: 9\nmax_queued: 40\ninitial_heap: 8mb\ndefaults: { maxRequests: 3, memory: 64mb }\n";
    std::fs::write(&config, text).unwrap();
    let file = apps().join("pools/many");
    let others = [
        ("ISOLATE_POOL_SIZE", "7"),
        ("CONTEXT_MAX_REUSES", "2"),
        ("MAX_QUEUED_WORKERS", "3"),
        ("ISOLATE_HEAP_INITIAL_MB", "24"),
        ("ISOLATE_HEAP_MAX_MB", "48"),
    ];
    let arguments = ["serve", file.to_str().unwrap(), "--workers", "1", "--config", config.to_str().unwrap()];
    let server = Server::start(&arguments, &others);
    assert_eq!(count(&server, "/total"), 9);
    let texts = [1, 2, 3, 4].map(|_| server.get("/counter/").text().to_owned());
    assert_eq!(texts, ["1", "2", "3", "1"]);
    assert!(!server.log().contains("is used for"), "{}", server.log());

    let wrong = [("ISOLATE_POOL_SIZE", "3501"), ("WORKER_POOL_SIZE", "0"), ("MAX_QUEUED_WORKERS", "x")];
    let server = Server::start(&["serve", file.to_str().unwrap()], &wrong);
    assert_eq!(count(&server, "/total"), 1000);
    server.wait_log("ISOLATE_POOL_SIZE=\"3501\" is not between 1 and 3500: ignored; --isolates says the same");
    server.wait_log("WORKER_POOL_SIZE=\"0\" is not between 1 and 1024");
    server.wait_log("MAX_QUEUED_WORKERS=\"x\" is not a number");
}
