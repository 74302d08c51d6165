//! Responses outside of a session's messages: JSON with a code and a sentence. The one place that forms them.

use bytes::Bytes;
use hearth_core::{Body, Headers, Response};
use rmcp::model::{ErrorData, JsonRpcError, RequestId};
use serde::Serialize;

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

pub(super) fn respond(status: u16, kind: &str, body: Body) -> Response {
    let mut headers = Headers::with_capacity(4, 128);
    headers.push(b"content-type", kind.as_bytes());
    headers.push(b"cache-control", b"no-store");
    headers.push(b"x-content-type-options", b"nosniff");
    Response::new(status, headers, body)
}

pub(super) fn empty(status: u16) -> Response {
    Response::new(status, Headers::new(), Body::Empty)
}

pub(super) fn json(status: u16, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(text) => respond(status, JSON, Body::from(Bytes::from(text))),
        Err(failure) => error(500, "internal", &failure.to_string()),
    }
}

pub(super) fn error(status: u16, code: &str, message: &str) -> Response {
    let value = serde_json::json!({ "error": { "code": code, "message": message } });
    respond(status, JSON, Body::from(Bytes::from(value.to_string())))
}

/// A JSON-RPC error, for clients that read the body of an error response as a message.
pub(super) fn message_error(status: u16, id: Option<RequestId>, why: ErrorData) -> Response {
    json(status, &JsonRpcError::new(id, why))
}

pub(super) fn method_not_allowed(allow: &'static str) -> Response {
    let mut response = error(405, "method_not_allowed", &format!("this is not possible here: use {allow}"));
    response.headers.push(b"allow", allow.as_bytes());
    response
}
