//! The one place that turns a cause into a response: failures of the app's side, and what the gateway refuses itself.
//! An app's own words go to the log, and to the client only when the operator asked for it; limits are explained to both,
//! since whoever hits one needs to know which.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use hearth_core::rate::{Admitted, RateLimit};
use hearth_core::{Body, Failure, Headers, LimitKind, Response};

use crate::config::Errors;
use crate::reject::Reject;
use crate::request_id::IdText;

/// Who asked, and how they like their errors.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    pub id: &'a IdText,
    pub prefers_html: bool,
}

/// What the client is told.
struct Reply {
    status: u16,
    code: &'static str,
    message: String,
    retry: Retry,
}

#[derive(PartialEq, Eq)]
enum Retry {
    /// The same again may well work in a second.
    Soon,
    Unsaid,
}

/// The answer to a request whose app gave none. Also writes the log, as far as `log` lets it.
pub fn rescue(failure: &Failure, asker: Asker<'_>, errors: Errors, log: &FailureLog) -> Response {
    log.write(failure, asker.id);
    reply(failure, errors).into_response(asker)
}

/// The answer to a request that no app gets to see, or not whole.
pub fn refuse(reject: Reject, asker: Asker<'_>) -> Response {
    tracing::debug!(request.id = %asker.id, code = reject.code(), "Request refused");
    let reply =
        Reply { status: reject.status(), code: reject.code(), message: reject.to_string(), retry: Retry::Unsaid };
    reply.into_response(asker)
}

fn reply(failure: &Failure, errors: Errors) -> Reply {
    let brief_unless_asked = |brief: &str| match errors {
        Errors::Brief => brief.to_owned(),
        Errors::Detailed => failure.to_string(),
    };
    let (status, code, message, retry) = match failure {
        Failure::NoApp => (404, "no_app", failure.to_string(), Retry::Unsaid),
        Failure::NoHandler { .. } => (501, "no_handler", failure.to_string(), Retry::Unsaid),
        Failure::Load(_) => (502, "load_failed", brief_unless_asked("the app failed to load"), Retry::Unsaid),
        Failure::App { .. } => (502, "app_failed", brief_unless_asked("the app failed"), Retry::Unsaid),
        Failure::Limit(limit) => (limit_status(limit.kind), limit.kind.code(), failure.to_string(), Retry::Unsaid),
        Failure::Collateral(_) => (503, "collateral", failure.to_string(), Retry::Soon),
        Failure::Stuck => (503, "stuck", failure.to_string(), Retry::Soon),
        Failure::Capacity { .. } => (503, "no_capacity", failure.to_string(), Retry::Soon),
        Failure::Draining => (503, "draining", failure.to_string(), Retry::Soon),
        Failure::Internal { .. } => (500, "internal", brief_unless_asked("internal error"), Retry::Unsaid),
    };
    Reply { status, code, message, retry }
}

fn limit_status(kind: LimitKind) -> u16 {
    match kind {
        LimitKind::Wall | LimitKind::StreamSilence | LimitKind::WaitUntilWall => 504,
        LimitKind::Cpu | LimitKind::Heap | LimitKind::WaitUntilCpu | LimitKind::Budget => 503,
        // The app did not load.
        LimitKind::ModuleCpu | LimitKind::ModuleWall => 502,
    }
}

/// Apps and clients can make requests fail as fast as they like; the log must not grow with that.
pub struct FailureLog {
    rate: Mutex<RateLimit>,
}

impl FailureLog {
    pub fn new() -> Self {
        Self { rate: Mutex::new(RateLimit::new(200, 100)) }
    }

    fn write(&self, failure: &Failure, id: &IdText) {
        let admitted = self.rate.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now());
        let Admitted::Yes { held_back } = admitted else { return };
        if held_back > 0 {
            tracing::warn!(held_back, "Failed requests were not logged");
        }
        log(failure, id);
    }
}

fn log(failure: &Failure, id: &IdText) {
    match failure {
        Failure::Internal { .. } => tracing::error!(request.id = %id, %failure, "Request failed"),
        Failure::Stuck | Failure::Capacity { .. } => tracing::warn!(request.id = %id, %failure, "Request failed"),
        _ => tracing::info!(request.id = %id, %failure, "Request failed"),
    }
}

// === impl Reply ===

impl Reply {
    fn into_response(self, asker: Asker<'_>) -> Response {
        let mut headers = Headers::with_capacity(4, 128);
        let body = if asker.prefers_html {
            headers.push(b"content-type", b"text/html; charset=utf-8");
            self.html(asker.id)
        } else {
            headers.push(b"content-type", b"application/json");
            self.json(asker.id)
        };
        headers.push(b"cache-control", b"no-store");
        if self.retry == Retry::Soon {
            headers.push(b"retry-after", b"1");
        }
        Response { status: self.status, reason: None, headers, body: Body::Full(Bytes::from(body)) }
    }

    fn json(&self, id: &IdText) -> String {
        let Self { code, message, .. } = self;
        format!(r#"{{"error":{{"code":"{code}","message":"{}","request_id":"{id}"}}}}"#, escape_json(message))
    }

    fn html(&self, id: &IdText) -> String {
        let Self { status, code, message, .. } = self;
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{status} {code}</title></head>\n\
             <body><h1>{status}</h1><pre>{}</pre><p>{code} &middot; request {id}</p></body></html>\n",
            escape_html(message)
        )
    }
}

fn escape_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' || c == '\u{7f}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
#[path = "rescue/tests.rs"]
mod tests;
