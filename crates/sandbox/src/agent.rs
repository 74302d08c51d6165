//! The host's side of a sandbox's agent: many calls at once over one stream.
//!
//! Each call has an id that is never used again; whatever the agent says carries the id, and what nobody waits for any more
//! is dropped. So a late answer never reaches another call. A call that is dropped before its end is cancelled.
//!
//! States: `Open -> Closed`. It closes once, with a reason: the stream ended, the agent said something it may not, or the
//! sandbox is destroyed. From then on every call, waiting or new, ends with that reason.
//!
//! | file | |
//! |---|---|
//! | `agent/calls.rs` | who waits for what |
//! | `agent/pump.rs` | bytes in, bytes out |
//! | `agent/exec.rs` | commands |
//! | `agent/files.rs` | files |
//! | `agent/tunnel.rs`, `agent/passage.rs` | the way to the proxy, where the driver has none |
//! | `agent/heritage.rs` | the same stream in the next program |

mod calls;
mod exec;
mod files;
mod heritage;
mod passage;
mod pump;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod tunnel;

use std::sync::Arc;
use std::time::Duration;

use hearth_agent::{Answer, CallId, Failure, FailureKind, Language, Request, VERSION};
use tokio::io::WriteHalf;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

pub(crate) use calls::{Closed, Receive};
pub(crate) use exec::{Run, ended};
pub(crate) use heritage::ResumeError;

use crate::driver::ByteStream;
use crate::error::SandboxError;
use calls::Calls;
use pump::Outbox;
use tunnel::Tunnel;

/// How long the agent may take for what needs no program: longer than any disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// Speaks to one agent. Clones speak to the same.
#[derive(Clone)]
pub(crate) struct Agent {
    line: Arc<Line>,
}

/// What calls and the tasks that carry them share.
pub(crate) struct Line {
    calls: Calls,
    outbox: Outbox,
    tunnel: Arc<Tunnel>,
    languages: Vec<Language>,
}

/// Whether the agent answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pulse {
    Beating,
    Stopped,
}

/// A request whose answer is awaited. Dropped before the last answer, it is cancelled.
pub(crate) struct Call {
    line: Arc<Line>,
    id: CallId,
    answers: mpsc::UnboundedReceiver<Answer>,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    UnderWay,
    Ended,
}

// === impl Agent ===

impl Agent {
    /// Greets the agent at the other end. Put a deadline around it.
    pub(crate) async fn connect(stream: Box<dyn ByteStream>) -> Result<Self, SandboxError> {
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).expect("the system has random bytes");
        let nonce = u64::from_le_bytes(nonce);
        let hello = Request::Hello { version: VERSION, nonce };
        let greeted = pump::greet(stream, &hello, nonce).await.map_err(|reason| SandboxError::AgentLost { reason })?;
        let (reader, writer) = tokio::io::split(greeted.stream);
        let line = Arc::new(Line::new(Calls::new(), writer, greeted.languages));
        tokio::spawn(pump::run(line.clone(), reader, greeted.decoder));
        Ok(Self { line })
    }

    pub(crate) fn languages(&self) -> &[Language] {
        &self.line.languages
    }

    pub(crate) fn is_open(&self) -> bool {
        self.line.calls.closed().is_none()
    }

    /// Ends every call with this reason.
    pub(crate) fn close(&self, reason: Closed) {
        self.line.close(reason);
    }

    /// Resolves when the agent is gone, for whatever reason.
    pub(crate) async fn closed(&self) -> Closed {
        self.line.calls.until_closed().await
    }

    /// Asks without waiting, and says whether the question before this one was answered. For looks now and then.
    pub(crate) fn pulse(&self, patience: Duration) -> Pulse {
        if !self.is_open() {
            return Pulse::Stopped;
        }
        match self.line.calls.heartbeat(Instant::now()) {
            calls::Heartbeat::Ask(id) => {
                self.line.outbox.send_now(&Request::Ping { id });
                Pulse::Beating
            }
            calls::Heartbeat::Waiting(since) if since.elapsed() >= patience => Pulse::Stopped,
            calls::Heartbeat::Waiting(_) => Pulse::Beating,
        }
    }

    /// Resolves when what [`pulse`](Self::pulse) has asked is answered.
    pub(crate) async fn answered(&self) -> Result<(), SandboxError> {
        self.line.calls.until_answered().await.map_err(SandboxError::from)
    }

    /// Starts interpreters ahead of their first use.
    pub(crate) async fn warm(&self, languages: Vec<Language>) -> Result<(), SandboxError> {
        self.done("starting interpreters", |id| Request::Warm { id, languages }).await
    }

    /// A request with one answer.
    async fn ask(&self, request: impl FnOnce(CallId) -> Request) -> Result<Answer, SandboxError> {
        let mut call = self.begin(0, request).await?;
        call.next().await
    }

    /// The same under the usual deadline.
    async fn ask_in_time(
        &self,
        what: &'static str,
        request: impl FnOnce(CallId) -> Request,
    ) -> Result<Answer, SandboxError> {
        let late = |_| SandboxError::TimedOut { what, limit: PATIENCE };
        timeout(PATIENCE, self.ask(request)).await.map_err(late)?
    }

    /// A request whose answer is `Done`.
    async fn done(&self, what: &'static str, request: impl FnOnce(CallId) -> Request) -> Result<(), SandboxError> {
        match self.ask_in_time(what, request).await? {
            Answer::Done { .. } => Ok(()),
            Answer::Failed { failure, .. } => Err(refused(what, &failure)),
            other => Err(self.nonsense(&other)),
        }
    }

    /// Sends a request; its answers come to the call. `budget`: bytes of output that it may bring.
    async fn begin(&self, budget: u64, request: impl FnOnce(CallId) -> Request) -> Result<Call, SandboxError> {
        let (sink, answers) = mpsc::unbounded_channel();
        let id = self.line.calls.open(Box::new(sink), budget)?;
        let call = Call { line: self.line.clone(), id, answers, progress: Progress::UnderWay };
        self.line.outbox.send(&request(id)).await?;
        Ok(call)
    }

    /// An answer that does not belong to the question. Nothing that this agent says can be trusted then.
    fn nonsense(&self, answer: &Answer) -> SandboxError {
        let mut text = format!("{answer:?}");
        text.truncate(text.char_indices().nth(80).map_or(text.len(), |(at, _)| at));
        let reason = Closed::Lost(format!("it gave an answer that does not fit the question: {text}"));
        self.close(reason.clone());
        reason.into()
    }
}

// === impl Line ===

impl Line {
    fn new(calls: Calls, writer: WriteHalf<Box<dyn ByteStream>>, languages: Vec<Language>) -> Self {
        let tunnel = Arc::<Tunnel>::default();
        Self { calls, outbox: Outbox::new(writer, tunnel.clone()), tunnel, languages }
    }

    fn close(&self, reason: Closed) {
        self.calls.close(reason);
        self.outbox.close();
        self.tunnel.close();
    }
}

// === impl Call ===

impl Call {
    /// The next answer, or why there is none.
    async fn next(&mut self) -> Result<Answer, SandboxError> {
        match self.answers.recv().await {
            Some(answer) => {
                if calls::is_last(&answer) {
                    self.progress = Progress::Ended;
                }
                Ok(answer)
            }
            None => {
                self.progress = Progress::Ended;
                Err(self.line.calls.reason().into())
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.progress == Progress::UnderWay {
            self.line.calls.forget(self.id);
            self.line.outbox.send_now(&Request::Cancel { id: self.id });
        }
    }
}

/// What a refusal means that is about no file.
fn refused(field: &'static str, failure: &Failure) -> SandboxError {
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
