//! A line of source with a mark below what is meant, as compilers show it.
//!
//! ```text
//!   3 | timout: 5s
//!     | ^
//! ```

use super::style::{Style, Tint};

/// Only generated code has longer lines: the part around the mark is shown.
const LONGEST: usize = 100;

/// Line and column count from 1; the column in characters. `None` where the text has no such line.
pub fn frame(text: &str, line: usize, column: usize, style: Style) -> Option<String> {
    let source = text.lines().nth(line.checked_sub(1)?)?;
    let length = source.chars().count();
    let column = column.saturating_sub(1).min(length);
    let from = if length <= LONGEST { 0 } else { column.saturating_sub(LONGEST / 2) };
    let shown: String = source.chars().skip(from).take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let number = line.to_string();
    let (blank, marker) = (" ".repeat(number.len()), " ".repeat(column - from));
    let gutter = |text: &str| style.paint(Tint::Blue, &format!("  {text} |"));
    let mark = style.paint(Tint::Red, "^");
    Some(format!("{} {shown}\n{} {marker}{mark}", gutter(&number), gutter(&blank)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn plain(text: &str, line: usize, column: usize) -> Option<String> {
        frame(text, line, column, Style::Plain)
    }

    #[test]
    fn the_mark_is_below_what_is_meant() {
        assert_eq!(plain("a\nf(a b)\nc", 2, 5).unwrap(), "  2 | f(a b)\n    |     ^");
        assert_eq!(plain("äö x", 1, 4).unwrap(), "  1 | äö x\n    |    ^");
        assert_eq!(plain("\tx", 1, 2).unwrap(), "  1 |  x\n    |  ^", "a tab is as wide as its mark");
        assert_eq!(plain("ab", 1, 99).unwrap(), "  1 | ab\n    |   ^");
    }

    #[test]
    fn there_may_be_no_such_line() {
        assert_eq!(plain("a\nb", 3, 1), None);
        assert_eq!(plain("a", 0, 1), None);
        assert_eq!(plain("", 1, 1), None);
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let text = format!("{}!{}", "x".repeat(5_000), "y".repeat(5_000));
        let framed = plain(&text, 1, 5_001).unwrap();
        let (source, mark) = framed.split_once('\n').unwrap();
        assert_eq!(source.find('!'), mark.find('^'));
        assert!(source.len() < 120);
    }
}
