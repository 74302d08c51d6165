//! The host's side of the connection to a sandbox's agent: many calls at once over one stream.
//!
//! Each call has an id that is never used again, and every answer carries the id of its call;
//! answers to calls that were dropped are discarded, so a late answer never reaches another call. A
//! call that is dropped before its end is cancelled.
//!
//! States: `Open -> Closed`. The connection closes once, with a reason: the stream ended, the agent
//! broke the protocol, or the sandbox is destroyed. From then on every call, waiting or new, ends
//! with that reason.
//!
//! | file | |
//! |---|---|
//! | `agent/calls.rs` | open calls and their receivers |
//! | `agent/io.rs` | reading and writing the stream |
//! | `agent/exec.rs` | commands |
//! | `agent/files.rs` | files |
//! | `agent/tunnel.rs`, `agent/tunnel_stream.rs` | the tunnel to the proxy, where the driver has no uplink |
//! | `agent/upgrade.rs` | export and import of the stream |

mod calls;
mod exec;
mod files;
mod io;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod tunnel;
mod tunnel_stream;
mod upgrade;

use std::sync::Arc;
use std::time::Duration;

use hearth_sandbox_agent::{AgentCallId, AgentReply, AgentRequest, CallFailure, FailureKind, Language, VERSION};
use tokio::io::WriteHalf;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

pub(crate) use calls::{Closed, Receive};
pub(crate) use exec::{Run, ended};
pub(crate) use upgrade::ImportError;

use crate::driver::BidiStream;
use crate::error::SandboxError;
use calls::Calls;
use io::WriteQueue;
use tunnel::Tunnel;

/// Timeout of calls that start no program: longer than any disk takes.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// A client of one agent. Clones share the connection.
#[derive(Clone)]
pub(crate) struct Agent {
    connection: Arc<AgentConnection>,
}

/// The connection, shared by calls and the tasks that read and write it.
pub(crate) struct AgentConnection {
    calls: Calls,
    write_queue: WriteQueue,
    tunnel: Arc<Tunnel>,
    languages: Vec<Language>,
}

/// Whether the agent answers pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Liveness {
    Alive,
    Unresponsive,
}

/// A call under way. Dropped before its last answer, it is cancelled.
pub(crate) struct Call {
    connection: Arc<AgentConnection>,
    id: AgentCallId,
    answers: mpsc::UnboundedReceiver<AgentReply>,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    UnderWay,
    Ended,
}

// === impl Agent ===

impl Agent {
    /// Does the handshake with the agent. The caller sets a deadline.
    pub(crate) async fn connect(stream: Box<dyn BidiStream>) -> Result<Self, SandboxError> {
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).expect("the system has random bytes");
        let nonce = u64::from_le_bytes(nonce);
        let hello = AgentRequest::Hello { version: VERSION, nonce };
        let established =
            io::handshake(stream, &hello, nonce).await.map_err(|reason| SandboxError::AgentLost { reason })?;
        let (reader, writer) = tokio::io::split(established.stream);
        let connection = Arc::new(AgentConnection::new(Calls::new(), writer, established.languages));
        tokio::spawn(io::run(connection.clone(), reader, established.decoder));
        Ok(Self { connection })
    }

    pub(crate) fn languages(&self) -> &[Language] {
        &self.connection.languages
    }

    pub(crate) fn is_open(&self) -> bool {
        self.connection.calls.closed().is_none()
    }

    /// Ends every call with this reason.
    pub(crate) fn close(&self, reason: Closed) {
        self.connection.close(reason);
    }

    /// Resolves when the connection has closed, for whatever reason.
    pub(crate) async fn closed(&self) -> Closed {
        self.connection.calls.until_closed().await
    }

    /// Sends a ping without waiting, unless one is unanswered; says whether that has been so for
    /// less than `timeout`. For checks at intervals.
    pub(crate) fn liveness(&self, timeout: Duration) -> Liveness {
        if !self.is_open() {
            return Liveness::Unresponsive;
        }
        match self.connection.calls.heartbeat(Instant::now()) {
            calls::Heartbeat::Ask(id) => {
                self.connection.write_queue.send_now(&AgentRequest::Ping { id });
                Liveness::Alive
            }
            calls::Heartbeat::Waiting(since) if since.elapsed() >= timeout => Liveness::Unresponsive,
            calls::Heartbeat::Waiting(_) => Liveness::Alive,
        }
    }

    /// Resolves when the ping that [`liveness`](Self::liveness) has sent is answered.
    pub(crate) async fn answered(&self) -> Result<(), SandboxError> {
        self.connection.calls.until_answered().await.map_err(SandboxError::from)
    }

    /// Starts interpreters ahead of their first use.
    pub(crate) async fn warm(&self, languages: Vec<Language>) -> Result<(), SandboxError> {
        self.done("starting interpreters", |id| AgentRequest::Warm { id, languages }).await
    }

    /// A request with one answer.
    async fn ask(&self, request: impl FnOnce(AgentCallId) -> AgentRequest) -> Result<AgentReply, SandboxError> {
        let mut call = self.begin(0, request).await?;
        call.next().await
    }

    /// The same with [`CALL_TIMEOUT`].
    async fn ask_with_timeout(
        &self,
        what: &'static str,
        request: impl FnOnce(AgentCallId) -> AgentRequest,
    ) -> Result<AgentReply, SandboxError> {
        let late = |_| SandboxError::TimedOut { what, limit: CALL_TIMEOUT };
        timeout(CALL_TIMEOUT, self.ask(request)).await.map_err(late)?
    }

    /// A request whose answer is `Done`.
    async fn done(
        &self,
        what: &'static str,
        request: impl FnOnce(AgentCallId) -> AgentRequest,
    ) -> Result<(), SandboxError> {
        match self.ask_with_timeout(what, request).await? {
            AgentReply::Done { .. } => Ok(()),
            AgentReply::Failed { failure, .. } => Err(refused(what, &failure)),
            other => Err(self.protocol_error(&other)),
        }
    }

    /// Sends a request; its answers come to the call. `budget`: bytes of output that it may bring.
    async fn begin(
        &self,
        budget: u64,
        request: impl FnOnce(AgentCallId) -> AgentRequest,
    ) -> Result<Call, SandboxError> {
        let (sink, answers) = mpsc::unbounded_channel();
        let id = self.connection.calls.open(Box::new(sink), budget)?;
        let call = Call { connection: self.connection.clone(), id, answers, progress: Progress::UnderWay };
        self.connection.write_queue.send(&request(id)).await?;
        Ok(call)
    }

    /// For an answer that does not fit its request: closes the connection, since nothing else that
    /// this agent says can be trusted.
    fn protocol_error(&self, answer: &AgentReply) -> SandboxError {
        let mut text = format!("{answer:?}");
        text.truncate(text.char_indices().nth(80).map_or(text.len(), |(at, _)| at));
        let reason = Closed::Lost(format!("it gave an answer that does not fit the question: {text}"));
        self.close(reason.clone());
        reason.into()
    }
}

// === impl AgentConnection ===

impl AgentConnection {
    fn new(calls: Calls, writer: WriteHalf<Box<dyn BidiStream>>, languages: Vec<Language>) -> Self {
        let tunnel = Arc::<Tunnel>::default();
        Self { calls, write_queue: WriteQueue::new(writer, tunnel.clone()), tunnel, languages }
    }

    fn close(&self, reason: Closed) {
        self.calls.close(reason);
        self.write_queue.close();
        self.tunnel.close();
    }
}

// === impl Call ===

impl Call {
    /// The next answer, or why there is none.
    async fn next(&mut self) -> Result<AgentReply, SandboxError> {
        match self.answers.recv().await {
            Some(answer) => {
                if calls::is_last(&answer) {
                    self.progress = Progress::Ended;
                }
                Ok(answer)
            }
            None => {
                self.progress = Progress::Ended;
                Err(self.connection.calls.reason().into())
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.progress == Progress::UnderWay {
            self.connection.calls.remove(self.id);
            self.connection.write_queue.send_now(&AgentRequest::Cancel { id: self.id });
        }
    }
}

/// The error of a refused call that is not about a file.
fn refused(field: &'static str, failure: &CallFailure) -> SandboxError {
    match failure.kind {
        FailureKind::NoInterpreter => SandboxError::invalid("language", failure.message.clone()),
        FailureKind::Full => SandboxError::Exhausted { reason: failure.message.clone() },
        FailureKind::Busy => SandboxError::Busy { reason: failure.message.clone() },
        FailureKind::NotFound
        | FailureKind::Denied
        | FailureKind::Invalid
        | FailureKind::Other
        | FailureKind::Cancelled => SandboxError::invalid(field, failure.message.clone()),
    }
}
