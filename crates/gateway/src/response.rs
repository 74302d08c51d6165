//! A response's head, as bytes, and how its body will be sent.
//!
//! The app's headers are not trusted: those that concern the connection are the gateway's alone; names and values that could end
//! their line are dropped; and number and size are limited. `content-length` is the gateway's too, except where there is no body
//! to measure (HEAD, 304).

use hearth_core::{Body, Response};
use hearth_websocket::{Deflate, deflate};

use crate::ascii::{breaks_line, is_token};
use crate::body_out::Delimiter;
use crate::date::DateText;
use crate::head::HttpVersion;
use crate::request_id::IdText;
use crate::response_head_cache::ResponseHeadCache;
use crate::websocket::Agreement;

/// The most headers of an app's response that are sent.
const MAX_HEADERS: usize = 100;
/// Their names and values in all.
const MAX_BYTES: usize = 64 * 1024;
/// The longest value.
const MAX_VALUE: usize = 8 * 1024;

/// What the head depends on besides the response.
#[derive(Clone, Copy, Debug)]
pub struct HeadParams<'a> {
    pub id: &'a IdText,
    pub date: &'a DateText,
    pub version: HttpVersion,
    pub is_head: bool,
    /// Whether the connection stays open, as far as the caller is concerned.
    pub keep_alive: bool,
}

/// What was decided while the head was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadResult {
    pub transfer: Transfer,
    pub keep_alive: bool,
    pub headers_dropped: u64,
}

/// How the body follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// There is none.
    None,
    /// There may be one, but it is not sent: HEAD, 204, 304.
    Unsent,
    /// All of it at once.
    Whole,
    Stream(Delimiter),
}

/// Writes the head of `response`, whose status is 200 to 999.
pub fn write_head(
    out: &mut Vec<u8>,
    response: &Response,
    params: &HeadParams<'_>,
    response_heads: &mut ResponseHeadCache,
) -> HeadResult {
    let transfer = transfer(response, params);
    // Room for most heads in one allocation.
    out.reserve(256);
    let keep_alive = params.keep_alive && transfer != Transfer::Stream(Delimiter::Close);
    let facts = response_heads.write(out, response, params.date);
    push_length(out, response, transfer, facts.claimed);
    push_header(out, b"x-request-id", params.id.as_bytes());
    if response.status == 426 {
        // RFC 9110, 15.5.22: the response names the protocol to upgrade to.
        out.extend_from_slice(b"upgrade: websocket\r\nsec-websocket-version: 13\r\n");
    }
    if !keep_alive {
        out.extend_from_slice(b"connection: close\r\n");
    } else if params.version == HttpVersion::Http10 {
        out.extend_from_slice(b"connection: keep-alive\r\n");
    }
    out.extend_from_slice(b"\r\n");
    HeadResult { transfer, keep_alive, headers_dropped: facts.dropped }
}

/// Writes the head that switches the connection to a WebSocket. Gives the number of dropped headers.
pub fn write_switch(out: &mut Vec<u8>, response: &Response, params: &HeadParams<'_>, agreement: &Agreement) -> u64 {
    out.extend_from_slice(b"HTTP/1.1 101 Switching Protocols\r\n");
    let mut headers = AppHeaders::default();
    headers.each(response, |name, value| {
        // Of the handshake's headers only the choice of a subprotocol is the app's.
        if name == b"sec-websocket-protocol" || !name.starts_with(b"sec-websocket-") {
            push_header(out, name, value);
        }
    });
    if !headers.date {
        push_header(out, b"date", params.date);
    }
    push_header(out, b"x-request-id", params.id.as_bytes());
    push_header(out, b"upgrade", b"websocket");
    push_header(out, b"connection", b"Upgrade");
    push_header(out, b"sec-websocket-accept", agreement.accept.as_bytes());
    if agreement.deflate == Deflate::On {
        push_header(out, b"sec-websocket-extensions", deflate::ANSWER.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    headers.dropped
}

pub fn has_no_body(status: u16) -> bool {
    matches!(status, 204 | 304)
}

pub fn transfer(response: &Response, params: &HeadParams<'_>) -> Transfer {
    if params.is_head || has_no_body(response.status) {
        return Transfer::Unsent;
    }
    match &response.body {
        Body::Empty => Transfer::None,
        Body::Full(_) => Transfer::Whole,
        Body::Stream(stream) => Transfer::Stream(match (stream.remaining(), params.version) {
            (Some(length), _) => Delimiter::Length(length),
            (None, HttpVersion::Http10) => Delimiter::Close,
            (None, _) => Delimiter::Chunks,
        }),
    }
}

pub fn push_status_line(out: &mut Vec<u8>, response: &Response) {
    let Response { status, reason, .. } = response;
    let reason = reason.as_deref().filter(|reason| !reason.bytes().any(|b| b < b' ' && b != b'\t' || b == 0x7f));
    if let (200, None) = (status, reason) {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return;
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    push_number(out, u64::from(*status));
    out.push(b' ');
    out.extend_from_slice(reason.unwrap_or_else(|| reason_of(*status)).as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn push_length(out: &mut Vec<u8>, response: &Response, transfer: Transfer, claimed: Option<u64>) {
    if transfer == Transfer::Stream(Delimiter::Chunks) {
        out.extend_from_slice(b"transfer-encoding: chunked\r\n");
    } else if let Some(length) = length(response, transfer, claimed) {
        out.extend_from_slice(b"content-length: ");
        push_number(out, length);
        out.extend_from_slice(b"\r\n");
    }
}

/// The length of the body, if it is known. Where it is not sent, the length that it would have.
pub fn length(response: &Response, transfer: Transfer, claimed: Option<u64>) -> Option<u64> {
    match (transfer, &response.body) {
        (Transfer::Unsent, _) if response.status == 204 => None,
        // There is no body to measure, but the app may have given its length.
        (Transfer::Unsent, Body::Empty) => claimed,
        (Transfer::Unsent, _) if response.status == 304 => claimed,
        (_, body) => body.length(),
    }
}

pub fn push_header(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

pub fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Filters the app's headers, and collects what the gateway needs of them.
#[derive(Default)]
pub struct AppHeaders {
    sent: usize,
    bytes: usize,
    pub dropped: u64,
    /// The length that the app claims; used only where there is no body.
    pub length: Option<u64>,
    /// There is a `date` among them.
    pub date: bool,
}

impl AppHeaders {
    /// Calls `send` for each header that may be sent.
    pub fn each(&mut self, response: &Response, mut send: impl FnMut(&[u8], &[u8])) {
        for (name, value) in response.headers.iter() {
            if self.is_ours(name, value) {
                continue;
            }
            let bytes = name.len() + value.len();
            if self.sent == MAX_HEADERS || self.bytes + bytes > MAX_BYTES || !is_sendable(name, value) {
                self.dropped += 1;
                continue;
            }
            self.sent += 1;
            self.bytes += bytes;
            self.date |= name == b"date";
            send(name, value);
        }
    }

    /// Whether only the gateway may send the header.
    fn is_ours(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name {
            b"content-length" => {
                let digits = matches!(value.len(), 1..=15) && value.iter().all(u8::is_ascii_digit);
                if digits && self.length.is_none() {
                    self.length = Some(value.iter().fold(0, |n, b| n * 10 + u64::from(b - b'0')));
                }
                true
            }
            b"connection" | b"keep-alive" | b"te" | b"trailer" | b"transfer-encoding" | b"upgrade"
            | b"x-request-id" => true,
            name => name.starts_with(b"proxy-"),
        }
    }
}

/// Whether the header stays within its line and the limit of a value.
fn is_sendable(name: &[u8], value: &[u8]) -> bool {
    value.len() <= MAX_VALUE && !name.is_empty() && name.iter().all(|byte| is_token(*byte)) && !breaks_line(value)
}

/// The reason phrase where an app gives none.
pub fn reason_of(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        207 => "Multi-Status",
        208 => "Already Reported",
        226 => "IM Used",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        305 => "Use Proxy",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        423 => "Locked",
        424 => "Failed Dependency",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        506 => "Variant Also Negotiates",
        507 => "Insufficient Storage",
        508 => "Loop Detected",
        511 => "Network Authentication Required",
        _ => "",
    }
}

#[cfg(test)]
#[path = "response/tests.rs"]
mod tests;
