//! The access log: one line for each request, when all of its answer is on its way or none will be. Where it is off, a
//! request pays one branch for it.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hearth_core::time::CivilTime;

use crate::escape::push_json;
use crate::head::{Head, HttpVersion};
use crate::request_id::IdText;

/// Receives the lines. Called on the connection's own task, so it must not block.
pub type AccessLogSink = Arc<dyn Fn(&AccessLine<'_>) + Send + Sync>;

#[derive(Clone, Default)]
pub enum AccessLogOutput {
    #[default]
    Off,
    On(AccessLogSink),
}

/// What is known of a request when it has ended.
#[derive(Clone, Debug)]
pub struct AccessLine<'a> {
    /// When the request's head was complete.
    pub time: SystemTime,
    pub client: IpAddr,
    /// Empty where the head could not be read; so is the url.
    pub method: &'a str,
    pub url: &'a str,
    /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    pub protocol: &'static str,
    /// None where no answer was begun.
    pub status: Option<u16>,
    /// Bytes of the answer's body, as sent.
    pub bytes: u64,
    /// From the request's head to the end of the answer.
    pub duration: Duration,
    pub request_id: &'a str,
    pub outcome: RequestOutcome,
    pub user_agent: Option<Cow<'a, str>>,
    pub referer: Option<Cow<'a, str>>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    Answered,
    /// Refused by the gateway; the error's code.
    Refused(&'static str),
    /// The client went away.
    ClientGone,
    /// The answer's body failed after its head was sent.
    CutOff,
}

/// What is kept of a request until its line can be written.
#[derive(Debug)]
pub struct Entry {
    time: SystemTime,
    start: Instant,
    client: IpAddr,
    method: Box<str>,
    url: Box<str>,
    version: HttpVersion,
    user_agent: Option<Box<[u8]>>,
    referer: Option<Box<[u8]>>,
}

// === impl AccessLogOutput ===

impl AccessLogOutput {
    /// Lines to be read by humans: `TIME CLIENT "METHOD URL PROTOCOL" STATUS BYTES DURATION OUTCOME ID "REFERER" "USER AGENT"`.
    pub fn text(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::On(Arc::new(move |line| write(&line.to_text())))
    }

    /// Lines to be read by programs: a JSON object each.
    pub fn json(write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::On(Arc::new(move |line| write(&line.to_json())))
    }
}

impl fmt::Debug for AccessLogOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if let Self::Off = self { "Off" } else { "On" })
    }
}

// === impl RequestOutcome ===

impl RequestOutcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused(code) => code,
            Self::ClientGone => "client_gone",
            Self::CutOff => "cut_off",
        }
    }
}

// === impl Entry ===

impl Entry {
    /// For a request whose head was read.
    pub fn new(head: &Head, client: IpAddr) -> Self {
        let header = |name| head.headers.get(name).map(Into::into);
        Self {
            method: head.method.as_str().into(),
            url: head.url.as_str().into(),
            version: head.version,
            user_agent: header("user-agent"),
            referer: header("referer"),
            ..Self::unread(client, head.version)
        }
    }

    /// For a request whose head could not be read.
    pub fn unread(client: IpAddr, version: HttpVersion) -> Self {
        Self {
            time: SystemTime::now(),
            start: Instant::now(),
            client,
            method: "".into(),
            url: "".into(),
            version,
            user_agent: None,
            referer: None,
        }
    }

    pub fn line<'a>(
        &'a self,
        id: &'a IdText,
        status: Option<u16>,
        bytes: u64,
        outcome: RequestOutcome,
    ) -> AccessLine<'a> {
        AccessLine {
            time: self.time,
            client: self.client,
            method: &self.method,
            url: &self.url,
            protocol: self.version.name(),
            status,
            bytes,
            duration: self.start.elapsed(),
            request_id: id.as_str(),
            outcome,
            user_agent: self.user_agent.as_deref().map(String::from_utf8_lossy),
            referer: self.referer.as_deref().map(String::from_utf8_lossy),
        }
    }
}

// === impl AccessLine ===

impl AccessLine<'_> {
    /// One line, without its end. What clients wrote cannot break out of its quotes.
    pub fn to_text(&self) -> String {
        let mut out = String::with_capacity(256);
        push_time(&mut out, self.time);
        let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { escape(text) };
        let (method, url, status) = (dash(self.method), dash(self.url), self.status.map(|s| s.to_string()));
        let optional = |text: &Option<Cow<'_, str>>| text.as_deref().map_or_else(|| "-".to_owned(), escape);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            " {} \"{method} {url} {}\" {} {} {:.3}ms {} {} \"{}\" \"{}\"",
            self.client,
            self.protocol,
            status.as_deref().unwrap_or("-"),
            self.bytes,
            self.duration.as_secs_f64() * 1e3,
            self.outcome.as_str(),
            self.request_id,
            optional(&self.referer),
            optional(&self.user_agent),
        );
        out
    }

    /// One line, without its end.
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(320);
        out.push_str("{\"time\":\"");
        push_time(&mut out, self.time);
        let _ = write!(out, "\",\"client\":\"{}\",\"method\":", self.client);
        push_json(&mut out, self.method);
        out.push_str(",\"url\":");
        push_json(&mut out, self.url);
        let _ = write!(out, ",\"protocol\":\"{}\",\"status\":", self.protocol);
        match self.status {
            Some(status) => {
                let _ = write!(out, "{status}");
            }
            None => out.push_str("null"),
        }
        let (bytes, ms, outcome) = (self.bytes, self.duration.as_secs_f64() * 1e3, self.outcome.as_str());
        let _ = write!(out, ",\"bytes\":{bytes},\"duration_ms\":{ms:.3},\"outcome\":\"{outcome}\",\"request_id\":");
        push_json(&mut out, self.request_id);
        for (key, value) in [("referer", &self.referer), ("user_agent", &self.user_agent)] {
            if let Some(value) = value {
                let _ = write!(out, ",\"{key}\":");
                push_json(&mut out, value);
            }
        }
        out.push('}');
        out
    }
}

/// `2024-02-29T23:59:59.123Z`
fn push_time(out: &mut String, time: SystemTime) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let CivilTime { year, month, day, hour, minute, second } = CivilTime::from_unix(since.as_secs());
    let ms = since.subsec_millis();
    let _ = write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z");
}

/// Escaped as in a C string, so that a value can end neither the line nor its quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn line() -> AccessLine<'static> {
        AccessLine {
            time: UNIX_EPOCH + Duration::from_millis(1_709_251_199_042),
            client: "192.0.2.1".parse().unwrap(),
            method: "GET",
            url: "http://h/\u{e9}\"",
            protocol: "HTTP/1.1",
            status: Some(200),
            bytes: 5,
            duration: Duration::from_micros(1500),
            request_id: "id-1",
            outcome: RequestOutcome::Answered,
            user_agent: Some("a\"b\\c\u{1b}\n".into()),
            referer: None,
        }
    }

    #[test]
    fn text_lines() {
        assert_eq!(
            line().to_text(),
            "2024-02-29T23:59:59.042Z 192.0.2.1 \"GET http://h/\u{e9}\\\" HTTP/1.1\" 200 5 1.500ms answered id-1 \
             \"-\" \"a\\\"b\\\\c\\x1b\\x0a\""
        );
        let unread = AccessLine { method: "", url: "", status: None, outcome: RequestOutcome::ClientGone, ..line() };
        assert!(unread.to_text().contains("\"- - HTTP/1.1\" - 5 1.500ms client_gone"), "{}", unread.to_text());
    }

    #[test]
    fn json_lines() {
        assert_eq!(
            line().to_json(),
            r#"{"time":"2024-02-29T23:59:59.042Z","client":"192.0.2.1","method":"GET","url":"http://h/é\"","protocol":"HTTP/1.1","status":200,"bytes":5,"duration_ms":1.500,"outcome":"answered","request_id":"id-1","user_agent":"a\"b\\c\u001b\n"}"#
        );
        let gone = AccessLine { status: None, outcome: RequestOutcome::Refused("malformed_head"), ..line() };
        assert!(
            gone.to_json().contains(r#""status":null"#) && gone.to_json().contains(r#""outcome":"malformed_head""#)
        );
    }
}
