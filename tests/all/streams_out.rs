//! Response bodies on their way out: as they are made, no faster than they are read, and not after the client is gone.

use std::net::TcpListener;
use std::time::Instant;

use crate::client::Client;
use crate::server::{PATIENCE, Server, serve, serve_alone, serve_with};

#[test]
fn a_string_has_a_length_and_a_stream_is_chunked() {
    let server = serve("streams_out/kinds");
    let text = server.get("/text");
    assert_eq!((text.header("content-length"), text.header("transfer-encoding")), (Some("8"), None));
    assert_eq!(text.text(), "a string");
    let stream = server.get("/stream");
    assert_eq!((stream.header("content-length"), stream.header("transfer-encoding")), (None, Some("chunked")));
    assert_eq!(stream.text(), "a stream");
}

#[test]
fn all_kinds_of_streams_are_sent() {
    let server = serve("streams_out/kinds");
    server.expect("/encoder", "through an encoder");
    server.expect("/bytes", "a byte stream");
    server.expect("/iterable", "from an iterable");
    server.expect("/empty", "");
}

/// The first event is there although the second cannot be made yet, and so on.
fn assert_events_come_one_by_one(way: &str) {
    let server = serve_alone("streams_out/events");
    let mut client = server.connect();
    client.start("GET", way, &[]);
    let head = client.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(client.text_chunk(), "data: 1\n\n");
    server.expect("/next", "next");
    assert_eq!(client.text_chunk(), "data: 2\n\n");
    server.expect("/next", "next");
    assert_eq!(client.text_chunk(), "data: 3\n\n");
    assert_eq!(client.chunk(), None);
}

#[test]
fn events_from_start_come_at_once() {
    assert_events_come_one_by_one("/start");
}

#[test]
fn events_from_pull_come_at_once() {
    assert_events_come_one_by_one("/pull");
}

#[test]
fn events_from_a_writer_come_at_once() {
    assert_events_come_one_by_one("/transform");
}

/// Reads the beginning of a stream and goes away.
fn leave(server: &Server, path: &str) {
    let mut client = server.connect();
    client.start("GET", path, &[]);
    assert_eq!(client.head().status, 200);
    assert_eq!(client.text_chunk(), "tick");
    client.disconnect();
}

#[test]
fn a_disconnect_stops_a_stream_that_is_pulled() {
    let server = serve_alone("streams_out/disconnect");
    leave(&server, "/pull");
    server.expect("/cancelled", "cancelled with AbortError");
    server.expect("/pulls", "0");
}

#[test]
fn a_disconnect_stops_a_stream_that_pushes() {
    let server = serve_alone("streams_out/disconnect");
    leave(&server, "/push");
    server.expect("/cancelled", "cancelled, signal AbortError, enqueue threw TypeError");
}

#[test]
fn a_disconnect_cancels_an_idle_stream() {
    let server = serve_alone("streams_out/disconnect");
    leave(&server, "/idle");
    server.expect("/cancelled", "cancelled while idle");
}

#[test]
fn a_disconnect_fails_the_writer_of_a_stream() {
    let server = serve_alone("streams_out/disconnect");
    leave(&server, "/transform");
    let reply = server.get("/cancelled");
    assert!(reply.text().starts_with("writer failed with"), "{}", reply.text());
}

#[test]
fn clients_that_leave_at_once_do_no_harm() {
    let server = serve_alone("streams_out/disconnect");
    for path in ["/pull", "/push", "/idle", "/transform", "/whole"] {
        for _ in 0..5 {
            let mut client = server.connect();
            client.start("GET", path, &[]);
            client.disconnect();
        }
    }
    assert_eq!(server.get("/whole").text(), "all");
}

#[test]
fn a_stream_that_is_read_to_its_end_is_not_cancelled() {
    let server = serve_alone("streams_out/disconnect");
    server.expect("/whole", "all");
    server.expect("/state", "fine");
}

#[test]
fn a_disconnect_stops_what_the_handler_waits_for() {
    let backend = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("BACKEND=http://{}/", backend.local_addr().unwrap());
    let server = serve_with("streams_out/pending", &["--workers", "1", "--egress", "127.0.0.1", "--env", &url]);
    let mut client = server.connect();
    client.start("GET", "/wait", &[]);
    server.expect("/waiting", "waiting");
    // The app's own request has come, and no answer is sent.
    let (outgoing, _) = backend.accept().unwrap();
    let mut outgoing = Client::from(outgoing);
    assert!(outgoing.until("\r\n\r\n").starts_with("GET / HTTP/1.1\r\n"));
    client.disconnect();
    server.expect("/signal", "true AbortError");
    assert_eq!(outgoing.rest(), b"", "its connection is closed");
    server.expect("/counts", "no timers, 0 answers");
}

#[test]
fn a_hundred_chunks_with_split_emoji() {
    let server = serve("streams_out/chunks");
    let expected: Vec<u8> = ["a", &"🔥".repeat(25600)].concat().into_bytes()[..102_400].to_vec();
    for path in ["/start", "/pull"] {
        assert!(server.get(path).body == expected, "{path}");
    }
}

#[test]
fn a_stream_that_fails_is_cut_off() {
    let server = serve("streams_out/errors");
    for way in ["/midway", "/text_chunk", "/throws", "/rejects"] {
        let mut client = server.connect();
        client.start("GET", way, &[]);
        assert_eq!(client.head().status, 200);
        assert_eq!(client.text_chunk(), "begun");
        assert_eq!(client.rest(), b"", "{way}: without a last chunk");
    }
    server.wait_log("thrown in pull");
    server.expect("/", "fine");
}

#[test]
fn what_was_read_cannot_be_read_again() {
    let server = serve_alone("streams_out/used");
    server.expect("/twice", r#"[false,true,"TypeError","TypeError"]"#);
    server.expect("/locked", r#"[true,"TypeError","TypeError"]"#);
    assert_eq!(server.post("/request_twice", "x").text(), r#"[true,"TypeError"]"#);
    for path in ["/send_used", "/send_locked"] {
        server.get(path).assert_error(502, "app_failed", &[]);
    }
    server.expect("/send_twice", "once");
    server.get("/send_twice").assert_error(502, "app_failed", &[]);
}

#[test]
fn streams_of_streams() {
    serve("streams_out/nested").expect("/", "<0><1><2><3><4>end");
}

#[test]
fn what_is_not_read_is_not_made() {
    let server = serve_alone("streams_out/pressure");
    let mut client = server.connect();
    client.start("GET", "/endless", &[]);
    assert_eq!(client.head().status, 200);
    // The kernel's buffers grow to some 36 MB for a client that reads.
    let (read, kernel): (u64, u64) = (16 << 20, 64 << 20);
    let made: u64 = server.get("/made").text().parse().unwrap();
    assert!(made < kernel, "{made} bytes were made without a reader");
    client.exactly(read as usize);
    // It goes on as soon as there is room again.
    let deadline = Instant::now() + PATIENCE;
    let mut more = made;
    while more == made {
        assert!(Instant::now() < deadline, "{more} bytes after 16 MB were read, as before");
        more = server.get("/made").text().parse().unwrap();
    }
    assert!(more < read + kernel, "{more} bytes after 16 MB were read, {made} before");
}
