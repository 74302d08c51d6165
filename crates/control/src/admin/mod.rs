//! The admin API, on a listener of its own. The token alone gives access.
//!
//! | file | |
//! |---|---|
//! | `auth.rs`, `attempts.rs` | token and session checks, and the delay after wrong tokens |
//! | `response.rs` | responses, and the one place where errors become responses |
//! | `sse.rs` | logs and events as server-sent events |
//! | `health.rs` | whether the server serves, and what it lacks |
//! | `path.rs` | paths and query parameters |
//! | `../../openapi.json` | description of the API |
//! | `dashboard.rs`, `../../dashboard/` | the dashboard's files |

mod attempts;
mod auth;
mod dashboard;
mod health;
pub mod path;
mod response;
mod sse;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hearth_core::{Body, BodyError, ByteSize, Dispatch, DispatchResult, MaybeReady, Method, Request, Response};
use hearth_sandbox::FILE_LIMIT;

use self::attempts::Attempts;
use self::auth::{Auth, AuthResult};
use self::path::QueryParams;
use crate::action::{Action, Follow};
use crate::control::{ActionError, ActionResult, Control};
use crate::metrics::prometheus;
use crate::sandboxes::SandboxAction;

/// Bodies other than archives and files.
const MAX_BODY: ByteSize = ByteSize::mb(1);
/// Uploaded archives. Their unpacked content has limits of its own.
pub const MAX_UPLOAD: ByteSize = ByteSize::mb(256);
const OPENAPI: &str = include_str!("../../openapi.json");

pub struct Admin {
    control: Control,
    auth: Auth,
    attempts: Attempts,
}

impl Admin {
    pub fn new(control: Control, token: &str) -> Self {
        Self { control, auth: Auth::new(token.to_owned()), attempts: Attempts::default() }
    }

    async fn answer(&self, mut request: Request) -> Response {
        let url = std::mem::take(&mut request.url);
        let (path, query) = split(&url);
        match (&request.method, path) {
            (_, "/health") => return health::health(&self.control),
            (_, "/health/live") => return response::text(200, "text/plain; charset=utf-8", "ok\n"),
            (_, "/health/ready") if self.control.is_ready() => {
                return response::text(200, "text/plain; charset=utf-8", "ok\n");
            }
            (_, "/health/ready") => {
                let why = if self.control.is_draining() { "draining\n" } else { "no cell serves yet\n" };
                return response::text(503, "text/plain; charset=utf-8", why);
            }
            (Method::Post, "/admin/login") => return self.log_in(request).await,
            (Method::Post, "/admin/logout") => {
                let mut response = response::json(200, &serde_json::json!({ "in": false }));
                response.headers.push(b"set-cookie", self.auth.log_out(&request.headers).as_bytes());
                return response;
            }
            (Method::Get | Method::Head, path) => {
                if let Some(page) = dashboard::file(path) {
                    return page;
                }
            }
            _ => {}
        }
        if request.headers.bearer().is_some() {
            self.delay_suspect(request.client).await;
        }
        match self.auth.check(&request.headers) {
            AuthResult::Allowed => {}
            AuthResult::Denied => {
                if request.headers.bearer().is_some() {
                    self.record_wrong_token(request.client);
                }
                let mut response =
                    response::error(401, "unauthorized", "send the admin token as Authorization: Bearer TOKEN");
                response.headers.push(b"www-authenticate", b"Bearer");
                return response;
            }
            AuthResult::Foreign => return foreign(),
        }
        if let (Method::Get | Method::Head, "/openapi.json") = (&request.method, path) {
            return response::text(200, "application/json", OPENAPI);
        }
        match QueryParams::parse(query) {
            Ok(query) => self.act(&request.method, path, &query, request.body).await,
            Err(why) => response::no_action(&why),
        }
    }

    async fn act(&self, method: &Method, path: &str, query: &QueryParams, body: Body) -> Response {
        let mut action = match Action::route(method, path, query) {
            Ok(action) => action,
            Err(why) => return response::no_action(&why),
        };
        if let Err(not_ready) = self.control.wait_for_stage(action.required_stage()).await {
            return response::action_failed(&not_ready.into());
        }
        if let Action::Upload { name, version, owner } = action {
            let control = self.control.clone();
            return match run_to_completion(async move { control.upload(name, version, owner, body).await }).await {
                Ok(value) => response::json(201, &value),
                Err(failure) => response::action_failed(&failure),
            };
        }
        if let Action::Sandbox(SandboxAction::WriteFile { id, path, mode }) = action {
            return self.write_file(id, path, mode, body).await;
        }
        if action.wants_body() {
            let limit = if matches!(action, Action::Sandbox(_)) { FILE_LIMIT } else { MAX_BODY };
            match text_of(body, limit).await {
                Ok(text) => action.set_body(text),
                Err(response) => return response,
            }
        }
        let control = self.control.clone();
        match run_to_completion(async move { control.execute(action).await }).await {
            Ok(result) => self.respond(result),
            Err(failure) => response::action_failed(&failure),
        }
    }

    fn respond(&self, result: ActionResult) -> Response {
        match result {
            ActionResult::Json(value) => response::json(200, &value),
            ActionResult::Created(value) => response::json(201, &value),
            ActionResult::Accepted(value) => response::json(202, &value),
            ActionResult::File(content) => response::file(content),
            ActionResult::Prometheus(text) => response::text(200, prometheus::CONTENT_TYPE, text),
            ActionResult::Logs { app, lines, follow } => self.logs(app, lines, follow),
            ActionResult::Events { follow: Follow::No } => {
                let (events, _) = self.control.events().follow();
                let events: Vec<_> = events.iter().map(|event| &**event).collect();
                response::json(200, &serde_json::json!({ "events": events }))
            }
            ActionResult::Events { follow: Follow::Yes } => {
                let (first, rest) = self.control.events().follow();
                response::stream(sse::stream(self.control.clone(), "event", first, rest, |_| true))
            }
        }
    }

    async fn write_file(&self, id: String, path: String, mode: Option<String>, body: Body) -> Response {
        let content = match bytes_of(body, FILE_LIMIT).await {
            Ok(content) => content,
            Err(response) => return response,
        };
        let control = self.control.clone();
        let written = async move { control.sandboxes()?.write_file(&id, path, mode, content.into()).await };
        match run_to_completion(written).await {
            Ok(value) => response::json(200, &value),
            Err(failure) => response::action_failed(&failure),
        }
    }

    fn logs(&self, app: Option<String>, lines: usize, follow: Follow) -> Response {
        let log = self.control.log_store();
        let filter = move |line: &hearth_log::LogRecord| app.is_none() || line.app == app;
        match follow {
            Follow::No => response::json(200, &serde_json::json!({ "lines": log.last(lines, &filter) })),
            Follow::Yes => {
                let (last, rest) = log.follow(lines, &filter);
                let first = last.into_iter().map(Arc::new).collect();
                response::stream(sse::stream(self.control.clone(), "line", first, rest, filter))
            }
        }
    }

    async fn log_in(&self, request: Request) -> Response {
        let headers = request.headers;
        let token = match text_of(request.body, MAX_BODY).await {
            Ok(token) => token,
            Err(response) => return response,
        };
        self.delay_suspect(request.client).await;
        match self.auth.log_in(&headers, &token) {
            Ok(cookie) => {
                let mut response = response::json(200, &serde_json::json!({ "in": true }));
                response.headers.push(b"set-cookie", cookie.as_bytes());
                response
            }
            Err(AuthResult::Foreign) => foreign(),
            Err(_) => {
                self.record_wrong_token(request.client);
                response::error(401, "unauthorized", "that is not the admin token; DATA/admin.token has it")
            }
        }
    }

    /// Delays the check of a client that has sent many wrong tokens.
    async fn delay_suspect(&self, client: Option<IpAddr>) {
        if self.attempts.is_suspect(client, Instant::now()) {
            tokio::time::sleep(attempts::DELAY).await;
        }
    }

    fn record_wrong_token(&self, client: Option<IpAddr>) {
        if let Some(before) = self.attempts.record(client, Instant::now()) {
            let client = client.map(tracing::field::display);
            tracing::warn!(client, minute_before = before, "admin API: wrong token");
        }
    }
}

impl Dispatch for Admin {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        MaybeReady::Pending(async move { Ok(self.answer(request).await) })
    }
}

/// Runs work in a task, so that it finishes even if the client disconnects: half a deploy is worse than none.
async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, ActionError>> + Send + 'static,
) -> Result<T, ActionError> {
    let failed = |error: tokio::task::JoinError| ActionError::Io(format!("it did not come to its end: {error}"));
    tokio::spawn(work).await.map_err(failed)?
}

async fn text_of(body: Body, limit: ByteSize) -> Result<String, Response> {
    let bytes = bytes_of(body, limit).await?;
    String::from_utf8(bytes).map_err(|_| response::error(400, "invalid_argument", "the body is not UTF-8"))
}

async fn bytes_of(mut body: Body, limit: ByteSize) -> Result<Vec<u8>, Response> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        match piece {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(BodyError::TooLarge { .. }) => return Err(too_large(limit)),
            Err(error) => return Err(response::error(400, "invalid_argument", &error.to_string())),
        }
        if bytes.len() as u64 > limit.bytes() {
            return Err(too_large(limit));
        }
    }
    Ok(bytes)
}

fn foreign() -> Response {
    let message = "a browser may come from the dashboard's own pages only, at a number or localhost";
    response::error(403, "foreign_origin", message)
}

fn too_large(limit: ByteSize) -> Response {
    response::error(413, "body_too_large", &format!("the body is longer than {limit}"))
}

/// Path and query of an absolute URL.
fn split(url: &str) -> (&str, &str) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find(['/', '?']).map_or("/", |at| &rest[at..]);
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    (if path.is_empty() { "/" } else { path }, query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_query_are_split() {
        assert_eq!(split("http://h:1/admin/pool?x=/y"), ("/admin/pool", "x=/y"));
        assert_eq!(split("http://h"), ("/", ""));
        assert_eq!(split("http://h?a"), ("/", "a"));
    }
}
