//! What a command says: text for people, or the server's own JSON for programs.

use std::io::{ErrorKind, IsTerminal, Write, stdout};

use serde_json::Value;

use super::error::RemoteError;
use crate::terminal::{Stream, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    pub(super) format: Format,
    pub(super) style: Style,
}

impl Output {
    pub(super) fn new(format: Format) -> Self {
        Self { format, style: Style::of(Stream::Output) }
    }

    /// The answer: as it is where JSON is wanted, else what `text` makes of it.
    pub(super) fn answer(&self, value: &Value, text: impl FnOnce(Style) -> String) -> Result<(), RemoteError> {
        match self.format {
            Format::Text => self.write(&text(self.style)),
            // Indented where somebody reads it, one line where a program does.
            Format::Json if stdout().is_terminal() => self.write(&format!("{value:#}")),
            Format::Json => self.write(&value.to_string()),
        }
    }

    /// Text that has been made safe for terminals, and its line end if it has none.
    pub(super) fn write(&self, text: &str) -> Result<(), RemoteError> {
        let mut out = stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let written =
            out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())).and_then(|()| out.flush());
        written.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => RemoteError::Unread,
            _ => RemoteError::Output(error),
        })
    }
}
