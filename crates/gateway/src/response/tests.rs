#![allow(clippy::unwrap_used)]
use std::task::{Context, Poll};

use bytes::Bytes;
use hearth_core::{BodyError, ByteStream, Headers};

use super::*;

struct Unknown(Option<u64>);

impl ByteStream for Unknown {
    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(None)
    }

    fn remaining(&self) -> Option<u64> {
        self.0
    }
}

fn response(status: u16, headers: &[(&str, &str)], body: Body) -> Response {
    let mut list = Headers::new();
    headers.iter().for_each(|(name, value)| list.push(name.as_bytes(), value.as_bytes()));
    Response::new(status, list, body)
}

fn full() -> Body {
    Body::Full(Bytes::from_static(b"12345"))
}

fn stream(length: Option<u64>) -> Body {
    Body::Stream(Box::new(Unknown(length)))
}

/// The head without date and request id, and what was decided.
fn written(response: &Response, version: HttpVersion, is_head: bool) -> (String, HeadResult) {
    let id = IdText::parse(b"id-1").unwrap();
    let date = b"Thu, 01 Jan 1970 00:00:00 GMT";
    let mut out = Vec::new();
    let params = HeadParams { id: &id, date, version, is_head, keep_alive: true };
    let written = write_head(&mut out, response, &params, &mut ResponseHeadCache::default());
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("\r\nx-request-id: id-1\r\n"), "{text}");
    let text = text.replace("date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", "").replace("x-request-id: id-1\r\n", "");
    (text, written)
}

fn head(status: u16, headers: &[(&str, &str)], body: Body) -> String {
    written(&response(status, headers, body), HttpVersion::Http11, false).0
}

#[test]
fn body_framing_follows_length_and_version() {
    assert_eq!(head(200, &[("a", "b")], full()), "HTTP/1.1 200 OK\r\na: b\r\ncontent-length: 5\r\n\r\n");
    assert_eq!(head(200, &[], Body::Empty), "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(head(404, &[], stream(Some(7))), "HTTP/1.1 404 Not Found\r\ncontent-length: 7\r\n\r\n");
    assert_eq!(head(200, &[], stream(None)), "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    let old = written(&response(200, &[], stream(None)), HttpVersion::Http10, false);
    assert_eq!(old.0, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
    assert_eq!(old.1.transfer, Transfer::Stream(Delimiter::Close));
    assert!(!old.1.keep_alive);
    let old = written(&response(200, &[], full()), HttpVersion::Http10, false).0;
    assert_eq!(old, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: keep-alive\r\n\r\n");
}

#[test]
fn responses_without_a_body_claim_no_length() {
    assert_eq!(head(204, &[("content-length", "5")], full()), "HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(head(304, &[], full()), "HTTP/1.1 304 Not Modified\r\n\r\n");
    assert_eq!(head(304, &[("content-length", "9")], full()), "HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n");
    let of_head = |headers: &[(&str, &str)], body| written(&response(200, headers, body), HttpVersion::Http11, true).0;
    assert_eq!(of_head(&[], full()), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    assert_eq!(of_head(&[("content-length", "9")], full()), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    assert_eq!(of_head(&[("content-length", "9")], Body::Empty), "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n");
    assert_eq!(of_head(&[], stream(None)), "HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(of_head(&[], stream(Some(3))), "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n");
}

#[test]
fn connection_headers_and_line_breaks_of_apps_are_dropped() {
    let headers = [
        ("content-length", "999"),
        ("Transfer-Encoding", "gzip"),
        ("connection", "upgrade"),
        ("upgrade", "x"),
        ("keep-alive", "1"),
        ("proxy-authenticate", "x"),
        ("te", "x"),
        ("trailer", "x"),
        ("x-request-id", "forged"),
        ("bad name", "x"),
        ("", "x"),
        ("bad", "a\r\nset-cookie: x"),
        ("bad", "a\nb"),
        ("bad", "a\0b"),
        ("good", "caf\u{e9}"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
    ];
    let (text, written) = written(&response(200, &headers, full()), HttpVersion::Http11, false);
    let kept = "good: caf\u{e9}\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n";
    assert_eq!(text, format!("HTTP/1.1 200 OK\r\n{kept}content-length: 5\r\n\r\n"));
    assert_eq!(written.headers_dropped, 5);
    assert_eq!(head(200, &[("content-length", "999")], Body::Empty), "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
}

#[test]
fn headers_are_limited_in_number_and_size() {
    let dropped = |headers: &[(&str, &str)]| {
        written(&response(200, headers, Body::Empty), HttpVersion::Http11, false).1.headers_dropped
    };
    assert_eq!(dropped(&[("a", "b"); 100]), 0);
    assert_eq!(dropped(&[("a", "b"); 103]), 3);
    let (fits, long) = ("x".repeat(8192), "x".repeat(8193));
    assert_eq!(dropped(&[("a", &fits), ("b", &long)]), 1);
    // Eight of 8193 bytes with their names are 65544: one too many.
    assert_eq!(dropped(&[("a", fits.as_str()); 8]), 1);
}

#[test]
fn valid_dates_and_reasons_of_apps_are_kept() {
    let mut own = response(200, &[("date", "x")], Body::Empty);
    own.reason = Some("Fine".into());
    assert_eq!(
        written(&own, HttpVersion::Http11, false).0,
        "HTTP/1.1 200 Fine\r\ndate: x\r\ncontent-length: 0\r\n\r\n"
    );
    own.reason = Some("a\r\nb: c".into());
    assert!(written(&own, HttpVersion::Http11, false).0.starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(head(599, &[], Body::Empty).starts_with("HTTP/1.1 599 \r\n"));
}
