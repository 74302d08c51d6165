//! Request bodies: read in every way, as they come, and echoed without ever being whole.

use std::io::Write;

use crate::server::{serve, serve_alone, serve_with};

/// Sends `chunks` and reads the answer.
fn post_chunks(server: &crate::server::Server, path: &str, chunks: &[&[u8]]) -> crate::client::Reply {
    let mut client = server.connect();
    client.start_chunked(path);
    chunks.iter().for_each(|chunk| client.send_chunk(chunk));
    client.send_last_chunk();
    client.reply()
}

#[test]
fn chunked_bodies_are_read_whole() {
    let server = serve("streams_in/read");
    assert_eq!(post_chunks(&server, "/text", &[b"one ", b"two ", b"three"]).text(), "one two three");
    assert_eq!(post_chunks(&server, "/json", &[b"{\"a\"", b":[1,", b"2]}"]).text(), r#"{"a":[1,2]}"#);
    assert_eq!(post_chunks(&server, "/arrayBuffer", &[b"123", b"456", b"7"]).text(), "7 bytes");
    assert_eq!(post_chunks(&server, "/iterate", &[b"123", b"456", b"7"]).text(), "7");
}

#[test]
fn bodies_with_a_length_are_read_whole() {
    let server = serve("streams_in/read");
    assert_eq!(server.post("/text", "some text").text(), "some text");
    assert_eq!(server.post("/json", "[1]").text(), "[1]");
    assert_eq!(server.post("/blob", "b").text(), "1  b");
    let large = "0123456789".repeat(100_000);
    assert!(server.post("/text", &large).text() == large);
    assert_eq!(server.post("/iterate", &large).text(), "1000000");
}

#[test]
fn forms_are_read() {
    let server = serve("streams_in/read");
    let parts = "--xx\r\ncontent-disposition: form-data; name=\"name\"\r\n\r\nAda\r\n--xx\r\ncontent-disposition: form-data; \
                 name=\"file\"; filename=\"a.txt\"\r\ncontent-type: text/plain\r\n\r\nthe file\r\n--xx--\r\n";
    let mut client = server.connect();
    let length = parts.len().to_string();
    client.start(
        "POST",
        "/formData",
        &[("content-type", "multipart/form-data; boundary=xx"), ("content-length", &length)],
    );
    client.send(parts);
    assert_eq!(client.reply().text(), "Ada the file a.txt");
    client.start("POST", "/form", &[("content-type", "application/x-www-form-urlencoded"), ("content-length", "11")]);
    client.send("a=1+2&b=%21");
    assert_eq!(client.reply().text(), "a,1 2 b,!");
}

#[test]
fn null_bytes_are_bytes() {
    let server = serve("streams_in/read");
    assert_eq!(server.post("/bytes", [0, 1, 0, 255, 0]).text(), "0,1,0,255,0");
    let echo = serve("streams_in/echo");
    assert_eq!(echo.post("/", [0, 0, 13, 10, 0]).body, [0, 0, 13, 10, 0]);
}

#[test]
fn bad_json_is_the_apps_error() {
    let server = serve("streams_in/read");
    server.post("/json", "{").assert_error(502, "app_failed", &[]);
    server.wait_log("SyntaxError");
}

#[test]
fn empty_bodies() {
    let server = serve("streams_in/read");
    assert_eq!(server.get("/body").text(), "null");
    assert_eq!(server.get("/text").text(), "");
    assert_eq!(server.post("/text", "").text(), "");
    assert_eq!(post_chunks(&server, "/arrayBuffer", &[]).text(), "0 bytes");
}

/// Each chunk is answered before the next is sent: three in are three seen, and both directions flow at once.
#[test]
fn both_directions_at_once() {
    let server = serve("streams_in/chunks");
    let mut client = server.connect();
    client.start_chunked("/");
    for (number, text) in [(1, "one"), (2, "two"), (3, "three")] {
        client.send_chunk(text);
        if number == 1 {
            assert_eq!(client.head().status, 200);
        }
        assert_eq!(client.text_chunk(), format!("{number}:{text}"));
    }
    client.send_last_chunk();
    assert_eq!(client.text_chunk(), "3 chunks");
    assert_eq!(client.chunk(), None);
}

#[test]
fn an_echo_flows() {
    let server = serve("streams_in/echo");
    let mut client = server.connect();
    client.start_chunked("/");
    for (index, text) in ["first", "second", "third"].into_iter().enumerate() {
        client.send_chunk(text);
        if index == 0 {
            assert_eq!(client.head().status, 200);
        }
        assert_eq!(client.text_chunk(), text);
    }
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
    // The connection can be used again.
    assert_eq!(client.post("/", "again").text(), "again");
}

#[test]
fn an_echo_of_nothing() {
    let server = serve("streams_in/echo");
    server.expect("/", "");
    assert_eq!(post_chunks(&server, "/", &[]).text(), "");
}

#[test]
fn a_transformed_stream_has_as_many_chunks() {
    let server = serve("streams_in/upper");
    let mut client = server.connect();
    client.start_chunked("/");
    for (index, text) in ["one", "two", "three"].into_iter().enumerate() {
        client.send_chunk(text);
        if index == 0 {
            assert_eq!(client.head().status, 200);
        }
        assert_eq!(client.text_chunk(), text.to_uppercase());
    }
    client.send_last_chunk();
    assert_eq!(client.chunk(), None);
}

#[test]
fn a_hundred_chunks_with_split_emoji() {
    let text = ["a", &"🔥".repeat(25600)].concat();
    let bytes = &text.as_bytes()[..102_400 - 3];
    let chunks: Vec<&[u8]> = bytes.chunks(1024).collect();
    assert_eq!(chunks.len(), 100);
    let expected = std::str::from_utf8(bytes).unwrap();
    assert!(post_chunks(&serve("streams_in/read"), "/text", &chunks).text() == expected);
    assert!(post_chunks(&serve("streams_in/echo"), "/", &chunks).text() == expected);
    // Letters that have no upper case come back as they were, but for the first.
    assert!(post_chunks(&serve("streams_in/upper"), "/", &chunks).text() == expected.to_uppercase());
}

#[test]
fn a_client_that_leaves_midway_fails_the_read() {
    let server = serve_alone("streams_in/broken");
    let mut client = server.connect();
    client.start_chunked("/");
    client.send_chunk("half");
    server.expect("/begun", "begun");
    client.disconnect();
    let outcome = server.get("/outcome");
    assert!(outcome.text().starts_with("rejected with"), "{}", outcome.text());
}

#[test]
fn a_malformed_chunk_fails_the_read() {
    let server = serve_alone("streams_in/broken");
    let mut client = server.connect();
    client.start_chunked("/");
    client.send_chunk("half");
    server.expect("/begun", "begun");
    client.send("not a size\r\n");
    client.reply().assert_error(400, "malformed_body", &[]);
    let outcome = server.get("/outcome");
    assert!(outcome.text().starts_with("rejected with"), "{}", outcome.text());
}

#[test]
fn a_body_can_be_cancelled_or_ignored() {
    let server = serve("streams_in/early");
    let mut client = server.connect();
    client.start_chunked("/cancel");
    client.send_chunk("some");
    assert_eq!(client.reply().text(), "had some");
    assert_eq!(server.post("/ignore", vec![b'x'; 1 << 20]).text(), "ignored");
    assert_eq!(server.post("/cancel", vec![b'x'; 1 << 20]).text(), "had some");
}

#[test]
fn a_body_can_be_cloned() {
    let server = serve("streams_in/tee");
    assert_eq!(post_chunks(&server, "/", &[b"one", b"two"]).text(), "6 6");
    assert_eq!(server.post("/", vec![b'x'; 300_000]).text(), "300000 300000");
}

/// A body that passes through is never whole in memory.
#[test]
fn a_hundred_megabytes_pass_through_flat() {
    const PIECE: usize = 1 << 20;
    const PIECES: usize = 100;
    let server = serve_with("streams_in/echo", &["--max-body", "200mb"]);
    server.expect("/", "");
    let before = server.memory();
    let mut client = server.connect();
    client.start("POST", "/", &[("content-length", &(PIECE * PIECES).to_string())]);
    let mut writer = client.writer();
    let sending = std::thread::spawn(move || {
        for number in 0..PIECES {
            writer.write_all(&vec![number as u8; PIECE]).unwrap();
        }
    });
    let head = client.head();
    let mut highest = 0;
    let mut check = |piece: &[u8], number: usize, server: &crate::server::Server| {
        assert!(piece.iter().all(|byte| *byte == number as u8), "piece {number}");
        highest = highest.max(server.memory());
    };
    if head.header("transfer-encoding") == Some("chunked") {
        let mut waiting = Vec::new();
        let mut number = 0;
        while let Some(chunk) = client.chunk() {
            waiting.extend_from_slice(&chunk);
            while waiting.len() >= PIECE {
                check(&waiting[..PIECE], number, &server);
                waiting.drain(..PIECE);
                number += 1;
            }
        }
        assert_eq!((number, waiting.len()), (PIECES, 0));
    } else {
        for number in 0..PIECES {
            check(&client.exactly(PIECE), number, &server);
        }
    }
    sending.join().unwrap();
    assert!(highest < before + (64 << 20), "{} MB, {} MB before", highest >> 20, before >> 20);
}
