//! Code and commands that are waited for. What they write is told meanwhile to a client that wants to know; a client that
//! cancels ends them, with all their processes.

use std::collections::BTreeMap;

use bytes::Bytes;
use hearth_core::ByteSize;
use hearth_sandbox::{
    Code, Command, DEFAULT_TIMEOUT, ExecEvent, ExecRequest, IsolateRun, Language, OUTPUT_LIMIT, Stream,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::entry::{Call, Effect, Entry, Given};
use crate::arguments::{Snippets, timeout};
use crate::error::ToolError;
use crate::output::{CodeResult, HintView, RunResult, Written};
use crate::shown::Shown;

/// Snippets of one call.
const MOST_SNIPPETS: usize = 100;

pub(super) fn entries() -> Vec<Entry> {
    vec![
        Entry::new(
            "execute_code",
            "Run code",
            "Runs code and returns its output. Each call starts afresh unless `session` names one, which keeps variables \
             from call to call; in a python session the last expression's value, display() and matplotlib figures are \
             shown as in a notebook, and a timeout interrupts the code but keeps the variables. `runtime` \"isolate\" \
             runs JavaScript in a bare V8 isolate: no files, processes or network, in a millisecond.",
            Effect::Runs,
            execute_code,
        ),
        Entry::new(
            "run_command",
            "Run a command",
            "Runs a shell command (sh -c) and returns its output. Processes that it leaves behind end with it: use \
             start_job for what should go on.",
            Effect::Runs,
            run_command,
        ),
    ]
}

/// Where code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Runtime {
    #[default]
    Sandbox,
    Isolate,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecuteCode {
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

/// A line for the shell: what `run_command` and `start_job` take.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellLine {
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

/// What any run is given, beside what is run.
struct Around {
    timeout_ms: Option<u64>,
    env: Option<BTreeMap<String, String>>,
    cwd: Option<String>,
    stdin: Option<String>,
}

impl Around {
    fn over(self, request: ExecRequest) -> Result<ExecRequest, ToolError> {
        Ok(ExecRequest {
            stdin: self.stdin.map(Bytes::from),
            env: self.env.unwrap_or_default(),
            cwd: self.cwd,
            timeout: timeout("timeout_ms", self.timeout_ms)?,
            ..request
        })
    }
}

impl ShellLine {
    /// In which sandbox, and what.
    pub(super) fn request(self) -> Result<(String, ExecRequest), ToolError> {
        let Self { sandbox_id, command, timeout_ms, env, cwd, stdin } = self;
        if command.trim().is_empty() {
            return Err(ToolError::argument("command", "there is nothing to run"));
        }
        let around = Around { timeout_ms, env, cwd, stdin };
        Ok((sandbox_id, around.over(ExecRequest::shell(command))?))
    }
}

async fn run_command(mut call: Call, arguments: ShellLine) -> Result<Given<RunResult>, ToolError> {
    let (sandbox_id, request) = arguments.request()?;
    let result = run(&mut call, &sandbox_id, request).await?;
    let told = result.told();
    Ok(Given::told(result, told))
}

async fn execute_code(mut call: Call, arguments: ExecuteCode) -> Result<Given<CodeResult>, ToolError> {
    let ExecuteCode { sandbox_id, language, code, runtime, timeout_ms, env, cwd, stdin, session } = arguments;
    let language = language_of(&language)?;
    let request = Around { timeout_ms, env, cwd, stdin }.over(ExecRequest::code(language, Bytes::new()))?;
    let runtime = runtime.unwrap_or_default();
    if runtime == Runtime::Isolate {
        check_isolate(language, &request, session.as_deref())?;
    }
    let snippets = match code {
        Snippets::One(code) => {
            let whole =
                run_snippet(&mut call, &sandbox_id, runtime, snippet(&request, language, code, session)).await?;
            let (told, images) = (whole.told(), whole.images.clone());
            return Ok(Given::told(CodeResult { whole, snippets: None }, told).with_images(images));
        }
        Snippets::Many(snippets) if (1..=MOST_SNIPPETS).contains(&snippets.len()) => snippets,
        Snippets::Many(snippets) => {
            let reason = format!("{} snippets are not between 1 and {MOST_SNIPPETS}", snippets.len());
            return Err(ToolError::argument("code", reason));
        }
    };
    let mut results: Vec<RunResult> = Vec::new();
    for code in snippets {
        let mut request = snippet(&request, language, code, session.clone());
        // Of all of them together, no more is kept than of one.
        let written = |stream: fn(&RunResult) -> &str| results.iter().map(|one| stream(one).len() as u64).sum::<u64>();
        let most = written(|one| &one.stdout).max(written(|one| &one.stderr));
        request.output_limit = Some(ByteSize(OUTPUT_LIMIT.bytes().saturating_sub(most).max(1)));
        let result = run_snippet(&mut call, &sandbox_id, runtime, request).await?;
        let go_on = result.succeeded();
        results.push(result);
        if !go_on {
            break;
        }
    }
    let joined = CodeResult::joined(results);
    let (told, images) = (joined.whole.told(), joined.whole.images.clone());
    Ok(Given::told(joined, told).with_images(images))
}

fn language_of(text: &str) -> Result<Language, ToolError> {
    text.parse().map_err(|_| {
        let known = Language::ALL.map(|language| language.to_string()).join(", ");
        ToolError::argument("language", format!("{text:?} is not one of {known}"))
    })
}

fn snippet(request: &ExecRequest, language: Language, code: String, session: Option<String>) -> ExecRequest {
    let code = Code { language, source: Bytes::from(code), session };
    ExecRequest { command: Command::Code(code), ..request.clone() }
}

/// An isolate has no place for some of what can be asked for.
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

async fn run_snippet(
    call: &mut Call,
    id: &str,
    runtime: Runtime,
    request: ExecRequest,
) -> Result<RunResult, ToolError> {
    match runtime {
        Runtime::Sandbox => run(call, id, request).await,
        Runtime::Isolate => {
            // Who may use an isolate is who has a sandbox.
            call.sandbox(id)?;
            let Command::Code(code) = request.command else {
                return Err(ToolError::argument("code", "an isolate runs code only"));
            };
            let timeout = request.timeout.unwrap_or(DEFAULT_TIMEOUT);
            let run = IsolateRun { source: code.source, env: request.env.into_iter().collect(), timeout };
            Ok(RunResult::new(&call.session.sandboxes().run_isolate(run).await?))
        }
    }
}

/// Runs it to its end, and tells its progress.
async fn run(call: &mut Call, id: &str, request: ExecRequest) -> Result<RunResult, ToolError> {
    let sandbox = call.sandbox(id)?;
    let session = match &request.command {
        Command::Code(Code { language: Language::Python, session, .. }) => session.clone(),
        _ => None,
    };
    let mut running = sandbox.stream(request).await?;
    let mut written = Written::default();
    loop {
        let due = call.progress.due();
        let event = tokio::select! {
            biased;
            event = running.next() => event?,
            () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                call.progress.speak().await;
                continue;
            }
        };
        match event {
            ExecEvent::Stdout(bytes) => {
                call.progress.wrote(&bytes);
                written.stdout.push(&bytes);
            }
            ExecEvent::Stderr(bytes) => {
                call.progress.wrote(&bytes);
                written.stderr.push(&bytes);
            }
            ExecEvent::Omitted(Stream::Stdout, bytes) => written.stdout.omit(bytes),
            ExecEvent::Omitted(Stream::Stderr, bytes) => written.stderr.omit(bytes),
            ExecEvent::SessionLost => written.session_lost = true,
            ExecEvent::Ended(end) => {
                let mut result = RunResult::collected(&end, &written);
                result.hints = running.hints().iter().map(HintView::new).collect();
                // Nobody else runs anything in the session before `running` is dropped.
                if let Some(session) = session {
                    let shown = Shown::take(&sandbox, &session).await;
                    (result.shown, result.images) = (shown.forms, shown.images);
                }
                return Ok(result);
            }
        }
    }
}
