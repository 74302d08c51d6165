#![allow(clippy::unwrap_used)]
use super::*;
use crate::head::{HeadRules, MAX_HEADERS, parse};

const RULES: HeadRules<'_> = HeadRules {
    scheme: "http://",
    default_host: "localhost",
    max_head: 16 * 1024,
    max_headers: MAX_HEADERS,
    private_cookie: Some("private"),
};

/// The client, the url, and what the app sees of headers other than `host`.
fn seen(peer: &str, lines: &str) -> (String, String, Vec<String>) {
    let proxies = ["10.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()];
    let peer = Peer::new(peer.parse().unwrap(), Scheme::Http, &proxies);
    let text = format!("GET /p?q HTTP/1.1\r\nHost: h\r\n{lines}\r\n");
    let mut head = parse(text.as_bytes(), &RULES).unwrap().unwrap();
    let client = resolve_client(&mut head, &peer, &proxies);
    let line = |(name, value)| format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    let host = String::from_utf8_lossy(head.headers.get("host").unwrap()).into_owned();
    assert_eq!(head.url.split("://").nth(1).unwrap(), format!("{host}/p?q"), "host and url agree");
    (client.to_string(), head.url, head.headers.iter().map(line).filter(|l| !l.starts_with("host=")).collect())
}

fn client(peer: &str, lines: &str) -> String {
    seen(peer, lines).0
}

#[test]
fn without_headers_the_client_is_the_peer() {
    let (client, url, headers) = seen("192.0.2.1", "X-Other: 1\r\n");
    assert_eq!((client.as_str(), url.as_str()), ("192.0.2.1", "http://h/p?q"));
    assert_eq!(headers, ["x-other=1", "x-forwarded-for=192.0.2.1", "x-forwarded-proto=http"]);
}

#[test]
fn untrusted_peers_are_not_believed() {
    let lies = "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-FORWARDED-HOST: evil\r\nX-Forwarded-Prefix: /x\r\n\
                Forwarded: for=1.1.1.1;host=evil;proto=https\r\nX-Real-IP: 1.1.1.1\r\nx-base: /y\r\nX-Hearth-App: z\r\n\
                X-Forwarded: kept\r\nX-Hearth: kept\r\n";
    let (client, url, headers) = seen("192.0.2.1", lies);
    assert_eq!((client.as_str(), url.as_str()), ("192.0.2.1", "http://h/p?q"));
    assert_eq!(headers, ["x-forwarded=kept", "x-hearth=kept", "x-forwarded-for=192.0.2.1", "x-forwarded-proto=http"]);
}

#[test]
fn a_proxy_claims_client_scheme_and_host() {
    let lines = "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: HTTPS\r\nX-Forwarded-Host: shop.example:8443\r\n\
                 X-Forwarded-Prefix: /x\r\nX-Real-IP: 9.9.9.9\r\nX-Base: /y\r\nX-Hearth-App: z\r\n";
    let (client, url, headers) = seen("10.0.0.1", lines);
    assert_eq!((client.as_str(), url.as_str()), ("1.1.1.1", "https://shop.example:8443/p?q"));
    assert_eq!(headers, ["x-forwarded-prefix=/x", "x-forwarded-for=1.1.1.1", "x-forwarded-proto=https"]);
    // What could break a url apart, or is no scheme, changes nothing.
    for line in ["X-Forwarded-Host: a/b\r\n", "X-Forwarded-Host: u@h\r\n", "X-Forwarded-Proto: ftp\r\n"] {
        assert_eq!(seen("10.0.0.1", line).1, "http://h/p?q", "{line}");
    }
    assert_eq!(seen("10.0.0.1", "X-Forwarded-Host: first, last\r\n").1, "http://last/p?q");
}

#[test]
fn the_first_untrusted_hop_from_the_right_is_the_client() {
    for (lines, expected) in [
        ("X-Forwarded-For: 6.6.6.6, 1.1.1.1\r\n", "1.1.1.1"),
        ("X-Forwarded-For: 6.6.6.6, 1.1.1.1, 10.0.0.9\r\n", "1.1.1.1"),
        ("X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 10.0.0.9\r\n", "1.1.1.1"),
        ("X-Forwarded-For: 10.0.0.8, 10.0.0.9\r\n", "10.0.0.8"),
        ("X-Forwarded-For: 1.1.1.1:4711\r\n", "1.1.1.1"),
        ("X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"),
        ("X-Forwarded-For: [2001:db8::1]:4711\r\n", "2001:db8::1"),
        ("X-Forwarded-For: 1.1.1.1, [fd00::7]\r\n", "1.1.1.1"),
        ("X-Forwarded-For: ::ffff:1.1.1.1\r\n", "1.1.1.1"),
        // What cannot be read: the last hop that could.
        ("X-Forwarded-For: 1.1.1.1, junk\r\n", "10.0.0.1"),
        ("X-Forwarded-For: 1.1.1.1, junk, 10.0.0.9\r\n", "10.0.0.9"),
        ("X-Forwarded-For: 1.1.1.1,\r\n", "10.0.0.1"),
        ("X-Forwarded-For:\r\n", "10.0.0.1"),
        ("X-Forwarded-For: \u{e9}\r\n", "10.0.0.1"),
        ("X-Forwarded-Proto: https\r\n", "10.0.0.1"),
        // The one that proxies write wins over the one that they may pass on unread.
        ("Forwarded: for=6.6.6.6\r\nX-Forwarded-For: 1.1.1.1\r\n", "1.1.1.1"),
    ] {
        assert_eq!(client("10.0.0.1", lines), expected, "{lines:?}");
    }
    assert_eq!(client("11.0.0.1", "X-Forwarded-For: 1.1.1.1\r\n"), "11.0.0.1");
}

#[test]
fn forwarded_is_used_without_x_forwarded_for() {
    for (line, expected) in [
        ("for=1.1.1.1", "1.1.1.1"),
        ("for=6.6.6.6, For=\"1.1.1.1:80\";proto=https;by=10.0.0.1", "1.1.1.1"),
        ("for=\"[2001:db8::1]:4711\"", "2001:db8::1"),
        ("for=1.1.1.1, for=10.0.0.9", "1.1.1.1"),
        ("for=_hidden", "10.0.0.1"),
        ("for=unknown, for=10.0.0.9", "10.0.0.9"),
        ("proto=https", "10.0.0.1"),
        ("ext=\"a,b;for=6.6.6.6\";for=1.1.1.1", "1.1.1.1"),
    ] {
        assert_eq!(client("10.0.0.1", &format!("Forwarded: {line}\r\n")), expected, "{line}");
    }
    let (_, url, _) = seen("10.0.0.1", "Forwarded: for=1.1.1.1;proto=https;host=\"shop.example:1\"\r\n");
    assert_eq!(url, "https://shop.example:1/p?q");
}

#[test]
fn names() {
    for name in ["x-base", "X-Real-Ip", "FORWARDED", "x-forwarded-x", "X-Hearth-1"] {
        assert!(names_client(name), "{name}");
    }
    for name in ["x-bas", "x-forwarded", "x-forwarded-", "x-hearth", "x-hearth-", "forwarded2", "y-forwarded-for", ""] {
        assert!(!names_client(name), "{name}");
    }
}
