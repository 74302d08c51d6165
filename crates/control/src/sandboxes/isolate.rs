//! `runtime: isolate`: a cell runs what would otherwise run in a sandbox's node.

use hearth_link::{Ask, EvalOutcome, EvalRequest, Reply};
use hearth_sandbox::driver::BoxFuture;
use hearth_sandbox::{ExecEnd, ExecResult, IsolateRun, IsolateRunner, OUTPUT_LIMIT, SandboxError};

use crate::cells::Cells;

/// Asks the server's cells.
pub(crate) struct CellIsolates {
    cells: Cells,
}

impl CellIsolates {
    pub(crate) fn new(cells: Cells) -> Self {
        Self { cells }
    }

    async fn ask(&self, run: IsolateRun) -> Result<ExecResult, SandboxError> {
        let none = |reason: String| SandboxError::NoIsolate { reason };
        let invalid = |_| SandboxError::InvalidArgument { field: "code", reason: "is not UTF-8".to_owned() };
        let request = EvalRequest {
            code: String::from_utf8(run.source.into()).map_err(invalid)?,
            env: run.env,
            timeout: run.timeout,
            output_limit: OUTPUT_LIMIT.bytes(),
        };
        match self.cells.ask(Ask::Eval(Box::new(request))).await.map_err(|error| none(error.to_string()))? {
            Reply::Eval(outcome) => match *outcome {
                EvalOutcome::Ended { exit_code, stdout, stderr, truncated, timed_out, duration } => {
                    let end = ExecEnd { exit_code, signal: None, truncated, timed_out, duration };
                    Ok(end.with_output(stdout.into(), stderr.into()))
                }
                EvalOutcome::Refused { message } => Err(none(message)),
            },
            _ => Err(none("the cell gave another answer".to_owned())),
        }
    }
}

impl IsolateRunner for CellIsolates {
    fn run(&self, run: IsolateRun) -> BoxFuture<'_, Result<ExecResult, SandboxError>> {
        Box::pin(self.ask(run))
    }
}
