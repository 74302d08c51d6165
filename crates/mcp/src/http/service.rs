//! Routes HTTP requests. All paths but `/health` and file links need the token; a file link is a secret itself.

use std::net::SocketAddr;
use std::time::Duration;

use hearth_core::{ByteSize, Dispatch, DispatchResult, Headers, MaybeReady, Method, Request, Response};
use hearth_sandbox::{FILE_LIMIT, PoolHealth, Sandboxes};
use serde_json::json;
use tokio::task::JoinSet;

use super::auth::{Auth, AuthResult};
use super::file_transfer::FileTransfer;
use super::handlers::SessionHandlers;
use super::response;
use super::sessions::SessionTable;
use super::stateless::Stateless;
use crate::link_base::LinkBase;
use crate::session::Session;

/// Which tools the service offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolSet {
    #[default]
    Sandboxes,
    /// Those of the protocol's conformance suite, which sends no token. They run nothing.
    Conformance,
}

pub struct McpServiceConfig {
    pub tool_set: ToolSet,
    pub token: String,
    /// Host names under which the server may be reached, besides IP addresses and localhost.
    pub hosts: Vec<String>,
    /// The base of links to files, where clients reach this service by another address than its own.
    pub url: Option<String>,
    /// A session without an open request or stream for this long is ended.
    pub session_idle: Duration,
    /// Limit of concurrent sessions.
    pub max_sessions: usize,
    /// For requests in flight when the sessions are handed to the next program.
    pub drain_timeout: Duration,
}

pub(super) struct McpService {
    auth: Auth,
    handlers: SessionHandlers,
    transfer: FileTransfer,
    sandboxes: Sandboxes,
}

impl Default for McpServiceConfig {
    /// The empty token admits no request.
    fn default() -> Self {
        let (session_idle, drain_timeout) = (Duration::from_secs(30 * 60), Duration::from_secs(10));
        Self {
            tool_set: ToolSet::default(),
            token: String::new(),
            hosts: Vec::new(),
            url: None,
            session_idle,
            max_sessions: 256,
            drain_timeout,
        }
    }
}

impl McpService {
    /// Large enough for a message with a whole file in base64.
    pub(super) const MAX_BODY: ByteSize = ByteSize::mb(72);

    /// Must be called within a runtime: a background task ends idle sessions.
    pub(super) fn new(config: McpServiceConfig, address: SocketAddr, sandboxes: Sandboxes) -> Self {
        let McpServiceConfig { tool_set, token, hosts, url, session_idle, max_sessions, .. } = config;
        let base = url.unwrap_or_else(|| format!("http://{address}"));
        let (sessions, links) = (SessionTable::new(max_sessions, session_idle), LinkBase::new(base));
        let stateless = Stateless::new(tool_set, Session::shared(sandboxes.clone(), Some(links.clone())));
        Self {
            auth: Auth::new((tool_set == ToolSet::Sandboxes).then_some(token), hosts),
            handlers: SessionHandlers { tool_set, sessions, stateless, sandboxes: sandboxes.clone(), links },
            transfer: FileTransfer::new(sandboxes.clone()),
            sandboxes,
        }
    }

    /// Number of open sessions.
    pub(super) fn sessions(&self) -> usize {
        self.handlers.sessions.len()
    }

    pub(super) fn handlers(&self) -> &SessionHandlers {
        &self.handlers
    }

    /// Ends all sessions and opens no more. Ready when their sandboxes are destroyed.
    pub(super) async fn end(&self) {
        let mut endings = JoinSet::new();
        for http_session in self.handlers.sessions.close() {
            endings.spawn(async move { http_session.end().await });
        }
        self.handlers.stateless.end().await;
        while endings.join_next().await.is_some() {}
    }

    async fn answer(&self, request: Request) -> Response {
        let path = path(&request.url).to_owned();
        if let Some(token) = path.strip_prefix("/files/") {
            return match self.auth.check_origin(&request.headers) {
                AuthResult::Allowed => self.transfer.answer(token, request).await,
                other => forbidden(other),
            };
        }
        match (path.as_str(), &request.method) {
            ("/health", Method::Get | Method::Head) => return self.health(),
            ("/health", _) => return response::method_not_allowed("GET"),
            // Refused clients look here for an authorization server. There is none: the operator issues the token.
            (path, _) if path.starts_with("/.well-known/") => {
                return response::error(
                    404,
                    "not_found",
                    "there is no OAuth here: send the token as Authorization: Bearer TOKEN",
                );
            }
            _ => {}
        }
        match self.auth.check(&request.headers) {
            AuthResult::Allowed => {}
            AuthResult::BadToken => return unauthorized(&request.headers),
            other => return forbidden(other),
        }
        match (path.as_str(), &request.method) {
            ("/mcp", Method::Post) => {
                let headers: Headers = request.headers;
                self.handlers.post(&headers, request.body).await
            }
            ("/mcp", Method::Get) => self.handlers.get(&request.headers),
            ("/mcp", Method::Delete) => self.handlers.delete(&request.headers).await,
            ("/mcp", _) => response::method_not_allowed("GET, POST, DELETE"),
            _ => response::error(404, "not_found", "there is nothing here: MCP is at /mcp"),
        }
    }

    /// For monitoring: whether sandboxes can be created.
    fn health(&self) -> Response {
        let (status, sessions) = (health(&self.sandboxes), self.sessions());
        response::json(200, &json!({ "status": status, "sessions": sessions }))
    }
}

impl Dispatch for McpService {
    fn dispatch(&self, request: Request) -> MaybeReady<DispatchResult, impl Future<Output = DispatchResult> + Send> {
        MaybeReady::Pending(async move { Ok(self.answer(request).await) })
    }

    fn body_limit(&self, url: &str) -> Option<ByteSize> {
        path(url).starts_with("/files/").then_some(FILE_LIMIT)
    }
}

fn health(sandboxes: &Sandboxes) -> &'static str {
    match sandboxes.health() {
        PoolHealth::Good => "ok",
        PoolHealth::Degraded { .. } => "degraded",
        PoolHealth::Stopped => "stopped",
    }
}

fn forbidden(result: AuthResult) -> Response {
    match result {
        AuthResult::ForeignHost => {
            response::error(403, "foreign_host", "this host name is not allowed: use an IP address or localhost")
        }
        AuthResult::ForeignOrigin => response::error(403, "foreign_origin", "pages of other sites may not come here"),
        AuthResult::BadToken | AuthResult::Allowed => unauthorized(&Headers::new()),
    }
}

/// RFC 6750: the challenge names an error only if the request had a token.
fn unauthorized(headers: &Headers) -> Response {
    let (challenge, why): (&[u8], _) = match headers.bearer() {
        None => (b"Bearer realm=\"hearth\"", "send the token as Authorization: Bearer TOKEN"),
        Some(_) => {
            let challenge =
                b"Bearer realm=\"hearth\", error=\"invalid_token\", error_description=\"this is not the token\"";
            (challenge, "this is not the token: it is in DATA/mcp.token, unless --mcp-token gave another")
        }
    };
    let mut response = response::error(401, "unauthorized", why);
    response.headers.push(b"www-authenticate", challenge);
    response
}

/// The path of an absolute url.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find(['/', '?']).map_or("/", |at| &rest[at..]);
    path.split('?').next().unwrap_or(path)
}
