//! Filters the headers of requests and responses.
//!
//! Requests: headers of the connection and the framing are set here, whatever the app has set (`host` too: it names the server that
//! was checked). Responses: headers of the connection are removed, so that an app can pass a response on.

use hearth_core::{Headers, Method};
use hearth_websocket::handshake::{Offer, VERSION};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, RANGE,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
};

use crate::error::FetchError;
use crate::redirect::RedirectMode;
use crate::target::Origin;

/// Headers of one connection, which are not passed on.
const HOP_BY_HOP: [&[u8]; 7] =
    [b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"];

/// Headers that only Hearth sets in a request.
const OWN: [&[u8]; 3] = [b"host", b"content-length", b"expect"];

/// The same in a request for a WebSocket.
const HANDSHAKE: [&[u8]; 3] = [b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions"];

/// The parts of a request's head.
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) origin: &'a Origin,
    pub(crate) headers: &'a Headers,
    pub(crate) user_agent: &'a str,
    /// Where it asks for a WebSocket.
    pub(crate) offer: Option<&'a Offer>,
    pub(crate) mode: RedirectMode,
    pub(crate) body: Presence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Absent,
    Present,
}

pub(crate) fn outgoing(head: &Head<'_>) -> Result<HeaderMap, FetchError> {
    // `with_capacity` panics where `try_append` returns an error.
    let mut map = HeaderMap::with_capacity((head.headers.len() + 5).min(128));
    add(&mut map, HOST, head.origin.to_string().as_bytes())?;
    for (name, value) in head.headers.iter() {
        if HOP_BY_HOP.contains(&name) || OWN.contains(&name) {
            continue;
        }
        if head.offer.is_some() && HANDSHAKE.contains(&name) {
            continue;
        }
        let name = HeaderName::from_bytes(name).map_err(|_| refused(name, "its name is no token"))?;
        add(&mut map, name, value)?;
    }
    if let Some(offer) = head.offer {
        add(&mut map, CONNECTION, b"Upgrade")?;
        add(&mut map, UPGRADE, b"websocket")?;
        add(&mut map, SEC_WEBSOCKET_VERSION, VERSION.as_bytes())?;
        add(&mut map, SEC_WEBSOCKET_KEY, offer.key().as_bytes())?;
    }
    if head.mode != RedirectMode::Exact {
        default(&mut map, ACCEPT, b"*/*")?;
        // A part of compressed bytes cannot be decoded.
        let encodings: &[u8] = if map.contains_key(RANGE) { b"identity" } else { b"gzip, br, deflate" };
        default(&mut map, ACCEPT_ENCODING, encodings)?;
        default(&mut map, USER_AGENT, head.user_agent.as_bytes())?;
    }
    // hyper sets the length of bodies; with these methods it is also set where there is no body.
    if head.body == Presence::Absent && matches!(head.method, Method::Post | Method::Put) {
        add(&mut map, CONTENT_LENGTH, b"0")?;
    }
    Ok(map)
}

fn default(map: &mut HeaderMap, name: HeaderName, value: &[u8]) -> Result<(), FetchError> {
    if map.contains_key(&name) { Ok(()) } else { add(map, name, value) }
}

fn add(map: &mut HeaderMap, name: HeaderName, value: &[u8]) -> Result<(), FetchError> {
    let value = HeaderValue::from_bytes(value)
        .map_err(|_| refused(name.as_str().as_bytes(), "its value has a control character"))?;
    let refused = |_| refused(name.as_str().as_bytes(), "there are too many headers");
    map.try_append(name.clone(), value).map_err(refused)?;
    Ok(())
}

fn refused(name: &[u8], reason: &'static str) -> FetchError {
    FetchError::Header { name: String::from_utf8_lossy(name).into_owned(), reason }
}

/// Whether the body's content coding was undone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Kept,
    Undone,
}

pub(crate) fn incoming(map: &HeaderMap, encoding: Encoding) -> Headers {
    let bytes = map.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let mut headers = Headers::with_capacity(map.len(), bytes);
    for (name, value) in map {
        let name = name.as_str().as_bytes();
        let undone = encoding == Encoding::Undone && matches!(name, b"content-encoding" | b"content-length");
        if !undone && !HOP_BY_HOP.contains(&name) {
            headers.push(name, value.as_bytes());
        }
    }
    headers
}
