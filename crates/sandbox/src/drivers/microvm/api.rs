//! Firecracker's API: requests over a Unix socket, HTTP with JSON bodies. One connection, one
//! request at a time, an answer of a known length. Blocking, with a deadline for each answer as a
//! whole.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Firecracker's answers are short.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    #[error("Firecracker does not listen: {0}")]
    Connect(#[source] io::Error),
    #[error("Firecracker ended or fell silent at {request}: {error}")]
    Io {
        request: String,
        #[source]
        error: io::Error,
    },
    #[error("Firecracker did not answer {request} in {} s", .timeout.as_secs())]
    Late { request: String, timeout: Duration },
    #[error("Firecracker answered {request} with invalid HTTP: {what}")]
    Malformed { request: String, what: &'static str },
    #[error("Firecracker refused {request}: {status} {message}")]
    Refused { request: String, status: u16, message: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Put,
    Patch,
}

pub(super) struct Api {
    socket: UnixStream,
    timeout: Duration,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Put => "PUT",
            Self::Patch => "PATCH",
        }
    }
}

impl Api {
    pub(super) fn new(socket: UnixStream, timeout: Duration) -> Self {
        Self { socket, timeout }
    }

    /// Sends a request; any success status will do.
    pub(super) fn ask(&mut self, method: Method, path: &str, body: &Value) -> Result<(), ApiError> {
        let request = format!("{} {path}", method.name());
        let body = body.to_string();
        let text = format!(
            "{request} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let failed = |error| ApiError::Io { request: request.clone(), error };
        self.socket.set_write_timeout(Some(self.timeout)).map_err(failed)?;
        self.socket.write_all(text.as_bytes()).map_err(failed)?;
        let deadline = Instant::now() + self.timeout;
        let mut received = Vec::new();
        let answer = loop {
            match parse(&received) {
                Parsed::Whole(answer) => break answer,
                Parsed::Malformed(what) => return Err(ApiError::Malformed { request, what }),
                Parsed::Part if received.len() > MAX_RESPONSE_BYTES => {
                    return Err(ApiError::Malformed { request, what: "it does not end" });
                }
                Parsed::Part => {}
            }
            let late = || ApiError::Late { request: request.clone(), timeout: self.timeout };
            let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
            self.socket.set_read_timeout(Some(left.ok_or_else(late)?)).map_err(failed)?;
            let mut buffer = [0; 4 << 10];
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(late()),
                Err(error) => return Err(failed(error)),
            }
        };
        match answer.status {
            200..=299 => Ok(()),
            status => Err(ApiError::Refused { request, status, message: fault(&answer.body) }),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Parsed {
    Part,
    Whole(Answer),
    Malformed(&'static str),
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    body: Vec<u8>,
}

fn parse(received: &[u8]) -> Parsed {
    const START: &[u8] = b"HTTP/1.1 ";
    if received.iter().zip(START).any(|(is, should)| is != should) {
        return Parsed::Malformed("it does not begin with HTTP/1.1");
    }
    let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") else { return Parsed::Part };
    let Ok(head) = std::str::from_utf8(&received[..end]) else { return Parsed::Malformed("its head is no text") };
    let status = head.get(START.len()..START.len() + 3).and_then(|digits| digits.parse::<u16>().ok());
    let Some(status) = status.filter(|status| (100..600).contains(status)) else {
        return Parsed::Malformed("it has no status");
    };
    let mut length = 0;
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else { return Parsed::Malformed("a header has no colon") };
        if name.eq_ignore_ascii_case("content-length") {
            match value.trim().parse::<usize>() {
                Ok(said) if said <= MAX_RESPONSE_BYTES => length = said,
                _ => return Parsed::Malformed("its length is not valid"),
            }
        }
    }
    let body = &received[end + 4..];
    match body.len() {
        is if is < length => Parsed::Part,
        is if is > length => Parsed::Malformed("it is longer than it says"),
        _ => Parsed::Whole(Answer { status, body: body.to_vec() }),
    }
}

/// The reason of a refusal, short enough to be shown.
fn fault(body: &[u8]) -> String {
    let said = serde_json::from_slice::<Value>(body).ok();
    let fault = said.as_ref().and_then(|said| said["fault_message"].as_str()).map(str::to_owned);
    let fault = fault.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    fault.chars().take(500).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_parsed_when_complete() {
        let whole = b"HTTP/1.1 400 \r\nServer: Firecracker API\r\nContent-Length: 5\r\n\r\nhello";
        for part in 0..whole.len() {
            assert_eq!(parse(&whole[..part]), Parsed::Part, "{part}");
        }
        assert_eq!(parse(whole), Parsed::Whole(Answer { status: 400, body: b"hello".to_vec() }));
        let none = parse(b"HTTP/1.1 204 \r\nServer: Firecracker API\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(none, Parsed::Whole(Answer { status: 204, body: Vec::new() }));
    }

    #[test]
    fn invalid_answers_are_errors() {
        for wrong in [
            &b"HELLO"[..],
            b"HTTP/1.1 abc\r\n\r\n",
            b"HTTP/1.1 999 \r\n\r\n",
            b"HTTP/1.1 200 \r\nno colon\r\n\r\n",
            b"HTTP/1.1 200 \r\ncontent-length: 99999999999999999999\r\n\r\n",
            b"HTTP/1.1 200 \r\ncontent-length: 999999999\r\n\r\n",
            b"HTTP/1.1 204 \r\n\r\nmore",
            b"HTTP/1.1 200 \xff\r\n\r\n",
        ] {
            assert!(matches!(parse(wrong), Parsed::Malformed(_)), "{}", String::from_utf8_lossy(wrong));
        }
    }

    #[test]
    fn control_characters_of_a_refusal_are_removed() {
        assert_eq!(fault(br#"{"fault_message":"bad\u001b[2J cid"}"#), "bad [2J cid");
        assert_eq!(fault(b"not json"), "not json");
        assert_eq!(fault(&[b'x'; 10_000]).len(), 500);
    }
}
