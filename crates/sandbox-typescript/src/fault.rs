//! What is wrong with a source, and where, as people want it:
//!
//! ```text
//! [code].ts:3:5: SyntaxError: Expected `,` but found `b`
//! f(a b)
//!     ^
//! ```

use std::fmt;

use oxc_diagnostics::OxcDiagnostic;

/// Of a longer line, minified code for example, nothing is shown.
const LONGEST_LINE: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    name: String,
    what: String,
    place: Option<Place>,
}

#[derive(Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    /// In characters, from 1.
    column: usize,
    text: String,
}

// === impl Fault ===

impl Fault {
    /// The first of several: what follows it is often its consequence.
    pub fn first(name: &str, source: &str, errors: &[OxcDiagnostic]) -> Option<Self> {
        let error = errors.first()?;
        let label = error.labels.iter().find(|l| l.primary()).or(error.labels.first());
        let what = match &error.help {
            Some(help) => format!("{} ({help})", error.message),
            None => error.message.to_string(),
        };
        Some(Self {
            name: name.to_owned(),
            what,
            place: label.map(|label| Place::new(source, label.offset() as usize)),
        })
    }

    /// `offset` in bytes.
    pub fn at(name: &str, source: &str, offset: usize, what: &str) -> Self {
        Self { name: name.to_owned(), what: what.to_owned(), place: Some(Place::new(source, offset)) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, what, place } = self;
        let Some(Place { line, column, text }) = place else { return write!(f, "{name}: SyntaxError: {what}") };
        write!(f, "{name}:{line}:{column}: SyntaxError: {what}")?;
        if text.len() > LONGEST_LINE {
            return Ok(());
        }
        write!(f, "\n{text}\n{:>column$}", '^')
    }
}

// === impl Place ===

impl Place {
    fn new(source: &str, offset: usize) -> Self {
        let offset = (0..=offset.min(source.len())).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0);
        let before = &source[..offset];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let text = source[start..].lines().next().unwrap_or_default().replace('\t', " ");
        Self { line: before.matches('\n').count() + 1, column: source[start..offset].chars().count() + 1, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str, offset: usize) -> String {
        Fault::at("a.ts", source, offset, "no").to_string()
    }

    #[test]
    fn the_place_is_shown() {
        assert_eq!(shown("a\nf(a b)\nc", 6), "a.ts:2:5: SyntaxError: no\nf(a b)\n    ^");
        assert_eq!(shown("", 0), "a.ts:1:1: SyntaxError: no\n\n^");
        assert_eq!(shown("äö x", 5), "a.ts:1:4: SyntaxError: no\näö x\n   ^");
        assert_eq!(shown("ä", 1), "a.ts:1:1: SyntaxError: no\nä\n^");
        assert_eq!(shown("a\r\nb", 99), "a.ts:2:2: SyntaxError: no\nb\n ^");
        assert_eq!(shown(&"x".repeat(10_000), 5_000), "a.ts:1:5001: SyntaxError: no");
    }
}
