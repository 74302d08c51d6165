//! The admin API, on a listener of its own: who administers is decided by the token alone.
//!
//! | file | |
//! |---|---|
//! | `door.rs`, `attempts.rs` | who is let in, and who has tried too often |
//! | `answer.rs` | answers, and the one place where errors become them |
//! | `follow.rs` | logs and events as they come |
//! | `health.rs` | whether the server serves, and what it lacks |
//! | `path.rs` | paths and queries |
//! | `../../openapi.json` | what there is, for programs |
//! | `pages.rs`, `../../dashboard/` | what there is, for people |

mod answer;
mod attempts;
mod door;
mod follow;
mod health;
mod pages;
pub mod path;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hearth_core::{Body, BodyError, ByteSize, Dispatch, DispatchResult, MaybeReady, Method, Request, Response};
use hearth_sandbox::FILE_LIMIT;

use self::attempts::Attempts;
use self::door::{Door, Entrance};
use self::path::QueryParams;
use crate::action::{Action, Follow};
use crate::control::{ActionError, Answer, Control};
use crate::metrics::prometheus;
use crate::sandboxes::SandboxAction;

/// Bodies other than archives.
const LARGEST_BODY: ByteSize = ByteSize::mb(1);
/// Archives: what is in them has limits of its own.
pub const LARGEST_UPLOAD: ByteSize = ByteSize::mb(256);
const OPENAPI: &str = include_str!("../../openapi.json");

pub struct Admin {
    control: Control,
    door: Door,
    attempts: Attempts,
}

impl Admin {
    pub fn new(control: Control, token: &str) -> Self {
        Self { control, door: Door::new(token.to_owned()), attempts: Attempts::default() }
    }

    async fn answer(&self, mut request: Request) -> Response {
        let url = std::mem::take(&mut request.url);
        let (path, query) = split(&url);
        match (&request.method, path) {
            (_, "/health") => return health::health(&self.control),
            (_, "/health/live") => return answer::text(200, "text/plain; charset=utf-8", "ok\n"),
            (_, "/health/ready") if self.control.is_ready() => {
                return answer::text(200, "text/plain; charset=utf-8", "ok\n");
            }
            (_, "/health/ready") => {
                let why = if self.control.is_draining() { "draining\n" } else { "no cell serves yet\n" };
                return answer::text(503, "text/plain; charset=utf-8", why);
            }
            (Method::Post, "/admin/login") => return self.log_in(request).await,
            (Method::Post, "/admin/logout") => {
                let mut response = answer::json(200, &serde_json::json!({ "in": false }));
                response.headers.push(b"set-cookie", self.door.log_out(&request.headers).as_bytes());
                return response;
            }
            (Method::Get | Method::Head, path) => {
                if let Some(page) = pages::page(path) {
                    return page;
                }
            }
            _ => {}
        }
        if request.headers.bearer().is_some() {
            self.hold_up(request.client).await;
        }
        match self.door.entrance(&request.headers) {
            Entrance::Open => {}
            Entrance::Closed => {
                if request.headers.bearer().is_some() {
                    self.note_wrong(request.client);
                }
                let mut response =
                    answer::error(401, "unauthorized", "send the admin token as Authorization: Bearer TOKEN");
                response.headers.push(b"www-authenticate", b"Bearer");
                return response;
            }
            Entrance::Foreign => return foreign(),
        }
        if let (Method::Get | Method::Head, "/openapi.json") = (&request.method, path) {
            return answer::text(200, "application/json", OPENAPI);
        }
        match QueryParams::parse(query) {
            Ok(query) => self.act(&request.method, path, &query, request.body).await,
            Err(why) => answer::no_action(&why),
        }
    }

    async fn act(&self, method: &Method, path: &str, query: &QueryParams, body: Body) -> Response {
        let action = match Action::read(method, path, query, "") {
            Ok(action) => action,
            Err(why) => return answer::no_action(&why),
        };
        if let Err(starting) = self.control.knows(action.needs()).await {
            return answer::failed(&starting.into());
        }
        if let Action::Upload { name, version, owner } = action {
            let control = self.control.clone();
            return match to_the_end(async move { control.upload(name, version, owner, body).await }).await {
                Ok(value) => answer::json(201, &value),
                Err(failure) => answer::failed(&failure),
            };
        }
        if let Action::Sandbox(SandboxAction::WriteFile { id, path, mode }) = action {
            return self.write_file(id, path, mode, body).await;
        }
        let action = if action.wants_body() {
            let limit = if matches!(action, Action::Sandbox(_)) { FILE_LIMIT } else { LARGEST_BODY };
            match text_of(body, limit).await {
                Ok(text) => Action::read(method, path, query, &text),
                Err(response) => return response,
            }
        } else {
            Ok(action)
        };
        let action = match action {
            Ok(action) => action,
            Err(why) => return answer::no_action(&why),
        };
        let control = self.control.clone();
        match to_the_end(async move { control.carry_out(action).await }).await {
            Ok(Answer::Json(value)) => answer::json(200, &value),
            Ok(Answer::Created(value)) => answer::json(201, &value),
            Ok(Answer::Accepted(value)) => answer::json(202, &value),
            Ok(Answer::File(content)) => answer::file(content),
            Ok(Answer::Prometheus(text)) => answer::text(200, prometheus::CONTENT_TYPE, text),
            Ok(Answer::Logs { app, lines, follow }) => self.logs(app, lines, follow),
            Ok(Answer::Events { follow: Follow::No }) => {
                let (events, _) = self.control.events().follow();
                answer::json(200, &serde_json::json!({ "events": events.iter().map(|one| &**one).collect::<Vec<_>>() }))
            }
            Ok(Answer::Events { follow: Follow::Yes }) => {
                let (first, rest) = self.control.events().follow();
                answer::stream(follow::follow(self.control.clone(), "event", first, rest, |_| true))
            }
            Err(failure) => answer::failed(&failure),
        }
    }

    async fn write_file(&self, id: String, path: String, mode: Option<String>, body: Body) -> Response {
        let content = match bytes_of(body, FILE_LIMIT).await {
            Ok(content) => content,
            Err(response) => return response,
        };
        let control = self.control.clone();
        let written = async move { control.sandboxes()?.write_file(&id, path, mode, content.into()).await };
        match to_the_end(written).await {
            Ok(value) => answer::json(200, &value),
            Err(failure) => answer::failed(&failure),
        }
    }

    fn logs(&self, app: Option<String>, lines: usize, follow: Follow) -> Response {
        let journal = self.control.journal();
        let wanted = move |line: &hearth_log::LogRecord| app.is_none() || line.app == app;
        match follow {
            Follow::No => answer::json(200, &serde_json::json!({ "lines": journal.last(lines, &wanted) })),
            Follow::Yes => {
                let (last, rest) = journal.follow(lines, &wanted);
                let first = last.into_iter().map(Arc::new).collect();
                answer::stream(follow::follow(self.control.clone(), "line", first, rest, wanted))
            }
        }
    }

    async fn log_in(&self, request: Request) -> Response {
        let headers = request.headers;
        let token = match text_of(request.body, LARGEST_BODY).await {
            Ok(token) => token,
            Err(response) => return response,
        };
        self.hold_up(request.client).await;
        match self.door.log_in(&headers, &token) {
            Ok(cookie) => {
                let mut response = answer::json(200, &serde_json::json!({ "in": true }));
                response.headers.push(b"set-cookie", cookie.as_bytes());
                response
            }
            Err(Entrance::Foreign) => foreign(),
            Err(_) => {
                self.note_wrong(request.client);
                answer::error(401, "unauthorized", "that is not the admin token; DATA/admin.token has it")
            }
        }
    }

    /// A client that guesses tokens waits before the next one is looked at.
    async fn hold_up(&self, client: Option<IpAddr>) {
        if self.attempts.is_suspect(client, Instant::now()) {
            tokio::time::sleep(attempts::DELAY).await;
        }
    }

    fn note_wrong(&self, client: Option<IpAddr>) {
        if let Some(before) = self.attempts.note(client, Instant::now()) {
            let client = client.map(tracing::field::display);
            tracing::warn!(client, minute_before = before, "Admin API: wrong token");
        }
    }
}

impl Dispatch for Admin {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        MaybeReady::Pending(async move { Ok(self.answer(request).await) })
    }
}

/// What was begun is finished, whether or not the client waits for it: half a deploy is worse than none.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, ActionError>> + Send + 'static,
) -> Result<T, ActionError> {
    let failed = |error: tokio::task::JoinError| ActionError::Io(format!("it did not come to its end: {error}"));
    tokio::spawn(work).await.map_err(failed)?
}

async fn text_of(body: Body, limit: ByteSize) -> Result<String, Response> {
    let bytes = bytes_of(body, limit).await?;
    String::from_utf8(bytes).map_err(|_| answer::error(400, "invalid_argument", "the body is not UTF-8"))
}

async fn bytes_of(mut body: Body, limit: ByteSize) -> Result<Vec<u8>, Response> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        match piece {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(BodyError::TooLarge { .. }) => return Err(too_large(limit)),
            Err(error) => return Err(answer::error(400, "invalid_argument", &error.to_string())),
        }
        if bytes.len() as u64 > limit.bytes() {
            return Err(too_large(limit));
        }
    }
    Ok(bytes)
}

fn foreign() -> Response {
    let message = "a browser may come from the dashboard's own pages only, at a number or localhost";
    answer::error(403, "foreign_origin", message)
}

fn too_large(limit: ByteSize) -> Response {
    answer::error(413, "body_too_large", &format!("the body is longer than {limit}"))
}

/// Path and query of an absolute url.
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
    fn addresses_are_taken_apart() {
        assert_eq!(split("http://h:1/admin/pool?x=/y"), ("/admin/pool", "x=/y"));
        assert_eq!(split("http://h"), ("/", ""));
        assert_eq!(split("http://h?a"), ("/", "a"));
    }
}
