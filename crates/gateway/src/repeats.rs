//! Heads that say again what was said before: most clients send the same headers with each request of a connection, and many
//! ask for the same thing again. The last head is kept, as bytes and as it was understood: where the same bytes come again
//! nothing is parsed, and where only the request line is another one, only that. Equal bytes mean the same, so nothing but
//! time depends on this; the tests hold it against [`head::parse`].
//!
//! Kept is only what means the same behind every request line that is taken here: that of an HTTP/1.1 request for a path.

use hearth_core::{Headers, Method};

use crate::ascii::has_bare_line_feed;
use crate::head::{self, BodyFraming, EXTRA, EXTRA_HEADERS, Head, HeadRules, HttpVersion, Upgrade};
use crate::reject::Reject;
use crate::target::Target;

/// Longer ones are not kept: connections that wait would hold them all.
const MOST: usize = 2 * 1024;
/// Of who never says the same twice, nothing more is kept after this many heads.
const PATIENCE: u8 = 4;

/// Of one connection.
#[derive(Debug, Default)]
pub struct Repeats {
    last: Option<Box<Last>>,
    /// Heads in a row that were unlike those before. The first one always is, and may stay the only one.
    news: u8,
}

#[derive(Debug)]
struct Last {
    /// The request line, if it is short.
    line: Vec<u8>,
    /// All that followed it, blank line included.
    lines: Box<[u8]>,
    host: Box<str>,
    headers: Headers,
    /// The rest of the head. Method and url are those of `line`.
    head: Head,
}

impl Repeats {
    /// The same as [`head::parse`].
    pub fn parse(&mut self, bytes: &[u8], rules: &HeadRules<'_>) -> Result<Option<Head>, Reject> {
        if let Some(head) = self.last.as_mut().and_then(|last| last.again(bytes, rules)) {
            self.news = 0;
            return Ok(Some(head));
        }
        let head = head::parse(bytes, rules)?;
        if let Some(head) = &head {
            if self.news > 0 {
                self.last = if self.news <= PATIENCE { Last::of(&bytes[..head.length], head) } else { None };
            }
            self.news = self.news.saturating_add(1);
        }
        Ok(head)
    }
}

impl Last {
    fn of(bytes: &[u8], head: &Head) -> Option<Box<Self>> {
        // Whether a request without a body may become a WebSocket depends on its method.
        let is_settled = head.method == Method::Get || head.framing != BodyFraming::None;
        if head.version != HttpVersion::Http11 || head.upgrade != Upgrade::None || !is_settled {
            return None;
        }
        let start = memchr::memchr(b'\n', bytes)? + 1;
        // Empty lines before it are no request line, and a target that names a host changes the headers.
        let space = memchr::memchr(b' ', &bytes[..start])?;
        if bytes.get(space + 1) != Some(&b'/') || bytes.len() - start > MOST {
            return None;
        }
        let host = std::str::from_utf8(head.headers.get("host")?).ok()?;
        let mut headers = Headers::with_capacity(0, bytes.len());
        headers.append(&head.headers);
        let head =
            Head { method: Method::Get, url: String::new(), headers: Headers::new(), id: head.id.clone(), ..*head };
        Some(Box::new(Self { line: Vec::new(), lines: bytes[start..].into(), host: host.into(), headers, head }))
    }

    /// A head whose lines are the same. `None` says nothing: there may be a head all the same, or an error.
    fn again(&mut self, bytes: &[u8], rules: &HeadRules<'_>) -> Option<Head> {
        let said = |after: &[u8]| !self.line.is_empty() && after.starts_with(&self.lines);
        if bytes.strip_prefix(&self.line[..]).is_some_and(said) {
            let Head { method, url, .. } = &self.head;
            return Some(self.head(self.line.len(), method.clone(), url.clone()));
        }
        let (length, method, url) = self.understand(bytes, rules)?;
        self.line.clear();
        if length <= MOST {
            self.line.extend_from_slice(&bytes[..length]);
            self.head.method.clone_from(&method);
            self.head.url.clone_from(&url);
        }
        Some(self.head(length, method, url))
    }

    /// With a request line of that length.
    fn head(&self, line: usize, method: Method, url: String) -> Head {
        let mut headers = Headers::with_capacity(self.headers.len() + EXTRA_HEADERS, self.lines.len() + EXTRA);
        headers.append(&self.headers);
        Head { length: line + self.lines.len(), method, url, headers, id: self.head.id.clone(), ..self.head }
    }

    /// What the request line says, and how long it is, where the lines behind it are the same.
    fn understand(&self, bytes: &[u8], rules: &HeadRules<'_>) -> Option<(usize, Method, String)> {
        let start = memchr::memchr(b'\n', bytes)? + 1;
        let length = start + self.lines.len();
        if !bytes[start..].starts_with(&self.lines) || length > rules.max_head || has_bare_line_feed(&bytes[..start]) {
            return None;
        }
        // It is all there but for its headers.
        let mut line = httparse::Request::new(&mut []);
        let Ok(httparse::Status::Partial) = line.parse(&bytes[..start]) else { return None };
        let (Some(method), Some(path), Some(1)) = (line.method, line.path, line.version) else { return None };
        let method = Some(Method::parse(method)).filter(|method| method.as_str() != "CONNECT")?;
        let Ok(target @ Target::Origin(_)) = Target::parse(&method, path) else { return None };
        let url = target.url(rules.scheme, &self.host);
        Some((start, method, url))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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

    /// Whatever came before, it is what the parser itself says.
    #[test]
    fn what_is_said_again_means_the_same() {
        let mut repeated = 0;
        for lines in LINES {
            for first in FIRST {
                for again in FIRST {
                    let mut repeats = Repeats::default();
                    for line in [first, first, first, again, again] {
                        let long = format!("/{}", "x".repeat(300));
                        for text in [format!("{line}{lines}"), format!("{line}{lines}").replacen('/', &long, 1)] {
                            let expected = format!("{:?}", head::parse(text.as_bytes(), &RULES));
                            repeated += usize::from(
                                repeats.last.as_mut().is_some_and(|last| last.again(text.as_bytes(), &RULES).is_some()),
                            );
                            assert_eq!(format!("{:?}", repeats.parse(text.as_bytes(), &RULES)), expected, "{text:?}");
                        }
                    }
                }
            }
        }
        assert!(repeated > 40, "{repeated}");
    }

    #[test]
    fn only_who_says_the_same_again_is_remembered() {
        let head = |n: u32| format!("GET / HTTP/1.1\r\nHost: h\r\nX: {n}\r\n\r\n");
        let mut repeats = Repeats::default();
        for n in 0..10 {
            repeats.parse(head(n).as_bytes(), &RULES).unwrap().unwrap();
            assert_eq!(repeats.last.is_some(), (1..=u32::from(PATIENCE)).contains(&n), "{n}");
        }
        let mut repeats = Repeats::default();
        for _ in 0..10 {
            repeats.parse(head(0).as_bytes(), &RULES).unwrap().unwrap();
        }
        assert!(repeats.last.is_some() && repeats.news == 0);
    }
}
