//! Commands that run in the sandbox.

use std::sync::LazyLock;
use std::time::Duration;

use hearth_sandbox_agent::{AgentCallId, AgentReply, AgentRequest, CHUNK, End, Exec, Language, OutputStream, Signal};
use hearth_sys::sched_tick::{BusyGuard, SchedulerTicker, Trigger};
use tokio::time::{Instant, timeout_at};

use super::calls::Receive;
use super::{Agent, AgentConnection, Call, refused};
use crate::error::SandboxError;
use crate::exec::{ExecEnd, ExecEvent};

/// The agent enforces a command's deadline; this long after it the agent itself is given up.
const AGENT_GRACE: Duration = Duration::from_secs(30);

/// Ticks while a command's first output is awaited, so that neither the agent nor the reading task
/// waits behind the command for a processor. One for the process, since processors are shared.
static FIRST_OUTPUT_TICKER: LazyLock<SchedulerTicker> = LazyLock::new(|| SchedulerTicker::start(Trigger::AnyBusy));

/// A running command. Dropping it cancels the command.
pub(crate) struct Run {
    agent: Agent,
    call: Call,
    /// When the agent must have reported the end.
    deadline: Instant,
    timeout: Duration,
    /// Until its first output.
    first_output: Option<BusyGuard>,
}

/// Removes a call again that could not be sent.
struct UnsentCall<'a> {
    connection: &'a AgentConnection,
    id: Option<AgentCallId>,
}

impl Agent {
    pub(crate) async fn exec(&self, exec: Exec) -> Result<Run, SandboxError> {
        let timeout = exec.timeout;
        let deadline = Instant::now() + timeout + AGENT_GRACE;
        // Both streams up to the limit, and what was under way when it was reached.
        let budget = exec.output_limit.saturating_add(CHUNK as u64).saturating_mul(2);
        let first_output = Some(FIRST_OUTPUT_TICKER.begin_work());
        let call = self.begin(budget, |id| AgentRequest::Exec { id, exec }).await?;
        Ok(Run { agent: self.clone(), call, deadline, timeout, first_output })
    }

    /// Starts a command whose answers go to `sink`. It is not cancelled when this future is
    /// dropped.
    pub(crate) async fn exec_into(&self, exec: Exec, sink: Box<dyn Receive>) -> Result<AgentCallId, SandboxError> {
        let id = self.connection.calls.open(sink, u64::MAX)?;
        let mut unsent = UnsentCall { connection: &self.connection, id: Some(id) };
        self.connection.write_queue.send(&AgentRequest::Exec { id, exec }).await?;
        unsent.id = None;
        Ok(id)
    }

    pub(crate) fn signal(&self, id: AgentCallId, signal: Signal) {
        self.connection.write_queue.send_now(&AgentRequest::Signal { id, signal });
    }

    /// Ends the interpreter that keeps a session's variables.
    pub(crate) async fn end_session(&self, language: Language, session: String) -> Result<(), SandboxError> {
        self.done("session", |id| AgentRequest::EndSession { id, language, session }).await
    }
}

pub(crate) fn ended(end: End, timed_out: bool, truncated: bool, duration: Duration) -> ExecEnd {
    let (exit_code, signal) = match end {
        End::Code { code } => (Some(i32::from(code)), None),
        End::Killed { signal } => (None, Some(i32::from(signal.0))),
    };
    ExecEnd { exit_code, signal, truncated, timed_out, duration }
}

impl Drop for UnsentCall<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.connection.calls.remove(id);
        }
    }
}

impl Run {
    /// The next event. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<ExecEvent, SandboxError> {
        let late = |_| SandboxError::TimedOut { what: "the command", limit: self.timeout };
        loop {
            let answer = timeout_at(self.deadline, self.call.next()).await.map_err(late)??;
            if let AgentReply::Taken { .. } = answer {
                continue;
            }
            self.first_output = None;
            return Ok(match answer {
                AgentReply::Output { stream: OutputStream::Stdout, bytes, .. } => ExecEvent::Stdout(bytes.0.into()),
                AgentReply::Output { stream: OutputStream::Stderr, bytes, .. } => ExecEvent::Stderr(bytes.0.into()),
                AgentReply::Omitted { stream, bytes, .. } => ExecEvent::Omitted(stream, bytes),
                AgentReply::SessionLost { .. } => ExecEvent::SessionLost,
                AgentReply::Exit { end, timed_out, truncated, duration, .. } => {
                    ExecEvent::Ended(ended(end, timed_out, truncated, duration))
                }
                AgentReply::Failed { failure, .. } => return Err(refused("command", &failure)),
                other => return Err(self.agent.protocol_error(&other)),
            });
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.agent.signal(self.call.id, signal);
    }
}
