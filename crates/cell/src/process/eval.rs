//! Runs code once in an isolate of its own: `runtime: isolate` of a sandbox's `execute_code`. The code is served as an app with one
//! request, by a worker that serves nothing before or after, with no network and no files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::module::InMemory;
use hearth_core::{AppName, Body, BodyError, ByteSize, Failure, LimitKind, Limits, Owner, Request, VersionName};
use hearth_egress::EgressPolicy;
use hearth_ipc::{EVALUATED, EvalOutcome, EvalRequest};
use tokio::time::timeout;

use crate::host::AppRules;
use crate::routing::VersionLoader;
use crate::shared_services::AppParts;
use crate::timings::Timings;
use hearth_core::execution::Execution;

const ENTRY: &str = "/eval.js";
const CODE: &str = "/code.js";
const IMPORT_ERROR: &str = "an isolate has no packages and no files: run it in the sandbox, without `runtime`";

/// The heap limit of the isolate.
const HEAP_LIMIT: ByteSize = ByteSize::mb(128);

/// Evaluations at once; others wait.
const MAX_CONCURRENT: usize = 4;

/// What the code has printed until now.
#[derive(Default)]
struct EvalOutput {
    stdout: String,
    stderr: String,
    exit_code: Option<i32>,
    /// An incomplete line.
    partial: Vec<u8>,
}

/// Why reading stops before the end.
enum EvalStop {
    /// More was printed than the limit.
    Truncated,
    /// The worker ended before the code did.
    Broken(String),
}

pub(super) async fn evaluate(versions: &VersionLoader, request: EvalRequest) -> EvalOutcome {
    let began = Instant::now();
    let EvalRequest { code, env, timeout: limit, output_limit } = request;
    let (mut output, mut timed_out, mut truncated) = (EvalOutput::default(), false, false);
    let ran = async {
        let body = start(versions, code, env, limit, output_limit).await?;
        Ok(output.read(body, output_limit).await)
    };
    match timeout(limit, ran).await {
        Err(_) => timed_out = true,
        Ok(Err(Failure::Limit(exceeded))) if matches!(exceeded.kind, LimitKind::Cpu | LimitKind::Wall) => {
            timed_out = true
        }
        Ok(Err(Failure::Capacity { reason })) => return EvalOutcome::Refused { message: reason.to_owned() },
        Ok(Err(failure)) => output.stderr.push_str(&format!("{failure}\n")),
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(EvalStop::Truncated))) => truncated = true,
        Ok(Ok(Err(EvalStop::Broken(reason)))) => output.stderr.push_str(&format!("{reason}\n")),
    }
    let EvalOutput { stdout, stderr, exit_code, .. } = output;
    // A stopped program has no exit code.
    let exit_code = if timed_out || truncated { None } else { Some(exit_code.unwrap_or(1)) };
    EvalOutcome::Ended { exit_code, stdout, stderr, truncated, timed_out, duration: began.elapsed() }
}

async fn start(
    versions: &VersionLoader,
    code: String,
    env: Vec<(String, String)>,
    limit: Duration,
    output_limit: u64,
) -> Result<Body, Failure> {
    let entry = include_str!("eval.js").replace("OUTPUT_LIMIT", &output_limit.to_string());
    let loader = Arc::new(InMemory::new((ENTRY, entry), vec![(CODE, code)], IMPORT_ERROR));
    let limits = Limits {
        cpu: limit,
        wall: limit,
        stream_silence: limit,
        wait_until_cpu: limit,
        wait_until_wall: limit,
        heap: HEAP_LIMIT,
        concurrency: 1,
        ..Limits::default()
    };
    let name = AppName::new(EVALUATED);
    let app = versions.services.app(AppParts {
        owner: Owner::from(&name),
        name,
        version: VersionName::new("latest"),
        loader,
        limits,
        env,
        egress: EgressPolicy::none(),
        assets: None,
    });
    let rules = AppRules {
        execution: Execution::Oneshot,
        workers: MAX_CONCURRENT,
        queue: versions.limits.queue,
        queue_timeout: versions.limits.queue_timeout,
        weight: 1,
        lifetime: hearth_pool::ItemLifetime::default(),
        timings: Arc::new(Timings::default()),
    };
    let response = versions.pools.host(app, &rules).fetch(Request::get("http://eval/"), || {}).await?;
    Ok(response.body)
}

// === impl EvalOutput ===

impl EvalOutput {
    /// Reads to the end, or to the output limit.
    async fn read(&mut self, mut body: Body, limit: u64) -> Result<(), EvalStop> {
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error: BodyError| EvalStop::Broken(error.to_string()))?;
            self.partial.extend_from_slice(&piece);
            while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.partial.drain(..=end).collect();
                self.parse_line(&line, limit)?;
            }
        }
        Ok(())
    }

    fn parse_line(&mut self, line: &[u8], limit: u64) -> Result<(), EvalStop> {
        let invalid = || EvalStop::Broken("the worker wrote an invalid line".to_owned());
        let (kind, value): (u8, serde_json::Value) = serde_json::from_slice(line).map_err(|_| invalid())?;
        let stream = match kind {
            0 => {
                self.exit_code = value.as_i64().and_then(|code| i32::try_from(code).ok());
                return Ok(());
            }
            1 => &mut self.stdout,
            _ => &mut self.stderr,
        };
        let text = value.as_str().ok_or_else(invalid)?;
        let available = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(stream.len());
        if text.len() <= available {
            stream.push_str(text);
            return Ok(());
        }
        let cut = (0..=available).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        stream.push_str(&text[..cut]);
        Err(EvalStop::Truncated)
    }
}
