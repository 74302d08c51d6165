//! Formats syntax errors: position, message, and the source line.
//!
//! ```text
//! /src/index.ts:3:14: Expected `,` but found `b`
//!   3 | f(a b)
//!     |     ^
//! ```

use hearth_core::module::ModuleError;
use oxc_diagnostics::OxcDiagnostic;

/// Longer lines are minified code, of which the part around the error is shown.
const MAX_LINE: usize = 100;

/// Line ends as V8 counts them (CR LF once), so that line numbers agree.
pub(super) const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// The first of several errors is shown; later ones are often consequences.
pub(super) fn syntax(id: &str, source: &str, errors: &[OxcDiagnostic]) -> ModuleError {
    let Some(error) = errors.first() else {
        return ModuleError::Syntax { id: id.into(), message: format!("{id}: cannot be parsed") };
    };
    let label = error.labels.iter().find(|l| l.primary()).or(error.labels.first());
    let mut what = error.message.to_string();
    if let Some(help) = &error.help {
        what = format!("{what} ({help})");
    }
    at(id, source, label.map(|label| label.offset() as usize), &what)
}

/// `offset` in bytes.
pub(super) fn at(id: &str, source: &str, offset: Option<usize>, what: &str) -> ModuleError {
    let message = match offset {
        Some(offset) => framed(id, source, offset, what),
        None => format!("{id}: {what}"),
    };
    ModuleError::Syntax { id: id.into(), message }
}

fn framed(id: &str, source: &str, offset: usize, what: &str) -> String {
    let mut offset = offset.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    if source[..offset].ends_with('\r') && source[offset..].starts_with('\n') {
        offset -= 1;
    }
    let before = &source[..offset];
    let number = before.matches(LINE_ENDS).count() - before.matches("\r\n").count() + 1;
    let start = before.rsplit(LINE_ENDS).next().map_or(0, |part| offset - part.len());
    let line = source[start..].split(LINE_ENDS).next().unwrap_or_default();
    let column = source[start..offset].chars().count();
    let (shown, caret) = window(line, column);
    let gutter = number.to_string();
    let blank = " ".repeat(gutter.len());
    let marker = " ".repeat(caret);
    format!("{id}:{number}:{}: {what}\n  {gutter} | {shown}\n  {blank} | {marker}^", column + 1)
}

/// The part of a line around a column, with tabs as spaces, and the column within it.
fn window(line: &str, column: usize) -> (String, usize) {
    let length = line.chars().count();
    let from = if length <= MAX_LINE { 0 } else { column.saturating_sub(MAX_LINE / 2) };
    let shown = line.chars().skip(from).take(MAX_LINE).map(|c| if c.is_control() { ' ' } else { c }).collect();
    (shown, column - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: &str, offset: usize) -> String {
        framed("/a.ts", source, offset, "no")
    }

    #[test]
    fn frames() {
        assert_eq!(message("a\nf(a b)\nc", 6), "/a.ts:2:5: no\n  2 | f(a b)\n    |     ^");
        assert_eq!(message("", 0), "/a.ts:1:1: no\n  1 | \n    | ^");
        assert_eq!(message("äö x", 5), "/a.ts:1:4: no\n  1 | äö x\n    |    ^");
        assert_eq!(message("ä", 1), "/a.ts:1:1: no\n  1 | ä\n    | ^");
        assert_eq!(message("a\r\nb", 99), "/a.ts:2:2: no\n  2 | b\n    |  ^");
        assert_eq!(message("a\r\nb", 2), "/a.ts:1:2: no\n  1 | a\n    |  ^");
        assert_eq!(message("a\rb\u{2028}c d", 8), "/a.ts:3:3: no\n  3 | c d\n    |   ^");
    }

    #[test]
    fn long_lines_are_cut() {
        let text = message(&"x".repeat(10_000), 5_000);
        assert!(text.lines().all(|line| line.len() < 120), "{text}");
        assert!(text.starts_with("/a.ts:1:5001: no"));
    }
}
