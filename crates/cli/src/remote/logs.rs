//! `hearth logs` and `hearth events`: stored records, and new ones as they come.

use std::io::IsTerminal;

use hearth_control::action::{Action, Follow};
use hearth_core::time::rfc3339;
use hearth_log::{Colours, LogRecord};
use serde_json::Value;

use super::Session;
use super::error::RemoteError;
use super::options::{EventsOptions, LogsOptions};
use super::output::Format;
use super::responses::{Happened, Lines};
use crate::terminal::{Style, Tint, escape};

/// The event that reports records which this client was too slow for.
const MISSED: &str = "missed";

pub(super) fn logs(session: &Session, options: LogsOptions) -> Result<(), RemoteError> {
    let LogsOptions { name: app, lines, follow } = options;
    if follow {
        return follow_lines(session, &Action::Logs { app, lines, follow: Follow::Yes });
    }
    let (value, found) = session.server.ask::<Lines>(&Action::Logs { app, lines, follow: Follow::No })?;
    match session.output.format {
        Format::Json => session.output.answer(&value, |_| String::new()),
        Format::Text if found.lines.is_empty() => Ok(()),
        Format::Text => session.output.write(&found.lines.iter().map(|line| text(session, line)).collect::<String>()),
    }
}

fn follow_lines(session: &Session, action: &Action) -> Result<(), RemoteError> {
    each(session, action, |data| {
        let line: LogRecord = session.server.parse(data)?;
        session.output.write(&text(session, &line))
    })
}

pub(super) fn events(session: &Session, options: &EventsOptions) -> Result<(), RemoteError> {
    let style = session.output.style;
    if options.follow {
        return each(session, &Action::Events { follow: Follow::Yes }, |data| {
            let event: Value = session.server.parse(data)?;
            session.output.write(&event_text(&event, style))
        });
    }
    let (value, found) = session.server.ask::<Happened>(&Action::Events { follow: Follow::No })?;
    match session.output.format {
        Format::Json => session.output.answer(&value, |_| String::new()),
        Format::Text => found.events.iter().try_for_each(|event| session.output.write(&event_text(event, style))),
    }
}

/// Shows each event of a stream until it ends: unchanged as JSON lines, or as text.
fn each(
    session: &Session,
    action: &Action,
    mut show: impl FnMut(&str) -> Result<(), RemoteError>,
) -> Result<(), RemoteError> {
    let Session { server, output } = session;
    let mut events = server.follow(action)?;
    while let Some(event) = events.next().map_err(|error| server.lost(error))? {
        match output.format {
            _ if event.name == MISSED => eprintln!("hearth: {} were missed: they came too fast", escape(&event.data)),
            Format::Json => output.write(&event.data)?,
            Format::Text => show(&event.data)?,
        }
    }
    Ok(())
}

fn text(session: &Session, line: &LogRecord) -> String {
    let colours = match session.output.style {
        Style::Coloured => Colours::On,
        Style::Plain => Colours::Off,
    };
    let format = match std::io::stdout().is_terminal() {
        true => hearth_log::Format::Terminal,
        false => hearth_log::Format::Text,
    };
    format.write(line, colours)
}

/// `2026-11-16T00:10:35.123Z uploaded app=hello version=1.0.0`
fn event_text(event: &Value, style: Style) -> String {
    let time = event["time"].as_u64().map(rfc3339).unwrap_or_default();
    let name = event["event"].as_str().unwrap_or("event");
    let fields = event.as_object().into_iter().flatten().filter(|(key, _)| !matches!(key.as_str(), "time" | "event"));
    let fields: String = fields
        .map(|(key, value)| match value {
            Value::String(text) => format!(" {}={}", escape(key), escape(text)),
            other => format!(" {}={}", escape(key), escape(&other.to_string())),
        })
        .collect();
    format!("{} {}{fields}", style.paint(Tint::Dim, &time), style.paint(Tint::Bold, &escape(name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_is_a_line() {
        let event = json!({ "time": 0, "event": "uploaded", "app": "a\nb", "revision": 3 });
        assert_eq!(event_text(&event, Style::Plain), "1970-01-01T00:00:00.000Z uploaded app=a\\nb revision=3");
        assert_eq!(event_text(&json!(7), Style::Plain), " event");
    }
}
