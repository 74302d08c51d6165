//! A request as bytes of HTTP/1.1. Its url goes whole, so that the other front sees what this one saw; its headers go as they
//! are: what concerns the connection was taken out when it came, and who the client is was settled then.

use bytes::Bytes;
use hearth_core::{Body, Headers, Method, Request};

use super::HOP_HEADER;
use super::answer::Wants;
use super::upload::Upload;
use crate::body_out::{Delimiter, Outgoing};
use crate::outbox::Outbox;
use crate::response::{push_header, push_number};

pub struct Parcel {
    /// Head and, where it is all there, body.
    pub outbox: Outbox,
    /// What follows.
    pub upload: Upload,
    pub wants: Wants,
}

impl Parcel {
    pub fn new(request: Request, errand: &str) -> Self {
        let Request { method, url, headers, body, .. } = request;
        let mut outbox = Outbox::default();
        let out = outbox.text();
        for part in [method.as_str(), " ", &url, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        push_headers(out, &headers);
        if !headers.contains("host") {
            push_header(out, b"host", authority(&url).as_bytes());
        }
        push_header(out, HOP_HEADER.as_bytes(), errand.as_bytes());
        let (whole, upload) = frame(out, body, &headers);
        out.extend_from_slice(b"\r\n");
        outbox.push(whole);
        let wants = if method == Method::Head { Wants::Head } else { Wants::Body };
        Self { outbox, upload, wants }
    }
}

fn push_headers(out: &mut Vec<u8>, headers: &Headers) {
    for (name, value) in headers.iter() {
        match name {
            b"content-length" => {}
            // Only a request that may become a WebSocket has it.
            b"upgrade" => out.extend_from_slice(b"connection: upgrade\r\nupgrade: websocket\r\n"),
            _ => push_header(out, name, value),
        }
    }
}

/// Says how long the body is; gives what of it goes along with the head, and what follows.
fn frame(out: &mut Vec<u8>, body: Body, headers: &Headers) -> (Bytes, Upload) {
    let has_length = headers.contains("content-length");
    let (whole, delimiter) = match &body {
        Body::Empty if has_length => (Bytes::new(), Some(Delimiter::Length(0))),
        Body::Empty => (Bytes::new(), None),
        Body::Full(bytes) if has_length => (bytes.clone(), Some(Delimiter::Length(bytes.len() as u64))),
        // It came in chunks: the app must not see a length that its client did not send.
        Body::Full(_) => (Bytes::new(), Some(Delimiter::Chunks)),
        Body::Stream(stream) => (Bytes::new(), Some(stream.remaining().map_or(Delimiter::Chunks, Delimiter::Length))),
    };
    match delimiter {
        Some(Delimiter::Length(length)) => {
            out.extend_from_slice(b"content-length: ");
            push_number(out, length);
            out.extend_from_slice(b"\r\n");
        }
        Some(Delimiter::Chunks) => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Some(Delimiter::Close) | None => {}
    }
    let upload = match (body, delimiter) {
        (Body::Stream(stream), Some(delimiter)) => {
            let outgoing = Outgoing::new(Body::Stream(stream), delimiter);
            let waits = headers.get("expect").is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"));
            if waits { Upload::Held(outgoing, delimiter) } else { Upload::Sending(outgoing, delimiter) }
        }
        (body, Some(Delimiter::Chunks)) => Upload::Sending(Outgoing::new(body, Delimiter::Chunks), Delimiter::Chunks),
        _ => Upload::Done,
    };
    (whole, upload)
}

/// Of an absolute url.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    &rest[..rest.find(['/', '?']).unwrap_or(rest.len())]
}
