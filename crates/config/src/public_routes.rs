//! Routes of an app that need no token although the app requires one.
//!
//! A pattern is a path: `/health`, `/users/:id`, `/assets/*.css`, `/docs/**`. In a segment, `*` is
//! any text; alone, or as `:name`, it is one whole, non-empty segment. `**` is any number of
//! segments; at the end of a pattern at least one, so that `/docs/**` matches everything below
//! `/docs/`, but not `/docs`.
//!
//! Matching fails closed: a path is split into segments before these are decoded, and a path that
//! servers could interpret in two ways (an encoded slash, a backslash, `.` or `..`, an empty
//! segment, double encoding) is never public.

use std::fmt;
use std::str::FromStr;

use hearth_core::percent;
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::error::ConfigProblem;
use crate::fields::{Fault, Read};
use crate::suggest::nearest;
use crate::value;
use crate::yaml::{Key, Node, Value};

/// Empty: no route is public.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicRoutes(Vec<Route>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Route {
    method: Methods,
    #[serde(with = "as_text")]
    pattern: Pattern,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Methods {
    All,
    One(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    text: String,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// Literal text, without `*`.
    Like(String),
    /// One non-empty segment.
    One,
    /// Any number of segments.
    Any,
    Many,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is not a pattern of paths: {reason}")]
pub struct RouteError {
    pub pattern: String,
    pub reason: &'static str,
}

/// Each pattern is tried for each request.
const MAX_PATTERNS: usize = 256;

const METHODS: [&str; 8] = ["ALL", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

// === impl PublicRoutes ===

impl PublicRoutes {
    /// `path` as sent, without the query; `method` as in HTTP.
    pub fn matches(&self, method: &str, path: &str) -> bool {
        let Some(segments) = segments(path) else { return false };
        self.0.iter().any(|route| route.method.contains(method) && route.pattern.matches(&segments))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A list for all methods, or a map of methods to lists.
pub(crate) fn read(node: &Node) -> Read<PublicRoutes> {
    value::at_most(MAX_PATTERNS, routes)(node).map(PublicRoutes)
}

fn routes(node: &Node) -> Read<Vec<Route>> {
    let patterns = value::several(value::parsed::<Pattern>("a path, such as /health or /assets/**"));
    let of = |method: Methods, patterns: Vec<Pattern>| {
        patterns.into_iter().map(move |pattern| Route { method: method.clone(), pattern })
    };
    if !matches!(node.value, Value::Map(_)) {
        return Ok(of(Methods::All, patterns(node)?).collect());
    }
    let of_method = |key: &Key, node: &Node| Ok(of(method(key)?, patterns(node)?).collect::<Vec<_>>());
    let all = value::map(node, "a list of paths", of_method)?;
    Ok(all.into_iter().flat_map(|(_, routes)| routes).collect())
}

fn method(key: &Key) -> Read<Methods> {
    match key.name.to_ascii_uppercase().as_str() {
        "ALL" | "*" => Ok(Methods::All),
        upper if METHODS.contains(&upper) => Ok(Methods::One(upper.to_owned())),
        _ => {
            let (known, nearest) = (METHODS.to_vec(), nearest(&key.name, &METHODS));
            Err(vec![Fault::at(key.at, ConfigProblem::UnknownWord { value: key.name.clone(), known, nearest })])
        }
    }
}

/// The decoded segments of an unambiguous path.
fn segments(path: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    let (_, inner) = parts.split_last()?;
    if inner.iter().any(|part| part.is_empty()) {
        return None;
    }
    parts.into_iter().map(decode).collect()
}

fn decode(part: &str) -> Option<String> {
    let text = Some(part).filter(|part| !part.contains(['?', '#'])).and_then(percent::decode)?;
    let odd = text.contains(|c: char| matches!(c, '/' | '\\' | '%') || c.is_control());
    (!odd && text != "." && text != "..").then_some(text)
}

// === impl Methods ===

impl Methods {
    fn contains(&self, method: &str) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == method,
        }
    }
}

// === impl Pattern ===

impl Pattern {
    /// Each `**` matches as little as possible; on a mismatch only the last `**` is extended.
    fn matches(&self, path: &[String]) -> bool {
        let (mut at, mut seen) = (0, 0);
        let mut again = None;
        while seen < path.len() {
            match self.segments.get(at) {
                Some(Segment::Many) => {
                    again = Some((at, seen));
                    at += 1;
                }
                Some(segment) if segment.matches(&path[seen]) => {
                    at += 1;
                    seen += 1;
                }
                _ => match again {
                    Some((many, from)) => {
                        (at, seen) = (many + 1, from + 1);
                        again = Some((many, from + 1));
                    }
                    None => return false,
                },
            }
        }
        self.segments[at..].iter().all(|segment| *segment == Segment::Many)
    }
}

impl FromStr for Pattern {
    type Err = RouteError;

    fn from_str(text: &str) -> Result<Self, RouteError> {
        let wrong = |reason| RouteError { pattern: text.to_owned(), reason };
        let path = text.strip_prefix('/').ok_or_else(|| wrong("it must begin with /"))?;
        if path.contains(|c: char| matches!(c, '?' | '#' | '\\' | '%') || c.is_control()) {
            return Err(wrong("write the path alone, decoded: no query, no %, no backslash"));
        }
        let parts: Vec<&str> = path.split('/').collect();
        let mut segments = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let last = at + 1 == parts.len();
            match *part {
                "" if !last => return Err(wrong("there are two slashes in a row")),
                "." | ".." => return Err(wrong("no path that is matched has . or .. in it")),
                "**" if last => segments.extend([Segment::Any, Segment::Many]),
                "**" => segments.push(Segment::Many),
                part if part.contains("**") => return Err(wrong("** must be a whole segment, as in /docs/**")),
                ":" => return Err(wrong("after the : there must be a name")),
                "*" => segments.push(Segment::One),
                part if part.starts_with(':') => segments.push(Segment::One),
                part => segments.push(Segment::Like(part.to_owned())),
            }
        }
        Ok(Self { text: text.to_owned(), segments })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

// === impl Segment ===

impl Segment {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Like(pattern) => like(pattern, text),
            Self::One => !text.is_empty(),
            Self::Any | Self::Many => true,
        }
    }
}

/// The literal parts around the stars, in order. The first match of each is sufficient.
fn like(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut text) = text.strip_prefix(first).and_then(|text| text.strip_suffix(last)) else { return false };
    for part in between.split('*').filter(|part| !part.is_empty()) {
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "public_routes/tests.rs"]
mod tests;
