//! Conditional requests (RFC 9110, section 13): whether the client has the file already, or wants
//! only a different one.

use hearth_core::Headers;

use crate::etag::Etag;
use crate::http_date;

/// The validators of a representation.
#[derive(Clone, Copy, Debug)]
pub struct Validators<'a> {
    pub etag: &'a Etag,
    /// Seconds since 1970.
    pub modified: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Send,
    NotModified,
    /// A precondition of the client is not met.
    Failed,
}

/// Evaluates the conditions in the order of section 13.2.2; conditions on tags override those on
/// dates.
pub fn evaluate(headers: &Headers, validators: Validators<'_>) -> Verdict {
    let Validators { etag, modified } = validators;
    let date = |name| headers.get(name).and_then(http_date::parse).zip(modified);
    if headers.contains("if-match") {
        if !any_tag(headers, "if-match", |tag| tag.is_strong_match(etag)) {
            return Verdict::Failed;
        }
    } else if date("if-unmodified-since").is_some_and(|(date, modified)| modified > date) {
        return Verdict::Failed;
    }
    if headers.contains("if-none-match") {
        if any_tag(headers, "if-none-match", |tag| tag.is_weak_match(etag)) {
            return Verdict::NotModified;
        }
    } else if date("if-modified-since").is_some_and(|(date, modified)| modified <= date) {
        return Verdict::NotModified;
    }
    Verdict::Send
}

/// Whether a range may be sent: `if-range`, if present, must match.
pub fn range_applies(headers: &Headers, validators: Validators<'_>) -> bool {
    let Some(value) = headers.get("if-range") else { return true };
    match tags(value).next() {
        Some(tag) => tag.is_strong_match(validators.etag),
        None => http_date::parse(value).is_some_and(|date| Some(date) == validators.modified),
    }
}

fn any_tag(headers: &Headers, name: &str, fits: impl Fn(Tag<'_>) -> bool) -> bool {
    headers.get_all(name).any(|value| value.trim_ascii() == b"*" || tags(value).any(&fits))
}

/// An entity tag sent by a client, in its quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag<'a> {
    strength: Strength,
    text: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strength {
    Strong,
    Weak,
}

impl Tag<'_> {
    fn is_strong_match(self, etag: &Etag) -> bool {
        self.strength == Strength::Strong && self.text == etag.as_bytes()
    }

    fn is_weak_match(self, etag: &Etag) -> bool {
        self.text == etag.as_bytes()
    }
}

/// The tags of a list; malformed ones are skipped up to the next comma.
fn tags(mut list: &[u8]) -> impl Iterator<Item = Tag<'_>> {
    std::iter::from_fn(move || {
        loop {
            let skipped = list.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
            list = &list[skipped..];
            let (strength, quoted) = match list.strip_prefix(b"W/") {
                Some(rest) => (Strength::Weak, rest),
                None => (Strength::Strong, list),
            };
            let end = match quoted {
                [b'"', rest @ ..] => rest.iter().position(|byte| *byte == b'"').map(|end| end + 2),
                _ => None,
            };
            if let Some(end) = end {
                let (text, rest) = quoted.split_at(end);
                list = rest;
                return Some(Tag { strength, text });
            }
            list = &list[list.iter().position(|byte| *byte == b',')?..];
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

    fn headers(list: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        list.iter().for_each(|(name, value)| headers.push(name.as_bytes(), value.as_bytes()));
        headers
    }

    #[test]
    fn conditions() {
        use Verdict::*;
        let etag = Etag::literal("\"a,b\"");
        for (list, verdict) in [
            (&[][..], Send),
            (&[("if-none-match", "\"a,b\"")], NotModified),
            (&[("if-none-match", "W/\"a,b\"")], NotModified),
            (&[("if-none-match", "*")], NotModified),
            (&[("if-none-match", "\"x\", W/\"y\" ,\"a,b\"")], NotModified),
            (&[("if-none-match", "\"x\""), ("if-none-match", "\"a,b\"")], NotModified),
            (&[("if-none-match", "junk, \"a,b\"")], NotModified),
            (&[("if-none-match", "\"a\"")], Send),
            (&[("if-none-match", "\"b\"")], Send),
            (&[("if-none-match", "a,b")], Send),
            (&[("if-none-match", "w/\"a,b\"")], Send),
            (&[("if-none-match", "\"a,b")], Send),
            (&[("if-none-match", "")], Send),
            (&[("if-modified-since", DATE)], NotModified),
            (&[("if-modified-since", LATER)], NotModified),
            (&[("if-modified-since", EARLIER)], Send),
            (&[("if-modified-since", "nonsense")], Send),
            (&[("if-none-match", "\"x\""), ("if-modified-since", LATER)], Send),
            (&[("if-match", "\"a,b\"")], Send),
            (&[("if-match", "*")], Send),
            (&[("if-match", "W/\"a,b\"")], Failed),
            (&[("if-match", "\"x\"")], Failed),
            (&[("if-match", "\"a,b\""), ("if-none-match", "\"a,b\"")], NotModified),
            (&[("if-unmodified-since", EARLIER)], Failed),
            (&[("if-unmodified-since", DATE)], Send),
            (&[("if-match", "\"a,b\""), ("if-unmodified-since", EARLIER)], Send),
        ] {
            let validators = Validators { etag: &etag, modified: Some(784_111_777) };
            assert_eq!(evaluate(&headers(list), validators), verdict, "{list:?}");
        }
        let undated = Validators { etag: &etag, modified: None };
        assert_eq!(evaluate(&headers(&[("if-modified-since", LATER)]), undated), Send);
    }

    #[test]
    fn ranges_apply_to_the_same_file_only() {
        let etag = Etag::literal("\"a\"");
        for (value, applies) in [
            (None, true),
            (Some("\"a\""), true),
            (Some("W/\"a\""), false),
            (Some("\"b\""), false),
            (Some(DATE), true),
            (Some(EARLIER), false),
            (Some(LATER), false),
            (Some("junk"), false),
            (Some(""), false),
        ] {
            let list = value.map(|value| ("if-range", value));
            let validators = Validators { etag: &etag, modified: Some(784_111_777) };
            assert_eq!(range_applies(&headers(list.as_slice()), validators), applies, "{value:?}");
        }
    }
}
