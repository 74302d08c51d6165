//! An error or warning about an app, with its position.

use std::path::{Path, PathBuf};

use hearth_config::{ConfigError, Position, Warning};
use hearth_core::AppName;
use serde_json::{Value, json};

use crate::terminal::{Style, Tint, escape, escape_lines, frame};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub app: Option<AppName>,
    pub file: Option<PathBuf>,
    pub position: Option<Position>,
    pub message: String,
}

// === impl Finding ===

impl Finding {
    pub fn error(file: &Path, message: String) -> Self {
        Self { severity: Severity::Error, app: None, file: Some(file.to_owned()), position: None, message }
    }

    pub fn warning(file: &Path, message: String) -> Self {
        Self { severity: Severity::Warning, ..Self::error(file, message) }
    }

    pub fn of_config(app: Option<&AppName>, error: &ConfigError) -> Self {
        Self::placed(Severity::Error, app, &error.place, &error.problem)
    }

    pub fn of_warning(app: &AppName, warning: &Warning) -> Self {
        Self::placed(Severity::Warning, Some(app), &warning.place, &warning.notice)
    }

    pub fn of_app(self, app: &AppName) -> Self {
        Self { app: Some(app.clone()), ..self }
    }

    pub fn at(self, position: Option<Position>) -> Self {
        Self { position, ..self }
    }

    fn placed(
        severity: Severity,
        app: Option<&AppName>,
        place: &hearth_config::SourceLocation,
        what: &dyn std::fmt::Display,
    ) -> Self {
        let message = if place.key.is_empty() { what.to_string() } else { format!("{}: {what}", place.key) };
        let file = Some(place.file.clone()).filter(|file| !file.as_os_str().is_empty());
        Self { severity, app: app.cloned(), file, position: place.position, message }
    }

    pub fn json(&self) -> Value {
        json!({
            "severity": match self.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "app": self.app.as_ref().map(AppName::as_str),
            "file": self.file.as_ref().map(|file| file.display().to_string()),
            "line": self.position.map(|position| position.line),
            "column": self.position.map(|position| position.column),
            "message": self.message,
        })
    }

    /// `error: file:line:column: message`, and the source line.
    pub fn text(&self, style: Style) -> String {
        let word = match self.severity {
            Severity::Error => style.paint(Tint::Red, "error"),
            Severity::Warning => style.paint(Tint::Yellow, "warning"),
        };
        let place = match (&self.file, self.position) {
            (Some(file), Some(Position { line, column })) => format!("{}:{line}:{column}: ", shown(file)),
            (Some(file), None) => format!("{}: ", shown(file)),
            (None, _) => self.app.as_ref().map_or(String::new(), |app| format!("{}: ", escape(app.as_str()))),
        };
        let mut out = format!("{word}: {}{}\n", style.paint(Tint::Bold, &place), escape_lines(&self.message));
        if let (Some(file), Some(Position { line, column })) = (&self.file, self.position) {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            if let Some(framed) = frame(&text, line, column, style) {
                out.push_str(&framed);
                out.push('\n');
            }
        }
        out
    }
}

/// The path relative to the working folder, if it is below it: terminals and editors can open it.
fn shown(file: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let below = here.ok().and_then(|here| file.strip_prefix(here).ok().map(Path::to_owned));
    escape(&below.as_deref().filter(|file| !file.as_os_str().is_empty()).unwrap_or(file).display().to_string())
}
