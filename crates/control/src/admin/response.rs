//! Responses of the admin API, and the one place where its errors become responses.

use bytes::Bytes;
use hearth_core::{Body, Headers, Response};
use hearth_mcp::ToolError;
use serde::Serialize;

use crate::action::NoAction;
use crate::control::{ActionError, CordonError};

pub(super) fn json(status: u16, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => respond(status, "application/json", body),
        Err(failure) => error(500, "internal", &failure.to_string()),
    }
}

pub(super) fn text(status: u16, kind: &str, text: impl Into<Bytes>) -> Response {
    respond(status, kind, text)
}

pub(super) fn stream(body: Body) -> Response {
    let mut response = respond(200, "text/event-stream", Bytes::new());
    response.body = body;
    response
}

/// A file of a sandbox. As an attachment of bytes, so that a browser never shows it as a page of this origin.
pub(super) fn file(content: Bytes) -> Response {
    let mut response = respond(200, "application/octet-stream", content);
    response.headers.push(b"content-disposition", b"attachment");
    response
}

pub(super) fn error(status: u16, code: &str, message: &str) -> Response {
    let value = serde_json::json!({ "error": { "code": code, "message": message } });
    respond(status, "application/json", value.to_string())
}

fn respond(status: u16, kind: &str, body: impl Into<Bytes>) -> Response {
    let mut headers = Headers::with_capacity(4, 128);
    headers.push(b"content-type", kind.as_bytes());
    headers.push(b"cache-control", b"no-store");
    headers.push(b"x-content-type-options", b"nosniff");
    Response { status, reason: None, headers, body: Body::from(body.into()), websocket: None }
}

/// The response to a request that is no action.
pub(super) fn no_action(why: &NoAction) -> Response {
    let message = why.to_string();
    match why {
        NoAction::Path(_) => error(404, "not_found", &message),
        NoAction::Method { allow, .. } => {
            let mut response = error(405, "method_not_allowed", &message);
            response.headers.push(b"allow", allow.as_bytes());
            response
        }
        NoAction::Missing(_) | NoAction::Undecodable(_) | NoAction::Unknown(_) | NoAction::Bad { .. } => {
            error(400, "invalid_argument", &message)
        }
    }
}

/// The response to an action that failed.
pub(super) fn action_failed(failure: &ActionError) -> Response {
    let (status, code) = match failure {
        ActionError::NoApp(_) | ActionError::NoAppBut { .. } => (404, "no_app"),
        ActionError::NoVersion { .. } => (404, "no_version"),
        ActionError::NothingBefore(_) => (409, "nothing_to_roll_back"),
        ActionError::OtherOwner(_) => (409, "other_owner"),
        ActionError::NotUploaded { .. } => (409, "not_uploaded"),
        ActionError::NoWorker(_) => (409, "no_worker"),
        ActionError::Invalid(_) => (400, "invalid_argument"),
        _ if is_disk_full(failure) => (507, "disk_full"),
        ActionError::Upload(error) if !error.is_uploaders_fault() => (500, "internal"),
        ActionError::Upload(_) | ActionError::Manifest(_) => (422, "bad_upload"),
        ActionError::TooLarge { .. } => (413, "body_too_large"),
        ActionError::NotFound(_) => (404, "not_found"),
        ActionError::Cordon(CordonError::NoOwner(_) | CordonError::NotCordoned(_)) => (404, "not_found"),
        ActionError::Cordon(_) => (409, "cordoned_for_good"),
        ActionError::Unserved(_) => (422, "not_served"),
        ActionError::Cell(_) => (503, "no_cell"),
        ActionError::NotReady(_) => (503, "starting"),
        ActionError::Configuration(_) => (422, "bad_configuration"),
        ActionError::Upgrade(_) => (409, "no_upgrade"),
        ActionError::Ending => (409, "ending"),
        ActionError::NoSandboxes => (409, "no_sandboxes"),
        ActionError::Sandbox(error) => (sandbox_status(error), error.code()),
        ActionError::Store(_) | ActionError::Io(_) => (500, "internal"),
    };
    if matches!(status, 500 | 507) {
        // Faults of the machine are logged for the operator.
        tracing::error!(code, "{failure}");
    }
    let mut response = error(status, code, &failure.to_string());
    if status == 503 {
        response.headers.push(b"retry-after", b"1");
    }
    response
}

/// Whether the disk or the quota is full.
fn is_disk_full(failure: &ActionError) -> bool {
    match failure {
        ActionError::Upload(error) => error.is_disk_full(),
        ActionError::Store(error) => error.is_disk_full(),
        _ => false,
    }
}

/// The status for a tool error. Its codes are the same here and over MCP.
fn sandbox_status(error: &ToolError) -> u16 {
    match error.code() {
        "invalid_argument" | "file" => 400,
        "not_found" => 404,
        "limit" => 429,
        "denied" => 403,
        "timeout" => 504,
        "agent_lost" | "unavailable" => 503,
        _ => 500,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use hearth_store::UploadError;

    use super::*;

    #[test]
    fn faults_of_the_machine_are_5xx() {
        let status = |kind: io::ErrorKind| {
            let error = UploadError::Io { action: "write", path: "uploads".into(), source: kind.into() };
            action_failed(&ActionError::Upload(error)).status
        };
        assert_eq!(status(io::ErrorKind::StorageFull), 507);
        assert_eq!(status(io::ErrorKind::PermissionDenied), 500);
        assert_eq!(action_failed(&ActionError::Upload(UploadError::Empty)).status, 422);
    }
}
