//! The cells, as the rest of control sees them: something that serves a catalogue, answers questions, and can be told to
//! drain. Which process does so, and since when, is nobody's business here.
//!
//! | file | |
//! |---|---|
//! | `supervisor.rs` | keeps a cell running: starts it, and starts another when it is gone |
//! | `process.rs` | one process, and the socket to it |
//! | `tally.rs` | what all cells have counted, those that are gone included |

mod process;
mod supervisor;
mod tally;

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hearth_journal::LogLine;
use hearth_link::{Ask, CellEvent, CellPlan, CellStats, Reply, Unserved, VersionSpec};
use tokio::sync::{mpsc, oneshot};

use self::supervisor::{Command, Supervisor};
use self::tally::Tally;

/// Nobody waits longer for an answer; a cell that does not give one within this time hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// Who collects numbers would rather have old ones than wait.
const FRESH: Duration = Duration::from_secs(5);

pub struct CellsConfig {
    /// The program that is started as a cell, by `cell` as its only argument.
    pub program: PathBuf,
    pub plan: CellPlan,
    /// Open until the drain: what waits in them when a cell goes is the next one's.
    pub listeners: Vec<TcpListener>,
}

/// Hears what cells say unasked. Must not wait.
pub trait Observer: Send + Sync + 'static {
    fn log(&self, line: LogLine);
    fn access(&self, line: String);
    fn event(&self, event: CellEvent);
    /// A cell has gone, and not because it was told to.
    fn lost(&self, crash: Crash);
}

/// How a cell ended that should not have.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Crash {
    /// Milliseconds since 1970.
    pub time: u64,
    pub cell: u32,
    /// `signal 9`, `exit status 1`
    pub status: String,
    /// The last it wrote to standard error: V8's own words, where it aborted.
    pub last_words: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the cell was lost before it answered")]
    Lost,
    #[error("the cell did not answer in time")]
    TimedOut,
    #[error("the server is shutting down")]
    Stopped,
}

/// Clones are the same cells.
#[derive(Clone)]
pub struct Cells {
    commands: mpsc::UnboundedSender<Command>,
    tally: Arc<Tally>,
}

impl Cells {
    /// Must be called on a tokio runtime.
    pub fn start(config: CellsConfig, observer: Arc<dyn Observer>) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let tally = Arc::new(Tally::default());
        tokio::spawn(Supervisor::new(config, observer, inbox, tally.clone()).run());
        Self { commands, tally }
    }

    /// Serves these versions from now on; ready when a cell does, however many it takes. Says which it cannot serve.
    pub async fn serve(&self, versions: Vec<VersionSpec>) -> Result<Vec<Unserved>, AskError> {
        let (done, served) = oneshot::channel();
        self.send(Command::Serve { versions, done })?;
        served.await.map_err(|_| AskError::Stopped)
    }

    /// An event of an app's has as long as the app's own limits let it have.
    pub async fn ask(&self, what: Ask) -> Result<Reply, AskError> {
        let (reply, answered) = oneshot::channel();
        let is_event = matches!(what, Ask::Scheduled { .. } | Ask::Task { .. });
        self.send(Command::Ask { what, reply })?;
        if is_event { answered.await.map_err(|_| AskError::Stopped)? } else { answer(answered).await? }
    }

    /// Whether a cell serves what it was told to.
    pub fn is_serving(&self) -> bool {
        self.tally.is_serving()
    }

    /// Requests of all cells together, as they said it last.
    pub fn requests(&self) -> u64 {
        self.tally.requests()
    }

    /// The same, asked anew where there is a cell to ask.
    pub async fn fresh_stats(&self) -> CellStats {
        // The answer is noted where it comes in, before the cell can be buried. Without one, the last will do.
        let _ = tokio::time::timeout(FRESH, self.ask(Ask::Stats)).await;
        self.tally.sum()
    }

    /// Ends the cells, requests in flight first.
    pub async fn drain(&self) {
        let (done, drained) = oneshot::channel();
        if self.send(Command::Drain { done }).is_ok() {
            // A supervisor that is gone has no cell either.
            let _ = drained.await;
        }
    }

    fn send(&self, command: Command) -> Result<(), AskError> {
        self.commands.send(command).map_err(|_| AskError::Stopped)
    }
}

async fn answer<T>(waiting: oneshot::Receiver<T>) -> Result<T, AskError> {
    match tokio::time::timeout(PATIENCE, waiting).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(AskError::Stopped),
        Err(_) => Err(AskError::TimedOut),
    }
}
