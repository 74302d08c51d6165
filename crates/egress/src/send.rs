//! Sends one hop of a request: to one server, up to the head of its response.
//!
//! The server may just have closed a connection from the pool. A request that was not sent at all is then sent over a new
//! connection; one that may have been sent is repeated only where that is harmless (an idempotent method, and a body that is
//! complete). Either happens once: a failure of a new connection is final.

use std::sync::Arc;

use hearth_core::{Headers, Method};
use hearth_websocket::handshake::Offer;
use http::response::Parts;
use hyper::{Request, Uri};

use crate::client::FetchRequest;
use crate::connect::Connector;
use crate::connection::Connection;
use crate::error::FetchError;
use crate::headers::{Head, Presence, outgoing};
use crate::pool::Pool;
use crate::redirect::RedirectMode;
use crate::request_body::{RequestBody, RequestPayload};
use crate::response_body::{ConnectionGuard, ResponseBody};
use crate::target::Target;
use crate::upgrade;

/// A request after the redirects so far.
pub(crate) struct RedirectHop {
    pub(crate) method: Method,
    /// With its fragment.
    pub(crate) url: String,
    pub(crate) target: Target,
    pub(crate) headers: Headers,
    pub(crate) payload: RequestPayload,
    /// Where it asks for a WebSocket.
    pub(crate) offer: Option<Offer>,
    pub(crate) mode: RedirectMode,
}

/// The head of a response, and its body still on the connection.
pub(crate) struct Answer {
    pub(crate) head: Parts,
    pub(crate) body: ResponseBody,
}

// === impl RedirectHop ===

impl RedirectHop {
    pub(crate) fn new(outgoing: FetchRequest) -> Result<Self, FetchError> {
        let FetchRequest { method, url, headers, body, redirect: mode } = outgoing;
        let forbidden = ["CONNECT", "TRACE", "TRACK"];
        if forbidden.iter().any(|name| name.eq_ignore_ascii_case(method.as_str())) {
            return Err(FetchError::Method { method: method.as_str().to_owned() });
        }
        let target = Target::parse(&url)?;
        let offer = upgrade::offer(&method, &headers);
        Ok(Self { method, url, target, headers, payload: RequestPayload::new(body), offer, mode })
    }

    fn request(&mut self, user_agent: &str) -> Result<Request<RequestBody>, FetchError> {
        let method = hyper::Method::from_bytes(self.method.as_str().as_bytes())
            .map_err(|_| FetchError::Method { method: self.method.as_str().to_owned() })?;
        let uri = Uri::try_from(self.target.path.as_str())
            .map_err(|_| FetchError::Url { url: self.url.clone(), reason: "its path is too long or not encoded" })?;
        let headers = outgoing(&Head {
            method: &self.method,
            origin: &self.target.origin,
            headers: &self.headers,
            user_agent,
            offer: self.offer.as_ref(),
            mode: self.mode,
            body: if self.payload.is_empty() { Presence::Absent } else { Presence::Present },
        })?;
        let mut request = Request::new(self.payload.body());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }

    fn may_be_repeated(&self) -> bool {
        let idempotent =
            matches!(self.method, Method::Get | Method::Head | Method::Options | Method::Put | Method::Delete);
        idempotent && self.payload.is_replayable()
    }
}

/// Sends the request and waits for the head of the response.
pub(crate) async fn send(connector: &Connector, pool: &Arc<Pool>, hop: &mut RedirectHop) -> Result<Answer, FetchError> {
    // A connection that becomes a WebSocket does not return to the pool.
    let used = if hop.offer.is_none() { pool.take(&hop.target.origin).await } else { None };
    if let Some(connection) = used {
        match attempt(connector, pool, hop, connection).await {
            Ok(answer) => return Ok(answer),
            Err(Failure { unsent: Some(upload), .. }) => hop.payload.restore(upload),
            Err(Failure { error: FetchError::Closed { .. }, .. }) if hop.may_be_repeated() => {}
            Err(Failure { error, .. }) => return Err(error),
        }
    }
    let stream = connector.open(&hop.target.origin).await?;
    let host = &hop.target.origin.host;
    let connection = Connection::start(stream).await.map_err(|error| FetchError::exchange(host, error))?;
    attempt(connector, pool, hop, connection).await.map_err(|failure| failure.error)
}

struct Failure {
    error: FetchError,
    /// The body, where nothing of the request was sent.
    unsent: Option<RequestBody>,
}

async fn attempt(
    connector: &Connector,
    pool: &Arc<Pool>,
    hop: &mut RedirectHop,
    mut connection: Connection,
) -> Result<Answer, Failure> {
    let request = hop.request(&connector.shared.config.user_agent).map_err(|error| Failure { error, unsent: None })?;
    let sent = request.body().sent();
    match connection.send(request).await {
        Ok(response) => {
            let (head, incoming) = response.into_parts();
            let guard = ConnectionGuard { connection, origin: hop.target.origin.clone(), pool: pool.clone(), sent };
            Ok(Answer { head, body: ResponseBody::new(incoming, guard) })
        }
        Err(mut failed) => {
            let unsent = failed.take_message().map(Request::into_body);
            Err(Failure { error: FetchError::exchange(&hop.target.origin.host, failed.into_error()), unsent })
        }
    }
}
