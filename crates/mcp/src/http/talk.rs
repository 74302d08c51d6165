//! A session's messages. A request is answered with JSON where its answer comes soon, else with a stream of events: progress,
//! and the answer at its end. A client that goes away has not cancelled anything: it says so with a message of its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, Headers, Response};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcRequest, ProtocolVersion, RequestId};

use super::events::{Opening, events};
use super::front::Served;
use super::line::Line;
use super::reply::{self, EVENTS, JSON};
use super::stateless::{self, Stateless};
use super::table::Table;
use crate::session::Session;

/// How long an answer may take and still be the response's whole body. Some clients take large answers only so, not as events.
const SOON: Duration = Duration::from_secs(10);
const SESSION: &str = "mcp-session-id";
pub(super) const VERSION: &str = "mcp-protocol-version";
const LAST_EVENT: &str = "last-event-id";
/// The first protocol whose clients know events without a message.
const EMPTY_EVENTS: ProtocolVersion = ProtocolVersion::V_2025_11_25;

pub(super) struct Talk {
    pub(super) served: Served,
    pub(super) table: Arc<Table>,
    pub(super) stateless: Stateless,
    pub(super) sandboxes: hearth_sandbox::Sandboxes,
    pub(super) links: crate::links::LinkBase,
}

/// Which forms of an answer a client reads.
#[derive(Clone, Copy)]
struct Accepts {
    json: bool,
    events: bool,
    opening: Opening,
}

impl Talk {
    pub(super) async fn post(&self, headers: &Headers, body: Body) -> Response {
        let accepts = Accepts::of(headers);
        if !accepts.json && !accepts.events {
            return reply::error(406, "not_acceptable", "accept application/json and text/event-stream");
        }
        let is_json = headers.get("content-type").is_some_and(|kind| kind.starts_with(JSON.as_bytes()));
        if !is_json {
            return reply::error(415, "unsupported_media_type", "send messages as application/json");
        }
        let text = match body.collect().await {
            Ok(text) => text,
            Err(BodyError::TooLarge { limit }) => {
                let message = format!("the message is longer than {limit} bytes: use a file link for large files");
                return reply::error(413, "body_too_large", &message);
            }
            Err(error) => return reply::error(400, "invalid_argument", &error.to_string()),
        };
        if stateless::is_named(headers) {
            return self.stateless.answer(headers, text).await;
        }
        let message = match read(&text) {
            Ok(message) if stateless::is_meant(&message) => return self.stateless.answer(headers, text).await,
            Ok(message) => message,
            Err(response) => return response,
        };
        let line = match self.line(headers) {
            Ok(line) => line,
            Err(response) => return response,
        };
        match (line, message) {
            (None, ClientJsonRpcMessage::Request(request)) if is_initialize(&request) => {
                self.begin(request, accepts).await
            }
            (None, message) => {
                let id = match message {
                    ClientJsonRpcMessage::Request(request) => Some(request.id),
                    _ => None,
                };
                reply::refused(400, id, ErrorData::invalid_request(NO_SESSION, None))
            }
            (Some(line), ClientJsonRpcMessage::Request(request)) if is_initialize(&request) => {
                drop(line);
                let why = "this session has begun already: initialize without Mcp-Session-Id begins another";
                reply::refused(400, Some(request.id), ErrorData::invalid_request(why, None))
            }
            (Some(line), ClientJsonRpcMessage::Request(request)) => ask(&line, request, accepts).await,
            (Some(line), message) => match line.say(message).await {
                Ok(()) => reply::empty(202),
                Err(_) => gone(None),
            },
        }
    }

    pub(super) fn get(&self, headers: &Headers) -> Response {
        if stateless::is_named(headers) {
            return reply::method_not_allowed("POST");
        }
        if !Accepts::of(headers).events {
            return reply::error(406, "not_acceptable", "accept text/event-stream");
        }
        match self.line(headers) {
            Ok(Some(line)) => listen(&line, headers),
            Ok(None) => reply::refused(400, None, ErrorData::invalid_request(NO_SESSION, None)),
            Err(response) => response,
        }
    }

    /// Ready when the session's sandboxes are gone.
    pub(super) async fn delete(&self, headers: &Headers) -> Response {
        if stateless::is_named(headers) {
            return reply::method_not_allowed("POST");
        }
        match self.line(headers) {
            Ok(Some(_)) => {}
            Ok(None) => return reply::refused(400, None, ErrorData::invalid_request(NO_SESSION, None)),
            Err(response) => return response,
        }
        match text(headers, SESSION).and_then(|id| self.table.remove(id)) {
            Some(line) => {
                // Whether or not the client waits for it.
                let _ = tokio::spawn(async move { line.end().await }).await;
                reply::empty(204)
            }
            None => gone(None),
        }
    }

    /// The session that the request names, if it names one.
    fn line(&self, headers: &Headers) -> Result<Option<Arc<Line>>, Response> {
        if let Some(version) = headers.get(VERSION) {
            let is_known = ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str().as_bytes() == version);
            if !is_known {
                let why = format!("MCP-Protocol-Version: {} is not known here", String::from_utf8_lossy(version));
                return Err(reply::refused(400, None, ErrorData::invalid_request(why, None)));
            }
        }
        match headers.get(SESSION) {
            None => Ok(None),
            Some(_) => {
                let line = text(headers, SESSION).and_then(|id| self.table.get(id));
                line.map(Some).ok_or_else(|| gone(None))
            }
        }
    }

    async fn begin(&self, request: JsonRpcRequest<ClientRequest>, accepts: Accepts) -> Response {
        let session = Arc::new(Session::new(self.sandboxes.clone(), Some(self.links.clone())));
        let id = session.secret().to_owned();
        let line = match self.table.add(id.clone(), || Line::open(self.served, session)) {
            Ok(line) => line,
            Err(why) => return reply::error(503, "limit", &why.to_string()),
        };
        let mut response = ask(&line, request, accepts).await;
        if response.status == 200 {
            response.headers.push(SESSION.as_bytes(), id.as_bytes());
        } else {
            self.table.remove(&id);
            line.end().await;
        }
        response
    }
}

impl Accepts {
    /// Who says nothing takes everything.
    fn of(headers: &Headers) -> Self {
        let version = text(headers, VERSION).unwrap_or_default();
        let opening = if version >= EMPTY_EVENTS.as_str() { Opening::Event } else { Opening::Comment };
        let Some(accept) = headers.get("accept") else { return Self { json: true, events: true, opening } };
        let text = String::from_utf8_lossy(accept).to_ascii_lowercase();
        let has = |kind: &str, group: &str| text.contains(kind) || text.contains(group) || text.contains("*/*");
        Self { json: has(JSON, "application/*"), events: has(EVENTS, "text/*"), opening }
    }
}

const NO_SESSION: &str = "send the session's id as Mcp-Session-Id; initialize begins a session";

/// What is said to no request, or, to who lost a connection, what came after the last event that it saw there.
fn listen(line: &Arc<Line>, headers: &Headers) -> Response {
    let (reader, opening) = match headers.get(LAST_EVENT) {
        None => (Some(line.outbox().listen()), Accepts::of(headers).opening),
        // It has an event to come back with already.
        Some(_) => (text(headers, LAST_EVENT).and_then(|id| line.outbox().resume(id.parse().ok()?)), Opening::Comment),
    };
    match reader {
        Some(reader) => events(reader, opening, line.enter()),
        None => {
            let why = "Last-Event-ID: nothing is kept (any more) of what came after this event";
            reply::refused(400, None, ErrorData::invalid_request(why, None))
        }
    }
}

async fn ask(line: &Arc<Line>, request: JsonRpcRequest<ClientRequest>, accepts: Accepts) -> Response {
    let presence = line.enter();
    let id = request.id.clone();
    let mut answers = match line.outbox().expect(&request) {
        Ok(answers) => answers,
        Err(_) => {
            let why = "a request with this id is being worked on or was cancelled: ids are used once";
            return reply::refused(400, Some(id), ErrorData::invalid_request(why, None));
        }
    };
    if line.say(ClientJsonRpcMessage::Request(request)).await.is_err() {
        return gone(Some(id));
    }
    if !accepts.json {
        return events(answers, accepts.opening, presence);
    }
    let first = match tokio::time::timeout(SOON, answers.recv()).await {
        Err(_) if accepts.events => return events(answers, accepts.opening, presence),
        Err(_) => answers.recv().await,
        Ok(first) => first,
    };
    let mut next = first;
    loop {
        match next {
            // Cancelled: nobody wants an answer.
            None if line.is_open() => return reply::empty(202),
            None => return gone(Some(id)),
            Some(answer) if is_answer(&answer) => return reply::json(200, &*answer),
            Some(_) if accepts.events => {
                answers.unread();
                return events(answers, accepts.opening, presence);
            }
            Some(_) => next = answers.recv().await,
        }
    }
}

fn read(text: &Bytes) -> Result<ClientJsonRpcMessage, Response> {
    serde_json::from_slice(text).map_err(|error| {
        let why = match serde_json::from_slice::<serde::de::IgnoredAny>(text) {
            Ok(_) => ErrorData::invalid_request("this is no message; one message at a time", None),
            Err(_) => ErrorData::parse_error(format!("this is no JSON: {error}"), None),
        };
        reply::refused(400, None, why)
    })
}

fn is_initialize(request: &JsonRpcRequest<ClientRequest>) -> bool {
    matches!(request.request, ClientRequest::InitializeRequest(_))
}

fn is_answer(message: &rmcp::model::ServerJsonRpcMessage) -> bool {
    matches!(message, rmcp::model::JsonRpcMessage::Response(_) | rmcp::model::JsonRpcMessage::Error(_))
}

fn text<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| std::str::from_utf8(value).ok())
}

fn gone(id: Option<RequestId>) -> Response {
    let why = "there is no such session (any more): initialize begins another";
    reply::refused(404, id, ErrorData::invalid_request(why, None))
}
