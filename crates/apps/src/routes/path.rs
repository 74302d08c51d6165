//! The app in a path: `/name@range/…`, `/@scope/name@range/…`.
//!
//! Encoded characters (`%5E1.0.0`) are decoded once, after the path was split at its slashes: an
//! encoded slash is part of a name that no app has, never a separator.

use std::borrow::Cow;

use hearth_core::percent;

/// The longest prefix of a path that can name an app: scope, name and range, each character
/// encoded.
const MAX_SEGMENT: usize = 3 * (100 + 1 + 256);

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    /// With its scope.
    pub name: Cow<'a, str>,
    pub range: Option<Cow<'a, str>>,
    /// The end of the app's base: at the slash, or at the end of the path.
    pub end: usize,
}

// === impl Named ===

impl<'a> Named<'a> {
    pub fn of(path: &'a str) -> Option<Self> {
        let rest = path.strip_prefix('/')?;
        let first = slash(rest, 0)?;
        let scoped = rest.starts_with('@') || rest.starts_with("%40");
        let (scope, end) = if scoped { (first + 1, slash(rest, first + 1)?) } else { (0, first) };
        if end > MAX_SEGMENT {
            return None;
        }
        let named = decoded(&rest[..end], scope)?;
        let length = if scoped { range_length(&decoded(&rest[scope..end], 0)?) } else { range_length(&named) };
        let (name, range) = split(named, length);
        Some(Self { name, range, end: end + 1 })
    }
}

/// The next one from `from` on, or the end; `None` if it begins beyond that.
fn slash(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    Some(from + rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len()))
}

/// The length of the range after a name, including its `@`. Not at the first character: a name has
/// at least one.
fn range_length(last: &str) -> usize {
    last.bytes().skip(1).position(|byte| byte == b'@').map_or(0, |at| last.len() - 1 - at)
}

/// Percent-decoded text. `None` if the result has slashes or is not UTF-8.
fn decoded(text: &str, scope: usize) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let text = percent::decode(text)?;
    let slashes = text.bytes().filter(|byte| *byte == b'/').count();
    (slashes == usize::from(scope > 0)).then_some(Cow::Owned(text))
}

/// The name, and the range, which is the last `length` bytes with its `@`.
fn split(named: Cow<'_, str>, length: usize) -> (Cow<'_, str>, Option<Cow<'_, str>>) {
    let at = named.len() - length;
    match named {
        named if length == 0 => (named, None),
        Cow::Borrowed(text) => (Cow::Borrowed(&text[..at]), Some(Cow::Borrowed(&text[at + 1..]))),
        Cow::Owned(text) => (Cow::Owned(text[..at].to_owned()), Some(Cow::Owned(text[at + 1..].to_owned()))),
    }
}
