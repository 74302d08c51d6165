//! Aligned columns. Widths are counted in characters, so that colours and long names do not shift the next column; the last
//! column is never padded, so that no line ends in spaces.

use super::style::{Style, Tint};
use super::text::escape;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

#[derive(Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    tint: Option<Tint>,
}

// === impl Table ===

impl Table {
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// A cell for each column, each with its colour. An empty one is shown as `-`.
    pub fn row<const N: usize>(&mut self, cells: [(String, Option<Tint>); N]) {
        let cell = |(text, tint): (String, Option<Tint>)| match text.is_empty() {
            true => Cell { text: "-".to_owned(), tint: Some(Tint::Dim) },
            false => Cell { text: escape(&text), tint },
        };
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The head and a line for each row.
    pub fn write(&self, style: Style) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.text.chars().count());
            cells.chain([self.columns[at].0.chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let head: Vec<Cell> =
            self.columns.iter().map(|(name, _)| Cell { text: (*name).to_owned(), tint: Some(Tint::Dim) }).collect();
        let mut out = String::new();
        for row in [&head].into_iter().chain(&self.rows) {
            self.line(&mut out, row, &widths, style);
        }
        out
    }

    fn line(&self, out: &mut String, row: &[Cell], widths: &[usize], style: Style) {
        for (at, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[at].saturating_sub(cell.text.chars().count()));
            let painted = match cell.tint {
                Some(tint) => style.paint(tint, &cell.text),
                None => cell.text.clone(),
            };
            let is_last = at + 1 == row.len();
            match self.columns[at].1 {
                Align::Right => out.push_str(&(padding + &painted)),
                Align::Left if is_last => out.push_str(&painted),
                Align::Left => out.push_str(&(painted + &padding)),
            }
            out.push_str(if is_last { "\n" } else { "  " });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("NAME", Align::Left), ("COUNT", Align::Right), ("STATE", Align::Left)]);
        table.row([("hello".into(), None), ("7".into(), None), ("served".into(), Some(Tint::Green))]);
        table.row([("a-longer-name".into(), None), ("123456".into(), None), (String::new(), None)]);
        table
    }

    #[test]
    fn columns_align_and_no_line_ends_in_spaces() {
        let expected = "\
NAME            COUNT  STATE
hello               7  served
a-longer-name  123456  -
";
        assert_eq!(table().write(Style::Plain), expected);
    }

    #[test]
    fn colours_do_not_shift_columns() {
        let painted = table().write(Style::Coloured);
        assert!(painted.contains("\x1b[32mserved\x1b[0m"), "{painted:?}");
        let mut plain = painted;
        for code in ["\x1b[2m", "\x1b[32m", "\x1b[0m"] {
            plain = plain.replace(code, "");
        }
        assert_eq!(plain, table().write(Style::Plain));
    }

    #[test]
    fn what_comes_from_elsewhere_stays_in_its_cell() {
        let mut table = Table::new(&[("NAME", Align::Left)]);
        table.row([("a\nb\x1b[2J".into(), None)]);
        assert_eq!(table.write(Style::Plain), "NAME\na\\nb\\u{1b}[2J\n");
    }
}
