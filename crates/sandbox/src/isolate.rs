//! JavaScript that runs in one of Hearth's isolates instead of a sandbox's node: about a
//! millisecond, no files, no processes, the same form of result. This crate does not know cells;
//! the server passes in a runner that uses one.

use std::time::Duration;

use bytes::Bytes;

use crate::driver::BoxFuture;
use crate::error::SandboxError;
use crate::exec::ExecResult;

/// A module's text, run once in a context of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolateRun {
    pub source: Bytes,
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
}

/// Runs JavaScript in an isolate. `console.log` is stdout, `console.error` stderr; an uncaught
/// error is exit code 1 with its text on stderr; a deadline is `timed_out`.
pub trait IsolateRunner: Send + Sync + 'static {
    fn run(&self, run: IsolateRun) -> BoxFuture<'_, Result<ExecResult, SandboxError>>;
}
