//! Compresses responses that an app left uncompressed, for clients that accept it.
//!
//! Only where it is worth it and harmless: types that shrink, at least [`MIN_SIZE`] where the size is known, no part of
//! something, no coding of the app's own, no `no-transform`. Events (`text/event-stream`) are left alone: they are small,
//! and their streams live so long that the memory of an encoder each would count.
//! What is sent is another representation, so a strong `etag` becomes weak, `accept-ranges` goes, and `vary` says that
//! there are several; also to a client that takes none of them, for the sake of caches in between.

use hearth_core::{Body, Headers, Response};

use crate::encoder::{BodyEncoder, Compressed, STEP};
use crate::encoding::{Accepts, Coding};

/// Smaller bodies fit in a packet either way.
const MIN_SIZE: usize = 1024;

/// What may be done with a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its body is sent.
    Body,
    /// Only its head is sent (HEAD): it is that of the uncompressed response.
    Head,
}

pub fn compress(response: &mut Response, accepts: Accepts, purpose: Purpose) {
    // The most frequent responses are small: they are ruled out first.
    match &response.body {
        Body::Empty => return,
        Body::Full(bytes) if bytes.len() < MIN_SIZE => return,
        Body::Stream(stream) if stream.remaining().is_some_and(|left| left < MIN_SIZE as u64) => return,
        _ => {}
    }
    if !is_eligible(response) {
        return;
    }
    add_vary(&mut response.headers);
    let (Some(coding), Purpose::Body) = (accepts.best(), purpose) else { return };
    let body = match std::mem::take(&mut response.body) {
        // One step long: compressed at once, so that the length is known.
        Body::Full(bytes) if bytes.len() <= STEP => {
            let small = BodyEncoder::new(coding).whole(&bytes);
            if small.len() >= bytes.len() {
                response.body = Body::Full(bytes);
                return;
            }
            Body::Full(small)
        }
        body => Body::Stream(Box::new(Compressed::new(body, coding))),
    };
    response.body = body;
    mark(&mut response.headers, coding);
}

fn is_eligible(response: &Response) -> bool {
    let headers = &response.headers;
    !matches!(response.status, 0..=199 | 204 | 205 | 206 | 304)
        && !headers.contains("content-encoding")
        && !headers.contains("content-range")
        && headers.get("content-type").is_some_and(shrinks)
        && !headers.get_all("cache-control").any(|value| has_member(value, b"no-transform"))
}

/// Whether contents of a media type get smaller: texts, and formats that are not compressed already.
fn shrinks(content_type: &[u8]) -> bool {
    let end = memchr::memchr(b';', content_type).unwrap_or(content_type.len());
    let kind = content_type[..end].trim_ascii().to_ascii_lowercase();
    if kind.starts_with(b"text/") {
        return kind != b"text/event-stream";
    }
    kind.ends_with(b"+json")
        || kind.ends_with(b"+xml")
        || matches!(
            &kind[..],
            b"application/json"
                | b"application/javascript"
                | b"application/x-javascript"
                | b"application/ecmascript"
                | b"application/xml"
                | b"application/wasm"
                | b"application/x-ndjson"
                | b"application/graphql"
                | b"application/rtf"
                | b"application/vnd.ms-fontobject"
                | b"font/ttf"
                | b"font/otf"
                | b"image/bmp"
                | b"image/x-icon"
                | b"image/vnd.microsoft.icon"
        )
}

/// A member of a comma-separated list.
fn has_member(list: &[u8], member: &[u8]) -> bool {
    list.split(|b| *b == b',').any(|m| m.trim_ascii().eq_ignore_ascii_case(member))
}

fn add_vary(headers: &mut Headers) {
    let said = headers.get_all("vary").any(|list| has_member(list, b"accept-encoding") || has_member(list, b"*"));
    if !said {
        headers.push(b"vary", b"accept-encoding");
    }
}

fn mark(headers: &mut Headers, coding: Coding) {
    headers.push(b"content-encoding", coding.name().as_bytes());
    headers.remove("accept-ranges");
    let strong = headers.get("etag").filter(|tag| tag.starts_with(b"\""));
    if let Some(weak) = strong.map(|tag| [b"W/", tag].concat()) {
        headers.set("etag", &weak);
    }
}

#[cfg(test)]
#[path = "compress/tests.rs"]
mod tests;
