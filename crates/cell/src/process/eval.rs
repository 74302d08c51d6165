//! Code that somebody wants run once in an isolate of its own: `runtime: isolate` of a sandbox's `execute_code`. It is served
//! as an app of one request, by a worker that nobody had before and nobody gets after, with no network and no files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_core::module::InMemory;
use hearth_core::{AppName, Body, BodyError, ByteSize, Failure, LimitKind, Limits, Owner, Request, VersionName};
use hearth_egress::EgressPolicy;
use hearth_ipc::{EVALUATED, EvalOutcome, EvalRequest};
use tokio::time::timeout;

use crate::commons::Parts;
use crate::execution::Execution;
use crate::host::AppRules;
use crate::serving::Workshop;
use crate::timings::Timings;

const ENTRY: &str = "/eval.js";
const CODE: &str = "/code.js";
const NOTHING_ELSE: &str = "an isolate has no packages and no files: run it in the sandbox, without `runtime`";

/// Of the isolate.
const MEMORY: ByteSize = ByteSize::mb(128);

/// Runs at once; others wait.
const WORKERS: usize = 4;

/// What was told until now.
#[derive(Default)]
struct Told {
    stdout: String,
    stderr: String,
    exit_code: Option<i32>,
    /// A line that is not whole yet.
    rest: Vec<u8>,
}

/// Why reading on is of no use.
enum Stop {
    /// More was printed than is kept.
    Truncated,
    /// The worker ended before the code did.
    Broken(String),
}

pub(super) async fn evaluate(workshop: &Workshop, request: EvalRequest) -> EvalOutcome {
    let began = Instant::now();
    let EvalRequest { code, env, timeout: limit, output_limit } = request;
    let (mut told, mut timed_out, mut truncated) = (Told::default(), false, false);
    let ran = async {
        let body = start(workshop, code, env, limit, output_limit).await?;
        Ok(told.read(body, output_limit).await)
    };
    match timeout(limit, ran).await {
        Err(_) => timed_out = true,
        Ok(Err(Failure::Limit(exceeded))) if matches!(exceeded.kind, LimitKind::Cpu | LimitKind::Wall) => {
            timed_out = true
        }
        Ok(Err(Failure::Capacity { reason })) => return EvalOutcome::Refused { message: reason.to_owned() },
        Ok(Err(failure)) => told.stderr.push_str(&format!("{failure}\n")),
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(Stop::Truncated))) => truncated = true,
        Ok(Ok(Err(Stop::Broken(reason)))) => told.stderr.push_str(&format!("{reason}\n")),
    }
    let Told { stdout, stderr, exit_code, .. } = told;
    // Whatever ended it before it could say so: a program that is stopped has no code of its own.
    let exit_code = if timed_out || truncated { None } else { Some(exit_code.unwrap_or(1)) };
    EvalOutcome::Ended { exit_code, stdout, stderr, truncated, timed_out, duration: began.elapsed() }
}

async fn start(
    workshop: &Workshop,
    code: String,
    env: Vec<(String, String)>,
    limit: Duration,
    output_limit: u64,
) -> Result<Body, Failure> {
    let entry = include_str!("eval.js").replace("OUTPUT_LIMIT", &output_limit.to_string());
    let loader = Arc::new(InMemory::new((ENTRY, entry), vec![(CODE, code)], NOTHING_ELSE));
    let limits = Limits {
        cpu: limit,
        wall: limit,
        stream_silence: limit,
        wait_until_cpu: limit,
        wait_until_wall: limit,
        heap: MEMORY,
        concurrency: 1,
        ..Limits::default()
    };
    let name = AppName::new(EVALUATED);
    let app = workshop.commons.app(Parts {
        owner: Owner::from(&name),
        name,
        version: VersionName::new("latest"),
        loader,
        limits,
        env,
        egress: EgressPolicy::none(),
    });
    let rules = AppRules {
        execution: Execution::Oneshot,
        workers: WORKERS,
        queue: workshop.terms.queue,
        queue_timeout: workshop.terms.queue_timeout,
        weight: 1,
        life: hearth_pool::ItemLifetime::default(),
        timings: Arc::new(Timings::default()),
    };
    let response = workshop.cell.host(app, &rules).fetch(Request::get("http://eval/"), || {}).await?;
    Ok(response.body)
}

// === impl Told ===

impl Told {
    /// To the end, or to where there is too much.
    async fn read(&mut self, mut body: Body, limit: u64) -> Result<(), Stop> {
        while let Some(piece) = body.next().await {
            let piece = piece.map_err(|error: BodyError| Stop::Broken(error.to_string()))?;
            self.rest.extend_from_slice(&piece);
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                self.hear(&line, limit)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, line: &[u8], limit: u64) -> Result<(), Stop> {
        let nonsense = || Stop::Broken("the worker said something that nobody understands".to_owned());
        let (what, value): (u8, serde_json::Value) = serde_json::from_slice(line).map_err(|_| nonsense())?;
        let stream = match what {
            0 => {
                self.exit_code = value.as_i64().and_then(|code| i32::try_from(code).ok());
                return Ok(());
            }
            1 => &mut self.stdout,
            _ => &mut self.stderr,
        };
        let text = value.as_str().ok_or_else(nonsense)?;
        let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(stream.len());
        if text.len() <= room {
            stream.push_str(text);
            return Ok(());
        }
        let cut = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        stream.push_str(&text[..cut]);
        Err(Stop::Truncated)
    }
}
