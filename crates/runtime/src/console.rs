//! The console of an app: the log, at a rate that is bounded for each version of an app. An app can
//! write as fast as it runs; the log and its readers must not suffer for that.

use std::borrow::Cow;
use std::sync::Arc;

use hearth_core::RequestId;
use hearth_core::log_limit::Admitted;

use crate::app::App;

/// The longest line, in bytes: logs keep thousands of them.
const MAX_LINE_BYTES: usize = 16 * 1024;

pub(crate) struct Console {
    app: Arc<App>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// A line that the rate admits.
pub(crate) struct Line<'a> {
    pub(crate) request: RequestId,
    /// The request's `x-request-id`, by which clients and the access log know it.
    pub(crate) id: Option<&'a str>,
    pub(crate) level: Level,
    pub(crate) message: &'a str,
}

impl Console {
    pub(crate) fn new(app: Arc<App>) -> Self {
        Self { app }
    }

    /// Called before anything is done for a line.
    pub(crate) fn admit(&self) -> Admitted {
        let admitted = self.app.meters.admit_line();
        if let Admitted::Yes { held_back: held_back @ 1.. } = admitted {
            let (app, version) = (self.app.name.as_str(), self.app.version.as_str());
            tracing::info!(target: "hearth::console", app, version, held_back, "Console lines were dropped");
        }
        admitted
    }

    pub(crate) fn write(&self, line: &Line<'_>) {
        let (app, version) = (self.app.name.as_str(), self.app.version.as_str());
        let Line { request, id, level, message } = *line;
        let (request, message) = (request.raw(), cut(message));
        match level {
            Level::Debug => {
                tracing::debug!(target: "hearth::console", app, version, request, request.id = id, "{message}");
            }
            Level::Info => {
                tracing::info!(target: "hearth::console", app, version, request, request.id = id, "{message}")
            }
            Level::Warn => {
                tracing::warn!(target: "hearth::console", app, version, request, request.id = id, "{message}")
            }
            Level::Error => {
                tracing::error!(target: "hearth::console", app, version, request, request.id = id, "{message}");
            }
        }
    }
}

/// The beginning of a line that is too long, and how much is missing.
fn cut(message: &str) -> Cow<'_, str> {
    if message.len() <= MAX_LINE_BYTES {
        return Cow::Borrowed(message);
    }
    let end = (0..=MAX_LINE_BYTES).rev().find(|at| message.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}… ({} bytes more)", &message[..end], message.len() - end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = format!("{}é", "x".repeat(MAX_LINE_BYTES - 1));
        assert_eq!(cut(&long), format!("{}… (2 bytes more)", "x".repeat(MAX_LINE_BYTES - 1)));
        assert_eq!(cut(&long[..MAX_LINE_BYTES - 1]).len(), MAX_LINE_BYTES - 1);
    }
}
