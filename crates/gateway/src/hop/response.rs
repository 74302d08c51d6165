//! Parses the head of a hop's response. The other side is this gateway's own code, so forms that it does not write are errors: a
//! body that ends with the connection, say.

use std::mem::MaybeUninit;

use hearth_core::Headers;
use hearth_websocket::handshake::has_token;

use crate::response::{has_no_body, reason_of};

/// As many as a gateway sends: an app's headers and its own.
const MAX_HEADERS: usize = 128;
/// The longest head: a gateway sends up to 64 KB of an app's headers.
pub const MAX_HEAD: usize = 128 * 1024;

/// What the response consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Body,
    Head,
}

#[derive(Debug)]
pub struct ResponseHead {
    /// Bytes of the head, blank line included.
    pub length: usize,
    pub status: u16,
    /// None where it is the usual one.
    pub reason: Option<Box<str>>,
    pub headers: Headers,
    pub framing: ResponseFraming,
    /// The connection stays open.
    pub keep: bool,
}

/// Where the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFraming {
    Length(u64),
    Chunked,
}

/// A response that a gateway does not write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidResponse {
    #[error("the head of the response cannot be parsed")]
    Head,
    #[error("the length of the response cannot be parsed")]
    Length,
    #[error("the body of the response cannot be parsed")]
    Body,
}

/// Parses the head at the start of `bytes`; `None` while it is incomplete.
pub fn parse(bytes: &[u8], expected: Expected) -> Result<Option<ResponseHead>, InvalidResponse> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let length = match parser.parse_response_with_uninit_headers(&mut head, bytes, &mut lines) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(InvalidResponse::Head),
    };
    let status = head.code.ok_or(InvalidResponse::Head)?;
    let (mut claimed, mut chunked, mut keep) = (None, false, true);
    let mut headers = Headers::with_capacity(head.headers.len() + 1, length);
    for line in head.headers.iter() {
        let is = |name: &str| line.name.eq_ignore_ascii_case(name);
        match line.name.len() {
            10 if is("connection") => keep = !has_token(line.value, "close"),
            17 if is("transfer-encoding") => chunked = true,
            // This gateway writes its own.
            12 if is("x-request-id") => {}
            14 if is("content-length") => {
                claimed = Some(number(line.value).ok_or(InvalidResponse::Length)?);
                headers.push(line.name.as_bytes(), line.value);
            }
            _ => headers.push(line.name.as_bytes(), line.value),
        }
    }
    let framing = if expected == Expected::Head || status < 200 || has_no_body(status) {
        ResponseFraming::Length(0)
    } else if chunked {
        ResponseFraming::Chunked
    } else {
        ResponseFraming::Length(claimed.ok_or(InvalidResponse::Length)?)
    };
    let reason = head.reason.filter(|reason| *reason != reason_of(status)).map(Into::into);
    Ok(Some(ResponseHead { length, status, reason, headers, framing, keep }))
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(text: &str, expected: Expected) -> Result<Option<ResponseHead>, InvalidResponse> {
        parse(text.as_bytes(), expected)
    }

    #[test]
    fn heads_give_the_framing_of_the_body() {
        for (text, expected, framing) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", Expected::Body, Ok(ResponseFraming::Length(5))),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", Expected::Body, Ok(ResponseFraming::Chunked)),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", Expected::Head, Ok(ResponseFraming::Length(0))),
            ("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", Expected::Body, Ok(ResponseFraming::Length(0))),
            ("HTTP/1.1 204 No Content\r\n\r\n", Expected::Body, Ok(ResponseFraming::Length(0))),
            ("HTTP/1.1 100 Continue\r\n\r\n", Expected::Body, Ok(ResponseFraming::Length(0))),
            ("HTTP/1.1 200 OK\r\n\r\n", Expected::Body, Err(InvalidResponse::Length)),
            ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", Expected::Body, Err(InvalidResponse::Length)),
            ("HELO 200\r\n\r\n", Expected::Body, Err(InvalidResponse::Head)),
        ] {
            let got = parsed(text, expected).map(|answer| answer.unwrap().framing);
            assert_eq!(got, framing, "{text:?}");
        }
        assert!(parsed("HTTP/1.1 200 OK\r\ncontent-le", Expected::Body).unwrap().is_none());
    }

    #[test]
    fn connection_headers_are_not_passed_on() {
        let text = "HTTP/1.1 200 Fine\r\nX-A: 1\r\nConnection: close\r\nContent-Length: 0\r\nX-Request-Id: r\r\n\r\n";
        let answer = parsed(text, Expected::Body).unwrap().unwrap();
        assert_eq!((answer.keep, answer.reason.as_deref()), (false, Some("Fine")));
        assert_eq!(answer.headers.iter().map(|(name, _)| name).collect::<Vec<_>>(), [&b"x-a"[..], b"content-length"]);
    }
}
