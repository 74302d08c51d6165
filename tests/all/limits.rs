//! Every limit holds, says which one it was, how much was used and what raises it; and the process and all other requests
//! go on as if nothing had been.

use std::io::ErrorKind;
use std::net::TcpListener;

use crate::client::Client;
use crate::server::{AMPLE, Server, app, scratch, serve, serve_alone, serve_file, serve_folder, serve_with};

/// Long enough that a request which only answers is never stopped by them, however slow the machine.
const CPU: &str = "300ms";
const WALL: &str = "5s";
const RAISE_CPU: &str = "raise it with `cpu` (--cpu)";
const RAISE_WALL: &str = "raise it with `timeout` (--wall)";
const RAISE_MEMORY: &str = "raise it with `memory` (--memory)";

/// One way to use up the CPU. `limits/cpu` has the code.
fn assert_cpu_limit(way: &str) {
    // Some of them take memory too, and how much of it in that time depends on the machine.
    let mut server = serve_with("limits/cpu", &["--cpu", CPU, "--wall", AMPLE, "--memory", "0"]);
    server.expect("/ok", "fine");
    server.get(&format!("/{way}")).assert_error(503, "limit_cpu", &["used ", " of 300ms", RAISE_CPU]);
    assert_survived(&mut server);
}

/// One way to use up the memory. `limits/heap` has the code.
fn assert_heap_limit(way: &str) {
    let mut server = serve_with("limits/heap", &["--memory", "64mb", "--cpu", AMPLE, "--wall", AMPLE]);
    server.expect("/ok", "fine");
    server.get(&format!("/{way}")).assert_error(503, "limit_heap", &["used ", "of 64mb", RAISE_MEMORY]);
    assert_survived(&mut server);
}

#[track_caller]
fn assert_survived(server: &mut Server) {
    for _ in 0..3 {
        server.expect("/ok", "fine");
    }
    assert!(server.is_running());
}

macro_rules! ways {
    ($check:ident: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $check(stringify!($name));
            }
        )*
    };
}

mod cpu {
    use super::assert_cpu_limit;

    ways! {
        assert_cpu_limit:
        endless_loop endless_loop_after_await endless_loop_in_timer loop_in_finally loop_in_nested_finally
        loop_that_catches microtask_storm promise_chain async_recursion catastrophic_regex catastrophic_regex_replace
        generator small_arrays getter_loop proxy_loop to_string_loop sort_loop json_loop headers_loop eval_loop
        clone_loop wasm_loop thenable_loop many_turns long_derivations
    }
}

#[test]
fn a_derivation_that_would_take_hours_is_refused() {
    let code = r#"
        export default {
          async fetch() {
            const { subtle } = crypto;
            const key = await subtle.importKey("raw", new Uint8Array(8), "PBKDF2", false, ["deriveBits"]);
            const how = { name: "PBKDF2", hash: "SHA-512", salt: new Uint8Array(8), iterations: 2 ** 32 - 1 };
            return subtle.deriveBits(how, key, 512).then(() => new Response("derived"), (error) => new Response(`${error}`));
          },
        };"#;
    let file = scratch("derivation").join("index.js");
    std::fs::write(&file, code).unwrap();
    let server = serve_file(&file, &[]);
    let reply = server.get("/");
    let answer = reply.text();
    assert!(answer.starts_with("OperationError: the operation would take about "), "{answer}");
    assert!(answer.ends_with("the app's limit is 1 s: raise it with `cpu`"), "{answer}");
}

mod heap {
    use super::assert_heap_limit;

    ways! {
        assert_heap_limit:
        objects arrays keys sparse_object maps sets strings concatenation spread map_function closures
        array_buffers_large array_buffers_small array_buffers_with_pauses typed_arrays resizable_buffer wasm_memory
        one_large_buffer caught caught_array_buffers blobs encoded_text streams
    }
}

#[test]
fn what_is_let_go_does_not_count() {
    let server = serve_with("limits/heap", &["--memory", "64mb", "--cpu", AMPLE, "--wall", AMPLE, "--workers", "1"]);
    server.expect("/within", "200");
    server.expect("/within_20_mb", "20971520");
    server.expect("/within", "200");
}

#[test]
fn what_is_too_deep_is_a_range_error() {
    let mut server = serve_with("limits/recursion", &["--cpu", AMPLE, "--wall", AMPLE, "--memory", "512mb"]);
    for way in ["functions", "to_string", "evaluated", "regex"] {
        let reply = server.get(&format!("/{way}"));
        let expected = if way == "regex" { ["SyntaxError", "RangeError"] } else { ["RangeError"; 2] };
        assert!(expected.contains(&reply.text()), "{way}: {reply:?}\n{}", server.log());
    }
    // These may find a way without recursion.
    for way in ["json_stringify", "proxies", "clone", "console_log", "error_cause"] {
        let reply = server.get(&format!("/{way}"));
        assert_eq!(reply.status, 200, "{way}: {reply:?}\n{}", server.log());
    }
    server.get("/uncaught").assert_error(502, "app_failed", &[]);
    server.wait_log("RangeError: Maximum call stack size exceeded");
    assert!(server.is_running());
}

#[test]
fn a_loop_in_a_stream_cuts_it_off() {
    let server = serve_with("limits/cpu", &["--cpu", CPU]);
    let mut client = server.connect();
    client.start("GET", "/stream_loop", &[]);
    assert_eq!((client.head().status, client.text_chunk().as_str()), (200, "begun"));
    assert_eq!(client.rest(), b"", "cut off, without a last chunk");
    let line = server.wait_log("CPU time limit exceeded");
    assert!(line.contains(RAISE_CPU), "{line}");
    server.expect("/ok", "fine");
}

#[test]
fn each_chunk_has_the_limit_to_itself() {
    let server = serve("limits/chunks");
    server.expect("/", "..........");
}

#[test]
fn waiting_is_no_cpu_time() {
    serve("limits/wall").expect("/sleeps_1500_ms", "slept");
}

#[test]
fn a_promise_that_never_settles_runs_into_the_wall_limit() {
    let server = serve_with("limits/wall", &["--wall", WALL]);
    server.get("/never").assert_error(504, "limit_wall", &["used ", "of 5.0s", RAISE_WALL]);
    server.wait_log("aborted with AbortError time until the response limit exceeded");
    server.expect("/ok", "fine");
    assert!(!server.log().contains("worker destroyed"), "nothing ran: no other request is affected\n{}", server.log());
}

#[test]
fn a_request_that_sleeps_for_ever_runs_into_the_wall_limit() {
    let server = serve_with("limits/wall", &["--wall", WALL]);
    server.get("/sleeps").assert_error(504, "limit_wall", &[RAISE_WALL]);
    server.expect("/ok", "fine");
}

#[test]
fn an_endless_loop_runs_into_the_wall_limit() {
    let server = serve_with("limits/wall", &["--wall", WALL, "--cpu", "0"]);
    server.get("/loop").assert_error(504, "limit_wall", &["of 5.0s", RAISE_WALL]);
    server.expect("/ok", "fine");
}

#[test]
fn a_body_that_does_not_come_runs_into_the_wall_limit() {
    let server = serve_with("limits/wall", &["--wall", WALL]);
    let mut client = server.connect();
    client.start("POST", "/body", &[("content-length", "10")]);
    client.reply().assert_error(504, "limit_wall", &[RAISE_WALL]);
    server.expect("/ok", "fine");
}

#[test]
fn cpu_is_reported_before_wall() {
    let server = serve_with("limits/wall", &["--cpu", CPU, "--wall", AMPLE]);
    server.get("/loop").assert_error(503, "limit_cpu", &[RAISE_CPU]);
}

#[test]
fn zero_turns_limits_off() {
    let server = serve_with("limits/wall", &["--cpu", "0", "--wall", "0", "--memory", "0"]);
    server.expect("/sleeps_1500_ms", "slept");
    let server = serve_with("limits/heap", &["--cpu", "0", "--memory", "0"]);
    server.expect("/one_large_buffer", "too much, and nothing said");
}

#[test]
fn a_loop_in_module_evaluation_is_stopped() {
    let mut server = serve_with("limits/module_loop", &["--wall", AMPLE]);
    for _ in 0..2 {
        let parts = ["used ", "of 2.0s", RAISE_CPU];
        server.get("/").assert_error(502, "limit_module_cpu", &parts);
    }
    let line = server.wait_log("App failed to start");
    assert!(line.contains("CPU time of module evaluation limit exceeded"), "{line}");
    assert!(server.is_running());
}

#[test]
fn modules_that_wait_for_ever_are_given_up() {
    let folder = scratch("module-waits");
    let code = std::fs::read_to_string(app("limits/module_waits")).unwrap();
    std::fs::create_dir(folder.join("waits")).unwrap();
    std::fs::write(folder.join("waits/index.js"), code).unwrap();
    // Modules have the default time at least, which is what a request has.
    let mut server = serve_folder(&folder, &["--wall", "1s"]);
    server.get("/waits/").assert_error(502, "limit_module_wall", &["of 30.0s"]);
    assert!(server.is_running());
}

#[test]
fn memory_counts_in_module_evaluation() {
    let mut server = serve_with("limits/module_heap", &["--memory", "64mb", "--cpu", AMPLE, "--wall", AMPLE]);
    server.get("/").assert_error(503, "limit_heap", &[RAISE_MEMORY]);
    assert!(server.is_running());
}

#[test]
fn wait_until_has_its_own_cpu_limit() {
    let server = serve_with("limits/wait_until", &["--cpu", CPU, "--wall", AMPLE, "--workers", "1"]);
    server.expect("/ok", "1");
    server.expect("/loop", "2");
    let line = server.wait_log("CPU time of waitUntil limit exceeded");
    assert!(line.contains("of 300ms") && line.contains(RAISE_CPU), "{line}");
    server.expect("/ok", "1");
}

#[test]
fn wait_until_has_its_own_wall_limit() {
    let server = serve_with("limits/wait_until", &["--wall", WALL, "--workers", "1"]);
    server.expect("/never", "1");
    let line = server.wait_log("time of waitUntil limit exceeded");
    assert!(line.contains("of 5.0s") && line.contains(RAISE_WALL), "{line}");
    assert_eq!(server.get("/ok").status, 200);
    assert!(!server.log().contains("worker destroyed"), "nothing ran: no other request is affected\n{}", server.log());
}

#[test]
fn a_silent_stream_is_cut_off() {
    let server = serve_with("limits/silence", &["--stream-timeout", "1s", "--workers", "1"]);
    let mut client = server.connect();
    client.start("GET", "/", &[]);
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "begun");
    assert_eq!(client.rest(), b"", "cut off, without a last chunk");
    server.wait_log("silence of a stream limit exceeded");
    server.expect("/aborted", "aborted");
}

#[test]
fn others_in_the_same_worker_are_told_to_try_again() {
    let server = serve_with("limits/others", &["--cpu", CPU, "--wall", AMPLE, "--workers", "1"]);
    let mut waiting = server.connect();
    waiting.start("GET", "/wait", &[]);
    server.expect("/waiting", "waiting");
    server.get("/loop").assert_error(503, "limit_cpu", &[]);
    let reply = waiting.reply();
    reply.assert_error(503, "collateral", &["another request", RAISE_CPU]);
    assert_eq!(reply.header("retry-after"), Some("1"));
    server.expect("/ok", "fine");
}

#[test]
fn subrequests_are_counted() {
    let backend = serve_alone("warm/counter");
    let url = format!("BACKEND={}", backend.url("/"));
    let limits = ["--cpu", "0", "--wall", "0"];
    let server = serve_with("limits/subrequests", &[&["--egress", "127.0.0.1", "--env", &url][..], &limits].concat());
    let reply = server.get("/");
    assert!(reply.text().starts_with("1000 then RangeError: subrequest limit exceeded"), "{}", reply.text());
    server.expect("/", reply.text());
}

#[test]
fn only_so_many_subrequests_are_open_at_once() {
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("BACKEND=http://{}/", backend.local_addr().unwrap());
    let server = serve_with("limits/at_once", &["--egress", "127.0.0.1", "--env", &url]);
    let mut client = server.connect();
    client.start("GET", "/", &[]);
    let accept = || {
        let mut asking = Client::from(backend.accept().unwrap().0);
        asking.until("\r\n\r\n");
        asking
    };
    let mut open: Vec<_> = (0..6).map(|_| accept()).collect();
    server.expect("/ok", "fine");
    backend.set_nonblocking(true).unwrap();
    assert!(backend.accept().is_err(), "the seventh waits");
    backend.set_nonblocking(false).unwrap();
    // Each that is done lets the next one through.
    for _ in 0..2 {
        open.remove(0).send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx");
        open.push(accept());
    }
    for mut asking in open {
        asking.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\nx");
    }
    assert_eq!(client.reply().text(), "xxxxxxxx");
}

#[test]
fn a_hog_does_not_hold_up_others() {
    let server = serve_with("limits/hog", &["--cpu", "0", "--wall", "0", "--workers", "2", "--threads", "2"]);
    let mut hog = server.connect();
    hog.start("GET", "/loop", &[]);
    server.wait_log("looping");
    for _ in 0..10 {
        server.expect("/ok", "fine");
    }
    hog.writer().set_nonblocking(true).unwrap();
    let peeked = hog.writer().peek(&mut [0]);
    assert!(peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "it still runs");
}

#[test]
fn requests_wait_for_a_place() {
    let server = serve_with("limits/places", &["--workers", "1", "--concurrency", "1", "--queue-timeout", "50s"]);
    for _ in 0..3 {
        let (mut holding, mut waiting) = (server.connect(), server.connect());
        holding.start("GET", "/hold", &[]);
        assert_eq!(holding.head().status, 200);
        assert_eq!(holding.text_chunk(), "held");
        waiting.start("GET", "/", &[]);
        holding.disconnect();
        assert_eq!(waiting.reply().text(), "0 open");
    }
}

/// 100 may wait, and not for long: but until all have come.
#[test]
fn a_request_without_a_slot_is_told_to_retry() {
    let server = serve_with("limits/places", &["--workers", "1", "--concurrency", "1", "--queue-timeout", "10s"]);
    let mut holding = server.connect();
    holding.start("GET", "/hold", &[]);
    assert_eq!(holding.head().status, 200);
    let mut waiting: Vec<_> = (0..101).map(|_| server.connect()).collect();
    waiting.iter_mut().for_each(|client| client.start("GET", "/", &[]));
    let replies: Vec<_> = waiting.iter_mut().map(|client| client.reply()).collect();
    for reply in &replies {
        reply.assert_error(503, "no_capacity", &[]);
        assert_eq!(reply.header("retry-after"), Some("1"));
    }
    let count = |text: &str| replies.iter().filter(|reply| reply.text().contains(text)).count();
    assert_eq!((count("the app's queue is full"), count("waited too long")), (1, 100));
    holding.disconnect();
    server.expect("/", "0 open");
}
