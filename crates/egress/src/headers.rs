//! Headers on their way out and in.
//!
//! Out: what describes the connection or the framing is ours, whatever the app says (`host` too: the server that was checked
//! is the one that is named). In: what described the connection is taken out, so that an app can pass a response on.

use hearth_core::{Headers, Method};
use hearth_websocket::handshake::{Offer, VERSION};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, RANGE,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
};

use crate::error::FetchError;
use crate::target::Origin;

/// What describes one connection, and is not passed on.
const HOP_BY_HOP: [&[u8]; 7] =
    [b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"];

/// What Hearth itself says in a request.
const OURS: [&[u8]; 3] = [b"host", b"content-length", b"expect"];

/// The same where it asks for a WebSocket.
const HANDSHAKE: [&[u8]; 3] = [b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions"];

/// What a request sends beside its body.
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) origin: &'a Origin,
    pub(crate) headers: &'a Headers,
    pub(crate) user_agent: &'a str,
    /// Where it asks for a WebSocket.
    pub(crate) offer: Option<&'a Offer>,
    pub(crate) body: Presence,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Absent,
    Present,
}

pub(crate) fn outgoing(head: &Head<'_>) -> Result<HeaderMap, FetchError> {
    // `with_capacity` panics where `try_append` says no.
    let mut map = HeaderMap::with_capacity((head.headers.len() + 5).min(128));
    add(&mut map, HOST, head.origin.to_string().as_bytes())?;
    for (name, value) in head.headers.iter() {
        if HOP_BY_HOP.contains(&name) || OURS.contains(&name) {
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
    default(&mut map, ACCEPT, b"*/*")?;
    // A part of compressed bytes cannot be decoded.
    let encodings: &[u8] = if map.contains_key(RANGE) { b"identity" } else { b"gzip, br, deflate" };
    default(&mut map, ACCEPT_ENCODING, encodings)?;
    default(&mut map, USER_AGENT, head.user_agent.as_bytes())?;
    // hyper says the length of bodies; these methods say so also when there is none.
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

/// Whether the app's bytes are those of the wire.
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
