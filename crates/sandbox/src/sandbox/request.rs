//! Converts a caller's request to the agent's: checks, defaults, the sandbox's own variables.

use std::time::Duration;

use hearth_core::ByteSize;
use hearth_sandbox_agent::{Blob, Exec, GuestCommand, Stdin};

use super::Sandbox;
use crate::config::check_env;
use crate::error::SandboxError;
use crate::exec::{DEFAULT_TIMEOUT, ExecCommand, ExecRequest, MAX_TIMEOUT, OUTPUT_LIMIT};

/// The largest output limit of a command.
const MAX_OUTPUT_LIMIT: ByteSize = ByteSize::mb(16);

/// Characters of a job's title.
const MAX_TITLE_CHARS: usize = 80;

/// Which default timeout applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefaultTimeout {
    Command,
    Job,
}

impl Sandbox {
    pub(super) fn prepare(&self, request: ExecRequest, default: DefaultTimeout) -> Result<Exec, SandboxError> {
        let ExecRequest { command, stdin, env, cwd, timeout, output_limit } = request;
        check_env(&env)?;
        let (proxy, config) = (self.proxy_env(), self.config());
        let all = proxy.iter().chain(&config.env).chain(&env);
        let mut merged: Vec<(String, String)> = Vec::new();
        for (name, value) in all {
            match merged.iter_mut().find(|(known, _)| known == name) {
                Some((_, old)) => old.clone_from(value),
                None => merged.push((name.clone(), value.clone())),
            }
        }
        Ok(Exec {
            command: checked(command)?,
            env: merged,
            cwd: cwd.map(|cwd| checked_path("cwd", &cwd).map(str::to_owned)).transpose()?,
            stdin: match stdin {
                None => Stdin::Empty {},
                Some(bytes) => Stdin::Bytes { bytes: Blob(bytes.into()) },
            },
            timeout: deadline(timeout, default)?,
            output_limit: limit(output_limit)?.bytes(),
        })
    }
}

fn checked(command: ExecCommand) -> Result<GuestCommand, SandboxError> {
    let wrong = |reason: &str| Err(SandboxError::invalid("command", reason));
    match command {
        ExecCommand::Argv(argv) if argv.first().is_none_or(String::is_empty) => wrong("names no program"),
        ExecCommand::Argv(argv) if argv.iter().any(|word| word.contains('\0')) => wrong("has a NUL in it"),
        ExecCommand::Argv(argv) => Ok(GuestCommand::Argv { argv }),
        ExecCommand::Shell(line) if line.contains('\0') => wrong("has a NUL in it"),
        ExecCommand::Shell(line) => Ok(GuestCommand::Shell { line }),
        ExecCommand::Code(code) => {
            let plain = |name: &str| {
                let known = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
                (1..=64).contains(&name.len()) && name.bytes().all(known)
            };
            match code.session {
                Some(session) if !plain(&session) => {
                    let reason = format!("{session:?} is no name: 1 to 64 letters, digits, -, _ or .");
                    Err(SandboxError::invalid("session", reason))
                }
                session => {
                    let source = Blob(code.source.into());
                    Ok(GuestCommand::Code { language: code.language, source, session })
                }
            }
        }
    }
}

fn deadline(timeout: Option<Duration>, default: DefaultTimeout) -> Result<Duration, SandboxError> {
    match timeout {
        None if default == DefaultTimeout::Job => Ok(MAX_TIMEOUT),
        None => Ok(DEFAULT_TIMEOUT),
        Some(time) if time.is_zero() || time > MAX_TIMEOUT => {
            let reason = format!("{time:?} is not above nothing and at most {MAX_TIMEOUT:?}");
            Err(SandboxError::invalid("timeout", reason))
        }
        Some(time) => Ok(time),
    }
}

fn limit(limit: Option<ByteSize>) -> Result<ByteSize, SandboxError> {
    match limit {
        None => Ok(OUTPUT_LIMIT),
        Some(size) if size > MAX_OUTPUT_LIMIT => {
            Err(SandboxError::invalid("output_limit", format!("{size} is more than {MAX_OUTPUT_LIMIT}")))
        }
        Some(size) => Ok(size),
    }
}

pub(super) fn path(path: &str) -> Result<&str, SandboxError> {
    checked_path("path", path)
}

fn checked_path<'a>(field: &'static str, path: &'a str) -> Result<&'a str, SandboxError> {
    // The kernel's limit.
    const MAX_PATH_BYTES: usize = 4_095;
    match path {
        "" => Err(SandboxError::invalid(field, "is empty")),
        path if path.contains('\0') => Err(SandboxError::invalid(field, "has a NUL in it")),
        path if path.len() > MAX_PATH_BYTES => {
            Err(SandboxError::invalid(field, format!("is longer than {MAX_PATH_BYTES} bytes")))
        }
        path => Ok(path),
    }
}

/// A job's title in lists.
pub(super) fn title(command: &ExecCommand) -> String {
    let text = match command {
        ExecCommand::Argv(argv) => argv.join(" "),
        ExecCommand::Shell(line) => line.clone(),
        ExecCommand::Code(code) => format!("{} code, {}", code.language, ByteSize(code.source.len() as u64)),
    };
    let mut shown: String = text.chars().take(MAX_TITLE_CHARS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX_TITLE_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
