//! Writes the start of response heads: the status line, the app's headers and the date. Most responses of a connection start
//! alike, so the last start is kept, as it was sent and with what it was made of, and copied where the same comes again.
//!
//! Equal parts make equal bytes, so nothing but time depends on this cache; the tests compare it with one that is empty.

use hearth_core::{Headers, Response};

use crate::date::DateText;
use crate::repeat_cache::RepeatCache;
use crate::response::{AppHeaders, push_header, push_status_line};

/// Longer starts are not kept: idle connections would hold them all.
const MAX_CACHED_BYTES: usize = 1024;

/// The cache of one connection.
#[derive(Debug, Default)]
pub struct ResponseHeadCache(RepeatCache<Entry>);

/// What an app's headers say that matters for the rest of the head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadFacts {
    /// The length of the body that they claim.
    pub claimed: Option<u64>,
    /// How many were not sent.
    pub dropped: u64,
}

#[derive(Debug)]
struct Entry {
    status: u16,
    headers: Headers,
    date: DateText,
    bytes: Box<[u8]>,
    facts: HeadFacts,
}

impl ResponseHeadCache {
    pub fn write(&mut self, out: &mut Vec<u8>, response: &Response, date: &DateText) -> HeadFacts {
        let cached = self.0.lookup(|entry| {
            entry.matches(response, date).then(|| {
                out.extend_from_slice(&entry.bytes);
                entry.facts
            })
        });
        if let Some(facts) = cached {
            return facts;
        }
        let start = out.len();
        let facts = write(out, response, date);
        self.0.insert(|| Entry::new(response, date, &out[start..], facts));
        facts
    }
}

impl Entry {
    fn new(response: &Response, date: &DateText, bytes: &[u8], facts: HeadFacts) -> Option<Box<Self>> {
        if response.reason.is_some() || bytes.len() > MAX_CACHED_BYTES {
            return None;
        }
        let (status, headers) = (response.status, response.headers.clone());
        Some(Box::new(Self { status, headers, date: *date, bytes: bytes.into(), facts }))
    }

    fn matches(&self, response: &Response, date: &DateText) -> bool {
        let Response { status, reason, headers, .. } = response;
        self.status == *status && reason.is_none() && self.headers == *headers && self.date == *date
    }
}

fn write(out: &mut Vec<u8>, response: &Response, date: &DateText) -> HeadFacts {
    push_status_line(out, response);
    let mut headers = AppHeaders::default();
    headers.each(response, |name, value| push_header(out, name, value));
    if !headers.date {
        push_header(out, b"date", date);
    }
    HeadFacts { claimed: headers.length, dropped: headers.dropped }
}

#[cfg(test)]
mod tests {
    use hearth_core::Body;

    use super::*;
    use crate::repeat_cache::MAX_MISSES;

    fn response(status: u16, reason: Option<&str>, headers: &[(&str, &str)]) -> Response {
        let mut list = Headers::new();
        headers.iter().for_each(|(name, value)| list.push(name.as_bytes(), value.as_bytes()));
        Response { reason: reason.map(Into::into), ..Response::new(status, list, Body::Empty) }
    }

    /// Whatever was kept before, the bytes are those of an empty cache.
    #[test]
    fn a_cached_start_equals_a_written_one() {
        const DATES: [&DateText; 2] = [b"Thu, 01 Jan 1970 00:00:00 GMT", b"Thu, 01 Jan 1970 00:00:01 GMT"];
        let long = "x".repeat(MAX_CACHED_BYTES);
        let answers = [
            response(200, None, &[]),
            response(404, None, &[]),
            response(200, Some("Fine"), &[]),
            response(200, None, &[("a", "b")]),
            response(200, None, &[("a", "c"), ("content-length", "7")]),
            response(200, None, &[("a", "c"), ("bad\n", "7"), ("date", "now")]),
            response(200, None, &[("ab", "")]),
            response(200, None, &[("a", &long)]),
        ];
        let mut hits = 0;
        for first in &answers {
            for second in &answers {
                for (before, after) in [(DATES[0], DATES[0]), (DATES[0], DATES[1])] {
                    let mut cache = ResponseHeadCache::default();
                    let sent = [(first, before), (first, before), (first, before), (second, after), (second, after)];
                    for (answer, date) in sent {
                        let (mut out, mut expected) = (b"before ".to_vec(), b"before ".to_vec());
                        hits += usize::from(cache.0.get_mut().is_some_and(|entry| entry.matches(answer, date)));
                        let facts = cache.write(&mut out, answer, date);
                        assert_eq!(facts, write(&mut expected, answer, date));
                        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected));
                    }
                }
            }
        }
        assert!(hits > 100, "{hits}");
    }

    #[test]
    fn starts_that_all_differ_are_not_kept() {
        let mut cache = ResponseHeadCache::default();
        for n in 0..10u8 {
            cache.write(
                &mut Vec::new(),
                &response(200, None, &[("n", &n.to_string())]),
                b"Thu, 01 Jan 1970 00:00:00 GMT",
            );
            assert_eq!(cache.0.get_mut().is_some(), (1..=MAX_MISSES).contains(&n), "{n}");
        }
    }
}
