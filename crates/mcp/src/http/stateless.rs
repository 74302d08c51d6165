//! Messages of the protocol without sessions (2026-07-28): each request brings what a session would have agreed upon, and is
//! answered by the SDK's HTTP service, which knows its headers and errors. A client that closes the response cancels the
//! request. Sandboxes created in this way belong to the token: clients with the same token see each other's.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hearth_core::{Body, BodyError, ByteStream, Headers, Response};
use http::{HeaderName, HeaderValue};
use http_body::Body as _;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, ProtocolVersion};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::handlers::VERSION_HEADER;
use super::response::JSON;
use super::service::{McpService, ToolSet};
use crate::conformance::Conformance;
use crate::server::McpServer;
use crate::session::Session;

/// The first protocol without sessions.
const FIRST_STATELESS: ProtocolVersion = ProtocolVersion::V_2026_07_28;

pub(super) struct Stateless {
    session: Arc<Session>,
    service: Service,
}

enum Service {
    Sandboxes(StreamableHttpService<McpServer, NeverSessionManager>),
    Conformance(StreamableHttpService<Conformance, NeverSessionManager>),
}

/// Adapts the SDK's response body to `hearth_core::ByteStream`.
struct BodyFrames(BoxBody<Bytes, Infallible>);

/// Whether the request's headers name the protocol without sessions, or a later one.
pub(super) fn header_selects(headers: &Headers) -> bool {
    headers.get(VERSION_HEADER).is_some_and(|version| version >= FIRST_STATELESS.as_str().as_bytes())
}

/// Whether the message itself names it. `initialize` opens a session, whatever version it names.
pub(super) fn message_selects(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(request) = message else { return false };
    match &request.request {
        ClientRequest::InitializeRequest(_) => false,
        ClientRequest::DiscoverRequest(_) => true,
        other => {
            other.get_meta().protocol_version().is_some_and(|version| version.as_str() >= FIRST_STATELESS.as_str())
        }
    }
}

impl Stateless {
    pub(super) fn new(what: ToolSet, session: Session) -> Self {
        let session = Arc::new(session);
        let longest = usize::try_from(McpService::MAX_BODY.bytes()).unwrap_or(usize::MAX);
        // `Auth` has checked `Host` and `Origin` already.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(longest)
            .with_cancellation_token(session.ending())
            .disable_allowed_hosts();
        let service = match what {
            ToolSet::Sandboxes => {
                let served = session.clone();
                let server = move || Ok(McpServer::new(served.clone()));
                Service::Sandboxes(StreamableHttpService::new(server, Arc::default(), config))
            }
            ToolSet::Conformance => {
                let server = Conformance::default();
                Service::Conformance(StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config))
            }
        };
        Self { session, service }
    }

    pub(super) async fn answer(&self, headers: &Headers, text: Bytes) -> Response {
        let mut request = http::Request::new(Full::new(text));
        *request.method_mut() = http::Method::POST;
        for (name, value) in headers.iter() {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
                request.headers_mut().append(name, value);
            }
        }
        let (head, body) = match &self.service {
            Service::Sandboxes(service) => service.handle(request).await,
            Service::Conformance(service) => service.handle(request).await,
        }
        .into_parts();
        let mut headers = Headers::with_capacity(4, 128);
        for (name, value) in &head.headers {
            headers.push(name.as_str().as_bytes(), value.as_bytes());
        }
        headers.set("cache-control", b"no-store");
        let is_whole = head.headers.get(http::header::CONTENT_TYPE).is_none_or(|kind| kind == JSON);
        let body = match is_whole {
            true => {
                let Ok(body) = body.collect().await;
                Body::from(body.to_bytes())
            }
            false => Body::Stream(Box::new(BodyFrames(body))),
        };
        Response::new(head.status.as_u16(), headers, body)
    }

    /// Ready when all sandboxes of its clients are destroyed.
    pub(super) async fn end(&self) {
        self.session.end().await;
    }
}

impl ByteStream for BodyFrames {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let frame = ready!(Pin::new(&mut self.0).poll_frame(cx));
            match frame.map(|frame| frame.map(http_body::Frame::into_data)) {
                None => return Poll::Ready(None),
                Some(Ok(Ok(data))) if !data.is_empty() => return Poll::Ready(Some(Ok(data))),
                // Trailers, or nothing.
                Some(Ok(_)) => {}
            }
        }
    }
}
