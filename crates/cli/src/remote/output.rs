//! The output of a command: text, or the server's own JSON.

use std::io::{ErrorKind, IsTerminal, Write, stdout};

use serde_json::Value;

use super::error::RemoteError;
use crate::terminal::{ConsoleStream, Style};

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
        Self { format, style: Style::for_stream(ConsoleStream::Output) }
    }

    /// The response: unchanged as JSON, else as `text` formats it.
    pub(super) fn answer(&self, value: &Value, text: impl FnOnce(Style) -> String) -> Result<(), RemoteError> {
        match self.format {
            Format::Text => self.write(&text(self.style)),
            // Indented on a terminal, one line for programs.
            Format::Json if stdout().is_terminal() => self.write(&format!("{value:#}")),
            Format::Json => self.write(&value.to_string()),
        }
    }

    /// Writes text that has been escaped already, and a line end if it has none.
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
