//! Export and import of the stream to an agent. It is cut between two outgoing messages, and the
//! bytes of an incomplete incoming message go with it. The next program continues without a
//! handshake, which would end all that runs.

use std::sync::Arc;
use std::time::Duration;

use hearth_sandbox_agent::{AgentCallId, AgentRequest, FrameDecoder, NoSuchLanguage, VERSION};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::calls::{Calls, Receive};
use super::io;
use super::{Agent, AgentConnection};
use crate::driver::BidiStream;
use crate::upgrade::{Hex, SavedAgent};

/// To send what is queued. An agent that takes nothing for so long is not exported.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a stream cannot be continued.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImportError {
    #[error("its agent speaks version {0} of the protocol, not {VERSION}")]
    Version(u16),
    #[error("its agent runs something unknown: {0}")]
    Language(#[from] NoSuchLanguage),
}

impl Agent {
    /// Cancels all calls except `kept`, and stops reading and writing. `None` if the agent is gone,
    /// or takes nothing.
    pub(crate) async fn export(&self, kept: &[AgentCallId]) -> Option<SavedAgent> {
        for id in self.connection.calls.others(kept) {
            self.connection.write_queue.send_now(&AgentRequest::Cancel { id });
        }
        let (stopped, unread) = oneshot::channel();
        self.connection.write_queue.hand_over(stopped);
        let unread = timeout(FLUSH_TIMEOUT, unread).await.ok()?.ok()?;
        Some(SavedAgent {
            version: VERSION,
            next: self.connection.calls.next(),
            languages: self.languages().iter().map(|language| language.name().to_owned()).collect(),
            unread: Hex(unread),
        })
    }

    /// Continues an exported stream. `calls` are under way.
    pub(crate) fn import(
        stream: Box<dyn BidiStream>,
        saved: SavedAgent,
        calls: Vec<(AgentCallId, Box<dyn Receive>)>,
    ) -> Result<Self, ImportError> {
        if saved.version != VERSION {
            return Err(ImportError::Version(saved.version));
        }
        let languages = saved.languages.iter().map(|name| name.parse()).collect::<Result<_, NoSuchLanguage>>()?;
        let mut decoder = FrameDecoder::new();
        decoder.push(&saved.unread.0);
        let (reader, writer) = tokio::io::split(stream);
        let connection = Arc::new(AgentConnection::new(Calls::import(saved.next, calls), writer, languages));
        tokio::spawn(io::run(connection.clone(), reader, decoder));
        Ok(Self { connection })
    }
}
