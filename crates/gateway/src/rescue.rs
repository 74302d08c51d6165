//! The one place that turns a cause into a response: failures of the app's side, and what the gateway refuses itself.
//! An app's own words go to the log, and to the client only when the operator asked for it; limits are explained to both,
//! since whoever hits one needs to know which.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_core::rate::{Admitted, RateLimit};
use hearth_core::{Body, Failure, Headers, LimitKind, Response};

use crate::config::ErrorDetail;
use crate::reject::Reject;
use crate::request_id::IdText;
use crate::text::{escape_html, push_json};

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
    hint: Hint,
}

/// What the client could do about it, as a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    None,
    /// Ask again after this time.
    Retry(Duration),
    /// Bring a token.
    Authenticate,
    /// Use one of these methods.
    Allow(&'static str),
}

/// The same again may well work in a second.
const SOON: Hint = Hint::Retry(Duration::from_secs(1));

/// What is installed is there in seconds, rather than at once.
const INSTALLING: Duration = Duration::from_secs(5);

/// The answer to a request whose app gave none. Also writes the log, as far as `log` lets it.
pub fn rescue(failure: &Failure, asker: Asker<'_>, errors: ErrorDetail, log: &FailureLog) -> Response {
    log.write(failure, asker.id);
    reply(failure, errors).into_response(asker)
}

/// The answer to a request that no app gets to see, or not whole.
pub fn refuse(reject: Reject, asker: Asker<'_>) -> Response {
    tracing::debug!(request.id = %asker.id, code = reject.code(), "Request refused");
    let reply = Reply { status: reject.status(), code: reject.code(), message: reject.to_string(), hint: Hint::None };
    reply.into_response(asker)
}

/// Status and code that a failure is answered with, for who counts them.
pub fn status_and_code(failure: &Failure) -> (u16, &'static str) {
    let Reply { status, code, .. } = reply(failure, ErrorDetail::Brief);
    (status, code)
}

fn reply(failure: &Failure, errors: ErrorDetail) -> Reply {
    let brief_unless_asked = |brief: &str| match errors {
        ErrorDetail::Brief => brief.to_owned(),
        ErrorDetail::Detailed => failure.to_string(),
    };
    let plain = || failure.to_string();
    let (status, code, message, hint) = match failure {
        Failure::NoApp => (404, "no_app", plain(), Hint::None),
        Failure::NoVersion { .. } => (404, "no_version", plain(), Hint::None),
        Failure::BadRange { .. } => (400, "bad_range", plain(), Hint::None),
        Failure::Installing => (503, "installing", plain(), Hint::Retry(INSTALLING)),
        Failure::NotFound => (404, "not_found", plain(), Hint::None),
        Failure::MethodNotAllowed { allow, .. } => (405, "method_not_allowed", plain(), Hint::Allow(allow)),
        Failure::Unauthorized => (401, "unauthorized", plain(), Hint::Authenticate),
        Failure::RateLimited { retry_after } => (429, "rate_limited", plain(), Hint::Retry(*retry_after)),
        Failure::NoHandler { .. } => (501, "no_handler", plain(), Hint::None),
        Failure::Load(_) => (502, "load_failed", brief_unless_asked("the app failed to load"), Hint::None),
        Failure::App { .. } => (502, "app_failed", brief_unless_asked("the app failed"), Hint::None),
        Failure::Limit(limit) => (limit_status(limit.kind), limit.kind.code(), plain(), Hint::None),
        Failure::Collateral(_) => (503, "collateral", plain(), SOON),
        Failure::Stuck => (503, "stuck", plain(), SOON),
        Failure::Capacity { .. } => (503, "no_capacity", plain(), SOON),
        Failure::Cordoned { retry_after } => (503, "cordoned", plain(), Hint::Retry(*retry_after)),
        Failure::Draining => (503, "draining", plain(), SOON),
        Failure::Internal { .. } => (500, "internal", brief_unless_asked("internal error"), Hint::None),
    };
    Reply { status, code, message, hint }
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
        if is_clients_doing(failure) {
            tracing::debug!(request.id = %id, %failure, "Request refused");
            return;
        }
        let admitted = self.rate.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now());
        let Admitted::Yes { held_back } = admitted else { return };
        if held_back > 0 {
            tracing::warn!(held_back, "Failed requests were not logged");
        }
        log(failure, id);
    }
}

/// Nothing failed, and nobody but the client can change it: such things must not take the log's room from others.
fn is_clients_doing(failure: &Failure) -> bool {
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
        Failure::Internal { .. } => tracing::error!(request.id = %id, %failure, "Request failed"),
        Failure::Stuck | Failure::Capacity { .. } | Failure::Cordoned { .. } => {
            tracing::warn!(request.id = %id, %failure, "Request failed")
        }
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
        match self.hint {
            Hint::None => {}
            // Rounded up: who comes too early is only sent away again.
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
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{status} {code}</title></head>\n\
             <body><h1>{status}</h1><pre>{}</pre><p>{code} &middot; request {id}</p></body></html>\n",
            escape_html(message)
        )
    }
}

#[cfg(test)]
#[path = "rescue/tests.rs"]
mod tests;
