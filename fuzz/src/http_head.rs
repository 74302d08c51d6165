//! A request's head, read whole, in parts, and by a second reader that is as plain as can be.
//!
//! - However a head arrives, the verdict is the same: a part of it is incomplete or already refused, never accepted as
//!   something else; what follows it changes nothing.
//! - What is accepted is a request line and lines of `name: value` that end with CR LF; the app gets those lines, without
//!   the ones that concern the connection.
//! - The body's framing is what the lines say, and they say it once.
//! - The url is the target at the host that was asked for, and no reader of urls finds another host in it.

use hearth_core::Method;
use hearth_gateway::parse::{BodyFraming, Head, HeadRules, HttpVersion, Reject, head};

const PRIVATE: &str = "private";
const SCHEME: &str = "http://";
const DEFAULT_HOST: &str = "default.example:1";
/// The second is small enough to be met.
const LIMITS: [usize; 2] = [16 << 10, 80];
/// Headers that the app does not get, beside those that begin with `proxy-`.
const HOP_BY_HOP: [&[u8]; 7] =
    [b"te", b"upgrade", b"trailer", b"keep-alive", b"connection", b"x-request-id", b"transfer-encoding"];

type Verdict = Result<Option<Seen>, Reject>;
type Line = (Vec<u8>, Vec<u8>);

/// A head that can be compared.
#[derive(Debug, PartialEq)]
struct Seen {
    length: usize,
    method: Method,
    url: String,
    headers: Vec<Line>,
    framing: BodyFraming,
    version: HttpVersion,
    keep_alive: bool,
    expects_continue: bool,
    id: Option<String>,
    prefers_html: bool,
}

pub fn check(data: &[u8]) {
    for limit in LIMITS {
        let whole = read(data, limit);
        for at in cuts(data.len()) {
            agree(&read(&data[..at], limit), at, &whole);
        }
        for more in [&b"x"[..], b"\r\n\r\n", b"\r\nContent-Length: 7\r\n\r\nGET / HTTP/1.1\r\n\r\n"] {
            agree(&whole, data.len(), &read(&[data, more].concat(), limit));
        }
        match &whole {
            Ok(Some(seen)) => {
                assert!(seen.length <= data.len().min(limit));
                compare(&data[..seen.length], seen);
            }
            Ok(None) => assert!(data.len() < limit, "waits for more than the limit"),
            Err(reject) => assert!(matches!(reject.status(), 400..=599) && !reject.code().is_empty()),
        }
    }
}

fn read(bytes: &[u8], max_head: usize) -> Verdict {
    let rules = HeadRules {
        scheme: SCHEME,
        default_host: DEFAULT_HOST,
        max_head,
        max_headers: 100,
        private_cookie: Some(PRIVATE),
    };
    Ok(head(bytes, &rules)?.map(Seen::from))
}

/// Some places in the input: all of a short one.
fn cuts(length: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by(length / 64 + 1).chain(length.saturating_sub(4)..length)
}

/// What was said about the first `length` bytes fits what is said about all.
fn agree(part: &Verdict, length: usize, whole: &Verdict) {
    match (part, whole) {
        (Ok(None), Ok(Some(head))) => assert!(length < head.length, "complete, yet waited for: {head:?}"),
        (Ok(None), _) | (Err(_), Err(_)) => {}
        (Ok(Some(part)), Ok(Some(whole))) => assert_eq!(part, whole, "what follows a head changes it"),
        _ => panic!("{part:?} after {length} bytes, then {whole:?}"),
    }
}

/// Reads the head again, line by line.
fn compare(bytes: &[u8], seen: &Seen) {
    let mut text = bytes;
    while let Some(rest) = text.strip_prefix(b"\r\n") {
        text = rest;
    }
    let mut lines = lines(text);
    assert_eq!(lines.pop(), Some(&b""[..]), "ends with a line");
    assert_eq!(lines.pop(), Some(&b""[..]), "ends with a blank line");
    let request: Vec<&[u8]> = lines.remove(0).split(|b| *b == b' ').collect();
    let [method, target, version] = request[..] else { panic!("no request line: {request:?}") };
    let target = std::str::from_utf8(target).expect("a target is text");
    assert_eq!(seen.method.as_str().as_bytes(), method);
    assert!(!method.is_empty() && method.iter().all(|b| is_token(*b)));
    assert_eq!(seen.version, if version == b"HTTP/1.1" { HttpVersion::Http11 } else { HttpVersion::Http10 });
    assert!(seen.version == HttpVersion::Http11 || version == b"HTTP/1.0");
    let fields: Vec<Line> = lines.into_iter().map(field).collect();
    assert!(fields.len() <= 100);
    compare_url(seen, target, &fields);
    compare_headers(seen, target, &fields);
    compare_framing(seen, &fields);
    compare_connection(seen, &fields);
}

/// Split at CR LF, neither of which is left.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let ends = |line: &[u8]| line.strip_suffix(b"\r").map(<[u8]>::len);
    let mut lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        *line = &line[..ends(line).expect("every LF has its CR")];
    }
    assert!(lines.iter().all(|line| !line.contains(&b'\r')));
    lines
}

fn field(line: &[u8]) -> Line {
    let colon = line.iter().position(|b| *b == b':').expect("a header has a colon");
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    assert!(!name.is_empty() && name.iter().all(|b| is_token(*b)), "no name: {name:?}");
    assert!(value.iter().all(|b| matches!(b, b'\t' | b' '..=b'~' | 0x80..)), "no value: {value:?}");
    (name.to_ascii_lowercase(), value.to_vec())
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn all<'a>(fields: &'a [Line], name: &str) -> Vec<&'a [u8]> {
    fields.iter().filter(|(n, _)| n == name.as_bytes()).map(|(_, value)| &value[..]).collect()
}

/// The authority of a target that has one.
fn authority(target: &str) -> Option<&str> {
    let rest = target.split_once("://").filter(|_| !target.starts_with('/'))?.1;
    rest.split(['/', '?']).next()
}

/// An authority in lower case, without a port that goes without saying.
fn normal(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    match host.rsplit_once(':') {
        Some((name, "" | "80")) if !name.is_empty() => name.to_owned(),
        _ => host,
    }
}

fn compare_url(seen: &Seen, target: &str, fields: &[Line]) {
    let hosts = all(fields, "host");
    assert!(hosts.len() == 1 || (hosts.is_empty() && seen.version == HttpVersion::Http10), "hosts: {hosts:?}");
    let host = hosts.first().map_or(DEFAULT_HOST, |host| std::str::from_utf8(host).expect("a host is text"));
    let (host, path) = match authority(target) {
        Some(authority) => (authority, target.split_once("://").map_or("", |(_, rest)| &rest[authority.len()..])),
        None if target == "*" => (host, ""),
        None => (host, target),
    };
    let host = normal(host);
    let url = format!("{SCHEME}{host}{path}");
    assert_eq!(seen.url, url);
    let (scheme, rest) = url.split_once("://").expect("a url has a scheme");
    assert_eq!(format!("{scheme}://"), SCHEME);
    assert!(!host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:[]".contains(&b)));
    assert!(!host.starts_with(':'), "a port without a host");
    let path = rest.strip_prefix(&*host).expect("the url is at that host");
    assert!(path.is_empty() || path.starts_with(['/', '?']));
    assert!(!path.contains(|c: char| c.is_ascii_control() || matches!(c, ' ' | '#' | '"' | '<' | '>')));
}

fn compare_headers(seen: &Seen, target: &str, fields: &[Line]) {
    let mut expected: Vec<Line> = Vec::new();
    for (name, value) in fields {
        let again = name == b"content-length" && expected.iter().any(|(n, _)| n == name);
        if HOP_BY_HOP.contains(&&name[..]) || name.starts_with(b"proxy-") || again {
            continue;
        }
        if name == b"cookie" {
            let is_private = |cookie: &&[u8]| {
                let name = cookie.split(|b| *b == b'=').next().unwrap_or_default();
                name.trim_ascii() == PRIVATE.as_bytes()
            };
            let cookies: Vec<&[u8]> = value.split(|b| *b == b';').collect();
            if cookies.iter().any(is_private) {
                let kept: Vec<&[u8]> =
                    cookies.into_iter().filter(|cookie| !is_private(cookie)).map(<[u8]>::trim_ascii).collect();
                let kept = kept.join(&b"; "[..]);
                if !kept.is_empty() {
                    expected.push((name.clone(), kept));
                }
                continue;
            }
        }
        let host = authority(target).filter(|_| name == b"host");
        expected.push((name.clone(), host.map_or(&value[..], str::as_bytes).to_vec()));
    }
    assert_eq!(seen.headers, expected);
}

fn compare_framing(seen: &Seen, fields: &[Line]) {
    let (lengths, encodings) = (all(fields, "content-length"), all(fields, "transfer-encoding"));
    let expected = match (lengths.first(), encodings.first()) {
        (None, None) => BodyFraming::None,
        (Some(length), None) => {
            assert!(lengths.iter().all(|l| l == length), "differing lengths: {lengths:?}");
            assert!(length.iter().all(u8::is_ascii_digit), "no length: {length:?}");
            let length = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok());
            BodyFraming::Length(length.expect("a length fits 64 bits"))
        }
        (None, Some(encoding)) => {
            assert!(encodings.len() == 1 && encoding.eq_ignore_ascii_case(b"chunked"), "encodings: {encodings:?}");
            assert_eq!(seen.version, HttpVersion::Http11);
            BodyFraming::Chunked
        }
        (Some(_), Some(_)) => panic!("a length and an encoding"),
    };
    assert_eq!(seen.framing, expected);
}

fn compare_connection(seen: &Seen, fields: &[Line]) {
    let options = all(fields, "connection").join(&b","[..]).to_ascii_lowercase();
    let has = |option: &[u8]| options.split(|b| *b == b',').any(|o| o.trim_ascii() == option);
    assert_eq!(seen.keep_alive, !has(b"close") && (seen.version == HttpVersion::Http11 || has(b"keep-alive")));
    let waits = all(fields, "expect").iter().any(|value| value.eq_ignore_ascii_case(b"100-continue"));
    assert_eq!(seen.expects_continue, waits && seen.version == HttpVersion::Http11);
    let well_formed = |id: &&&[u8]| {
        (1..=64).contains(&id.len()) && id.iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b))
    };
    let ids = all(fields, "x-request-id");
    assert_eq!(seen.id.as_ref().map(String::as_bytes), ids.iter().find(well_formed).copied());
}

// === impl Seen ===

impl From<Head> for Seen {
    fn from(head: Head) -> Self {
        Self {
            length: head.length,
            method: head.method,
            url: head.url,
            headers: head.headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect(),
            framing: head.framing,
            version: head.version,
            keep_alive: head.keep_alive,
            expects_continue: head.expects_continue,
            id: head.id.map(|id| id.to_string()),
            prefers_html: head.prefers_html,
        }
    }
}
