//! The admin API, on a listener of its own: who administers is decided by the token alone.

use std::sync::Arc;

use bytes::Bytes;
use hearth_cell::Cell;
use hearth_core::{Body, Dispatch, Failure, Headers, Method, Request, Response};

pub struct Admin {
    cell: Cell,
    token: Arc<str>,
}

impl Admin {
    pub fn new(cell: Cell, token: &str) -> Self {
        Self { cell, token: token.into() }
    }

    fn answer(&self, request: &Request) -> Response {
        let path = path_of(&request.url);
        if matches!(path, "/health/live" | "/health/ready") {
            return text(200, "ok\n");
        }
        if !self.is_let_in(&request.headers) {
            let mut response = error(401, "unauthorized", "send the admin token as Authorization: Bearer TOKEN");
            response.headers.push(b"www-authenticate", b"Bearer");
            return response;
        }
        match (&request.method, path) {
            (Method::Get | Method::Head, "/admin/pool") => match serde_json::to_vec(&self.cell.report()) {
                Ok(body) => json(200, body),
                Err(failure) => error(500, "internal", &failure.to_string()),
            },
            (_, "/admin/pool") => {
                let mut response = error(405, "method_not_allowed", "use GET");
                response.headers.push(b"allow", b"GET, HEAD");
                response
            }
            _ => error(404, "not_found", "the admin API has GET /admin/pool, /health/live and /health/ready"),
        }
    }

    fn is_let_in(&self, headers: &Headers) -> bool {
        let given = headers.get("authorization").and_then(|value| {
            let (scheme, token) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
        });
        given.is_some_and(|token| same(token, self.token.as_bytes()))
    }
}

impl Dispatch for Admin {
    async fn dispatch(&self, request: Request) -> Result<Response, Failure> {
        Ok(self.answer(&request))
    }
}

/// A token for this start.
pub fn make_token() -> anyhow::Result<String> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("the system has no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Takes as long for a wrong token as for a right one.
fn same(given: &[u8], expected: &[u8]) -> bool {
    given.len() == expected.len() && given.iter().zip(expected).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// The path of an absolute url, without its query.
pub fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    path.split(['?', '#']).next().unwrap_or(path)
}

fn text(status: u16, text: &'static str) -> Response {
    respond(status, b"text/plain; charset=utf-8", Bytes::from_static(text.as_bytes()))
}

fn json(status: u16, body: Vec<u8>) -> Response {
    respond(status, b"application/json", body.into())
}

fn error(status: u16, code: &str, message: &str) -> Response {
    let body = serde_json::json!({ "error": { "code": code, "message": message } });
    json(status, body.to_string().into_bytes())
}

fn respond(status: u16, kind: &[u8], body: Bytes) -> Response {
    let mut headers = Headers::with_capacity(3, 96);
    headers.push(b"content-type", kind);
    headers.push(b"cache-control", b"no-store");
    Response { status, reason: None, headers, body: Body::Full(body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_tokens() {
        assert_eq!(path_of("http://h:1/admin/pool?x=/y"), "/admin/pool");
        assert_eq!(path_of("http://h"), "/");
        assert!(same(b"abc", b"abc") && !same(b"abd", b"abc") && !same(b"ab", b"abc"));
    }
}
