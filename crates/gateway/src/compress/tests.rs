#![allow(clippy::unwrap_used)]
use bytes::Bytes;

use super::*;

const BOTH: &[u8] = b"gzip, br";

fn text(size: usize) -> Body {
    Body::Full(Bytes::from("all work and no play ".repeat(size / 21 + 1)[..size].to_owned()))
}

fn response(status: u16, headers: &[(&str, &str)], body: Body) -> Response {
    let mut list = Headers::new();
    headers.iter().for_each(|(name, value)| list.push(name.as_bytes(), value.as_bytes()));
    Response::new(status, list, body)
}

/// The coding, `vary`, and whether the body is whole.
fn outcome(mut response: Response, accepts: &[u8], purpose: Purpose) -> (String, String, bool) {
    compress(&mut response, Accepts::parse(accepts), purpose);
    let header = |name| String::from_utf8_lossy(response.headers.get(name).unwrap_or_default()).into_owned();
    (header("content-encoding"), header("vary"), matches!(response.body, Body::Full(_)))
}

#[test]
fn compressible_types_are_compressed() {
    for kind in ["text/html; charset=utf-8", "TEXT/plain", "application/json", "image/svg+xml", "application/wasm"] {
        let page = || response(200, &[("content-type", kind)], text(5000));
        let expected = |coding: &str, whole| (coding.to_owned(), "accept-encoding".to_owned(), whole);
        assert_eq!(outcome(page(), BOTH, Purpose::Body), expected("br", true), "{kind}");
        assert_eq!(outcome(page(), b"gzip", Purpose::Body), expected("gzip", true), "{kind}");
        // Caches must know, also where nothing is done.
        assert_eq!(outcome(page(), b"", Purpose::Body), expected("", true), "{kind}");
        assert_eq!(outcome(page(), BOTH, Purpose::Head), expected("", true), "{kind}");
        let large = response(200, &[("content-type", kind)], text(STEP + 1));
        assert_eq!(outcome(large, BOTH, Purpose::Body), expected("br", false), "{kind}");
    }
}

#[test]
fn other_responses_stay_uncompressed() {
    let plain = ("content-type", "text/plain");
    for (status, headers, size) in [
        (200, vec![], 5000),
        (200, vec![plain], 1023),
        (200, vec![plain], 0),
        (200, vec![("content-type", "image/png")], 5000),
        (200, vec![("content-type", "application/octet-stream")], 5000),
        (200, vec![("content-type", "text/event-stream")], 5000),
        (200, vec![plain, ("content-encoding", "gzip")], 5000),
        (200, vec![plain, ("content-encoding", "identity")], 5000),
        (200, vec![plain, ("content-range", "bytes 0-4999/9999")], 5000),
        (200, vec![plain, ("cache-control", "public"), ("cache-control", "max-age=1, No-Transform")], 5000),
        (206, vec![plain], 5000),
        (204, vec![plain], 5000),
        (304, vec![plain], 5000),
    ] {
        let got = outcome(response(status, &headers, text(size)), BOTH, Purpose::Body);
        let own = headers.iter().find(|(name, _)| *name == "content-encoding").map_or("", |(_, value)| value);
        assert_eq!((got.0.as_str(), got.1.as_str()), (own, ""), "{status} {headers:?}");
    }
    // What would not shrink is sent as it is.
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut noise = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 24) as u8
    };
    let noise: Vec<u8> = (0..2000).map(|_| noise()).collect();
    let got = outcome(response(200, &[plain], Body::Full(noise.into())), BOTH, Purpose::Body);
    assert_eq!((got.0.as_str(), got.1.as_str()), ("", "accept-encoding"));
}

#[test]
fn compressed_responses_get_weak_etags_and_vary() {
    let headers = [
        ("content-type", "text/css"),
        ("etag", "\"abc\""),
        ("accept-ranges", "bytes"),
        ("vary", "Origin"),
        ("cache-control", "max-age=1"),
    ];
    let mut page = response(200, &headers, text(5000));
    compress(&mut page, Accepts::parse(BOTH), Purpose::Body);
    assert_eq!(page.headers.get_all("etag").collect::<Vec<_>>(), [b"W/\"abc\""]);
    assert_eq!(page.headers.get_all("vary").collect::<Vec<_>>(), [&b"Origin"[..], b"accept-encoding"]);
    assert!(!page.headers.contains("accept-ranges"));
    for said in ["*", "Accept-Encoding", "origin, ACCEPT-ENCODING"] {
        let page = response(200, &[("content-type", "text/css"), ("vary", said), ("etag", "W/\"x\"")], text(5000));
        assert_eq!(outcome(page, BOTH, Purpose::Body).1, said);
    }
}
