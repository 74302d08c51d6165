//! Ranges of responses, for clients that ask for a part (RFC 9110, section 14).
//!
//! Applied only to bodies of which a part can be had without reading the rest: files of the app's folder. Generated bodies, and
//! responses with a status, a range or a coding of the app's own, are left as they are.

use hearth_core::range::{Part, part};
use hearth_core::{Body, Headers, Response};

/// The headers that ask for a part: `range` and `if-range`.
#[derive(Debug)]
pub struct RangeRequest(Headers);

impl RangeRequest {
    pub fn new(all: &Headers) -> Self {
        let mut some = Headers::new();
        for (name, value) in all.iter().filter(|(name, _)| matches!(*name, b"range" | b"if-range")) {
            some.push(name, value);
        }
        Self(some)
    }

    /// Whether `if-range`, if there is one, matches the response.
    fn applies(&self, headers: &Headers) -> bool {
        let Some(known) = self.0.get("if-range") else { return true };
        let is_known = |name: &str| headers.get(name) == Some(known);
        // Different bytes may have the same weak tag.
        is_known("last-modified") || (known.starts_with(b"\"") && is_known("etag"))
    }
}

/// Cuts the body to the requested part, and adds `accept-ranges`.
pub fn apply_range(response: &mut Response, request: Option<&RangeRequest>) {
    let (Body::Stream(stream), 200) = (&mut response.body, response.status) else { return };
    let (Some(size), Some(ranged)) = (stream.remaining(), stream.as_ranged()) else { return };
    let headers = &mut response.headers;
    if ["content-range", "content-encoding", "accept-ranges"].iter().any(|name| headers.contains(name)) {
        return;
    }
    headers.push(b"accept-ranges", b"bytes");
    let Some(request) = request.filter(|request| request.applies(headers)) else { return };
    let part = part(&request.0, size);
    let Some(range) = part.content_range(size) else { return };
    headers.push(b"content-range", range.as_bytes());
    headers.remove("content-length");
    response.reason = None;
    match part {
        Part::Slice { start, length } => {
            ranged.keep(start, length);
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
    use hearth_core::{BodyError, ByteStream, RangedBody};

    use super::*;

    struct TestFile(Bytes);

    impl ByteStream for TestFile {
        fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
            let all = std::mem::take(&mut self.0);
            Poll::Ready((!all.is_empty()).then_some(Ok(all)))
        }

        fn remaining(&self) -> Option<u64> {
            Some(self.0.len() as u64)
        }

        fn as_ranged(&mut self) -> Option<&mut dyn RangedBody> {
            Some(self)
        }
    }

    impl RangedBody for TestFile {
        fn keep(&mut self, start: u64, length: u64) {
            self.0 = self.0.slice(start as usize..(start + length) as usize);
        }
    }

    fn headers(list: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        list.iter().for_each(|(name, value)| headers.push(name.as_bytes(), value.as_bytes()));
        headers
    }

    /// Status, range and bytes of the response for a body of `0123456789`.
    async fn ranged(status: u16, own: &[(&str, &str)], context: &[(&str, &str)]) -> (u16, Option<String>, String) {
        let body = Body::Stream(Box::new(TestFile(Bytes::from("0123456789"))));
        let mut response = Response::new(status, headers(own), body);
        apply_range(&mut response, Some(&RangeRequest::new(&headers(context))));
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let range = response.headers.get("content-range").map(text);
        (response.status, range, text(&response.body.collect().await.unwrap()))
    }

    #[tokio::test]
    async fn a_requested_part_is_cut_out() {
        let whole = (200, None, "0123456789".to_owned());
        let part = (206, Some("bytes 2-4/10".to_owned()), "234".to_owned());
        let none = (416, Some("bytes */10".to_owned()), String::new());
        let range = ("range", "bytes=2-4");
        assert_eq!(ranged(200, &[], &[range]).await, part);
        assert_eq!(ranged(200, &[], &[("range", "bytes=10-")]).await, none);
        assert_eq!(ranged(200, &[], &[("range", "bytes=0-1,4-5")]).await, whole);
        let tagged = [("etag", "\"a\""), ("last-modified", "then")];
        for (condition, expected) in [("\"a\"", &part), ("then", &part), ("\"b\"", &whole), ("W/\"a\"", &whole)] {
            assert_eq!(ranged(200, &tagged, &[range, ("if-range", condition)]).await, *expected, "{condition}");
        }
        let weak = [("etag", "W/\"a\"")];
        assert_eq!(ranged(200, &weak, &[range, ("if-range", "W/\"a\"")]).await, whole);
    }

    #[tokio::test]
    async fn the_apps_own_ranges_and_codings_stay() {
        let range = ("range", "bytes=2-4");
        for (status, own) in [
            (202, ("x-own", "status")),
            (206, ("content-range", "bytes 0-9/20")),
            (200, ("content-encoding", "gzip")),
            (200, ("accept-ranges", "none")),
        ] {
            let (now, content_range, text) = ranged(status, &[own], &[range]).await;
            assert_eq!((now, text.as_str()), (status, "0123456789"), "{own:?}");
            assert!(content_range.is_none() || own.0 == "content-range", "{content_range:?}");
        }
        // A full body was generated by the app.
        let mut made = Response::new(200, Headers::new(), Body::Full(Bytes::from("0123456789")));
        apply_range(&mut made, Some(&RangeRequest::new(&headers(&[range]))));
        assert_eq!((made.status, made.headers.len()), (200, 0));
    }
}
