#![allow(clippy::unwrap_used)]
use bytes::Bytes;

use super::*;

fn parts(method: &str, uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = http::Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn seen(method: &str, uri: &str, headers: &[(&str, &str)]) -> Result<Head, Reject> {
    read(&parts(method, uri, headers), BodyPresence::None, "https://", Some("private"))
}

#[test]
fn a_plain_request() {
    let head = seen("GET", "http://h:1/a?b=c", &[("x-one", " 1 "), ("accept", "text/html"), ("x-request-id", "r1")]);
    let head = head.unwrap();
    assert_eq!((head.method, head.url.as_str()), (Method::Get, "https://h:1/a?b=c"));
    let names: Vec<_> = head.headers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, [&b"host"[..], b"x-one", b"accept"]);
    assert_eq!((head.headers.get("host"), head.headers.get("x-one")), (Some(&b"h:1"[..]), Some(&b"1"[..])));
    assert_eq!((head.framing, head.version, head.prefers_html), (BodyFraming::None, HttpVersion::Http2, true));
    assert_eq!(head.id.unwrap().as_str(), "r1");
    assert_eq!(seen("OPTIONS", "*", &[("host", "h")]).unwrap().url, "https://h");
}

#[test]
fn host_and_authority_must_agree() {
    assert_eq!(seen("GET", "http://h/", &[("host", "H")]).unwrap().headers.get_all("host").count(), 1);
    assert_eq!(seen("GET", "/", &[("host", "h")]).unwrap().url, "https://h/");
    assert_eq!(seen("GET", "http://h/", &[("host", "other")]).unwrap_err(), Reject::HostDiffers);
    assert_eq!(seen("GET", "/", &[]).unwrap_err(), Reject::HostMissing);
    assert_eq!(seen("GET", "/", &[("host", "a"), ("host", "a")]).unwrap_err(), Reject::HostRepeated);
    assert_eq!(seen("GET", "http://u@h/", &[]).unwrap_err(), Reject::HostInvalid);
    assert_eq!(seen("GET", "http://h/", &[("host", "a b")]).unwrap_err(), Reject::HostInvalid);
}

#[test]
fn unservable_heads_are_rejected() {
    assert_eq!(seen("CONNECT", "h:80", &[]).unwrap_err(), Reject::Connect);
    assert_eq!(seen("GET", "*", &[("host", "h")]).unwrap_err(), Reject::Target);
    assert_eq!(seen("GET", "http://h/", &[("x", "y"); 101]).unwrap_err(), Reject::TooManyHeaders);
    assert!(seen("GET", "http://h/", &[("x", "y"); 100]).is_ok());
    let lengths = [("content-length", "5"), ("content-length", "6")];
    assert_eq!(seen("POST", "http://h/", &lengths).unwrap_err(), Reject::Length);
    assert_eq!(seen("POST", "http://h/", &[("content-length", "+5")]).unwrap_err(), Reject::Length);
}

#[test]
fn body_framing_follows_length_and_version() {
    let framing = |headers: &[(&str, &str)]| {
        read(&parts("POST", "http://h/", headers), BodyPresence::Follows, "http://", None).unwrap().framing
    };
    assert_eq!(framing(&[("content-length", "5")]), BodyFraming::Length(5));
    assert_eq!(framing(&[]), BodyFraming::Chunked);
}

#[test]
fn split_cookies_are_joined() {
    let head = seen("GET", "http://h/", &[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2; c=3")]).unwrap();
    assert_eq!(head.headers.get_all("cookie").collect::<Vec<_>>(), [b"a=1; b=2; c=3"]);
}

#[test]
fn responses_keep_sendable_headers() {
    let mut headers = Headers::new();
    for (name, value) in [
        ("x-one", "1"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("connection", "close"),
        ("transfer-encoding", "chunked"),
        ("content-length", "999"),
        ("bad name", "x"),
        ("bad", "a\nb"),
        ("control", "a\u{1}b"),
    ] {
        headers.push(name.as_bytes(), value.as_bytes());
    }
    let body = hearth_core::Body::Full(Bytes::from_static(b"12345"));
    let response = Response { reason: Some("ignored".into()), ..Response::new(201, headers, body) };
    let id = IdText::parse(b"id-1").unwrap();
    let (head, dropped) = write(&response, Transfer::Whole, &id, b"Thu, 01 Jan 1970 00:00:00 GMT");
    let mut names: Vec<_> = head.headers().keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["content-length", "date", "set-cookie", "x-one", "x-request-id"]);
    assert_eq!((head.status().as_u16(), &head.headers()["content-length"], dropped), (201, &value(b"5"), 3));
    assert_eq!(head.headers().get_all("set-cookie").iter().count(), 2);
}

#[test]
fn private_cookies_are_not_for_apps() {
    let cookies = |crumbs: &[(&str, &str)]| {
        let head = seen("GET", "http://h/", crumbs).unwrap();
        head.headers.get("cookie").map(|value| String::from_utf8(value.to_vec()).unwrap())
    };
    assert_eq!(cookies(&[("cookie", "a=1"), ("cookie", "private=x"), ("cookie", "b=2")]).unwrap(), "a=1; b=2");
    assert_eq!(cookies(&[("cookie", "private=x")]), None);
}
