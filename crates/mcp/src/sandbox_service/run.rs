//! Code and commands that the caller waits for. Their output is reported as progress to a client that asked for it; dropping
//! the future (a cancelled request) kills the command with all its processes.

use std::collections::BTreeMap;

use bytes::Bytes;
use hearth_core::ByteSize;
use hearth_sandbox::{
    Code, DEFAULT_TIMEOUT, ExecCommand, ExecEvent, ExecRequest, IsolateRun, Language, OUTPUT_LIMIT, OutputStream,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::SandboxService;
use crate::arguments::{Snippets, timeout};
use crate::error::ToolError;
use crate::output::{CodeResult, CollectedOutput, HintView, RunResult};
use crate::progress::Progress;
use crate::rich_output::RichOutput;

/// Limit of snippets in one call.
const MAX_SNIPPETS: usize = 100;

/// Where code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Runtime {
    #[default]
    Sandbox,
    Isolate,
}

/// What `execute_code` takes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecuteCode {
    /// From create_sandbox.
    sandbox_id: String,
    /// Of the code.
    #[schemars(extend("enum" = ["python", "python3", "javascript", "node", "js", "typescript", "ts", "bash", "sh"]))]
    language: String,
    /// Or a list of snippets, run in order until one fails.
    code: Snippets,
    /// Where it runs; default sandbox.
    runtime: Option<Runtime>,
    /// Deadline in milliseconds; default 60000.
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
    /// Environment variables beside the sandbox's.
    env: Option<BTreeMap<String, String>>,
    /// Folder to run in; default /work.
    cwd: Option<String>,
    /// Standard input; default none.
    stdin: Option<String>,
    /// Keeps variables under this name.
    #[schemars(length(min = 1, max = 64))]
    session: Option<String>,
}

/// What `run_command` and `start_job` take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCommand {
    /// From create_sandbox.
    sandbox_id: String,
    /// A line for the shell.
    #[schemars(length(min = 1))]
    command: String,
    /// Deadline in milliseconds; default 60000, an hour for a job.
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout_ms: Option<u64>,
    /// Environment variables beside the sandbox's.
    env: Option<BTreeMap<String, String>>,
    /// Folder to run in; default /work.
    cwd: Option<String>,
    /// Standard input; default none.
    stdin: Option<String>,
}

/// What code and commands have in common, besides what is run.
struct RunOptions {
    timeout_ms: Option<u64>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<String>,
    stdin: Option<String>,
}

impl RunOptions {
    fn apply_to(self, request: ExecRequest) -> Result<ExecRequest, ToolError> {
        Ok(ExecRequest {
            stdin: self.stdin.map(Bytes::from),
            env: self.env.unwrap_or_default(),
            cwd: self.cwd,
            timeout: timeout("timeout_ms", self.timeout_ms)?,
            ..request
        })
    }
}

impl RunCommand {
    /// The id of the sandbox, and the request to it.
    pub(super) fn exec_request(self) -> Result<(String, ExecRequest), ToolError> {
        let Self { sandbox_id, command, timeout_ms, env, cwd, stdin } = self;
        if command.trim().is_empty() {
            return Err(ToolError::argument("command", "there is nothing to run"));
        }
        let options = RunOptions { timeout_ms, env, cwd, stdin };
        Ok((sandbox_id, options.apply_to(ExecRequest::shell(command))?))
    }
}

impl SandboxService {
    pub async fn run_command(&self, request: RunCommand, progress: &mut Progress) -> Result<RunResult, ToolError> {
        let (sandbox_id, request) = request.exec_request()?;
        self.run(&sandbox_id, request, progress).await
    }

    pub async fn execute_code(&self, request: ExecuteCode, progress: &mut Progress) -> Result<CodeResult, ToolError> {
        let ExecuteCode { sandbox_id, language, code, runtime, timeout_ms, env, cwd, stdin, session } = request;
        let language = parse_language(&language)?;
        let options = RunOptions { timeout_ms, env, cwd, stdin };
        let request = options.apply_to(ExecRequest::code(language, Bytes::new()))?;
        let runtime = runtime.unwrap_or_default();
        if runtime == Runtime::Isolate {
            check_isolate(language, &request, session.as_deref())?;
        }
        let snippets = match code {
            Snippets::One(code) => {
                let request = snippet(&request, language, code, session);
                let whole = self.run_snippet(&sandbox_id, runtime, request, progress).await?;
                return Ok(CodeResult { whole, snippets: None });
            }
            Snippets::Many(snippets) if (1..=MAX_SNIPPETS).contains(&snippets.len()) => snippets,
            Snippets::Many(snippets) => {
                let reason = format!("{} snippets are not between 1 and {MAX_SNIPPETS}", snippets.len());
                return Err(ToolError::argument("code", reason));
            }
        };
        let mut results: Vec<RunResult> = Vec::new();
        for code in snippets {
            let mut request = snippet(&request, language, code, session.clone());
            request.output_limit = Some(remaining_output(&results));
            let result = self.run_snippet(&sandbox_id, runtime, request, progress).await?;
            let succeeded = result.succeeded();
            results.push(result);
            if !succeeded {
                break;
            }
        }
        Ok(CodeResult::joined(results))
    }

    async fn run_snippet(
        &self,
        id: &str,
        runtime: Runtime,
        request: ExecRequest,
        progress: &mut Progress,
    ) -> Result<RunResult, ToolError> {
        match runtime {
            Runtime::Sandbox => self.run(id, request, progress).await,
            Runtime::Isolate => {
                // Only a caller that has a sandbox may use an isolate.
                self.sandbox(id)?;
                let ExecCommand::Code(code) = request.command else {
                    return Err(ToolError::argument("code", "an isolate runs code only"));
                };
                let timeout = request.timeout.unwrap_or(DEFAULT_TIMEOUT);
                let run = IsolateRun { source: code.source, env: request.env.into_iter().collect(), timeout };
                Ok(RunResult::new(&self.session.sandboxes().run_isolate(run).await?))
            }
        }
    }

    /// Runs the request to its end and reports its output as progress.
    async fn run(&self, id: &str, request: ExecRequest, progress: &mut Progress) -> Result<RunResult, ToolError> {
        let sandbox = self.sandbox(id)?;
        let session = match &request.command {
            ExecCommand::Code(Code { language: Language::Python, session, .. }) => session.clone(),
            _ => None,
        };
        let mut running = sandbox.stream(request).await?;
        let mut output = CollectedOutput::default();
        loop {
            let due = progress.due();
            let event = tokio::select! {
                biased;
                event = running.next() => event?,
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    progress.send().await;
                    continue;
                }
            };
            match event {
                ExecEvent::Stdout(bytes) => {
                    progress.record(&bytes);
                    output.stdout.push(&bytes);
                }
                ExecEvent::Stderr(bytes) => {
                    progress.record(&bytes);
                    output.stderr.push(&bytes);
                }
                ExecEvent::Omitted(OutputStream::Stdout, bytes) => output.stdout.omit(bytes),
                ExecEvent::Omitted(OutputStream::Stderr, bytes) => output.stderr.omit(bytes),
                ExecEvent::SessionLost => output.session_lost = true,
                ExecEvent::Ended(end) => {
                    let mut result = RunResult::collected(&end, &output);
                    result.hints = running.hints().iter().map(HintView::new).collect();
                    // The session runs nothing else until `running` is dropped.
                    if let Some(session) = session {
                        let rich = RichOutput::take(&sandbox, &session).await;
                        (result.shown, result.images) = (rich.forms, rich.images);
                    }
                    return Ok(result);
                }
            }
        }
    }
}

/// The output limit of the next snippet: all snippets together keep no more than one command does.
fn remaining_output(results: &[RunResult]) -> ByteSize {
    let written = |stream: fn(&RunResult) -> &str| results.iter().map(|one| stream(one).len() as u64).sum::<u64>();
    let most = written(|one| &one.stdout).max(written(|one| &one.stderr));
    ByteSize(OUTPUT_LIMIT.bytes().saturating_sub(most).max(1))
}

fn parse_language(text: &str) -> Result<Language, ToolError> {
    text.parse().map_err(|_| {
        let known = Language::ALL.map(|language| language.to_string()).join(", ");
        ToolError::argument("language", format!("{text:?} is not one of {known}"))
    })
}

fn snippet(request: &ExecRequest, language: Language, code: String, session: Option<String>) -> ExecRequest {
    let code = Code { language, source: Bytes::from(code), session };
    ExecRequest { command: ExecCommand::Code(code), ..request.clone() }
}

/// Refuses options that an isolate does not have.
fn check_isolate(language: Language, request: &ExecRequest, session: Option<&str>) -> Result<(), ToolError> {
    let refused = |field: &str| Err(ToolError::argument(field, "an isolate has none: leave it out, or the runtime"));
    if language != Language::JavaScript {
        return Err(ToolError::argument("runtime", format!("an isolate runs javascript, not {language}")));
    }
    if request.cwd.is_some() {
        return refused("cwd");
    }
    if request.stdin.is_some() {
        return refused("stdin");
    }
    if session.is_some() {
        return refused("session");
    }
    Ok(())
}
