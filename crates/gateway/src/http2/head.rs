//! Heads in both directions. `h2` has checked that they are well-formed; what an app sees is decided by the same rules as in
//! HTTP/1, and ambiguous heads are rejected (RFC 9113, section 8.3.1).

use h2::ext::Protocol;
use hearth_core::{Headers, Method, Response};
use http::header::{CONTENT_LENGTH, COOKIE, DATE};
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};

use crate::date::DateText;
use crate::head::{
    BodyFraming, EXTRA_BYTES, EXTRA_HEADERS, Fields, Head, HttpVersion, Keep, MAX_HEADERS, Upgrade, push_cookies,
};
use crate::reject::Reject;
use crate::request_id::IdText;
use crate::response::{AppHeaders, Transfer, length};
use crate::target::{RequestTarget, valid_authority};

/// Whether a body follows a request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPresence {
    None,
    Follows,
}

/// Makes a head of what `h2` has read. `scheme` has its `://` and is the listener's; `:scheme` is ignored. The app does not get the
/// private cookie.
pub fn read(parts: &Parts, body: BodyPresence, scheme: &str, private_cookie: Option<&str>) -> Result<Head, Reject> {
    if parts.headers.len() > MAX_HEADERS {
        return Err(Reject::TooManyHeaders);
    }
    let (method, upgrade) = match parts.extensions.get::<Protocol>() {
        _ if parts.method != http::Method::CONNECT => (Method::parse(parts.method.as_str()), Upgrade::None),
        // The app sees the GET that it would see in HTTP/1.
        Some(protocol) if protocol.as_str().eq_ignore_ascii_case("websocket") => (Method::Get, Upgrade::WebSocket),
        Some(_) | None => return Err(Reject::Connect),
    };
    let path = parts.uri.path_and_query().ok_or(Reject::Target)?.as_str();
    let target = RequestTarget::parse(&method, path)?;
    if let RequestTarget::Absolute { .. } = target {
        return Err(Reject::Target);
    }

    let mut fields = Fields::default();
    let bytes: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let mut headers = Headers::with_capacity(parts.headers.len() + 1 + EXTRA_HEADERS, bytes + EXTRA_BYTES);
    let authority = parts.uri.authority().map(|authority| authority.as_str());
    if let Some(authority) = authority {
        if !valid_authority(authority.as_bytes()) {
            return Err(Reject::HostInvalid);
        }
        headers.push(b"host", authority.as_bytes());
    }
    for (name, value) in &parts.headers {
        let value = value.as_bytes().trim_ascii();
        match fields.record(name.as_str(), value)? {
            Keep::No => {}
            Keep::Host if authority.is_some() => {}
            Keep::Cookie => {}
            Keep::Host | Keep::Yes => headers.push(name.as_str().as_bytes(), value),
        }
    }
    join_cookies(&mut headers, parts, private_cookie);
    let host = match (authority, fields.host) {
        (Some(authority), Some(host)) if !authority.eq_ignore_ascii_case(host) => return Err(Reject::HostDiffers),
        (Some(host), _) | (None, Some(host)) => host,
        (None, None) => return Err(Reject::HostMissing),
    };
    let framing = match (body, fields.framing(HttpVersion::Http2)?) {
        (BodyPresence::None, _) => BodyFraming::None,
        // The data that follows belongs to the socket.
        _ if upgrade == Upgrade::WebSocket => BodyFraming::None,
        // HTTP/2 has no chunks; a body without a length is treated the same.
        (BodyPresence::Follows, BodyFraming::None) => BodyFraming::Chunked,
        (BodyPresence::Follows, framing) => framing,
    };
    Ok(Head {
        length: 0,
        url: target.url(scheme, host),
        method,
        headers,
        framing,
        version: HttpVersion::Http2,
        keep_alive: true,
        expects_continue: fields.expects_continue,
        id: fields.id,
        prefers_html: fields.prefers_html,
        accepts: fields.accepts,
        wants_part: fields.wants_part,
        names_client: fields.names_client,
        upgrade,
    })
}

/// Clients may send each cookie in a header of its own, for the sake of compression; apps expect one.
fn join_cookies(headers: &mut Headers, parts: &Parts, private: Option<&str>) {
    let crumbs: Vec<&[u8]> = parts.headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if !crumbs.is_empty() {
        push_cookies(headers, &crumbs.join(&b"; "[..]), private);
    }
}

/// Makes what `h2` writes of a response; also gives the number of dropped headers.
pub fn write(response: &Response, transfer: Transfer, id: &IdText, date: &DateText) -> (http::Response<()>, u64) {
    let mut out = http::Response::new(());
    *out.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let headers = out.headers_mut();
    let (mut app, mut invalid) = (AppHeaders::default(), 0);
    app.each(response, |name, value| match (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
        (Ok(name), Ok(value)) => {
            headers.append(name, value);
        }
        _ => invalid += 1,
    });
    if let Some(length) = length(response, transfer, app.length) {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    if !app.date {
        headers.insert(DATE, value(date));
    }
    headers.insert(HeaderName::from_static("x-request-id"), value(id.as_bytes()));
    (out, app.dropped + invalid)
}

fn value(text: &[u8]) -> HeaderValue {
    HeaderValue::from_bytes(text).expect("dates and ids are plain ASCII")
}

#[cfg(test)]
#[path = "head/tests.rs"]
mod tests;
