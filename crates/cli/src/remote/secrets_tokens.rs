//! `hearth secrets` and `hearth tokens`. A secret's value is never echoed and never read back. A token is shown once, when it is
//! made.

use std::io::{IsTerminal, stdin};

use hearth_control::action::Action;

use super::Session;
use super::error::RemoteError;
use super::output::Format;
use super::responses::{NewToken, Secrets, Tokens};
use super::task::input;
use crate::terminal::{Align, ConsoleStream, Style, Table, Tint, escape, hidden};

pub(super) fn secrets(session: &Session, name: String) -> Result<(), RemoteError> {
    let (value, found) = session.server.ask::<Secrets>(&Action::Secrets { name })?;
    session.output.answer(&value, |_| match found.secrets.is_empty() {
        true => "no secrets".to_owned(),
        false => found.secrets.iter().map(|name| escape(name)).collect::<Vec<_>>().join("\n"),
    })
}

pub(super) fn set_secret(
    session: &Session,
    name: String,
    key: String,
    value: Option<String>,
) -> Result<(), RemoteError> {
    let value = match value {
        Some(value) => value,
        None if stdin().is_terminal() => hidden(&format!("Value of {}:", escape(&key)))?,
        None => without_line_end(input()?),
    };
    let said = format!("set {} of {}", escape(&key), escape(&name));
    let answer = session.server.value(&Action::SetSecret { name, key, value })?;
    session.output.answer(&answer, |_| said)
}

pub(super) fn delete_secret(session: &Session, name: String, key: String) -> Result<(), RemoteError> {
    let said = format!("deleted {} of {}", escape(&key), escape(&name));
    let answer = session.server.value(&Action::DeleteSecret { name, key })?;
    session.output.answer(&answer, |_| said)
}

pub(super) fn tokens(session: &Session, name: String) -> Result<(), RemoteError> {
    let (value, found) = session.server.ask::<Tokens>(&Action::Tokens { name })?;
    session.output.answer(&value, |style| {
        let mut table = Table::new(&[("ID", Align::Right), ("LABEL", Align::Left), ("CREATED", Align::Left)]);
        for token in &found.tokens {
            table.row([
                (token.id.clone(), Some(Tint::Bold)),
                (token.label.clone(), None),
                (token.created_at.clone(), None),
            ]);
        }
        if table.is_empty() { "no tokens".to_owned() } else { table.write(style) }
    })
}

pub(super) fn add_token(session: &Session, name: String, label: String) -> Result<(), RemoteError> {
    let app = escape(&name);
    let (value, made) = session.server.ask::<NewToken>(&Action::AddToken { name, label })?;
    if session.output.format == Format::Text {
        // On standard error, so that `TOKEN=$(hearth tokens add app)` captures the token alone.
        eprintln!("token {}, which is shown this once:", escape(&made.id));
    }
    if !made.asked {
        let style = Style::for_stream(ConsoleStream::Error);
        let warning = style.paint(Tint::Yellow, "warning");
        eprintln!("{warning}: {app} asks for no tokens, and is open to all: add `auth: token` to its manifest.yaml");
    }
    session.output.answer(&value, |_| escape(&made.token))
}

pub(super) fn delete_token(session: &Session, name: String, id: String) -> Result<(), RemoteError> {
    let said = format!("deleted token {} of {}", escape(&id), escape(&name));
    let answer = session.server.value(&Action::DeleteToken { name, id })?;
    session.output.answer(&answer, |_| said)
}

/// `echo value | hearth secrets set …` sets the value without the line end.
fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_not_part_of_the_value() {
        for (text, value) in [("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a", "a"), ("\n", ""), ("a\r", "a\r")] {
            assert_eq!(without_line_end(text.to_owned()), value);
        }
    }
}
