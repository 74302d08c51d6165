//! Requests for a WebSocket: `GET` with `upgrade: websocket`. They pass the same look-up, policy and TLS as any other, over a
//! connection of their own. Where the server accepts, a task connects that connection to the app's end of the socket, and ends
//! after the closing handshake, or when the app's end is dropped.

use std::time::Duration;

use bytes::BytesMut;
use hearth_core::websocket::socket_pair;
use hearth_core::{Body, Headers, Method, Response};
use hearth_websocket::handshake::{Offer, has_token};
use hearth_websocket::{Config, Connection, Role};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::FetchError;
use crate::headers::{Encoding, incoming};
use crate::send::Answer;
use crate::target::Host;

/// What the app offers, if it asks for a WebSocket.
pub(crate) fn offer(method: &Method, headers: &Headers) -> Option<Offer> {
    let asks = headers.get_all("upgrade").any(|value| has_token(value, "websocket"));
    if *method != Method::Get || !asks {
        return None;
    }
    let lists = headers.get_all("sec-websocket-protocol").map(String::from_utf8_lossy);
    let items = lists.flat_map(|list| list.split(',').map(|item| item.trim().to_owned()).collect::<Vec<_>>());
    Some(Offer::new(items.filter(|item| !item.is_empty()).collect()))
}

/// Checks the server's 101 response, and makes the connection a socket.
pub(crate) async fn join(
    offer: Option<&Offer>,
    host: &Host,
    answer: Answer,
    permit: OwnedSemaphorePermit,
) -> Result<Response, FetchError> {
    let Answer { mut head, body } = answer;
    let host = || host.to_string();
    let (Some(offer), Some(upgrade)) = (offer, head.extensions.remove::<OnUpgrade>()) else {
        return Err(FetchError::Upgrade { host: host() });
    };
    let mut all = Headers::with_capacity(head.headers.len(), 512);
    head.headers.iter().for_each(|(name, value)| all.push(name.as_str().as_bytes(), value.as_bytes()));
    offer.check(&all).map_err(|source| FetchError::Handshake { host: host(), source })?;
    let stream = upgrade.await.map_err(|source| FetchError::Closed { host: host(), source })?;
    // The connection's own task has passed the stream on.
    drop(body);
    // There is no limit of silence for an app's own sockets: they end with its request.
    let (mut app, end) = socket_pair(Duration::ZERO);
    app.hold(permit);
    let stream = TokioIo::new(stream);
    let connection = Connection::new(stream, BytesMut::new(), Role::Client, Box::new(end), Config::default());
    tokio::spawn(connection.run());
    let response = Response::new(101, incoming(&head.headers, Encoding::Kept), Body::Empty);
    Ok(Response { websocket: Some(Box::new(app)), ..response })
}
