//! How answers begin: the status line, the app's headers, the date. Most answers of a connection begin alike, so the last
//! beginning is kept, as it was sent and with what it was made of, and copied where the same comes again. Equal parts make equal
//! bytes, so nothing but time depends on this; the tests hold it against one that remembers nothing.

use hearth_core::{Headers, Response};

use crate::date::DateText;
use crate::response::{AppHeaders, push_header, push_status_line};

/// Longer ones are not kept: connections that wait would hold them all.
const MOST: usize = 1024;
/// Of an app that never says the same twice, nothing more is kept after this many answers.
const PATIENCE: u8 = 4;

/// Of one connection.
#[derive(Debug, Default)]
pub struct Openings {
    last: Option<Box<Last>>,
    /// Answers in a row that began unlike those before. The first one always does, and may stay the only one.
    news: u8,
}

/// What an app's headers say that matters for what follows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opened {
    /// The length of the body that they claim.
    pub claimed: Option<u64>,
    /// How many were not sent.
    pub dropped: u64,
}

#[derive(Debug)]
struct Last {
    status: u16,
    headers: Headers,
    date: DateText,
    bytes: Box<[u8]>,
    opened: Opened,
}

impl Openings {
    pub fn write(&mut self, out: &mut Vec<u8>, response: &Response, date: &DateText) -> Opened {
        if let Some(last) = self.last.as_ref().filter(|last| last.is_of(response, date)) {
            out.extend_from_slice(&last.bytes);
            self.news = 0;
            return last.opened;
        }
        let start = out.len();
        let opened = write(out, response, date);
        if self.news > 0 {
            self.last = if self.news <= PATIENCE { Last::of(response, date, &out[start..], opened) } else { None };
        }
        self.news = self.news.saturating_add(1);
        opened
    }
}

impl Last {
    fn of(response: &Response, date: &DateText, bytes: &[u8], opened: Opened) -> Option<Box<Self>> {
        if response.reason.is_some() || bytes.len() > MOST {
            return None;
        }
        let (status, headers) = (response.status, response.headers.clone());
        Some(Box::new(Self { status, headers, date: *date, bytes: bytes.into(), opened }))
    }

    fn is_of(&self, response: &Response, date: &DateText) -> bool {
        let Response { status, reason, headers, .. } = response;
        self.status == *status && reason.is_none() && self.headers == *headers && self.date == *date
    }
}

fn write(out: &mut Vec<u8>, response: &Response, date: &DateText) -> Opened {
    push_status_line(out, response);
    let mut headers = AppHeaders::default();
    headers.each(response, |name, value| push_header(out, name, value));
    if !headers.date {
        push_header(out, b"date", date);
    }
    Opened { claimed: headers.length, dropped: headers.dropped }
}

#[cfg(test)]
mod tests {
    use hearth_core::Body;

    use super::*;

    fn response(status: u16, reason: Option<&str>, headers: &[(&str, &str)]) -> Response {
        let mut list = Headers::new();
        headers.iter().for_each(|(name, value)| list.push(name.as_bytes(), value.as_bytes()));
        Response { reason: reason.map(Into::into), ..Response::new(status, list, Body::Empty) }
    }

    /// Whatever was said before, it is what is said by one who remembers nothing.
    #[test]
    fn what_begins_alike_is_the_same() {
        const DATES: [&DateText; 2] = [b"Thu, 01 Jan 1970 00:00:00 GMT", b"Thu, 01 Jan 1970 00:00:01 GMT"];
        let long = "x".repeat(MOST);
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
        let mut kept = 0;
        for first in &answers {
            for second in &answers {
                for (before, after) in [(DATES[0], DATES[0]), (DATES[0], DATES[1])] {
                    let mut openings = Openings::default();
                    let said = [(first, before), (first, before), (first, before), (second, after), (second, after)];
                    for (answer, date) in said {
                        let (mut out, mut expected) = (b"before ".to_vec(), b"before ".to_vec());
                        kept += usize::from(openings.last.as_ref().is_some_and(|last| last.is_of(answer, date)));
                        let opened = openings.write(&mut out, answer, date);
                        assert_eq!(opened, write(&mut expected, answer, date));
                        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected));
                    }
                }
            }
        }
        assert!(kept > 100, "{kept}");
    }

    #[test]
    fn an_app_that_never_says_the_same_is_not_remembered() {
        let mut openings = Openings::default();
        for n in 0..10u8 {
            openings.write(
                &mut Vec::new(),
                &response(200, None, &[("n", &n.to_string())]),
                b"Thu, 01 Jan 1970 00:00:00 GMT",
            );
            assert_eq!(openings.last.is_some(), (1..=PATIENCE).contains(&n), "{n}");
        }
    }
}
