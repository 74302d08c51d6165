//! Why something with a sandbox did not work. Each cause has a code that does not change between versions: programs look at
//! the code, people read the text.
//!
//! | code | means |
//! |---|---|
//! | `not_found` | no such sandbox (or not yours, or destroyed meanwhile), job or file |
//! | `limit` | a bound was hit: sandboxes, bytes of a file, the sandbox's disk, memory or processes |
//! | `timeout` | it did not answer in time (a command's own deadline is no error: its result says `timed_out`) |
//! | `agent_lost` | the program inside that carries out requests is gone, and the sandbox with it |
//! | `invalid_argument` | what was asked for cannot be; the text names the field |
//! | `unavailable` | no sandbox can be had now: boots fail, no driver runs here, or the server is shutting down |
//! | `denied` | the operator does not allow it |
//! | `file` | the sandbox's file system refused: not a directory, is a directory, permission |

use std::time::Duration;

use hearth_core::ByteSize;

use crate::id::{JobId, SandboxId};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    #[error("there is no sandbox {0}")]
    NoSandbox(SandboxId),
    #[error("there is no job {0}")]
    NoJob(JobId),
    #[error("there is no file {path:?}")]
    NoFile { path: String },
    #[error("there is no such link, or its time is over")]
    NoLink,
    #[error("the sandbox was destroyed meanwhile")]
    Destroyed,
    #[error("the session ended meanwhile")]
    SessionEnded,
    #[error("{limit} sandboxes are there already, and no more are allowed: destroy one first")]
    TooManySandboxes { limit: usize },
    #[error("{limit} {what} are there already, and no more are allowed")]
    TooMany { what: &'static str, limit: usize },
    #[error("{what} is larger than {limit}")]
    TooLarge { what: String, limit: ByteSize },
    #[error("{path:?}: the sandbox has no space left")]
    NoSpace { path: String },
    #[error("the sandbox is full: {reason}")]
    Exhausted { reason: String },
    #[error("{what} took longer than {limit:?}")]
    TimedOut { what: &'static str, limit: Duration },
    #[error("the sandbox's agent is gone: {reason}")]
    AgentLost { reason: String },
    #[error("{field}: {reason}")]
    InvalidArgument { field: &'static str, reason: String },
    #[error("no sandbox can be started: {reason}")]
    Boot { reason: String },
    #[error("no more sandboxes: the server is shutting down")]
    ShuttingDown,
    #[error("busy: {reason}")]
    Busy { reason: String },
    #[error("no isolates to run it in: {reason}")]
    NoIsolate { reason: String },
    #[error("{what} is not allowed here: {reason}")]
    Denied { what: String, reason: String },
    #[error("{path:?}: {reason}")]
    File { path: String, reason: String },
}

/// What programs look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    NotFound,
    Limit,
    Timeout,
    AgentLost,
    InvalidArgument,
    Unavailable,
    Denied,
    File,
}

// === impl SandboxError ===

impl SandboxError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoSandbox(_)
            | Self::NoJob(_)
            | Self::NoFile { .. }
            | Self::NoLink
            | Self::Destroyed
            | Self::SessionEnded => ErrorCode::NotFound,
            Self::TooManySandboxes { .. }
            | Self::TooMany { .. }
            | Self::TooLarge { .. }
            | Self::NoSpace { .. }
            | Self::Exhausted { .. } => ErrorCode::Limit,
            Self::TimedOut { .. } => ErrorCode::Timeout,
            Self::AgentLost { .. } => ErrorCode::AgentLost,
            Self::InvalidArgument { .. } => ErrorCode::InvalidArgument,
            Self::Boot { .. } | Self::ShuttingDown | Self::Busy { .. } | Self::NoIsolate { .. } => {
                ErrorCode::Unavailable
            }
            Self::Denied { .. } => ErrorCode::Denied,
            Self::File { .. } => ErrorCode::File,
        }
    }

    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Self::InvalidArgument { field, reason: reason.into() }
    }
}

// === impl ErrorCode ===

impl ErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::Limit => "limit",
            Self::Timeout => "timeout",
            Self::AgentLost => "agent_lost",
            Self::InvalidArgument => "invalid_argument",
            Self::Unavailable => "unavailable",
            Self::Denied => "denied",
            Self::File => "file",
        }
    }
}
