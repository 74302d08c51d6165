//! JavaScript that runs in one of Hearth's isolates instead of a sandbox's node: about a millisecond, no files, no processes,
//! the same shape of result. The registry does not know cells; whoever starts it brings a runner that asks one.

use std::time::Duration;

use bytes::Bytes;

use crate::driver::BoxFuture;
use crate::error::SandboxError;
use crate::exec::ExecResult;

/// A module's text, run once in a context that nobody else has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolateRun {
    pub source: Bytes,
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
}

/// Runs JavaScript in an isolate. `console.log` is stdout, `console.error` stderr; an error that nothing catches is exit
/// code 1 with its text on stderr; a deadline is `timed_out`.
pub trait IsolateRunner: Send + Sync + 'static {
    fn run(&self, run: IsolateRun) -> BoxFuture<'_, Result<ExecResult, SandboxError>>;
}
