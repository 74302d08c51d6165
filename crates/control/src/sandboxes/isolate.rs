//! `runtime: isolate`: runs JavaScript in a cell instead of in a sandbox's Node.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_ipc::{EvalOutcome, EvalRequest, Query, QueryReply};
use hearth_sandbox::driver::BoxFuture;
use hearth_sandbox::{ExecEnd, ExecResult, IsolateRun, IsolateRunner, OUTPUT_LIMIT, SandboxError};

use hearth_supervisor::{Cells, QueryError};

const LOST: &str = "the process that ran the code ended before it answered: the code, or other code that ran beside it, \
                    made V8 give up; what it had printed is lost\n";

/// Runs code in the server's cells.
pub(crate) struct CellIsolates {
    cells: Cells,
}

impl CellIsolates {
    pub(crate) fn new(cells: Cells) -> Self {
        Self { cells }
    }

    async fn evaluate(&self, run: IsolateRun) -> Result<ExecResult, SandboxError> {
        let invalid = |_| SandboxError::InvalidArgument { field: "code", reason: "is not UTF-8".to_owned() };
        let request = EvalRequest {
            code: String::from_utf8(run.source.into()).map_err(invalid)?,
            env: run.env,
            timeout: run.timeout,
            output_limit: OUTPUT_LIMIT.bytes(),
        };
        let began = Instant::now();
        match self.cells.query(Query::Eval(Box::new(request))).await {
            Err(QueryError::Lost) => Ok(lost(began.elapsed())),
            Err(error) => Err(no_isolate(error.to_string())),
            Ok(reply) => outcome(reply),
        }
    }
}

fn no_isolate(reason: String) -> SandboxError {
    SandboxError::NoIsolate { reason }
}

/// The result when the cell was lost. The output of the code is lost, too.
fn lost(duration: Duration) -> ExecResult {
    let end = ExecEnd { exit_code: None, signal: None, truncated: false, timed_out: false, duration };
    end.with_output(Bytes::new(), Bytes::from_static(LOST.as_bytes()))
}

fn outcome(reply: QueryReply) -> Result<ExecResult, SandboxError> {
    let QueryReply::Eval(outcome) = reply else { return Err(no_isolate("the cell gave another answer".to_owned())) };
    match *outcome {
        EvalOutcome::Ended { exit_code, stdout, stderr, truncated, timed_out, duration } => {
            let end = ExecEnd { exit_code, signal: None, truncated, timed_out, duration };
            Ok(end.with_output(stdout.into(), stderr.into()))
        }
        EvalOutcome::Refused { message } => Err(no_isolate(message)),
    }
}

impl IsolateRunner for CellIsolates {
    fn run(&self, run: IsolateRun) -> BoxFuture<'_, Result<ExecResult, SandboxError>> {
        Box::pin(self.evaluate(run))
    }
}
