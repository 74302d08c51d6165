//! Jobs: commands that go on while the agent does something else.

use std::time::Duration;

use hearth_sandbox::{JobOutput, JobState, Seen, Signal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::{Call, Effect, Entry, Given};
use super::run::ShellLine;
use crate::error::ToolError;
use crate::output::{signal_name, signal_number, whole_characters};
use crate::view::{JobView, job_state};

/// How long `poll_job` may wait for news.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "start_job",
            "Start a job",
            "Starts a shell command and returns its job_id at once: for servers and what takes long. It ends with its sandbox.",
            Effect::Runs,
            start_job,
        ),
        Entry::new(
            "poll_job",
            "Look at a job",
            "Returns what a job wrote since your last poll, and whether it still runs; an offset asks for output from there, \
             0 for all that is kept (the last 1 MiB of each stream).",
            Effect::Reads,
            poll_job,
        ),
        Entry::new(
            "signal_job",
            "Signal a job",
            "Sends a signal to a job and its processes: SIGTERM asks it to end, SIGKILL ends it.",
            Effect::Removes,
            signal_job,
        ),
        Entry::new("list_jobs", "List jobs", "Lists the jobs of a sandbox.", Effect::Reads, list_jobs),
    ]
}

#[derive(Debug, Serialize, JsonSchema)]
struct Started {
    job_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PollJob {
    /// From create_sandbox.
    sandbox_id: String,
    /// From start_job.
    job_id: String,
    /// Wait so long for something new or the end; default 0.
    #[schemars(range(min = 0, max = 60_000))]
    wait_ms: Option<u64>,
    /// From which byte on; default what is new since your last poll.
    stdout_offset: Option<u64>,
    /// The same for standard error.
    stderr_offset: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Polled {
    /// running, ended or failed.
    state: &'static str,
    /// What it wrote to standard output since.
    stdout: String,
    /// What it wrote to standard error since.
    stderr: String,
    /// How much of standard output has been given, in bytes.
    stdout_offset: u64,
    /// The same for standard error.
    stderr_offset: u64,
    /// Bytes that are no longer kept: of each stream the last 1 MiB is.
    missed: u64,
    /// Where it has ended. 128 and the signal's number where a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// It was ended at its deadline.
    timed_out: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SignalJob {
    /// From create_sandbox.
    sandbox_id: String,
    /// From start_job.
    job_id: String,
    /// Such as SIGTERM.
    signal: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Signalled {
    job_id: String,
    signal: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListJobs {
    /// From create_sandbox.
    sandbox_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct JobList {
    jobs: Vec<JobView>,
}

async fn start_job(call: Call, arguments: ShellLine) -> Result<Given<Started>, ToolError> {
    let (sandbox_id, request) = arguments.request()?;
    let job = call.sandbox(&sandbox_id)?.start_job(request).await?;
    Ok(Started { job_id: job.to_string() }.into())
}

async fn poll_job(call: Call, arguments: PollJob) -> Result<Given<Polled>, ToolError> {
    let PollJob { sandbox_id, job_id, wait_ms, stdout_offset, stderr_offset } = arguments;
    let wait = Duration::from_millis(wait_ms.unwrap_or(0));
    if wait > LONGEST_WAIT {
        let reason = format!("{} is more than {}", wait.as_millis(), LONGEST_WAIT.as_millis());
        return Err(ToolError::argument("wait_ms", reason));
    }
    let job = job_id.parse()?;
    let last = call.session.polled(job);
    let seen = Seen { stdout: stdout_offset.unwrap_or(last.stdout), stderr: stderr_offset.unwrap_or(last.stderr) };
    let output = call.sandbox(&sandbox_id)?.poll_job(job, seen, wait).await?;
    let polled = Polled::new(&output);
    call.session.set_polled(job, Seen { stdout: polled.stdout_offset, stderr: polled.stderr_offset });
    Ok(polled.into())
}

async fn signal_job(call: Call, arguments: SignalJob) -> Result<Given<Signalled>, ToolError> {
    let SignalJob { sandbox_id, job_id, signal } = arguments;
    let Some(number) = signal_number(&signal) else {
        return Err(ToolError::argument("signal", format!("{signal:?} is no signal: use SIGTERM or SIGKILL")));
    };
    call.sandbox(&sandbox_id)?.signal_job(job_id.parse()?, Signal(number))?;
    Ok(Signalled { job_id, signal: signal_name(i32::from(number)) }.into())
}

async fn list_jobs(call: Call, arguments: ListJobs) -> Result<Given<JobList>, ToolError> {
    let jobs = call.sandbox(&arguments.sandbox_id)?.jobs();
    Ok(JobList { jobs: jobs.iter().map(JobView::new).collect() }.into())
}

impl Polled {
    fn new(output: &JobOutput) -> Self {
        let end = match &output.state {
            JobState::Ended(end) => Some(end),
            JobState::Running | JobState::Failed { .. } => None,
        };
        // While it runs, the rest of a character may be on its way.
        let whole = |bytes| if output.state == JobState::Running { whole_characters(bytes) } else { bytes };
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
