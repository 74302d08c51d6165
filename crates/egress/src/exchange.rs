//! One hop: one request to one server, and the head of its response.
//!
//! A connection from the pool may have been closed by its server a moment ago. A request that was not sent at all is then sent
//! over a new one; one that may have been sent is repeated only where that is harmless (an idempotent method, and a body
//! that is all there). Either happens once: a new connection gets no second chance.

use std::sync::Arc;

use hearth_core::{Headers, Method};
use hearth_websocket::handshake::Offer;
use http::response::Parts;
use hyper::{Request, Uri};

use crate::client::Outgoing;
use crate::connect::Connector;
use crate::connection::Connection;
use crate::download::{Download, Lease};
use crate::error::FetchError;
use crate::headers::{Head, Presence, outgoing};
use crate::pool::Pool;
use crate::target::Target;
use crate::upgrade;
use crate::upload::{Payload, Upload};

/// A request as it stands after the redirects so far.
pub(crate) struct Hop {
    pub(crate) method: Method,
    /// With its fragment.
    pub(crate) url: String,
    pub(crate) target: Target,
    pub(crate) headers: Headers,
    pub(crate) payload: Payload,
    /// Where it asks for a WebSocket.
    pub(crate) offer: Option<Offer>,
}

/// The head of a response, and its body still on the connection.
pub(crate) struct Answer {
    pub(crate) head: Parts,
    pub(crate) download: Download,
}

// === impl Hop ===

impl Hop {
    pub(crate) fn new(outgoing: Outgoing) -> Result<Self, FetchError> {
        let Outgoing { method, url, headers, body, .. } = outgoing;
        let forbidden = ["CONNECT", "TRACE", "TRACK"];
        if forbidden.iter().any(|name| name.eq_ignore_ascii_case(method.as_str())) {
            return Err(FetchError::Method { method: method.as_str().to_owned() });
        }
        let target = Target::parse(&url)?;
        let offer = upgrade::offer(&method, &headers);
        Ok(Self { method, url, target, headers, payload: Payload::new(body), offer })
    }

    fn request(&mut self, user_agent: &str) -> Result<Request<Upload>, FetchError> {
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
            body: if self.payload.is_empty() { Presence::Absent } else { Presence::Present },
        })?;
        let mut request = Request::new(self.payload.upload());
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
pub(crate) async fn exchange(connector: &Connector, pool: &Arc<Pool>, hop: &mut Hop) -> Result<Answer, FetchError> {
    // What becomes a WebSocket does not come back.
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
    unsent: Option<Upload>,
}

async fn attempt(
    connector: &Connector,
    pool: &Arc<Pool>,
    hop: &mut Hop,
    mut connection: Connection,
) -> Result<Answer, Failure> {
    let request = hop.request(&connector.shared.config.user_agent).map_err(|error| Failure { error, unsent: None })?;
    let sent = request.body().sent();
    match connection.send(request).await {
        Ok(response) => {
            let (head, incoming) = response.into_parts();
            let lease = Lease { connection, origin: hop.target.origin.clone(), pool: pool.clone(), sent };
            Ok(Answer { head, download: Download::new(incoming, lease) })
        }
        Err(mut failed) => {
            let unsent = failed.take_message().map(Request::into_body);
            Err(Failure { error: FetchError::exchange(&hop.target.origin.host, failed.into_error()), unsent })
        }
    }
}
