//! Commands, as they run.

use std::sync::LazyLock;
use std::time::Duration;

use hearth_agent::{Answer, CHUNK, CallId, End, Exec, Language, Request, Signal, Stream};
use hearth_jail::sched_tick::{BusyGuard, SchedulerTicker, Trigger};
use tokio::time::{Instant, timeout_at};

use super::calls::Receive;
use super::{Agent, Call, Line, refused};
use crate::error::SandboxError;
use crate::exec::{ExecEnd, ExecEvent};

/// The agent keeps a command's deadline; this long after it the agent itself is given up on.
const GRACE: Duration = Duration::from_secs(30);

/// Beats while a command's first word is on its way, so that neither its agent nor whoever hears of it here waits for the command.
/// One for the process, as the cores are.
static PULSE: LazyLock<SchedulerTicker> = LazyLock::new(|| SchedulerTicker::start(Trigger::AnyBusy));

/// A command that runs. Dropping it cancels the command.
pub(crate) struct Run {
    agent: Agent,
    call: Call,
    /// When even the agent must have said that it is over.
    deadline: Instant,
    timeout: Duration,
    /// Until its first word.
    awaited: Option<BusyGuard>,
}

/// A call that is forgotten if it is not sent after all.
struct Unsent<'a> {
    line: &'a Line,
    id: Option<CallId>,
}

impl Agent {
    pub(crate) async fn exec(&self, exec: Exec) -> Result<Run, SandboxError> {
        let timeout = exec.timeout;
        let deadline = Instant::now() + timeout + GRACE;
        // Both streams to the limit, and what was on its way when it was hit.
        let budget = exec.output_limit.saturating_add(CHUNK as u64).saturating_mul(2);
        let awaited = Some(PULSE.begin_work());
        let call = self.begin(budget, |id| Request::Exec { id, exec }).await?;
        Ok(Run { agent: self.clone(), call, deadline, timeout, awaited })
    }

    /// Starts a command whose answers go to `sink`. It is not cancelled unless somebody does so.
    pub(crate) async fn exec_into(&self, exec: Exec, sink: Box<dyn Receive>) -> Result<CallId, SandboxError> {
        let id = self.line.calls.open(sink, u64::MAX)?;
        let mut unsent = Unsent { line: &self.line, id: Some(id) };
        self.line.outbox.send(&Request::Exec { id, exec }).await?;
        unsent.id = None;
        Ok(id)
    }

    pub(crate) fn signal(&self, id: CallId, signal: Signal) {
        self.line.outbox.send_now(&Request::Signal { id, signal });
    }

    /// Ends the interpreter that keeps a session's variables.
    pub(crate) async fn end_session(&self, language: Language, session: String) -> Result<(), SandboxError> {
        self.done("session", |id| Request::EndSession { id, language, session }).await
    }
}

pub(crate) fn ended(end: End, timed_out: bool, truncated: bool, duration: Duration) -> ExecEnd {
    let (exit_code, signal) = match end {
        End::Code { code } => (Some(i32::from(code)), None),
        End::Killed { signal } => (None, Some(i32::from(signal.0))),
    };
    ExecEnd { exit_code, signal, truncated, timed_out, duration }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.line.calls.forget(id);
        }
    }
}

impl Run {
    /// What it does next. May be dropped and asked again.
    pub(crate) async fn next(&mut self) -> Result<ExecEvent, SandboxError> {
        let late = |_| SandboxError::TimedOut { what: "the command", limit: self.timeout };
        loop {
            let answer = timeout_at(self.deadline, self.call.next()).await.map_err(late)??;
            if let Answer::Taken { .. } = answer {
                continue;
            }
            self.awaited = None;
            return Ok(match answer {
                Answer::Output { stream: Stream::Stdout, bytes, .. } => ExecEvent::Stdout(bytes.0.into()),
                Answer::Output { stream: Stream::Stderr, bytes, .. } => ExecEvent::Stderr(bytes.0.into()),
                Answer::Omitted { stream, bytes, .. } => ExecEvent::Omitted(stream, bytes),
                Answer::SessionLost { .. } => ExecEvent::SessionLost,
                Answer::Exit { end, timed_out, truncated, duration, .. } => {
                    ExecEvent::Ended(ended(end, timed_out, truncated, duration))
                }
                Answer::Failed { failure, .. } => return Err(refused("command", &failure)),
                other => return Err(self.agent.nonsense(&other)),
            });
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.agent.signal(self.call.id, signal);
    }
}
