//! The one place that turns causes into responses: failures of apps, and requests that the gateway rejects.
//! An app's own error text goes to the log, and to the client only where the operator asked for it; a limit is named to both,
//! since either can do something about it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_core::escape::push_html;
use hearth_core::log_limit::{Admitted, LogLimiter};
use hearth_core::{Body, Failure, Headers, LimitKind, Response};

use crate::config::ErrorDetail;
use crate::escape::push_json;
use crate::reject::Reject;
use crate::request_id::IdText;

/// How a client gets its errors.
#[derive(Clone, Copy, Debug)]
pub struct ErrorFormat<'a> {
    pub id: &'a IdText,
    pub prefers_html: bool,
}

/// An error as the client gets it.
struct ErrorReply {
    status: u16,
    code: &'static str,
    message: String,
    hint: Hint,
}

/// What the client can do about it, as a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    None,
    /// Repeat the request after this time.
    Retry(Duration),
    /// Send a token.
    Authenticate,
    /// Use one of these methods.
    Allow(&'static str),
}

/// The cause passes quickly.
const RETRY_SOON: Hint = Hint::Retry(Duration::from_secs(1));

/// Installing dependencies takes seconds.
const INSTALLING_RETRY: Duration = Duration::from_secs(5);

/// The response to a request that failed. Also logs the failure, as far as `log` admits it.
pub fn error_response(failure: &Failure, format: ErrorFormat<'_>, errors: ErrorDetail, log: &FailureLog) -> Response {
    log.write(failure, format.id);
    reply(failure, errors).into_response(format)
}

/// The response to a request that is rejected before an app has seen all of it.
pub fn reject_response(reject: Reject, format: ErrorFormat<'_>) -> Response {
    tracing::debug!(request.id = %format.id, code = reject.code(), "request rejected");
    let reply =
        ErrorReply { status: reject.status(), code: reject.code(), message: reject.to_string(), hint: Hint::None };
    reply.into_response(format)
}

/// Status and code that a failure is answered with, for statistics.
pub fn status_and_code(failure: &Failure) -> (u16, &'static str) {
    let ErrorReply { status, code, .. } = reply(failure, ErrorDetail::Brief);
    (status, code)
}

fn reply(failure: &Failure, errors: ErrorDetail) -> ErrorReply {
    let brief_unless_asked = |brief: &str| match errors {
        ErrorDetail::Brief => brief.to_owned(),
        ErrorDetail::Detailed => failure.to_string(),
    };
    let plain = || failure.to_string();
    let (status, code, message, hint) = match failure {
        Failure::NoApp => (404, "no_app", plain(), Hint::None),
        Failure::NoVersion { .. } => (404, "no_version", plain(), Hint::None),
        Failure::BadRange { .. } => (400, "bad_range", plain(), Hint::None),
        Failure::Installing => (503, "installing", plain(), Hint::Retry(INSTALLING_RETRY)),
        Failure::NotFound => (404, "not_found", plain(), Hint::None),
        Failure::MethodNotAllowed { allow, .. } => (405, "method_not_allowed", plain(), Hint::Allow(allow)),
        Failure::Unauthorized => (401, "unauthorized", plain(), Hint::Authenticate),
        Failure::RateLimited { retry_after } => (429, "rate_limited", plain(), Hint::Retry(*retry_after)),
        Failure::NoHandler { .. } => (501, "no_handler", plain(), Hint::None),
        Failure::Load(_) => (502, "load_failed", brief_unless_asked("the app failed to load"), Hint::None),
        Failure::App { .. } => (502, "app_failed", brief_unless_asked("the app failed"), Hint::None),
        Failure::Limit(limit) => (limit_status(limit.kind), limit.kind.code(), plain(), Hint::None),
        Failure::Collateral(_) => (503, "collateral", plain(), RETRY_SOON),
        Failure::Stuck => (503, "stuck", plain(), RETRY_SOON),
        Failure::Capacity { .. } => (503, "no_capacity", plain(), RETRY_SOON),
        Failure::Cordoned { retry_after } => (503, "cordoned", plain(), Hint::Retry(*retry_after)),
        Failure::Draining => (503, "draining", plain(), RETRY_SOON),
        Failure::Internal { .. } => (500, "internal", brief_unless_asked("internal error"), Hint::None),
    };
    ErrorReply { status, code, message, hint }
}

fn limit_status(kind: LimitKind) -> u16 {
    match kind {
        LimitKind::Wall | LimitKind::StreamSilence | LimitKind::WaitUntilWall => 504,
        LimitKind::Cpu | LimitKind::Heap | LimitKind::WaitUntilCpu | LimitKind::Budget => 503,
        // The app failed to load.
        LimitKind::ModuleCpu | LimitKind::ModuleWall => 502,
    }
}

/// Limits the log lines of failures: apps and clients can make requests fail at any rate, and the log must not grow with it.
pub struct FailureLog {
    rate: Mutex<LogLimiter>,
}

impl FailureLog {
    pub fn new() -> Self {
        Self { rate: Mutex::new(LogLimiter::new(200, 100)) }
    }

    fn write(&self, failure: &Failure, id: &IdText) {
        if is_client_error(failure) {
            tracing::debug!(request.id = %id, %failure, "request rejected");
            return;
        }
        let admitted = self.rate.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now());
        let Admitted::Yes { held_back } = admitted else { return };
        if held_back > 0 {
            tracing::warn!(held_back, "failed requests not logged");
        }
        log(failure, id);
    }
}

/// Whether only the client can do something about it. Such failures must not use up the log's limit.
fn is_client_error(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::NoApp
            | Failure::NoVersion { .. }
            | Failure::BadRange { .. }
            | Failure::Installing
            | Failure::NotFound
            | Failure::MethodNotAllowed { .. }
            | Failure::Unauthorized
            | Failure::RateLimited { .. }
    )
}

fn log(failure: &Failure, id: &IdText) {
    match failure {
        Failure::Internal { .. } => tracing::error!(request.id = %id, %failure, "request failed"),
        Failure::Stuck | Failure::Capacity { .. } | Failure::Cordoned { .. } => {
            tracing::warn!(request.id = %id, %failure, "request failed")
        }
        _ => tracing::info!(request.id = %id, %failure, "request failed"),
    }
}

// === impl ErrorReply ===

impl ErrorReply {
    fn into_response(self, format: ErrorFormat<'_>) -> Response {
        let mut headers = Headers::with_capacity(4, 128);
        let body = if format.prefers_html {
            headers.push(b"content-type", b"text/html; charset=utf-8");
            self.html(format.id)
        } else {
            headers.push(b"content-type", b"application/json");
            self.json(format.id)
        };
        headers.push(b"cache-control", b"no-store");
        match self.hint {
            Hint::None => {}
            // Rounded up: a client that retries too early is only rejected again.
            Hint::Retry(after) => {
                let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
                headers.push(b"retry-after", seconds.max(1).to_string().as_bytes());
            }
            Hint::Authenticate => headers.push(b"www-authenticate", b"Bearer"),
            Hint::Allow(methods) => headers.push(b"allow", methods.as_bytes()),
        }
        Response::new(self.status, headers, Body::Full(Bytes::from(body)))
    }

    fn json(&self, id: &IdText) -> String {
        let mut out = format!(r#"{{"error":{{"code":"{}","message":"#, self.code);
        push_json(&mut out, &self.message);
        out.push_str(&format!(r#","request_id":"{id}"}}}}"#));
        out
    }

    fn html(&self, id: &IdText) -> String {
        let Self { status, code, message, .. } = self;
        let mut escaped = String::with_capacity(message.len() + 8);
        push_html(&mut escaped, message);
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{status} {code}</title></head>\n\
             <body><h1>{status}</h1><pre>{escaped}</pre><p>{code} &middot; request {id}</p></body></html>\n"
        )
    }
}

#[cfg(test)]
#[path = "error_response/tests.rs"]
mod tests;
