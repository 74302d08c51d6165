//! The stream to an agent, left to the next program: between two messages of ours, with what of the agent's is not whole
//! yet. There it goes on without a greeting, which would end all that runs.

use std::sync::Arc;
use std::time::Duration;

use hearth_agent::{CallId, Decoder, NoSuchLanguage, Request, VERSION};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::calls::{Calls, Receive};
use super::pump;
use super::{Agent, Line};
use crate::driver::ByteStream;
use crate::heritage::{Hex, KeptAgent};

/// For what waits to be sent. An agent that takes nothing for so long is of no use to anybody.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a stream cannot be continued.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResumeError {
    #[error("its agent speaks version {0} of the protocol, not {VERSION}")]
    Version(u16),
    #[error("its agent runs something unknown: {0}")]
    Language(#[from] NoSuchLanguage),
}

impl Agent {
    /// Ends what is asked but for `kept`, and stops speaking and listening. `None` if the agent is gone, or takes nothing.
    pub(crate) async fn leave(&self, kept: &[CallId]) -> Option<KeptAgent> {
        for id in self.line.calls.others(kept) {
            self.line.outbox.send_now(&Request::Cancel { id });
        }
        let (stopped, unread) = oneshot::channel();
        self.line.outbox.leave(stopped);
        let unread = timeout(PATIENCE, unread).await.ok()?.ok()?;
        Some(KeptAgent {
            version: VERSION,
            next: self.line.calls.next(),
            languages: self.languages().iter().map(|language| language.name().to_owned()).collect(),
            unread: Hex(unread),
        })
    }

    /// Goes on where another left. `calls` are under way.
    pub(crate) fn resume(
        stream: Box<dyn ByteStream>,
        kept: KeptAgent,
        calls: Vec<(CallId, Box<dyn Receive>)>,
    ) -> Result<Self, ResumeError> {
        if kept.version != VERSION {
            return Err(ResumeError::Version(kept.version));
        }
        let languages = kept.languages.iter().map(|name| name.parse()).collect::<Result<_, NoSuchLanguage>>()?;
        let mut decoder = Decoder::new();
        decoder.push(&kept.unread.0);
        let (reader, writer) = tokio::io::split(stream);
        let line = Arc::new(Line::new(Calls::resume(kept.next, calls), writer, languages));
        tokio::spawn(pump::run(line.clone(), reader, decoder));
        Ok(Self { line })
    }
}
