//! Parses request heads, and remembers the last one of a connection: most clients send the same headers with each request of a
//! connection, and many ask for the same thing again. The last head is kept, as bytes and as it was parsed. Where the same
//! bytes come again nothing is parsed; where only the request line differs, only that.
//!
//! Equal bytes mean the same, so nothing but time depends on this cache; the tests compare it with [`head::parse`].
//! Invariant: a kept head means the same behind every request line that is accepted here, which is that of an HTTP/1.1 request
//! for a path.

use hearth_core::{Headers, Method};

use crate::ascii::has_bare_line_feed;
use crate::head::{self, BodyFraming, EXTRA_BYTES, EXTRA_HEADERS, Head, HeadRules, HttpVersion, Upgrade};
use crate::reject::Reject;
use crate::repeat_cache::RepeatCache;
use crate::target::RequestTarget;

/// Longer heads are not kept: idle connections would hold them all.
const MAX_CACHED_BYTES: usize = 2 * 1024;

/// The cache of one connection.
#[derive(Debug, Default)]
pub struct RequestHeadCache(RepeatCache<Entry>);

#[derive(Debug)]
struct Entry {
    /// The request line; empty if it was too long.
    line: Vec<u8>,
    /// All that followed it, blank line included.
    lines: Box<[u8]>,
    host: Box<str>,
    headers: Headers,
    /// The rest of the head. Method and url are those of `line`.
    head: Head,
}

impl RequestHeadCache {
    /// The same as [`head::parse`].
    pub fn parse(&mut self, bytes: &[u8], rules: &HeadRules<'_>) -> Result<Option<Head>, Reject> {
        if let Some(head) = self.0.lookup(|entry| entry.lookup(bytes, rules)) {
            return Ok(Some(head));
        }
        let head = head::parse(bytes, rules)?;
        if let Some(head) = &head {
            self.0.insert(|| Entry::new(&bytes[..head.length], head));
        }
        Ok(head)
    }
}

impl Entry {
    fn new(bytes: &[u8], head: &Head) -> Option<Box<Self>> {
        // Whether a request without a body may become a WebSocket depends on its method.
        let is_final = head.method == Method::Get || head.framing != BodyFraming::None;
        if head.version != HttpVersion::Http11 || head.upgrade != Upgrade::None || !is_final {
            return None;
        }
        let start = memchr::memchr(b'\n', bytes)? + 1;
        // Empty lines before the request line are not part of it, and a target that names a host changes the headers.
        let space = memchr::memchr(b' ', &bytes[..start])?;
        if bytes.get(space + 1) != Some(&b'/') || bytes.len() - start > MAX_CACHED_BYTES {
            return None;
        }
        let host = std::str::from_utf8(head.headers.get("host")?).ok()?;
        let mut headers = Headers::with_capacity(0, bytes.len());
        headers.append(&head.headers);
        let head =
            Head { method: Method::Get, url: String::new(), headers: Headers::new(), id: head.id.clone(), ..*head };
        Some(Box::new(Self { line: Vec::new(), lines: bytes[start..].into(), host: host.into(), headers, head }))
    }

    /// The head in `bytes`, where its header lines are the kept ones. `None` where they are not, whether the head is valid or not.
    fn lookup(&mut self, bytes: &[u8], rules: &HeadRules<'_>) -> Option<Head> {
        let lines_match = |after: &[u8]| !self.line.is_empty() && after.starts_with(&self.lines);
        if bytes.strip_prefix(&self.line[..]).is_some_and(lines_match) {
            let Head { method, url, .. } = &self.head;
            return Some(self.head(self.line.len(), method.clone(), url.clone()));
        }
        let (length, method, url) = self.parse_request_line(bytes, rules)?;
        self.line.clear();
        if length <= MAX_CACHED_BYTES {
            self.line.extend_from_slice(&bytes[..length]);
            self.head.method.clone_from(&method);
            self.head.url.clone_from(&url);
        }
        Some(self.head(length, method, url))
    }

    /// The kept head behind a request line of that length.
    fn head(&self, line: usize, method: Method, url: String) -> Head {
        let mut headers = Headers::with_capacity(self.headers.len() + EXTRA_HEADERS, self.lines.len() + EXTRA_BYTES);
        headers.append(&self.headers);
        Head { length: line + self.lines.len(), method, url, headers, id: self.head.id.clone(), ..self.head }
    }

    /// Parses the request line, where the lines behind it are the kept ones. Gives its length, method and url.
    fn parse_request_line(&self, bytes: &[u8], rules: &HeadRules<'_>) -> Option<(usize, Method, String)> {
        let start = memchr::memchr(b'\n', bytes)? + 1;
        let length = start + self.lines.len();
        if !bytes[start..].starts_with(&self.lines) || length > rules.max_head || has_bare_line_feed(&bytes[..start]) {
            return None;
        }
        // `Partial`: all is there but the headers, which are not given to the parser.
        let mut line = httparse::Request::new(&mut []);
        let Ok(httparse::Status::Partial) = line.parse(&bytes[..start]) else { return None };
        let (Some(method), Some(path), Some(1)) = (line.method, line.path, line.version) else { return None };
        let method = Some(Method::parse(method)).filter(|method| method.as_str() != "CONNECT")?;
        let Ok(target @ RequestTarget::Origin(_)) = RequestTarget::parse(&method, path) else { return None };
        let url = target.url(rules.scheme, &self.host);
        Some((start, method, url))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::repeat_cache::MAX_MISSES;

    const RULES: HeadRules<'_> = HeadRules {
        scheme: "http://",
        default_host: "localhost",
        max_head: 300,
        max_headers: head::MAX_HEADERS,
        private_cookie: Some("private"),
    };

    const LINES: &[&str] = &[
        "Host: H:80\r\nCookie: a=1; private=2\r\nCookie: private=3\r\n\r\n",
        "Host: h\r\nAccept: text/html\r\nX-Request-Id: r1\r\n\r\n",
        "Host: h\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "Host: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\nX-Forwarded-For: 1.1.1.1\r\n\r\nabc",
        "Host: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        "Host: h\r\nAccept-Encoding: gzip, br\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        "\r\n",
        "Host: h\n\n",
        "Host: h\r\nX: y\r\n\r",
    ];

    const FIRST: &[&str] = &[
        "GET / HTTP/1.1\r\n",
        "POST /a?b HTTP/1.1\r\n",
        "HEAD /a HTTP/1.1\r\n",
        "GET http://other/x HTTP/1.1\r\n",
        "OPTIONS * HTTP/1.1\r\n",
        "CONNECT /x HTTP/1.1\r\n",
        "GET / HTTP/1.0\r\n",
        "GET / HTTP/1.1\n",
        "GET /# HTTP/1.1\r\n",
        "GET / HTTP/1.1 \r\n",
        "\r\n",
        "\r\nGET / HTTP/1.1\r\n",
        "X Y\r\n",
        "",
    ];

    /// Whatever was kept before, the result is that of the parser.
    #[test]
    fn a_cached_head_equals_a_parsed_one() {
        let mut hits = 0;
        for lines in LINES {
            for first in FIRST {
                for second in FIRST {
                    let mut cache = RequestHeadCache::default();
                    for line in [first, first, first, second, second] {
                        let long = format!("/{}", "x".repeat(300));
                        for text in [format!("{line}{lines}"), format!("{line}{lines}").replacen('/', &long, 1)] {
                            let bytes = text.as_bytes();
                            let expected = format!("{:?}", head::parse(bytes, &RULES));
                            let cached = cache.0.get_mut().and_then(|entry| entry.lookup(bytes, &RULES));
                            hits += usize::from(cached.is_some());
                            assert_eq!(format!("{:?}", cache.parse(bytes, &RULES)), expected, "{text:?}");
                        }
                    }
                }
            }
        }
        assert!(hits > 40, "{hits}");
    }

    #[test]
    fn heads_that_all_differ_are_not_kept() {
        let head = |n: u32| format!("GET / HTTP/1.1\r\nHost: h\r\nX: {n}\r\n\r\n");
        let mut cache = RequestHeadCache::default();
        for n in 0..10 {
            cache.parse(head(n).as_bytes(), &RULES).unwrap().unwrap();
            assert_eq!(cache.0.get_mut().is_some(), (1..=u32::from(MAX_MISSES)).contains(&n), "{n}");
        }
        let mut cache = RequestHeadCache::default();
        for n in 0..10 {
            cache.parse(head(0).as_bytes(), &RULES).unwrap().unwrap();
            assert_eq!(cache.0.get_mut().is_some(), n > 0, "{n}");
        }
    }
}
