//! A hop's request as bytes of HTTP/1.1. Its url is sent whole, so that the other gateway sees the same. Its headers are sent as
//! they are: hop-by-hop headers were removed and the client was resolved when the request arrived.

use bytes::Bytes;
use hearth_core::{Body, Headers, Method, Request};

use super::HOP_HEADER;
use super::response::Expected;
use super::upload::HopUpload;
use crate::body_out::{Delimiter, Outgoing};
use crate::response::{push_header, push_number};
use crate::write_queue::WriteQueue;

pub struct OutgoingRequest {
    /// The head and, where it is complete, the body.
    pub write_queue: WriteQueue,
    /// The rest of the body.
    pub upload: HopUpload,
    pub expected: Expected,
}

impl OutgoingRequest {
    pub fn new(request: Request, directions: &str) -> Self {
        let Request { method, url, headers, body, .. } = request;
        let mut write_queue = WriteQueue::default();
        let out = write_queue.buffer();
        for part in [method.as_str(), " ", &url, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        push_headers(out, &headers);
        if !headers.contains("host") {
            push_header(out, b"host", authority(&url).as_bytes());
        }
        push_header(out, HOP_HEADER.as_bytes(), directions.as_bytes());
        let (whole, upload) = frame(out, body, &headers);
        out.extend_from_slice(b"\r\n");
        write_queue.push(whole);
        let expected = if method == Method::Head { Expected::Head } else { Expected::Body };
        Self { write_queue, upload, expected }
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

/// Writes how the body is framed. Gives what of it is sent with the head, and the rest.
fn frame(out: &mut Vec<u8>, body: Body, headers: &Headers) -> (Bytes, HopUpload) {
    let has_length = headers.contains("content-length");
    let (whole, delimiter) = match &body {
        Body::Empty if has_length => (Bytes::new(), Some(Delimiter::Length(0))),
        Body::Empty => (Bytes::new(), None),
        Body::Full(bytes) if has_length => (bytes.clone(), Some(Delimiter::Length(bytes.len() as u64))),
        // The client sent it in chunks: the app must not see a length that the client did not send.
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
            if waits { HopUpload::Held(outgoing, delimiter) } else { HopUpload::Sending(outgoing, delimiter) }
        }
        (body, Some(Delimiter::Chunks)) => {
            HopUpload::Sending(Outgoing::new(body, Delimiter::Chunks), Delimiter::Chunks)
        }
        _ => HopUpload::Done,
    };
    (whole, upload)
}

/// The authority of an absolute url.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    &rest[..rest.find(['/', '?']).unwrap_or(rest.len())]
}
