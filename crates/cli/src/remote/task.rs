//! `hearth task`: sends a task event to an app and prints the result.

use std::io::{Read, stdin};

use hearth_control::action::Action;
use hearth_core::ByteSize;

use super::Session;
use super::error::RemoteError;
use super::options::TaskOptions;
use super::output::Format;
use super::responses::TaskResult;
use crate::terminal::escape_lines;

/// The admin API's limit.
const LONGEST_INPUT: ByteSize = ByteSize::mb(1);

pub(super) fn task(session: &Session, options: TaskOptions) -> Result<(), RemoteError> {
    let payload = match options.payload.as_deref() {
        Some("-") => input()?,
        Some(text) => text.to_owned(),
        None => String::new(),
    };
    let (value, result) = session.server.ask::<TaskResult>(&Action::Task { name: options.name, payload })?;
    if result.success || session.output.format == Format::Json {
        session.output.answer(&value, |_| escape_lines(&format!("{:#}", result.data)))?;
    }
    if result.success { Ok(()) } else { Err(RemoteError::Task(result.error.unwrap_or_default())) }
}

/// All of standard input.
pub(super) fn input() -> Result<String, RemoteError> {
    let mut text = String::new();
    stdin().lock().take(LONGEST_INPUT.bytes() + 1).read_to_string(&mut text).map_err(RemoteError::Input)?;
    if text.len() as u64 > LONGEST_INPUT.bytes() {
        return Err(RemoteError::InputTooLong { limit: LONGEST_INPUT });
    }
    Ok(text)
}
