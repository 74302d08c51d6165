//! The representation of a file for one client: headers, status, and the part that is sent.

use hearth_core::range::{Part, part};
use hearth_core::{Body, Headers, Method, Response};

use crate::conditional::{Validators, Verdict, evaluate, range_applies};
use crate::content_encoding::VariantCoding;
use crate::etag::Etag;
use crate::http_date;
use crate::mime::MimeType;

#[derive(Debug)]
pub struct Representation {
    pub media: MimeType,
    pub coding: Option<VariantCoding>,
    pub choice: Choice,
    pub cache_control: &'static str,
    pub etag: Etag,
    /// Seconds since 1970.
    pub modified: Option<u64>,
    pub length: u64,
}

/// Whether the response depends on `accept-encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    One,
    ByEncoding,
}

#[derive(Debug)]
pub enum Plan {
    /// The response is complete.
    Done(Response),
    /// The caller puts these bytes into the response.
    Fill { response: Response, start: u64, length: u64 },
}

impl Representation {
    /// Plans the response to a GET or HEAD request.
    pub fn plan(&self, method: &Method, headers: &Headers) -> Plan {
        let validators = Validators { etag: &self.etag, modified: self.modified };
        match evaluate(headers, validators) {
            Verdict::NotModified => return Plan::Done(Response::new(304, self.common(), Body::Empty)),
            Verdict::Failed => return Plan::Done(Response::new(412, self.common(), Body::Empty)),
            Verdict::Send => {}
        }
        if *method == Method::Head {
            let mut response = self.whole();
            response.headers.push(b"content-length", self.length.to_string().as_bytes());
            return Plan::Done(response);
        }
        let is_divisible = self.coding.is_none() && range_applies(headers, validators);
        let part = if is_divisible { part(headers, self.length) } else { Part::Whole };
        let mut plan = match part {
            Part::Whole => Plan::Fill { response: self.whole(), start: 0, length: self.length },
            Part::Slice { start, length } => {
                Plan::Fill { response: Response { status: 206, ..self.whole() }, start, length }
            }
            Part::Unsatisfiable => Plan::Done(Response::new(416, self.common(), Body::Empty)),
        };
        if let (Some(range), Plan::Fill { response, .. } | Plan::Done(response)) =
            (part.content_range(self.length), &mut plan)
        {
            response.headers.push(b"content-range", range.as_bytes());
        }
        plan
    }

    fn whole(&self) -> Response {
        let mut headers = self.common();
        headers.push(b"content-type", self.media.as_str().as_bytes());
        match self.coding {
            Some(coding) => headers.push(b"content-encoding", coding.name().as_bytes()),
            None => headers.push(b"accept-ranges", b"bytes"),
        }
        Response::new(200, headers, Body::Empty)
    }

    /// The headers of every response, including 304.
    fn common(&self) -> Headers {
        let mut headers = Headers::with_capacity(9, 384);
        headers.push(b"cache-control", self.cache_control.as_bytes());
        headers.push(b"etag", self.etag.as_bytes());
        if let Some(date) = self.modified.and_then(http_date::format) {
            headers.push(b"last-modified", date.as_bytes());
        }
        if self.choice == Choice::ByEncoding {
            headers.push(b"vary", b"accept-encoding");
        }
        headers.push(b"x-content-type-options", b"nosniff");
        headers
    }
}
