//! Which request is what. Everything but the health needs the token; a link's address is its own secret.

use std::net::SocketAddr;
use std::time::Duration;

use hearth_core::{ByteSize, Dispatch, DispatchResult, Failure, Headers, MaybeReady, Method, Request, Response};
use hearth_sandbox::{FILE_LIMIT, PoolHealth, Sandboxes};
use serde_json::json;
use tokio::task::JoinSet;

use super::door::{Door, Entrance};
use super::reply;
use super::stateless::Stateless;
use super::table::Table;
use super::talk::Talk;
use super::transfer::Transfer;
use crate::links::LinkBase;
use crate::session::Session;

/// What is behind the front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Served {
    #[default]
    Sandboxes,
    /// What the protocol's conformance suite wants, which sends no token. Nothing can be run.
    Conformance,
}

pub struct FrontConfig {
    pub served: Served,
    pub token: String,
    /// Names under which the server may be reached, beside numbers and localhost.
    pub hosts: Vec<String>,
    /// How clients reach this front, where that is not its own address: links to files begin with it.
    pub url: Option<String>,
    /// A session of which nothing was open for this long is ended.
    pub session_idle: Duration,
    /// Sessions at once.
    pub max_sessions: usize,
    /// For requests under way, when another program is about to go on with the sessions.
    pub drain_timeout: Duration,
}

pub(super) struct McpFront {
    door: Door,
    talk: Talk,
    transfer: Transfer,
    sandboxes: Sandboxes,
}

impl Default for FrontConfig {
    /// Without a token nobody gets in.
    fn default() -> Self {
        let (session_idle, drain_timeout) = (Duration::from_secs(30 * 60), Duration::from_secs(10));
        Self {
            served: Served::default(),
            token: String::new(),
            hosts: Vec::new(),
            url: None,
            session_idle,
            max_sessions: 256,
            drain_timeout,
        }
    }
}

impl McpFront {
    /// The longest body that is ever wanted: a message with a whole file in base64.
    pub(super) const LARGEST_BODY: ByteSize = ByteSize::mb(72);

    /// Must be called within a runtime: sessions that are idle are ended in the background.
    pub(super) fn new(config: FrontConfig, address: SocketAddr, sandboxes: Sandboxes) -> Self {
        let FrontConfig { served, token, hosts, url, session_idle, max_sessions, .. } = config;
        let base = url.unwrap_or_else(|| format!("http://{address}"));
        let (table, links) = (Table::new(max_sessions, session_idle), LinkBase::new(base));
        let stateless = Stateless::new(served, Session::shared(sandboxes.clone(), Some(links.clone())));
        Self {
            door: Door::new((served == Served::Sandboxes).then_some(token), hosts),
            talk: Talk { served, table, stateless, sandboxes: sandboxes.clone(), links },
            transfer: Transfer::new(sandboxes.clone()),
            sandboxes,
        }
    }

    /// Sessions that are there now.
    pub(super) fn sessions(&self) -> usize {
        self.talk.table.len()
    }

    pub(super) fn talk(&self) -> &Talk {
        &self.talk
    }

    /// Ends all sessions, and lets none begin any more. Ready when their sandboxes are gone.
    pub(super) async fn end(&self) {
        let mut endings = JoinSet::new();
        for line in self.talk.table.close() {
            endings.spawn(async move { line.end().await });
        }
        self.talk.stateless.end().await;
        while endings.join_next().await.is_some() {}
    }

    async fn answer(&self, request: Request) -> Response {
        let path = path(&request.url).to_owned();
        if let Some(token) = path.strip_prefix("/files/") {
            return match self.door.origin(&request.headers) {
                Entrance::Open => self.transfer.answer(token, request).await,
                other => refused(other),
            };
        }
        match (path.as_str(), &request.method) {
            ("/health", Method::Get | Method::Head) => return self.health(),
            ("/health", _) => return reply::method_not_allowed("GET"),
            // Clients that are refused look here for an authorization server. There is none: the token is the operator's.
            (path, _) if path.starts_with("/.well-known/") => {
                return reply::error(
                    404,
                    "not_found",
                    "there is no OAuth here: send the token as Authorization: Bearer TOKEN",
                );
            }
            _ => {}
        }
        match self.door.entrance(&request.headers) {
            Entrance::Open => {}
            Entrance::Closed => return unauthorized(&request.headers),
            other => return refused(other),
        }
        match (path.as_str(), &request.method) {
            ("/mcp", Method::Post) => {
                let headers: Headers = request.headers;
                self.talk.post(&headers, request.body).await
            }
            ("/mcp", Method::Get) => self.talk.get(&request.headers),
            ("/mcp", Method::Delete) => self.talk.delete(&request.headers).await,
            ("/mcp", _) => reply::method_not_allowed("GET, POST, DELETE"),
            _ => reply::error(404, "not_found", "there is nothing here: MCP is at /mcp"),
        }
    }

    /// For who watches: whether sandboxes can be had.
    fn health(&self) -> Response {
        let (status, sessions) = (health(&self.sandboxes), self.sessions());
        reply::json(200, &json!({ "status": status, "sessions": sessions }))
    }
}

impl Dispatch for McpFront {
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

fn refused(entrance: Entrance) -> Response {
    match entrance {
        Entrance::ForeignHost => {
            reply::error(403, "foreign_host", "this name may be anybody's: use a number or localhost")
        }
        Entrance::ForeignOrigin => reply::error(403, "foreign_origin", "pages of other sites may not come here"),
        Entrance::Closed | Entrance::Open => unauthorized(&Headers::new()),
    }
}

/// As RFC 6750 has it: what is wrong with a token is told only where there was one.
fn unauthorized(headers: &Headers) -> Response {
    let (challenge, why): (&[u8], _) = match headers.bearer() {
        None => (b"Bearer realm=\"hearth\"", "send the token as Authorization: Bearer TOKEN"),
        Some(_) => {
            let challenge =
                b"Bearer realm=\"hearth\", error=\"invalid_token\", error_description=\"this is not the token\"";
            (challenge, "this is not the token: it is in DATA/mcp.token, unless --mcp-token gave another")
        }
    };
    let mut response = reply::error(401, "unauthorized", why);
    response.headers.push(b"www-authenticate", challenge);
    response
}

/// The path of an absolute url.
fn path(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.find(['/', '?']).map_or("/", |at| &rest[at..]);
    path.split('?').next().unwrap_or(path)
}
