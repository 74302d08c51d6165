//! Colours: on a terminal, unless `NO_COLOR` says otherwise (<https://no-color.org>).

use std::io::{IsTerminal, stderr, stdout};

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Coloured,
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleStream {
    Output,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    Bold,
    Dim,
    Red,
    Yellow,
    Green,
    Blue,
}

// === impl Style ===

impl Style {
    pub fn for_stream(stream: ConsoleStream) -> Self {
        let is_terminal = match stream {
            ConsoleStream::Output => stdout().is_terminal(),
            ConsoleStream::Error => stderr().is_terminal(),
        };
        let says = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let refused = says("NO_COLOR").is_some() || says("TERM").is_some_and(|terminal| terminal == "dumb");
        if is_terminal && !refused { Self::Coloured } else { Self::Plain }
    }

    pub fn paint(self, tint: Tint, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\x1b[{}m{text}\x1b[0m", tint.code()),
        }
    }
}

// === impl Tint ===

impl Tint {
    fn code(self) -> u8 {
        match self {
            Self::Bold => 1,
            Self::Dim => 2,
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Blue => 34,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_left_out_where_they_are_off() {
        assert_eq!(Style::Plain.paint(Tint::Red, "a"), "a");
        assert_eq!(Style::Coloured.paint(Tint::Red, "a"), "\x1b[31ma\x1b[0m");
    }
}
