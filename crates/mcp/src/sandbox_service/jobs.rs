//! Operations on jobs: commands that run in the background.

use std::time::Duration;

use hearth_sandbox::{JobOutput, JobState, Seen, Signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunCommand, SandboxService};
use crate::dto::{JobView, job_state};
use crate::error::ToolError;
use crate::output::{signal_name, signal_number, without_partial_character};

/// How long `poll_job` may wait for output or the end.
const MAX_WAIT: Duration = Duration::from_secs(60);

#[derive(Debug, Serialize, JsonSchema)]
pub struct JobStarted {
    pub job_id: String,
}

/// What `poll_job` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PollJob {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// From start_job.
    pub job_id: String,
    /// Wait so long for something new or the end; default 0.
    #[schemars(range(min = 0, max = 60_000))]
    pub wait_ms: Option<u64>,
    /// From which byte on; default what is new since your last poll.
    pub stdout_offset: Option<u64>,
    /// The same for standard error.
    pub stderr_offset: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct JobOutputView {
    /// running, ended or failed.
    pub state: &'static str,
    /// What it wrote to standard output since.
    pub stdout: String,
    /// What it wrote to standard error since.
    pub stderr: String,
    /// How much of standard output has been given, in bytes.
    pub stdout_offset: u64,
    /// The same for standard error.
    pub stderr_offset: u64,
    /// Bytes that are no longer kept: of each stream the last 1 MiB is.
    pub missed: u64,
    /// Once it has ended. 128 and the signal's number where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// It was ended at its deadline.
    pub timed_out: bool,
}

/// What `signal_job` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignalJob {
    /// From create_sandbox.
    pub sandbox_id: String,
    /// From start_job.
    pub job_id: String,
    /// Such as SIGTERM.
    pub signal: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct JobSignalled {
    pub job_id: String,
    pub signal: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct JobList {
    pub jobs: Vec<JobView>,
}

impl SandboxService {
    pub async fn start_job(&self, request: RunCommand) -> Result<JobStarted, ToolError> {
        let (sandbox_id, request) = request.exec_request()?;
        let job = self.sandbox(&sandbox_id)?.start_job(request).await?;
        Ok(JobStarted { job_id: job.to_string() })
    }

    pub async fn poll_job(&self, request: PollJob) -> Result<JobOutputView, ToolError> {
        let PollJob { sandbox_id, job_id, wait_ms, stdout_offset, stderr_offset } = request;
        let wait = Duration::from_millis(wait_ms.unwrap_or(0));
        if wait > MAX_WAIT {
            let reason = format!("{} is more than {}", wait.as_millis(), MAX_WAIT.as_millis());
            return Err(ToolError::argument("wait_ms", reason));
        }
        let job = job_id.parse()?;
        let last = self.session.polled(job);
        let seen = Seen { stdout: stdout_offset.unwrap_or(last.stdout), stderr: stderr_offset.unwrap_or(last.stderr) };
        let output = self.sandbox(&sandbox_id)?.poll_job(job, seen, wait).await?;
        let view = JobOutputView::new(&output);
        self.session.set_polled(job, Seen { stdout: view.stdout_offset, stderr: view.stderr_offset });
        Ok(view)
    }

    pub fn signal_job(&self, request: SignalJob) -> Result<JobSignalled, ToolError> {
        let SignalJob { sandbox_id, job_id, signal } = request;
        let Some(number) = signal_number(&signal) else {
            return Err(ToolError::argument("signal", format!("{signal:?} is no signal: use SIGTERM or SIGKILL")));
        };
        self.sandbox(&sandbox_id)?.signal_job(job_id.parse()?, Signal(number))?;
        Ok(JobSignalled { job_id, signal: signal_name(i32::from(number)) })
    }

    pub fn list_jobs(&self, sandbox_id: &str) -> Result<JobList, ToolError> {
        let jobs = self.sandbox(sandbox_id)?.jobs();
        Ok(JobList { jobs: jobs.iter().map(JobView::new).collect() })
    }
}

impl JobOutputView {
    fn new(output: &JobOutput) -> Self {
        let end = match &output.state {
            JobState::Ended(end) => Some(end),
            JobState::Running | JobState::Failed { .. } => None,
        };
        // While the job runs the rest of a character may still come.
        let whole = |bytes| if output.state == JobState::Running { without_partial_character(bytes) } else { bytes };
        let (stdout, stderr) = (whole(&output.stdout), whole(&output.stderr));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            state: job_state(&output.state),
            stdout: text(stdout),
            stderr: text(stderr),
            stdout_offset: output.seen.stdout - (output.stdout.len() - stdout.len()) as u64,
            stderr_offset: output.seen.stderr - (output.stderr.len() - stderr.len()) as u64,
            missed: output.missed,
            exit_code: end.and_then(|end| end.exit_code.or(end.signal.map(|signal| 128 + signal))),
            signal: end.and_then(|end| end.signal).map(signal_name),
            timed_out: end.is_some_and(|end| end.timed_out),
        }
    }
}
