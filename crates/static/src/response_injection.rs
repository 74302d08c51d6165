//! Injects `<base href>` into pages that a worker sends, complete or streamed. A page with a base
//! of its own keeps it. Compressed bodies, partial content and UTF-16 are left alone.
//!
//! A stream is held back until its page's head is complete, 32 KB have come, or the worker has
//! nothing more for now. Everything after that is passed through.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hearth_core::{Body, BodyError, ByteStream, Headers, Response};

use crate::html::outline;
use crate::inject::Injection;
use crate::rules::{BaseTag, Inject};
use crate::site::href;

/// If the head of a page is longer than this, the base is inserted based on what has come so far.
const MAX_HEAD: usize = 32 * 1024;

/// Injects the base into the response if it is a page.
pub fn inject_base(mut response: Response, base: &str) -> Response {
    if !is_page(&response) {
        return response;
    }
    let inject = Inject { base: BaseTag::Insert, env: Vec::new() };
    let Some(injection) = Injection::new(&inject) else { return response };
    let href = href(base);
    for header in ["content-length", "accept-ranges"] {
        response.headers.remove(header);
    }
    response.body = match response.body {
        Body::Empty => Body::Empty,
        Body::Full(page) => injection.apply(page.to_vec(), &href).into(),
        Body::Stream(rest) => {
            let state = State::Head(BytesMut::new());
            Body::Stream(Box::new(Injected { rest, injection: Arc::new(injection), href, state }))
        }
    };
    response
}

fn is_page(response: &Response) -> bool {
    let header = |name| Headers::get(&response.headers, name).map(<[u8]>::to_ascii_lowercase).unwrap_or_default();
    let kind = header("content-type");
    kind.starts_with(b"text/html")
        && !kind.windows(6).any(|part| part == b"utf-16")
        && matches!(&header("content-encoding")[..], b"" | b"identity")
        && !matches!(response.status, 101 | 204 | 206 | 304)
}

struct Injected {
    rest: Box<dyn ByteStream>,
    injection: Arc<Injection>,
    href: String,
    state: State,
}

enum State {
    /// The part of the head that has come.
    Head(BytesMut),
    Rest,
    /// The stream ended with the head.
    Over,
}

impl Injected {
    fn release(&mut self, next: State) -> Poll<Option<Result<Bytes, BodyError>>> {
        let State::Head(head) = std::mem::replace(&mut self.state, next) else { return Poll::Ready(None) };
        if head.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(self.injection.apply(head.to_vec(), &self.href))))
    }
}

impl ByteStream for Injected {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let State::Head(head) = &mut self.state else {
                return match self.state {
                    State::Over => Poll::Ready(None),
                    _ => self.rest.poll_next(cx),
                };
            };
            match self.rest.poll_next(cx) {
                Poll::Ready(Some(Ok(piece))) => {
                    head.extend_from_slice(&piece);
                    if has_whole_head(head) || head.len() >= MAX_HEAD {
                        return self.release(State::Rest);
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return self.release(State::Over),
                // A base of the page's own may still follow; then the injected one, being first,
                // wins.
                Poll::Pending if has_place(head) => return self.release(State::Rest),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

/// Whether the page contains the end of its head.
fn has_whole_head(page: &[u8]) -> bool {
    let begins = |at: usize, tag: &[u8]| page[at..].get(..tag.len()).is_some_and(|part| part.eq_ignore_ascii_case(tag));
    (0..page.len()).any(|at| page[at] == b'<' && (begins(at, b"</head") || begins(at, b"<body")))
}

/// Whether the insertion point is known regardless of what follows, which is so after a complete
/// tag.
fn has_place(page: &[u8]) -> bool {
    let tags = page.iter().rposition(|byte| *byte == b'>').map_or(0, |at| at + 1);
    let head = outline(&page[..tags]).head;
    head < tags
        || page[..tags].ends_with(b">") && page[..head].to_ascii_lowercase().windows(5).any(|tag| tag == b"<head")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::VecDeque;
    use std::task::Waker;

    use super::*;

    struct Pieces(VecDeque<Option<&'static str>>);

    impl ByteStream for Pieces {
        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            match self.0.pop_front() {
                Some(Some(piece)) => Poll::Ready(Some(Ok(Bytes::from_static(piece.as_bytes())))),
                Some(None) => Poll::Pending,
                None => Poll::Ready(None),
            }
        }
    }

    fn page(kind: &[u8], body: Body) -> Response {
        let mut headers = Headers::new();
        headers.push(b"content-type", kind);
        headers.push(b"content-length", b"9");
        Response { status: 200, reason: None, headers, body, websocket: None }
    }

    /// The chunks that come out; `None` stands for `Poll::Pending`.
    fn streamed(pieces: &[Option<&'static str>]) -> Vec<Option<String>> {
        let stream = Body::Stream(Box::new(Pieces(pieces.iter().copied().collect())));
        let mut response = inject_base(page(b"text/html; charset=utf-8", stream), "/app");
        assert!(response.headers.get("content-length").is_none());
        let mut out = Vec::new();
        loop {
            match response.body.poll_next(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Some(piece)) => out.push(Some(String::from_utf8(piece.unwrap().to_vec()).unwrap())),
                Poll::Ready(None) => return out,
                Poll::Pending => out.push(None),
            }
        }
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_complete_page_gets_its_base_once() {
        let whole = |text: &'static str| {
            let response = inject_base(page(b"Text/HTML", Bytes::from_static(text.as_bytes()).into()), "/a\"b");
            let Body::Full(bytes) = response.body else { panic!("it was whole") };
            String::from_utf8(bytes.to_vec()).unwrap()
        };
        assert_eq!(whole("<head><p>"), "<head><base href=\"/a&quot;b/\"><p>");
        assert_eq!(whole("<head><base href=/x/><p>"), "<head><base href=/x/><p>");
    }

    #[test]
    fn responses_that_are_not_pages_are_left_alone() {
        let mut coded = page(b"text/html", Bytes::from_static(b"<head>").into());
        coded.headers.push(b"content-encoding", b"gzip");
        let others = [page(b"text/plain", Bytes::from_static(b"<head>").into()), coded];
        for response in others.into_iter().map(|response| inject_base(response, "/app")) {
            assert!(matches!(&response.body, Body::Full(bytes) if *bytes == "<head>"[..]));
            assert!(response.headers.get("content-length").is_some());
        }
    }

    #[test]
    fn a_stream_is_held_back_only_for_its_head() {
        let base = "<base href=\"/app/\">";
        let out = streamed(&[Some("<!doctype html><he"), None, Some("ad><title>x</title></head>"), Some("<p>"), None]);
        assert_eq!(
            out,
            [None, some(&format!("<!doctype html><head>{base}<title>x</title></head>")), some("<p>"), None]
        );
        let own = streamed(&[Some("<head>"), Some("<base href=/own/>"), Some("</head>"), Some("rest")]);
        assert_eq!(own, [some("<head><base href=/own/></head>"), some("rest")]);
        let early = streamed(&[Some("<head>"), None, Some("</head>")]);
        // The held-back part is released instead of `Pending`.
        assert_eq!(early, [some(&format!("<head>{base}")), some("</head>")]);
        assert_eq!(streamed(&[Some("<p>part"), None, Some("ial")])[0], some(&format!("{base}<p>part")));
        assert_eq!(streamed(&[]), []);
    }
}
