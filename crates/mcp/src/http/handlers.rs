//! Handles a session's messages: `POST`, `GET` and `DELETE` of `/mcp`. A request whose answer comes soon is answered with
//! JSON, others with an event stream: progress, then the answer. A client that disconnects has not cancelled its requests;
//! cancellation is a message of its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::{Body, BodyError, Headers, Response};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcRequest, ProtocolVersion, RequestId};

use super::response::{self, EVENTS, JSON};
use super::service::ToolSet;
use super::session_conn::HttpSession;
use super::sessions::SessionTable;
use super::sse::{StreamPrelude, event_response};
use super::stateless::{self, Stateless};
use crate::session::Session;

/// How long an answer may take and still be sent as JSON. Some clients read large answers only as JSON, not as events.
const JSON_TIMEOUT: Duration = Duration::from_secs(10);
const SESSION_HEADER: &str = "mcp-session-id";
pub(super) const VERSION_HEADER: &str = "mcp-protocol-version";
const LAST_EVENT_HEADER: &str = "last-event-id";
/// The first protocol whose clients accept events without a message.
const FIRST_WITH_EMPTY_EVENTS: ProtocolVersion = ProtocolVersion::V_2025_11_25;

pub(super) struct SessionHandlers {
    pub(super) tool_set: ToolSet,
    pub(super) sessions: Arc<SessionTable>,
    pub(super) stateless: Stateless,
    pub(super) sandboxes: hearth_sandbox::Sandboxes,
    pub(super) links: crate::link_base::LinkBase,
}

/// Which content types the client accepts.
#[derive(Clone, Copy)]
struct Accepts {
    json: bool,
    events: bool,
    prelude: StreamPrelude,
}

impl SessionHandlers {
    pub(super) async fn post(&self, headers: &Headers, body: Body) -> Response {
        let accepts = Accepts::from_headers(headers);
        if !accepts.json && !accepts.events {
            return response::error(406, "not_acceptable", "accept application/json and text/event-stream");
        }
        let is_json = headers.get("content-type").is_some_and(|kind| kind.starts_with(JSON.as_bytes()));
        if !is_json {
            return response::error(415, "unsupported_media_type", "send messages as application/json");
        }
        let text = match body.collect().await {
            Ok(text) => text,
            Err(BodyError::TooLarge { limit }) => {
                let message = format!("the message is longer than {limit} bytes: use a file link for large files");
                return response::error(413, "body_too_large", &message);
            }
            Err(error) => return response::error(400, "invalid_argument", &error.to_string()),
        };
        if stateless::header_selects(headers) {
            return self.stateless.answer(headers, text).await;
        }
        let message = match read(&text) {
            Ok(message) if stateless::message_selects(&message) => return self.stateless.answer(headers, text).await,
            Ok(message) => message,
            Err(response) => return response,
        };
        let http_session = match self.find(headers) {
            Ok(http_session) => http_session,
            Err(response) => return response,
        };
        match (http_session, message) {
            (None, ClientJsonRpcMessage::Request(request)) if is_initialize(&request) => {
                self.begin(request, accepts).await
            }
            (None, message) => {
                let id = match message {
                    ClientJsonRpcMessage::Request(request) => Some(request.id),
                    _ => None,
                };
                response::message_error(400, id, ErrorData::invalid_request(NO_SESSION, None))
            }
            (Some(http_session), ClientJsonRpcMessage::Request(request)) if is_initialize(&request) => {
                drop(http_session);
                let why = "this session has begun already: initialize without Mcp-Session-Id begins another";
                response::message_error(400, Some(request.id), ErrorData::invalid_request(why, None))
            }
            (Some(http_session), ClientJsonRpcMessage::Request(request)) => ask(&http_session, request, accepts).await,
            (Some(http_session), message) => match http_session.send(message).await {
                Ok(()) => response::empty(202),
                Err(_) => gone(None),
            },
        }
    }

    pub(super) fn get(&self, headers: &Headers) -> Response {
        if stateless::header_selects(headers) {
            return response::method_not_allowed("POST");
        }
        if !Accepts::from_headers(headers).events {
            return response::error(406, "not_acceptable", "accept text/event-stream");
        }
        match self.find(headers) {
            Ok(Some(http_session)) => listen(&http_session, headers),
            Ok(None) => response::message_error(400, None, ErrorData::invalid_request(NO_SESSION, None)),
            Err(response) => response,
        }
    }

    /// Ready when the session's sandboxes are destroyed.
    pub(super) async fn delete(&self, headers: &Headers) -> Response {
        if stateless::header_selects(headers) {
            return response::method_not_allowed("POST");
        }
        match self.find(headers) {
            Ok(Some(_)) => {}
            Ok(None) => return response::message_error(400, None, ErrorData::invalid_request(NO_SESSION, None)),
            Err(response) => return response,
        }
        match text(headers, SESSION_HEADER).and_then(|id| self.sessions.remove(id)) {
            Some(http_session) => {
                // A task of its own: the session ends even if the client disconnects.
                let _ = tokio::spawn(async move { http_session.end().await }).await;
                response::empty(204)
            }
            None => gone(None),
        }
    }

    /// The session that the request names, if it names one.
    fn find(&self, headers: &Headers) -> Result<Option<Arc<HttpSession>>, Response> {
        if let Some(version) = headers.get(VERSION_HEADER) {
            let is_known = ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str().as_bytes() == version);
            if !is_known {
                let why = format!("MCP-Protocol-Version: {} is not known here", String::from_utf8_lossy(version));
                return Err(response::message_error(400, None, ErrorData::invalid_request(why, None)));
            }
        }
        match headers.get(SESSION_HEADER) {
            None => Ok(None),
            Some(_) => {
                let http_session = text(headers, SESSION_HEADER).and_then(|id| self.sessions.get(id));
                http_session.map(Some).ok_or_else(|| gone(None))
            }
        }
    }

    async fn begin(&self, request: JsonRpcRequest<ClientRequest>, accepts: Accepts) -> Response {
        let session = Arc::new(Session::new(self.sandboxes.clone(), Some(self.links.clone())));
        let id = session.secret().to_owned();
        let http_session = match self.sessions.add(id.clone(), || HttpSession::open(self.tool_set, session)) {
            Ok(http_session) => http_session,
            Err(why) => return response::error(503, "limit", &why.to_string()),
        };
        let mut response = ask(&http_session, request, accepts).await;
        if response.status == 200 {
            response.headers.push(SESSION_HEADER.as_bytes(), id.as_bytes());
        } else {
            self.sessions.remove(&id);
            http_session.end().await;
        }
        response
    }
}

impl Accepts {
    /// Without an `Accept` header the client accepts all.
    fn from_headers(headers: &Headers) -> Self {
        let version = text(headers, VERSION_HEADER).unwrap_or_default();
        let prelude = if version >= FIRST_WITH_EMPTY_EVENTS.as_str() {
            StreamPrelude::EmptyEvent
        } else {
            StreamPrelude::Comment
        };
        let Some(accept) = headers.get("accept") else { return Self { json: true, events: true, prelude } };
        let text = String::from_utf8_lossy(accept).to_ascii_lowercase();
        let has = |kind: &str, group: &str| text.contains(kind) || text.contains(group) || text.contains("*/*");
        Self { json: has(JSON, "application/*"), events: has(EVENTS, "text/*"), prelude }
    }
}

const NO_SESSION: &str = "send the session's id as Mcp-Session-Id; initialize begins a session";

/// The listener stream: messages that belong to no request. With `Last-Event-ID` any stream, after that event.
fn listen(http_session: &Arc<HttpSession>, headers: &Headers) -> Response {
    let (reader, prelude) = match headers.get(LAST_EVENT_HEADER) {
        None => (Some(http_session.router().listen()), Accepts::from_headers(headers).prelude),
        // The client has an event id to resume after already.
        Some(_) => (
            text(headers, LAST_EVENT_HEADER).and_then(|id| http_session.router().resume(id.parse().ok()?)),
            StreamPrelude::Comment,
        ),
    };
    match reader {
        Some(reader) => event_response(reader, prelude, http_session.begin_activity()),
        None => {
            let why = "Last-Event-ID: nothing is kept (any more) of what came after this event";
            response::message_error(400, None, ErrorData::invalid_request(why, None))
        }
    }
}

async fn ask(http_session: &Arc<HttpSession>, request: JsonRpcRequest<ClientRequest>, accepts: Accepts) -> Response {
    let activity = http_session.begin_activity();
    let id = request.id.clone();
    let mut answers = match http_session.router().register(&request) {
        Ok(answers) => answers,
        Err(_) => {
            let why = "a request with this id is being worked on or was cancelled: ids are used once";
            return response::message_error(400, Some(id), ErrorData::invalid_request(why, None));
        }
    };
    if http_session.send(ClientJsonRpcMessage::Request(request)).await.is_err() {
        return gone(Some(id));
    }
    if !accepts.json {
        return event_response(answers, accepts.prelude, activity);
    }
    let first = match tokio::time::timeout(JSON_TIMEOUT, answers.recv()).await {
        Err(_) if accepts.events => return event_response(answers, accepts.prelude, activity),
        Err(_) => answers.recv().await,
        Ok(first) => first,
    };
    let mut next = first;
    loop {
        match next {
            // The request was cancelled and gets no answer.
            None if http_session.is_open() => return response::empty(202),
            None => return gone(Some(id)),
            Some(answer) if is_answer(&answer) => return response::json(200, &*answer),
            Some(_) if accepts.events => {
                answers.unread();
                return event_response(answers, accepts.prelude, activity);
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
        response::message_error(400, None, why)
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
    response::message_error(404, id, ErrorData::invalid_request(why, None))
}
