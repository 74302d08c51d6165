//! Parses a request's head. A pure function of bytes, so that it can be fuzzed and compared with other parsers.
//!
//! `httparse` parses the lines; what RFC 9112 demands beyond that is checked here, strictly wherever two parsers could disagree
//! about where a request ends:
//! - lines end with CR LF; no folding, no space before a colon (`httparse` refuses both), no lone CR or LF;
//! - a body is framed by one length, or by `chunked` alone, never by both;
//! - exactly one valid `Host` in HTTP/1.1, at most one in HTTP/1.0.
//!
//! Headers that concern the connection only are taken out before the app sees them.

use std::borrow::Cow;
use std::mem::MaybeUninit;

use hearth_core::{Headers, Method};
use hearth_websocket::handshake::has_token;

use crate::ascii::has_bare_line_feed;
use crate::cookies::without;
use crate::encoding::Accepts;
use crate::forwarded::names_client;
use crate::reject::Reject;
use crate::request_id::IdText;
use crate::target::{RequestTarget, valid_authority};

/// More headers than this are refused.
pub const MAX_HEADERS: usize = 100;

/// Headers that the front gateway may have added to a request that it passes over a hop.
pub const HOP_HEADERS: usize = 8;

/// Headers that the gateway adds (`x-request-id`, `x-forwarded-for`, `x-forwarded-proto`), and the bytes reserved for them.
pub const EXTRA_HEADERS: usize = 3;
pub const EXTRA_BYTES: usize = 192;

/// The limits of a head, and what its url is made of.
#[derive(Clone, Copy, Debug)]
pub struct HeadRules<'a> {
    /// With `://`.
    pub scheme: &'a str,
    /// For HTTP/1.0 without `Host`.
    pub default_host: &'a str,
    pub max_head: usize,
    /// At most [`MAX_HEADERS`] and [`HOP_HEADERS`].
    pub max_headers: usize,
    /// A cookie that the app does not get.
    pub private_cookie: Option<&'a str>,
}

#[derive(Debug)]
pub struct Head {
    /// Bytes of the head, blank line included.
    pub length: usize,
    pub method: Method,
    pub url: String,
    /// Without hop-by-hop headers and without `x-request-id`.
    pub headers: Headers,
    pub framing: BodyFraming,
    pub version: HttpVersion,
    /// The client wants the connection to stay open.
    pub keep_alive: bool,
    /// The client waits for a 100 before it sends the body.
    pub expects_continue: bool,
    /// The client's own request id, where it is well-formed. Boxed, since few clients send one, and it is half as large as all the
    /// rest.
    pub id: Option<Box<IdText>>,
    /// The client is a browser: errors are sent as HTML.
    pub prefers_html: bool,
    /// Which codings of a response the client accepts.
    pub accepts: Accepts,
    /// There is a `range` header.
    pub wants_part: bool,
    /// There are headers that name the client; they are not yet believed or removed.
    pub names_client: bool,
    pub upgrade: Upgrade,
}

/// What the client wants the connection to become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upgrade {
    /// Nothing, or nothing that is known here.
    None,
    WebSocket,
}

/// Where the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    None,
    Length(u64),
    Chunked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    Http10,
    Http11,
    Http2,
}

/// Parses the head at the start of `bytes`; `None` while it is incomplete.
pub fn parse(bytes: &[u8], rules: &HeadRules<'_>) -> Result<Option<Head>, Reject> {
    let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS + HOP_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, &mut lines) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() >= rules.max_head => return Err(Reject::HeadTooLarge),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Reject::TooManyHeaders),
        Err(httparse::Error::Version) => return Err(Reject::Version),
        Err(_) => return Err(Reject::Malformed),
    };
    if length > rules.max_head {
        return Err(Reject::HeadTooLarge);
    }
    if request.headers.len() > rules.max_headers {
        return Err(Reject::TooManyHeaders);
    }
    if has_bare_line_feed(&bytes[..length]) {
        return Err(Reject::BareLineFeed);
    }
    let (Some(method), Some(path), Some(minor)) = (request.method, request.path, request.version) else {
        return Err(Reject::Malformed);
    };
    if method == "CONNECT" {
        return Err(Reject::Connect);
    }
    let version = if minor == 0 { HttpVersion::Http10 } else { HttpVersion::Http11 };
    let method = Method::parse(method);
    let target = RequestTarget::parse(&method, path)?;

    let mut fields = Fields::default();
    let mut headers = Headers::with_capacity(request.headers.len() + EXTRA_HEADERS, length + EXTRA_BYTES);
    for line in request.headers.iter() {
        let value = match (fields.record(line.name, line.value)?, target) {
            (Keep::No, _) => continue,
            (Keep::Host, RequestTarget::Absolute { authority, .. }) => authority.as_bytes(),
            (Keep::Cookie, _) => {
                push_cookies(&mut headers, line.value, rules.private_cookie);
                continue;
            }
            (Keep::Host | Keep::Yes, _) => line.value,
        };
        headers.push(line.name.as_bytes(), value);
    }
    let host = match (fields.host, version) {
        (Some(host), _) => host,
        (None, HttpVersion::Http10) => rules.default_host,
        (None, _) => return Err(Reject::HostMissing),
    };
    let framing = fields.framing(version)?;
    let may_upgrade = version == HttpVersion::Http11 && method == Method::Get && framing == BodyFraming::None;
    Ok(Some(Head {
        length,
        url: target.url(rules.scheme, host),
        method,
        headers,
        framing,
        version,
        keep_alive: !fields.close && (version == HttpVersion::Http11 || fields.keep_alive),
        expects_continue: fields.expects_continue && version == HttpVersion::Http11,
        id: fields.id,
        prefers_html: fields.prefers_html,
        accepts: fields.accepts,
        wants_part: fields.wants_part,
        names_client: fields.names_client,
        upgrade: if may_upgrade && fields.upgrade && fields.websocket { Upgrade::WebSocket } else { Upgrade::None },
    }))
}

/// What the headers say that the gateway acts on.
#[derive(Default)]
pub struct Fields<'a> {
    pub host: Option<&'a str>,
    length: Option<&'a [u8]>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    pub expects_continue: bool,
    pub id: Option<Box<IdText>>,
    pub prefers_html: bool,
    pub accepts: Accepts,
    pub wants_part: bool,
    pub names_client: bool,
    /// `connection` has `upgrade`.
    upgrade: bool,
    /// `upgrade` has `websocket`.
    websocket: bool,
}

/// Whether the app gets a header.
pub enum Keep {
    Yes,
    No,
    /// Unless the target names another host.
    Host,
    /// Without private cookies.
    Cookie,
}

impl<'a> Fields<'a> {
    /// Records what a header says. Whether the app gets it.
    pub fn record(&mut self, name: &str, value: &'a [u8]) -> Result<Keep, Reject> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.len() {
            2 if is("te") => return Ok(Keep::No),
            4 if is("host") => return self.record_host(value),
            5 if is("range") => self.wants_part = true,
            6 if is("accept") => self.prefers_html = prefers_html(value),
            6 if is("cookie") => return Ok(Keep::Cookie),
            6 if is("expect") => self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue"),
            7 if is("trailer") => return Ok(Keep::No),
            7 if is("upgrade") => {
                self.websocket |= has_token(value, "websocket");
                return Ok(Keep::No);
            }
            10 if is("keep-alive") => return Ok(Keep::No),
            10 if is("connection") => {
                self.record_connection(value);
                return Ok(Keep::No);
            }
            12 if is("x-request-id") => {
                self.id = self.id.take().or_else(|| IdText::parse(value).map(Box::new));
                return Ok(Keep::No);
            }
            14 if is("content-length") => return self.record_length(value),
            15 if is("accept-encoding") => self.accepts = Accepts::parse(value),
            17 if is("transfer-encoding") => {
                if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Reject::Encoding);
                }
                self.chunked = true;
                return Ok(Keep::No);
            }
            7.. if name.as_bytes()[..6].eq_ignore_ascii_case(b"proxy-") => return Ok(Keep::No),
            // Rules most names out by their length, or by their first letter.
            6 | 9.. => self.names_client |= names_client(name),
            _ => {}
        }
        Ok(Keep::Yes)
    }

    fn record_host(&mut self, value: &'a [u8]) -> Result<Keep, Reject> {
        if self.host.is_some() {
            return Err(Reject::HostRepeated);
        }
        if !valid_authority(value) {
            return Err(Reject::HostInvalid);
        }
        self.host = Some(std::str::from_utf8(value).map_err(|_| Reject::HostInvalid)?);
        Ok(Keep::Host)
    }

    fn record_connection(&mut self, value: &[u8]) {
        for option in value.split(|b| *b == b',') {
            let option = option.trim_ascii();
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            self.upgrade |= option.eq_ignore_ascii_case(b"upgrade");
        }
    }

    /// A repeated equal length is allowed; the app sees it once.
    fn record_length(&mut self, value: &'a [u8]) -> Result<Keep, Reject> {
        match self.length.replace(value) {
            None => Ok(Keep::Yes),
            Some(before) if before == value => Ok(Keep::No),
            Some(_) => Err(Reject::Length),
        }
    }

    pub fn framing(&self, version: HttpVersion) -> Result<BodyFraming, Reject> {
        match (self.length, self.chunked) {
            (None, false) => Ok(BodyFraming::None),
            (Some(_), true) => Err(Reject::LengthAndEncoding),
            (None, true) if version == HttpVersion::Http10 => Err(Reject::Encoding),
            (None, true) => Ok(BodyFraming::Chunked),
            (Some(text), false) => parse_length(text).map(BodyFraming::Length).ok_or(Reject::Length),
        }
    }
}

impl HttpVersion {
    pub fn name(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// Adds a `cookie` header without the private cookie, if anything is left.
pub fn push_cookies(headers: &mut Headers, value: &[u8], private: Option<&str>) {
    let rest = private.map_or(Cow::Borrowed(value), |name| without(value, name));
    if !rest.is_empty() || value.is_empty() {
        headers.push(b"cookie", &rest);
    }
}

/// Digits only.
fn parse_length(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |n, b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

/// Browsers name `text/html` first; programs that name JSON first want JSON.
fn prefers_html(accept: &[u8]) -> bool {
    let find = |what: &[u8]| memchr::memmem::find(accept, what);
    match (find(b"text/html"), find(b"application/json")) {
        (Some(html), Some(json)) => html < json,
        (html, _) => html.is_some(),
    }
}

#[cfg(test)]
#[path = "head/tests.rs"]
mod tests;
