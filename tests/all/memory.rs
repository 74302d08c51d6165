//! Memory that an app takes outside of V8's heap, and what it leaves behind there: it counts, and stops the app that has it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::client::Client;
use crate::server::{AMPLE, Server, serve_with};
use crate::websockets::socket::{BINARY, Frame, PING, PONG, TEXT, frame, open};

const RAISE_MEMORY: &str = "raise it with `memory` (--memory)";

/// A server whose every answer is 256 MB of zeros, compressed.
fn bomb() -> String {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..256 {
        encoder.write_all(&zeros).unwrap();
    }
    let body = encoder.finish().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            explode(stream, &body);
        }
    });
    address
}

fn explode(mut stream: TcpStream, body: &[u8]) {
    let _request = stream.read(&mut [0; 4096]);
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    // The reader may go in the middle.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

#[test]
fn a_body_that_unpacks_to_more_than_the_limit_is_an_error_and_the_worker_lives() {
    let backend = bomb();
    let flags = ["--egress", "127.0.0.1", "--env", &format!("BACKEND={backend}"), "--memory", "32mb"];
    let mut server = serve_with("memory/bodies", &[&flags[..], &["--cpu", AMPLE, "--wall", AMPLE]].concat());
    for way in ["text", "json", "bytes", "arrayBuffer", "blob"] {
        let reply = server.get(&format!("/{way}"));
        let text = reply.text();
        assert!(
            text.starts_with("RangeError: memory limit exceeded: ") && text.contains(RAISE_MEMORY),
            "{way}: {text}"
        );
    }
    server.expect("/", "fine");
    assert!(server.is_running());
    assert!(!server.log().contains("worker destroyed"), "{}", server.log());
}

#[test]
fn answers_that_no_client_reads_count_and_are_refused_beyond_the_limit() {
    let server = serve_with("memory/bodies", &["--memory", "64mb", "--cpu", AMPLE, "--wall", AMPLE]);
    // What fits the sockets' buffers does not matter: a body is held until all of it is written.
    let mut waiting: Vec<Client> = (0..8)
        .map(|_| {
            let mut client = server.connect();
            client.start("GET", "/large", &[]);
            client
        })
        .collect();
    let replies: Vec<_> = waiting.iter_mut().map(Client::head).collect();
    let refused = replies.iter().filter(|reply| reply.status == 503).count();
    assert_eq!(refused, 4, "{replies:?}");
    server.get("/large").assert_error(503, "limit_heap", &[" of 64mb", RAISE_MEMORY]);
    server.expect("/", "fine");
    drop(waiting);
    crate::folder::eventually(&server, "there is room for answers", || server.get("/large").status == 200);
}

#[test]
fn messages_that_are_not_finished_count_for_the_app() {
    let server = serve_with("memory/socket", &["--memory", "16mb", "--wall", AMPLE]);
    let piece = vec![7; 10 << 20];
    let mut first = open(&server, "/");
    first.client.send(frame(BINARY, &piece));
    // The piece has been taken when what follows it is answered.
    first.send(PING, "");
    assert_eq!(first.frame().1, PONG);
    let mut second = open(&server, "/");
    second.client.send(frame(BINARY, &piece));
    let (code, reason) = second.hear_goodbye();
    assert!(code == 1009 && reason.contains("no memory left"), "{code} {reason}");
    first.client.send(frame(0x80, b"end"));
    let all = (piece.len() + 3).to_string();
    assert_eq!(first.frame(), Frame(true, TEXT, all.into_bytes()));
    let mut third = open(&server, "/");
    third.send(BINARY, &piece);
    third.hear(&piece.len().to_string());
}

/// Objects that are kept cost their worker its place, before the process holds much; as many that are let go do not.
#[track_caller]
fn assert_natives_count(way: &str) {
    let flags = ["--memory", "64mb", "--workers", "1", "--cpu", AMPLE, "--wall", AMPLE];
    let server = serve_with("memory/natives", &flags);
    let before = server.memory();
    let (mut last, mut largest, mut grown) = (0, 0, 0);
    for _ in 0..100 {
        let reply = server.get(&format!("/{way}?keep"));
        if reply.status == 200 {
            last = reply.text().parse::<u32>().unwrap();
            largest = largest.max(last);
        } else {
            assert!(reply.text().contains(RAISE_MEMORY), "{}", reply.text());
        }
        grown = grown.max(server.memory().saturating_sub(before));
    }
    assert!(largest < 20_000, "{way}: a worker has kept {largest} of them, the last {last}");
    assert!(grown < 1 << 30, "{way}: the process has grown by {} MB", grown >> 20);
    let server = serve_with("memory/natives", &flags);
    for _ in 0..100 {
        server.expect(&format!("/{way}"), "0");
    }
}

#[test]
fn dates_of_intl_count() {
    assert_natives_count("dates");
}

/// V8 has no reason to collect in between: these objects are small in its heap.
#[test]
fn dates_of_intl_count_within_one_turn() {
    let server = serve_with("memory/natives", &["--memory", "64mb", "--workers", "1", "--cpu", AMPLE, "--wall", AMPLE]);
    server.expect("/dates?many", "0");
    let before = server.memory();
    let reply = server.get("/dates?many&keep");
    assert!(reply.status == 503 && reply.text().contains(RAISE_MEMORY), "{} {}", reply.status, reply.text());
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 512 << 20, "the process has grown by {} MB", grown >> 20);
}

#[test]
fn numbers_of_intl_count() {
    assert_natives_count("numbers");
}

#[test]
fn collators_count() {
    assert_natives_count("collators");
}

#[test]
fn modules_of_web_assembly_count() {
    assert_natives_count("modules");
}

#[test]
fn a_worker_that_leaks_is_replaced_before_a_request_fails() {
    let server = serve_with("memory/leak", &["--memory", "64mb", "--cpu", AMPLE, "--wall", AMPLE, "--workers", "1"]);
    let mut client = server.connect();
    let mut replaced = 0;
    let mut last = 0;
    for request in 0..2000 {
        let reply = client.get("/");
        assert_eq!(reply.status, 200, "request {request}: {}; the log:\n{}", reply.text(), server.log());
        let kept: u32 = reply.text().parse().unwrap();
        replaced += u32::from(kept < last);
        last = kept;
    }
    assert!(replaced >= 3, "400 MB were left behind in {} workers", replaced + 1);
}

#[test]
fn a_flood_in_the_log_is_cut_whatever_workers_write_it() {
    for execution in ["pooled", "oneshot", "shared"] {
        let server = serve_with("memory/log", &["--execution", execution, "--cpu", AMPLE, "--wall", AMPLE]);
        for _ in 0..20 {
            server.expect("/", "fine");
        }
        let lines = server.log().matches("a line of the flood").count();
        assert!((1..5_000).contains(&lines), "{execution}: {lines} of 10,000 lines");
    }
}

fn assert_serves_in_spite_of_its_rejection(server: &Server, path: &str) {
    for _ in 0..50 {
        server.expect(path, "hi");
    }
    let lines = server.log().matches("rejected at the start").count();
    assert!((1..20).contains(&lines), "{lines} lines:\n{}", server.log());
}

#[test]
fn a_rejection_while_modules_are_evaluated_does_not_lose_the_app() {
    assert_serves_in_spite_of_its_rejection(&serve_with("memory/rejects", &["--workers", "2"]), "/");
    let folder = crate::folder::Folder::new("rejects");
    folder.write("rejects/index.js", std::fs::read(crate::server::app("memory/rejects")).unwrap());
    assert_serves_in_spite_of_its_rejection(&folder.serve(&[]), "/rejects/");
}
