//! Why a request got no response. For the app each is a `TypeError`, as the Fetch standard has it for every network error;
//! the text says what happened.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use hearth_core::BodyError;

use crate::redirect::RedirectError;
use hearth_egress_policy::Denied;

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("{url:?} cannot be fetched: {reason}")]
    Url { url: String, reason: &'static str },
    #[error("the method {method:?} cannot be used")]
    Method { method: String },
    #[error("the request header {name:?} cannot be sent: {reason}")]
    Header { name: String, reason: &'static str },
    #[error("the look-up of {host} failed: {source}")]
    Lookup { host: String, source: io::Error },
    /// The error of the last address that was tried.
    #[error("cannot connect to {host} at {address}: {source}")]
    Connect { host: String, address: SocketAddr, source: io::Error },
    /// Look-up, dial and TLS together.
    #[error("cannot connect to {host} within {limit:?}")]
    ConnectTimedOut { host: String, limit: Duration },
    #[error("no secure connection to {host}: {source}")]
    Tls { host: String, source: io::Error },
    /// The connection ended before the head of a response.
    #[error("{host} closed the connection before it answered")]
    Closed { host: String, source: hyper::Error },
    /// The response is not valid HTTP.
    #[error("{host} gave no valid response: {}", cause(source))]
    Protocol { host: String, source: hyper::Error },
    /// The request did not ask for it.
    #[error("{host} wants to switch protocols")]
    Upgrade { host: String },
    #[error("{host} does not agree on a WebSocket: {source}")]
    Handshake { host: String, source: hearth_websocket::handshake::BadAnswer },
    /// The request's own body failed.
    #[error("the request body failed: {0}")]
    Upload(BodyError),
    #[error(transparent)]
    Redirect(#[from] RedirectError),
}

impl FetchError {
    /// The JavaScript class that the app sees.
    pub fn js_class(&self) -> &'static str {
        "TypeError"
    }

    /// From hyper's error while a response's head is awaited.
    pub(crate) fn exchange(host: &impl ToString, source: hyper::Error) -> Self {
        let host = host.to_string();
        if let Some(error) = find::<BodyError>(&source) {
            return Self::Upload(error.clone());
        }
        let lost = source.is_incomplete_message() || source.is_canceled() || source.is_closed();
        if lost || find::<io::Error>(&source).is_some() {
            Self::Closed { host, source }
        } else {
            Self::Protocol { host, source }
        }
    }
}

/// The error with its source, which names the cause.
fn cause(error: &hyper::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// The first error of that type in the chain.
pub(crate) fn find<'a, E: std::error::Error + 'static>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}
