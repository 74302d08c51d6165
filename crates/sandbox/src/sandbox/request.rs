//! From what a caller asks for to what the agent is told: checks, defaults, the sandbox's own variables.

use std::time::Duration;

use hearth_agent::{Blob, Command as AgentCommand, Exec, Stdin};
use hearth_core::ByteSize;

use super::Sandbox;
use crate::config::check_env;
use crate::error::SandboxError;
use crate::exec::{Command, DEFAULT_TIMEOUT, ExecRequest, MAX_TIMEOUT, OUTPUT_LIMIT};

/// The most output that a command can ask to be kept.
const MOST_OUTPUT: ByteSize = ByteSize::mb(16);

/// Characters of a command that are shown.
const TITLE: usize = 80;

/// Whose deadline counts where none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Default {
    Command,
    Job,
}

impl Sandbox {
    pub(super) fn prepare(&self, request: ExecRequest, default: Default) -> Result<Exec, SandboxError> {
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
            cwd: cwd.map(|cwd| path_of("cwd", &cwd).map(str::to_owned)).transpose()?,
            stdin: match stdin {
                None => Stdin::Empty {},
                Some(bytes) => Stdin::Bytes { bytes: Blob(bytes.into()) },
            },
            timeout: deadline(timeout, default)?,
            output_limit: limit(output_limit)?.bytes(),
        })
    }
}

fn checked(command: Command) -> Result<AgentCommand, SandboxError> {
    let wrong = |reason: &str| Err(SandboxError::invalid("command", reason));
    match command {
        Command::Argv(argv) if argv.first().is_none_or(String::is_empty) => wrong("names no program"),
        Command::Argv(argv) if argv.iter().any(|word| word.contains('\0')) => wrong("has a NUL in it"),
        Command::Argv(argv) => Ok(AgentCommand::Argv { argv }),
        Command::Shell(line) if line.contains('\0') => wrong("has a NUL in it"),
        Command::Shell(line) => Ok(AgentCommand::Shell { line }),
        Command::Code(code) => {
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
                    Ok(AgentCommand::Code { language: code.language, source, session })
                }
            }
        }
    }
}

fn deadline(timeout: Option<Duration>, default: Default) -> Result<Duration, SandboxError> {
    match timeout {
        None if default == Default::Job => Ok(MAX_TIMEOUT),
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
        Some(size) if size > MOST_OUTPUT => {
            Err(SandboxError::invalid("output_limit", format!("{size} is more than {MOST_OUTPUT}")))
        }
        Some(size) => Ok(size),
    }
}

pub(super) fn path(path: &str) -> Result<&str, SandboxError> {
    path_of("path", path)
}

fn path_of<'a>(field: &'static str, path: &'a str) -> Result<&'a str, SandboxError> {
    // What the system takes at most.
    const LONGEST: usize = 4_095;
    match path {
        "" => Err(SandboxError::invalid(field, "is empty")),
        path if path.contains('\0') => Err(SandboxError::invalid(field, "has a NUL in it")),
        path if path.len() > LONGEST => Err(SandboxError::invalid(field, format!("is longer than {LONGEST} bytes"))),
        path => Ok(path),
    }
}

/// What a job is called in lists.
pub(super) fn title(command: &Command) -> String {
    let text = match command {
        Command::Argv(argv) => argv.join(" "),
        Command::Shell(line) => line.clone(),
        Command::Code(code) => format!("{} code, {}", code.language, ByteSize(code.source.len() as u64)),
    };
    let mut shown: String = text.chars().take(TITLE).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(TITLE).is_some() {
        shown.push('…');
    }
    shown
}
