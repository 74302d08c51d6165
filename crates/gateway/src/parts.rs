//! Parts of what an app answers with, for clients that ask for a part (RFC 9110, section 14).
//!
//! Only of what lies somewhere and can be had without reading the rest: files of the app's folder. What an app makes as it goes,
//! what it gave a status, a range or a coding of its own, and what a site has cut already is left as it is.

use hearth_core::range::{Part, part};
use hearth_core::{Body, Headers, Response};

/// The headers that say which part, and of what.
#[derive(Debug)]
pub struct Wanted(Headers);

impl Wanted {
    pub fn new(all: &Headers) -> Self {
        let mut some = Headers::new();
        for (name, value) in all.iter().filter(|(name, _)| matches!(*name, b"range" | b"if-range")) {
            some.push(name, value);
        }
        Self(some)
    }

    /// Whether the client has other parts of the same thing, or none.
    fn applies(&self, headers: &Headers) -> bool {
        let Some(known) = self.0.get("if-range") else { return true };
        let is_known = |name: &str| headers.get(name) == Some(known);
        // A weak tag may be that of other bytes.
        is_known("last-modified") || (known.starts_with(b"\"") && is_known("etag"))
    }
}

/// Leaves the part that is wanted, and tells everybody that parts can be had.
pub fn divide(response: &mut Response, wanted: Option<&Wanted>) {
    let (Body::Stream(stream), 200) = (&mut response.body, response.status) else { return };
    let (Some(size), Some(divisible)) = (stream.remaining(), stream.divisible()) else { return };
    let headers = &mut response.headers;
    if ["content-range", "content-encoding", "accept-ranges"].iter().any(|name| headers.contains(name)) {
        return;
    }
    headers.push(b"accept-ranges", b"bytes");
    let Some(wanted) = wanted.filter(|wanted| wanted.applies(headers)) else { return };
    let part = part(&wanted.0, size);
    let Some(range) = part.content_range(size) else { return };
    headers.push(b"content-range", range.as_bytes());
    headers.remove("content-length");
    response.reason = None;
    match part {
        Part::Slice { start, length } => {
            divisible.keep(start, length);
            response.status = 206;
        }
        Part::Unsatisfiable | Part::Whole => {
            headers.remove("content-type");
            response.body = Body::Empty;
            response.status = 416;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::task::{Context, Poll};

    use bytes::Bytes;
    use hearth_core::{BodyError, ByteStream, Divisible};

    use super::*;

    struct Lying(Bytes);

    impl ByteStream for Lying {
        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            let all = std::mem::take(&mut self.0);
            Poll::Ready((!all.is_empty()).then_some(Ok(all)))
        }

        fn remaining(&self) -> Option<u64> {
            Some(self.0.len() as u64)
        }

        fn divisible(&mut self) -> Option<&mut dyn Divisible> {
            Some(self)
        }
    }

    impl Divisible for Lying {
        fn keep(&mut self, start: u64, length: u64) {
            self.0 = self.0.slice(start as usize..(start + length) as usize);
        }
    }

    fn headers(list: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        list.iter().for_each(|(name, value)| headers.push(name.as_bytes(), value.as_bytes()));
        headers
    }

    /// Status, range and bytes of what comes of `0123456789`.
    async fn divided(status: u16, own: &[(&str, &str)], asked: &[(&str, &str)]) -> (u16, Option<String>, String) {
        let body = Body::Stream(Box::new(Lying(Bytes::from("0123456789"))));
        let mut response = Response::new(status, headers(own), body);
        divide(&mut response, Some(&Wanted::new(&headers(asked))));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let range = response.headers.get("content-range").map(text);
        (response.status, range, text(&response.body.collect().await.unwrap()))
    }

    #[tokio::test]
    async fn a_part_is_cut_out_and_told() {
        let whole = (200, None, "0123456789".to_owned());
        let part = (206, Some("bytes 2-4/10".to_owned()), "234".to_owned());
        let none = (416, Some("bytes */10".to_owned()), String::new());
        let range = ("range", "bytes=2-4");
        assert_eq!(divided(200, &[], &[range]).await, part);
        assert_eq!(divided(200, &[], &[("range", "bytes=10-")]).await, none);
        assert_eq!(divided(200, &[], &[("range", "bytes=0-1,4-5")]).await, whole);
        let tagged = [("etag", "\"a\""), ("last-modified", "then")];
        for (condition, expected) in [("\"a\"", &part), ("then", &part), ("\"b\"", &whole), ("W/\"a\"", &whole)] {
            assert_eq!(divided(200, &tagged, &[range, ("if-range", condition)]).await, *expected, "{condition}");
        }
        let weak = [("etag", "W/\"a\"")];
        assert_eq!(divided(200, &weak, &[range, ("if-range", "W/\"a\"")]).await, whole);
    }

    #[tokio::test]
    async fn what_the_app_has_decided_stays() {
        let range = ("range", "bytes=2-4");
        for (status, own) in [
            (202, ("x-own", "status")),
            (206, ("content-range", "bytes 0-9/20")),
            (200, ("content-encoding", "gzip")),
            (200, ("accept-ranges", "none")),
        ] {
            let (now, told, text) = divided(status, &[own], &[range]).await;
            assert_eq!((now, text.as_str()), (status, "0123456789"), "{own:?}");
            assert!(told.is_none() || own.0 == "content-range", "{told:?}");
        }
        // What is all there was made by the app, not found.
        let mut made = Response::new(200, Headers::new(), Body::Full(Bytes::from("0123456789")));
        divide(&mut made, Some(&Wanted::new(&headers(&[range]))));
        assert_eq!((made.status, made.headers.len()), (200, 0));
    }
}
