//! Formats a record as text or as JSON. A record is one line of output whatever it contains: apps can log line ends and
//! escape sequences, which must neither forge records nor control the terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hearth_core::time::rfc3339;
use serde::Serialize;
use serde_json::Value;

use crate::record::{Level, LogRecord};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    /// As text, but line ends within the record are kept, with every line after the first indented.
    Terminal,
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    On,
    #[default]
    Off,
}

impl Format {
    /// The formatted record, with its line end.
    pub fn write(self, line: &LogRecord, colours: Colours) -> String {
        match self {
            Self::Text => text(line, colours),
            Self::Terminal => several_lines(line, colours),
            Self::Json => json(line),
        }
    }
}

/// The JSON form of a record; its time is RFC 3339.
#[derive(Serialize)]
struct JsonRecord<'a> {
    time: String,
    level: Level,
    target: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fields: &'a BTreeMap<String, Value>,
}

fn json(line: &LogRecord) -> String {
    let shown = JsonRecord {
        time: rfc3339(line.time),
        level: line.level,
        target: &line.target,
        message: &line.message,
        app: line.app.as_deref(),
        version: line.version.as_deref(),
        request: line.request.as_deref(),
        fields: &line.fields,
    };
    // Strings and numbers always serialise.
    let mut text = serde_json::to_string(&shown).unwrap_or_default();
    text.push('\n');
    text
}

/// `2026-11-16T00:10:35.123Z  INFO hearth::run: Listening on … app="tour"`
fn text(line: &LogRecord, colours: Colours) -> String {
    let mut out = String::with_capacity(96 + line.message.len());
    let time = rfc3339(line.time);
    // Writing to a string cannot fail.
    let _ = match colours {
        Colours::On => write!(
            out,
            "\x1b[2m{time}\x1b[0m {}{:>5}\x1b[0m \x1b[2m{}:\x1b[0m ",
            colour(line.level),
            line.level.as_str(),
            line.target
        ),
        Colours::Off => write!(out, "{time} {:>5} {}: ", line.level.as_str(), line.target),
    };
    escape(&mut out, &line.message);
    for (name, value) in [("app", &line.app), ("version", &line.version), ("request", &line.request)] {
        if let Some(value) = value {
            let _ = write!(out, " {name}=");
            quote(&mut out, value);
        }
    }
    for (name, value) in &line.fields {
        let _ = write!(out, " {name}=");
        match value {
            Value::String(text) => quote(&mut out, text),
            other => escape(&mut out, &other.to_string()),
        }
    }
    out.push('\n');
    out
}

/// Stands before each line but the first.
const INDENT: &str = "    ";

/// The terminal form: stack traces and code frames keep their lines.
fn several_lines(line: &LogRecord, colours: Colours) -> String {
    let is_long = |value: &Value| matches!(value, Value::String(text) if text.trim_end().contains('\n'));
    let (first, rest) = line.message.split_once('\n').unwrap_or((&line.message, ""));
    let (long, short) =
        line.fields.iter().map(|(name, value)| (name.clone(), value.clone())).partition(|(_, value)| is_long(value));
    let long: BTreeMap<String, Value> = long;
    let mut out = text(&LogRecord { message: first.to_owned(), fields: short, ..line.clone() }, colours);
    let mut indented = |text: &str| {
        for line in text.lines() {
            out.push_str(INDENT);
            escape(&mut out, line);
            out.push('\n');
        }
    };
    indented(rest);
    for (name, value) in &long {
        if let Value::String(text) = value {
            indented(&format!("{name}: {text}"));
        }
    }
    out
}

fn colour(level: Level) -> &'static str {
    match level {
        Level::Error => "\x1b[31m",
        Level::Warn => "\x1b[33m",
        Level::Info => "\x1b[32m",
        Level::Debug | Level::Trace => "\x1b[34m",
    }
}

fn quote(out: &mut String, text: &str) {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'=');
    if plain {
        out.push_str(text);
    } else {
        out.push('"');
        escape(out, text);
        out.push('"');
    }
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push('\t'),
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
            {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(message: &str) -> LogRecord {
        LogRecord {
            time: 1_762_300_800_123,
            level: Level::Info,
            target: "hearth::console".into(),
            message: message.into(),
            app: Some("tour".into()),
            version: None,
            request: Some("a b".into()),
            fields: [("n".to_owned(), Value::from(1))].into(),
        }
    }

    #[test]
    fn records_are_formatted_as_text_and_as_json() {
        let text = Format::Text.write(&line("hello"), Colours::Off);
        assert_eq!(text, "2025-11-05T00:00:00.123Z  INFO hearth::console: hello app=tour request=\"a b\" n=1\n");
        let json = Format::Json.write(&line("hello"), Colours::Off);
        assert_eq!(
            json,
            "{\"time\":\"2025-11-05T00:00:00.123Z\",\"level\":\"info\",\"target\":\"hearth::console\",\"message\":\"hello\",\
             \"app\":\"tour\",\"request\":\"a b\",\"fields\":{\"n\":1}}\n"
        );
    }

    #[test]
    fn the_terminal_format_keeps_line_ends_indented() {
        let mut trace = line("hello\nworld");
        trace.fields.insert("failure".to_owned(), Value::from("Error: no\n    at f (a.ts:1:2)"));
        let expected = "\
2025-11-05T00:00:00.123Z  INFO hearth::console: hello app=tour request=\"a b\" n=1
    world
    failure: Error: no
        at f (a.ts:1:2)
";
        assert_eq!(Format::Terminal.write(&trace, Colours::Off), expected);
        assert_eq!(Format::Terminal.write(&line("one"), Colours::Off), Format::Text.write(&line("one"), Colours::Off));
    }

    #[test]
    fn control_characters_are_escaped_in_every_format() {
        let several = Format::Terminal.write(&line("a\nb\r\u{1b}[31m\u{9b}2J\u{202e}"), Colours::Off);
        assert!(several.lines().skip(1).all(|line| line.starts_with(INDENT)) && !several.contains(['\u{1b}', '\r']));
        for format in [Format::Text, Format::Json] {
            let text = format.write(&line("a\nb\r\u{1b}[31m\u{9b}2J\u{202e}"), Colours::Off);
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text:?}");
        }
        assert!(!Format::Text.write(&line("\u{9b}2J\u{202e}"), Colours::Off).contains(['\u{9b}', '\u{202e}']));
    }
}
