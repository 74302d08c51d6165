#![allow(clippy::unwrap_used)]
use super::*;

const RULES: HeadRules<'_> = HeadRules {
    scheme: "http://",
    default_host: "localhost",
    max_head: 16 * 1024,
    max_headers: MAX_HEADERS,
    private_cookie: Some("private"),
};

fn parsed(text: &str) -> Head {
    parse(text.as_bytes(), &RULES).unwrap_or_else(|e| panic!("{text:?}: {e:?}")).unwrap()
}

fn refused(text: &str) -> Reject {
    match parse(text.as_bytes(), &RULES) {
        Err(reject) => reject,
        other => panic!("{text:?} is not refused: {other:?}"),
    }
}

/// A valid head with these lines added.
fn with(lines: &str) -> String {
    format!("POST /p HTTP/1.1\r\nHost: h\r\n{lines}\r\n")
}

#[test]
fn a_plain_request() {
    let text = "GET /a?b=c HTTP/1.1\r\nHost: h.example:8080\r\nX-One:  1 \r\nAccept: text/html, */*\r\n\r\nrest";
    let head = parsed(text);
    assert_eq!(head.length, text.len() - 4);
    assert_eq!((head.method, head.url.as_str()), (Method::Get, "http://h.example:8080/a?b=c"));
    assert_eq!(head.headers.get("x-one"), Some(&b"1"[..]));
    assert_eq!(head.headers.get("host"), Some(&b"h.example:8080"[..]));
    assert_eq!((head.framing, head.version), (BodyFraming::None, HttpVersion::Http11));
    assert!(head.keep_alive && head.prefers_html && !head.expects_continue && head.id.is_none());
}

#[test]
fn every_prefix_is_incomplete() {
    let text = "\r\nPOST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nX: \t y\r\n\r\n";
    for end in 0..text.len() {
        assert!(matches!(parse(&text.as_bytes()[..end], &RULES), Ok(None)), "{end}");
    }
    assert_eq!(parsed(text).framing, BodyFraming::Length(3));
}

#[test]
fn framing() {
    for (lines, framing) in [
        ("Content-Length: 0\r\n", BodyFraming::Length(0)),
        ("Content-Length: 007\r\n", BodyFraming::Length(7)),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", BodyFraming::Length(5)),
        ("Content-Length: 18446744073709551615\r\n", BodyFraming::Length(u64::MAX)),
        ("Transfer-Encoding: CHUNKED\r\n", BodyFraming::Chunked),
        ("transfer-encoding:\tchunked \r\n", BodyFraming::Chunked),
    ] {
        assert_eq!(parsed(&with(lines)).framing, framing, "{lines:?}");
    }
    assert_eq!(
        parsed(&with("Content-Length: 5\r\nContent-Length: 5\r\n")).headers.get_all("content-length").count(),
        1
    );
}

#[test]
fn ambiguous_heads_are_rejected() {
    for (lines, reject) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Reject::LengthAndEncoding),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Reject::LengthAndEncoding),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", Reject::Length),
        ("Content-Length: 5\r\nContent-Length: 05\r\n", Reject::Length),
        ("Content-Length: 5, 5\r\n", Reject::Length),
        ("Content-Length: +5\r\n", Reject::Length),
        ("Content-Length: -5\r\n", Reject::Length),
        ("Content-Length: 5 5\r\n", Reject::Length),
        ("Content-Length: 0x5\r\n", Reject::Length),
        ("Content-Length:\r\n", Reject::Length),
        ("Content-Length: 18446744073709551616\r\n", Reject::Length),
        ("Transfer-Encoding: gzip, chunked\r\n", Reject::Encoding),
        ("Transfer-Encoding: chunked, identity\r\n", Reject::Encoding),
        ("Transfer-Encoding: identity\r\n", Reject::Encoding),
        ("Transfer-Encoding: xchunked\r\n", Reject::Encoding),
        ("Transfer-Encoding: \"chunked\"\r\n", Reject::Encoding),
        ("Transfer-Encoding:\r\n", Reject::Encoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", Reject::Encoding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", Reject::Encoding),
        ("Transfer-Encoding : chunked\r\n", Reject::Malformed),
        (" Transfer-Encoding: chunked\r\n", Reject::Malformed),
        ("X: a\r\n b\r\n", Reject::Malformed),
        ("X: a\r\n\tb\r\n", Reject::Malformed),
        ("X: a\rb\r\n", Reject::Malformed),
        ("X: a\0b\r\n", Reject::Malformed),
        ("X: a\nContent-Length: 5\r\n", Reject::BareLineFeed),
        ("X:\nContent-Length: 5\r\n", Reject::BareLineFeed),
        ("X\r\n", Reject::Malformed),
        (": x\r\n", Reject::Malformed),
        ("X(: x\r\n", Reject::Malformed),
        ("Host: h\r\n", Reject::HostRepeated),
        ("Host: other\r\n", Reject::HostRepeated),
    ] {
        assert_eq!(refused(&with(lines)), reject, "{lines:?}");
    }
}

#[test]
fn request_lines() {
    for (line, reject) in [
        ("GET / HTTP/1.1", Reject::HostMissing),
        ("GET / HTTP/1.1\r\nHost:", Reject::HostInvalid),
        ("GET / HTTP/1.1\r\nHost: a b", Reject::HostInvalid),
        ("GET / HTTP/1.1\r\nHost: u@h", Reject::HostInvalid),
        ("GET / HTTP/1.1\r\nHost: h/x", Reject::HostInvalid),
        ("GET / HTTP/1.1\r\nHost: h,h", Reject::HostMissing),
        ("GET / HTTP/1.2\r\nHost: h", Reject::Version),
        ("GET / HTTP/2.0\r\nHost: h", Reject::Version),
        ("GET / http/1.1\r\nHost: h", Reject::Version),
        ("GET /\r\nHost: h", Reject::Malformed),
        ("GET  / HTTP/1.1\r\nHost: h", Reject::Malformed),
        ("GET /  HTTP/1.1\r\nHost: h", Reject::Version),
        ("GET / HTTP/1.1 \r\nHost: h", Reject::Malformed),
        (" GET / HTTP/1.1\r\nHost: h", Reject::Malformed),
        ("G(T / HTTP/1.1\r\nHost: h", Reject::Malformed),
        ("GET x HTTP/1.1\r\nHost: h", Reject::Target),
        ("GET * HTTP/1.1\r\nHost: h", Reject::Target),
        ("GET /#f HTTP/1.1\r\nHost: h", Reject::Target),
        ("GET http://u:p@h/ HTTP/1.1\r\nHost: h", Reject::Target),
        ("GET h:80 HTTP/1.1\r\nHost: h", Reject::Target),
        ("CONNECT h:80 HTTP/1.1\r\nHost: h", Reject::Connect),
        ("PRI * HTTP/2.0", Reject::Version),
        ("\nGET / HTTP/1.1\r\nHost: h", Reject::BareLineFeed),
    ] {
        let text = format!("{line}\r\n\r\n");
        if line.ends_with("h,h") {
            // A list is a valid name by its characters; two hosts in one header are the app's to refuse.
            assert_eq!(parsed(&text).url, "http://h,h/");
        } else {
            assert_eq!(refused(&text), reject, "{line:?}");
        }
    }
}

#[test]
fn private_cookies_are_not_for_apps() {
    let cookies = |lines: &str| {
        let head = parsed(&format!("GET / HTTP/1.1\r\nHost: h\r\n{lines}\r\n"));
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        head.headers.get_all("cookie").map(text).collect::<Vec<_>>()
    };
    assert_eq!(cookies("Cookie: a=1; private=x; b=2\r\n"), ["a=1; b=2"]);
    assert_eq!(cookies("COOKIE: private=x\r\ncookie: c=private=x\r\n"), ["c=private=x"]);
    assert_eq!(cookies("Cookie: private=x\r\n"), [""; 0]);
    assert_eq!(cookies("Cookie: privateer=x\r\n"), ["privateer=x"]);
    assert_eq!(cookies("Cookie:\r\n"), [""]);
}

#[test]
fn targets_and_hosts() {
    let absolute = parsed("GET https://other:1/x?y HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_eq!(absolute.url, "http://other:1/x?y", "the scheme is the listener's");
    assert_eq!(absolute.headers.get("host"), Some(&b"other:1"[..]));
    assert_eq!(parsed("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n").url, "http://h");
    assert_eq!(parsed("GET /x HTTP/1.0\r\n\r\n").url, "http://localhost/x");
    assert_eq!(parsed("GET /x HTTP/1.0\r\nHost: h\r\n\r\n").url, "http://h/x");
    let rules = HeadRules { scheme: "https://", ..RULES };
    assert_eq!(parse(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", &rules).unwrap().unwrap().url, "https://h/");
    assert_eq!(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), Reject::Encoding);
    assert_eq!(refused("POST / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), Reject::HostRepeated);
}

#[test]
fn keep_alive_follows_version_and_client() {
    for (version, line, keep) in [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: x, CLOSE ,y\r\n", false),
        ("1.1", "Connection: keep-alive, close\r\n", false),
        ("1.1", "Connection: closed\r\n", true),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive\r\nConnection: close\r\n", false),
    ] {
        assert_eq!(parsed(&format!("GET / HTTP/{version}\r\nHost: h\r\n{line}\r\n")).keep_alive, keep, "{line:?}");
    }
}

#[test]
fn hop_by_hop_headers_are_removed() {
    let head = parsed(&with(
        "Connection: x-kept\r\nKeep-Alive: 5\r\nProxy-Authorization: a\r\nproxy-Connection: b\r\nTE: trailers\r\n\
         Trailer: x\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\nX-Kept: 1\r\nX-Request-Id: abc\r\nProxy: x\r\n",
    ));
    let names: Vec<_> = head.headers.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
    assert_eq!(names, ["host", "x-kept", "proxy"]);
    assert_eq!(head.id.unwrap().as_str(), "abc");
    assert!(parsed(&with("X-Request-Id: a b\r\n")).id.is_none());
    assert!(parsed(&with("Expect: 100-Continue\r\n")).expects_continue);
}

#[test]
fn heads_are_limited_in_size_and_number() {
    let many = |n: usize| with(&"X: y\r\n".repeat(n));
    assert_eq!(parsed(&many(99)).headers.len(), 100);
    assert_eq!(refused(&many(100)), Reject::TooManyHeaders);
    let long = |n: usize| with(&format!("X: {}\r\n", "y".repeat(n)));
    assert_eq!(parsed(&long(16_000)).headers.len(), 2);
    assert_eq!(refused(&long(16_384)), Reject::HeadTooLarge);
    assert_eq!(refused(&long(16_384)[..16_384]), Reject::HeadTooLarge);
    assert_eq!(refused(&"\r\n".repeat(8_192)), Reject::HeadTooLarge);
}

#[test]
fn errors_are_html_only_for_clients_that_prefer_it() {
    for (accept, html) in [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
        ("application/json, text/html", false),
        ("*/*", false),
        ("", false),
    ] {
        assert_eq!(parsed(&with(&format!("Accept: {accept}\r\n"))).prefers_html, html, "{accept}");
    }
}

#[test]
fn a_websocket_is_asked_for_by_two_headers_in_a_get_of_http_1_1() {
    let upgrade = |text: &str| parsed(text).upgrade;
    let asked = "host: h\r\nconnection: keep-alive, Upgrade\r\nupgrade: WebSocket\r\n\r\n";
    assert_eq!(upgrade(&format!("GET / HTTP/1.1\r\n{asked}")), Upgrade::WebSocket);
    for text in [
        format!("GET / HTTP/1.0\r\n{asked}"),
        format!("POST / HTTP/1.1\r\n{asked}"),
        format!("GET / HTTP/1.1\r\ncontent-length: 1\r\n{asked}"),
        "GET / HTTP/1.1\r\nhost: h\r\nupgrade: websocket\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n".to_owned(),
    ] {
        assert_eq!(upgrade(&text), Upgrade::None, "{text}");
    }
}
