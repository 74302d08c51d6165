//! The front: what is sent for each kind of answer, and what is refused before an app sees it.

use crate::server::{serve, serve_alone, serve_with};

const APP: &str = "http/answers";

#[test]
fn two_cookies_stay_apart() {
    let reply = serve(APP).get("/cookies");
    assert_eq!(reply.headers("set-cookie"), ["a=1; Path=/", "b=2, still b"]);
    assert_eq!(reply.headers("x-joined").join(", "), "1, 2");
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let server = serve(APP);
    let mut client = server.connect();
    for (path, length) in [("/text", Some("9")), ("/stream", None), ("/length", Some("1234"))] {
        client.start("HEAD", path, &[]);
        let head = client.head();
        assert_eq!((head.status, head.header("content-length")), (200, length), "{path}");
    }
    // Were there a body, this would not be a head.
    assert_eq!(client.get("/text").text(), "some text");
}

#[test]
fn no_content_and_not_modified_have_no_body() {
    let server = serve(APP);
    let mut client = server.connect();
    for (path, status) in [("/no_content", 204), ("/not_modified", 304)] {
        client.start("GET", path, &[]);
        let head = client.head();
        assert_eq!(head.status, status);
        assert_eq!((head.header("content-length"), head.header("transfer-encoding")), (None, None), "{path}");
    }
    client.start("GET", "/not_modified", &[]);
    assert_eq!(client.head().header("etag"), Some("\"1\""));
    assert_eq!(client.get("/text").text(), "some text");
}

#[test]
fn an_apps_errors_are_its_own() {
    let reply = serve(APP).get("/not_found");
    assert_eq!((reply.status, reply.text()), (404, "nothing"));
}

#[test]
fn connections_are_kept() {
    let server = serve(APP);
    let mut client = server.connect();
    for _ in 0..20 {
        assert_eq!(client.get("/text").text(), "some text");
        assert_eq!(client.get("/stream").text(), "streamed");
        assert_eq!(client.post("/body", "12345").text(), "5");
    }
    client.start("GET", "/text", &[("connection", "close")]);
    assert_eq!(client.reply().header("connection"), Some("close"));
    assert_eq!(client.rest(), b"");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = serve(APP);
    let mut client = server.connect();
    let one = |path| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    client.send([one("/text"), one("/stream"), one("/not_found"), one("/text")].concat());
    let texts: Vec<_> = (0..4).map(|_| client.reply().text().to_owned()).collect();
    assert_eq!(texts, ["some text", "streamed", "nothing", "some text"]);
}

#[test]
fn an_old_client_gets_no_chunks() {
    let server = serve(APP);
    let mut client = server.connect();
    client.send("GET /stream HTTP/1.0\r\n\r\n");
    let answer = String::from_utf8(client.rest()).unwrap();
    assert!(answer.ends_with("\r\n\r\nstreamed") && !answer.contains("chunked"), "{answer}");
}

#[test]
fn a_body_over_the_limit_is_refused_by_its_length() {
    let server = serve_with(APP, &["--max-body", "10kb"]);
    let mut client = server.connect();
    client.start("POST", "/body", &[("content-length", "10241")]);
    client.reply().assert_error(413, "body_too_large", &["10240"]);
    assert_eq!(server.post("/body", vec![b'x'; 10240]).text(), "10240");
}

#[test]
fn a_body_over_the_limit_is_refused_when_it_gets_there() {
    let server = serve_with(APP, &["--max-body", "10kb"]);
    let mut client = server.connect();
    client.start_chunked("/body");
    for _ in 0..10 {
        client.send_chunk(vec![b'x'; 1024]);
    }
    client.send_chunk("x");
    client.reply().assert_error(413, "body_too_large", &["10240"]);
    let mut client = server.connect();
    client.start_chunked("/body");
    for _ in 0..10 {
        client.send_chunk(vec![b'x'; 1024]);
    }
    client.send_last_chunk();
    assert_eq!(client.reply().text(), "10240");
}

#[test]
fn a_head_over_the_limit_is_refused() {
    let server = serve(APP);
    let mut client = server.connect();
    client.start("GET", "/text", &[("x-large", &"v".repeat(20_000))]);
    client.reply().assert_error(431, "head_too_large", &[]);
    let many: Vec<_> = (0..500).map(|i| format!("x-{i}: v\r\n")).collect();
    let mut client = server.connect();
    client.send(format!("GET /text HTTP/1.1\r\nhost: x\r\n{}\r\n", many.concat()));
    assert_eq!(client.reply().status, 431);
    server.expect("/text", "some text");
}

#[test]
fn a_slow_head_is_refused() {
    let server = serve_with(APP, &["--head-timeout", "200ms"]);
    let mut client = server.connect();
    client.send("GET /text HTTP/1.1\r\nhost:");
    client.reply().assert_error(408, "head_timeout", &[]);
    assert_eq!(client.rest(), b"");
}

#[test]
fn a_slow_body_is_refused() {
    let server = serve_with(APP, &["--stream-timeout", "200ms"]);
    let mut client = server.connect();
    client.start("POST", "/body", &[("content-length", "10")]);
    client.send("12345");
    client.reply().assert_error(408, "body_timeout", &[]);
    server.expect("/text", "some text");
}

#[test]
fn what_is_no_http_is_refused() {
    let server = serve(APP);
    for (bytes, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET /text HTTP/1.1\r\n\r\n", 400),
        ("GET /text HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        ("GET /text HTTP/1.1\r\nhost: a\r\nbad header: b\r\n\r\n", 400),
        ("POST /body HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("GET /text HTTP/2.0\r\nhost: a\r\n\r\n", 505),
    ] {
        let mut client = server.connect();
        client.send(bytes);
        assert_eq!(client.reply().status, status, "{bytes:?}");
        client.rest();
    }
    server.expect("/text", "some text");
}

#[test]
fn expected_continues_are_sent() {
    let server = serve(APP);
    let mut client = server.connect();
    client.start("POST", "/body", &[("content-length", "3"), ("expect", "100-continue")]);
    assert_eq!(client.until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    assert_eq!(client.reply().text(), "3");
}

#[test]
fn request_ids_are_echoed_or_made() {
    let server = serve(APP);
    let mut client = server.connect();
    client.start("GET", "/text", &[("x-request-id", "mine-1")]);
    assert_eq!(client.reply().header("x-request-id"), Some("mine-1"));
    client.start("GET", "/missing", &[("x-request-id", "mine-2")]);
    let reply = client.reply();
    reply.assert_error(502, "app_failed", &["mine-2"]);
    assert_eq!(reply.header("x-request-id"), Some("mine-2"));
    client.start("GET", "/text", &[("x-request-id", "junk, of all sorts \"")]);
    let made = client.reply();
    assert!(made.header("x-request-id").is_some_and(|id| !id.contains("junk")), "{made:?}");
}

#[test]
fn many_or_large_headers_do_no_harm() {
    let server = serve_alone(APP);
    for path in ["/many_headers", "/large_header"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    server.expect("/text", "some text");
}

#[test]
fn browsers_get_errors_they_can_read() {
    let server = serve(APP);
    let mut client = server.connect();
    client.start("GET", "/missing", &[("accept", "text/html,*/*")]);
    let reply = client.reply();
    assert_eq!((reply.status, reply.header("content-type")), (502, Some("text/html; charset=utf-8")));
}
