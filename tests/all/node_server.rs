//! Entries that start a server of `node:http` instead of exporting a handler.

use crate::server::{AMPLE, Server, apps, serve_file};
use crate::websockets::socket::{ask, open};

fn serve(file: &str, flags: &[&str]) -> Server {
    serve_file(&apps().join("node_server").join(file), flags)
}

#[test]
fn requests_come_to_the_server() {
    let server = serve("server.js", &[]);
    let reply = server.get("/?a=b");
    assert_eq!(reply.text(), "GET /?a=b true 127.0.0.1");
    assert_eq!(reply.header("x-powered-by"), Some("node:http"));
    server.expect("/stream", "0 /stream\n1 /stream\n2 /stream\n");
    let empty = server.get("/empty");
    assert_eq!((empty.status, empty.text()), (204, ""));
    let missing = server.get("/nowhere");
    assert_eq!((missing.status, missing.text()), (404, ""));
    server.wait_log("This app has more than one server that listens: the first has its requests");
}

#[test]
fn bodies_are_streamed_both_ways() {
    let server = serve("server.js", &[]);
    let reply = server.post("/echo", "x".repeat(500_000));
    assert_eq!((reply.status, reply.text().len()), (201, 500_000));
    assert_eq!(reply.header("x-encoding"), Some("none"));
    let mut client = server.connect();
    client.start_chunked("/echo");
    client.send_chunk("one");
    let head = client.head();
    assert_eq!((head.status, head.header("x-encoding")), (201, Some("chunked")));
    assert_eq!(client.text_chunk(), "one", "it comes before the request has ended");
    client.send_chunk("two");
    assert_eq!(client.text_chunk(), "two");
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
}

#[test]
fn the_length_is_what_was_promised() {
    let server = serve("server.js", &[]);
    let reply = server.get("/length");
    assert_eq!((reply.header("content-length"), reply.text()), (Some("10"), "0123456789"));
    let reply = server.get("/liar");
    assert_eq!((reply.header("content-length"), reply.text()), (Some("5"), "01234"));
    server.expect("/split", "ERR_INVALID_CHAR");
}

#[test]
fn what_goes_wrong_costs_one_request() {
    let server = serve("server.js", &[]);
    assert_eq!(server.get("/throw").status, 502);
    server.wait_log("thrown by the listener");
    assert_eq!(server.get("/destroy").status, 502);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn a_response_that_never_ends_is_cut_off() {
    let server = serve("server.js", &["--wall", "300ms"]);
    assert_eq!(server.get("/never").status, 504);
    assert_eq!(server.get("/").status, 200, "another worker has the next request");
}

#[test]
fn a_client_that_goes_away_closes_the_response() {
    let server = serve("server.js", &["--wall", AMPLE]);
    let mut client = server.connect();
    client.start("GET", "/silent", &[]);
    assert_eq!(client.head().status, 200);
    drop(client);
    while server.get("/closed").text() != "1" {
        std::thread::yield_now();
    }
}

#[test]
fn a_listener_that_does_not_wait_for_the_client_hits_its_memory_limit() {
    let server = serve("server.js", &["--memory", "64mb", "--cpu", AMPLE]);
    let mut client = server.connect();
    client.start("GET", "/flood", &[]);
    // Nothing is read. The server itself goes on.
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn upgrades_become_websockets() {
    let server = serve("upgrade.js", &[]);
    server.expect("/", "plain");
    let mut socket = open(&server, "/");
    assert_eq!(socket.head.header("sec-websocket-protocol"), Some("chat"));
    socket.hear("hello 0 undefined");
    socket.say("in pieces");
    socket.hear("in pieces");
    socket.close(4000, "bye");
}

#[test]
fn upgrades_can_be_refused() {
    let server = serve("upgrade.js", &[]);
    let mut client = server.connect();
    ask(&mut client, "/refuse", &[]);
    let reply = client.reply();
    assert_eq!((reply.status, reply.header("x-why"), reply.text()), (401, Some("no"), "why"));
    let mut client = server.connect();
    ask(&mut client, "/garbage", &[]);
    assert_eq!(client.reply().status, 502);
}

#[test]
fn frames_that_are_none_close_the_websocket() {
    let server = serve("upgrade.js", &[]);
    let mut socket = open(&server, "/bad-frames");
    socket.hear("hello 0 undefined");
    assert_eq!(socket.hear_goodbye().0, 1011);
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn bun_serve() {
    let server = serve("bun.js", &[]);
    server.expect("/", "Hello from true");
    server.expect("/users/7", "7");
    server.expect("/fixed", "fixed");
    let failed = server.get("/throw");
    assert_eq!((failed.status, failed.text()), (500, "thrown"));
    let mut socket = open(&server, "/room");
    socket.hear("open /room");
    socket.say("hi");
    socket.hear("echo hi");
}
