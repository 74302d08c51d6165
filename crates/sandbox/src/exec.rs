//! Commands that run in a sandbox, and their results.
//!
//! A command ends by itself, at its deadline, when it is cancelled, or with its sandbox. On a
//! deadline or cancel it is interrupted first (SIGINT), and killed with its whole process tree if
//! it does not end. The result says how: `exit_code` or `signal`, `timed_out`. Of output beyond the
//! limit the first and the last half of the limit are kept (`truncated`); the command goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use hearth_core::ByteSize;
use hearth_sandbox_agent::{Language, OutputStream};

use crate::hint::Hint;

/// Default timeout of a command.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest timeout of a command.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Default limit of each output stream: the first half and the last half of it are kept.
pub const OUTPUT_LIMIT: ByteSize = ByteSize::mb(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecCommand {
    /// A program and its arguments; no shell is involved.
    Argv(Vec<String>),
    /// A line for `sh -c`.
    Shell(String),
    Code(Code),
}

/// A program's source. It goes into the sandbox as a file, never as an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub language: Language,
    pub source: Bytes,
    /// Keeps variables under this name from one run to the next, like a notebook. `None`: a fresh
    /// interpreter each time.
    pub session: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecRequest {
    pub command: ExecCommand,
    /// Its standard input, which then ends. `None`: empty.
    pub stdin: Option<Bytes>,
    /// Overrides the sandbox's own.
    pub env: BTreeMap<String, String>,
    /// `None`: `/work`.
    pub cwd: Option<String>,
    /// `None`: [`DEFAULT_TIMEOUT`]. At most [`MAX_TIMEOUT`].
    pub timeout: Option<Duration>,
    /// Of each stream; `None`: [`OUTPUT_LIMIT`].
    pub output_limit: Option<ByteSize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecResult {
    /// Where it ended by itself.
    pub exit_code: Option<i32>,
    /// Where a signal ended it.
    pub signal: Option<i32>,
    pub stdout: Bytes,
    pub stderr: Bytes,
    /// Output was left out.
    pub truncated: bool,
    pub timed_out: bool,
    pub duration: Duration,
    /// Limits of the sandbox that it ran into.
    pub hints: Vec<Hint>,
}

/// How a command ended: a result without output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecEnd {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub truncated: bool,
    pub timed_out: bool,
    pub duration: Duration,
}

/// Events of a running command, in order. `Ended` is the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecEvent {
    Stdout(Bytes),
    Stderr(Bytes),
    /// So many bytes of a stream are left out here; the end of the stream follows.
    Omitted(OutputStream, u64),
    /// The session's interpreter is gone, and its variables with it.
    SessionLost,
    Ended(ExecEnd),
}

// === impl ExecRequest ===

impl ExecRequest {
    pub fn new(command: ExecCommand) -> Self {
        Self { command, stdin: None, env: BTreeMap::new(), cwd: None, timeout: None, output_limit: None }
    }

    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(ExecCommand::Shell(line.into()))
    }

    pub fn argv(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::new(ExecCommand::Argv(words.into_iter().map(Into::into).collect()))
    }

    pub fn code(language: Language, source: impl Into<Bytes>) -> Self {
        Self::new(ExecCommand::Code(Code { language, source: source.into(), session: None }))
    }
}

// === impl ExecEnd ===

impl ExecEnd {
    pub fn with_output(self, stdout: Bytes, stderr: Bytes) -> ExecResult {
        let Self { exit_code, signal, truncated, timed_out, duration } = self;
        ExecResult { exit_code, signal, stdout, stderr, truncated, timed_out, duration, hints: Vec::new() }
    }
}
