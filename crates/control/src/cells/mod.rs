//! The cells, as the rest of control sees them: something that serves a catalogue, answers questions, and can be told to
//! drain. Which processes do so, and since when, is nobody's business here.
//!
//! | file | |
//! |---|---|
//! | `supervisor.rs` | keeps cells running: hears everything, and decides |
//! | `steps.rs` | what to do next so that as many serve as are wanted |
//! | `group.rs`, `member.rs` | cells that serve the same; one of them |
//! | `process.rs`, `words.rs` | one process, the socket to it, and the last it wrote |
//! | `pulse.rs` | whether it is alive |
//! | `cordon.rs`, `hops.rs` | who has a cell of its own, and how it is reached |
//! | `crash.rs` | how one ended, and who did it |
//! | `calls.rs` | questions that are under way |
//! | `tally.rs` | what all cells have counted, those that are gone included |
//! | `rules.rs` | how many there are, and what is asked of them |
//! | `adopted.rs` | those of the program that was here before |

mod adopted;
mod calls;
mod cordon;
mod crash;
mod group;
mod hops;
mod member;
mod process;
mod pulse;
mod rules;
mod steps;
mod supervisor;
mod tally;
mod words;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hearth_core::Owner;
use hearth_ipc::{
    Admission, CellEvent, CellPlan, CellStats, CertificatePlan, LoadError, Query, QueryReply, Span, VersionSpec,
};
use hearth_log::LogRecord;
use serde::Serialize;
use tokio::sync::{mpsc, oneshot};

pub use self::adopted::Adopted;
pub use self::cordon::{Release, Why};
pub use self::crash::{Cause, Crash, Culprit};
pub use self::rules::CellRules;
use self::supervisor::{Command, Supervisor};
pub use self::tally::CellCounts;
use self::tally::Tally;

/// Nobody waits longer for an answer; a cell that does not give one within this time hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// Who collects numbers would rather have old ones than wait.
const FRESH: Duration = Duration::from_secs(5);

pub struct CellsConfig {
    /// The program that is started as a cell, by `cell` as its only argument.
    pub program: PathBuf,
    pub plan: CellPlan,
    pub rules: CellRules,
    /// Open until the drain: what waits in them when a cell goes is the next one's.
    pub listeners: Vec<TcpListener>,
    /// Where state is kept.
    pub data: PathBuf,
    /// Cells of the program before, and what was counted until now.
    pub adopted: Vec<Adopted>,
    pub counted: CellStats,
    /// Who was shut away before, and is still.
    pub cordons: Vec<hearth_store::Cordon>,
    /// How many turns of owners who are not were stuck before.
    pub stuck: BTreeMap<Owner, u32>,
}

/// What the program that takes our place is left with.
#[derive(Default)]
pub struct HandedOver {
    /// All cells, with the socket to each: they serve on, and end when it is closed.
    pub cells: Vec<(u32, OwnedFd)>,
    pub stuck: BTreeMap<Owner, u32>,
}

/// Hears what cells say unasked. Must not wait.
pub trait Observer: Send + Sync + 'static {
    fn log(&self, line: LogRecord);
    fn access(&self, line: String);
    fn span(&self, span: Span);
    fn event(&self, event: CellEvent);
    fn news(&self, news: News);
    /// All who are shut away by now, to be kept for the next program.
    fn cordons(&self, all: Vec<hearth_store::Cordon>);
    /// A cell has gone, and not because it was told to.
    fn lost(&self, crash: Crash);
}

/// What becomes of cells.
#[derive(Clone, Debug)]
pub enum News {
    Replaced { cell: u32, reason: Reason },
    Cordoned { owner: Owner, why: Why },
    Released { owner: Owner },
}

/// Why a cell is replaced while it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Operator,
    Reload,
    /// A turn was stuck for too long.
    Stuck,
    /// It became too large.
    Memory,
}

/// An owner with a cell of its own.
#[derive(Clone, Debug, Serialize)]
pub struct CordonView {
    pub owner: String,
    pub why: Why,
    /// Milliseconds since 1970; none where it is meant to be so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    pub state: CordonState,
    /// The process that serves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// How often it went down, one time soon after the other.
    pub losses: u32,
    /// Nobody is let in until then, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CordonState {
    Starting,
    Serving,
    Shut,
}

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the cell was lost before it answered")]
    Lost,
    #[error("the cell did not answer in time")]
    TimedOut,
    #[error("no cell could take over in time: the log says why; it is tried again")]
    NotReplaced,
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
        let tally = Arc::new(Tally::new(config.counted.clone().retired()));
        tokio::spawn(Supervisor::new(config, observer, inbox, tally.clone()).run());
        Self { commands, tally }
    }

    /// Serves these versions from now on; ready when cells do, however many it takes. Says which they cannot serve.
    pub async fn serve(&self, versions: Vec<VersionSpec>) -> Result<Vec<LoadError>, AskError> {
        let (done, served) = oneshot::channel();
        self.send(Command::Serve { versions, done })?;
        served.await.map_err(|_| AskError::Stopped)
    }

    /// An event of an app's has as long as the app's own limits let it have.
    pub async fn ask(&self, what: Query) -> Result<QueryReply, AskError> {
        let (asker, answered) = oneshot::channel();
        let has_own_time = matches!(
            what,
            Query::Scheduled { .. } | Query::Task { .. } | Query::Load { .. } | Query::Eval(_) | Query::Quiet
        );
        self.send(Command::Query { what, asker })?;
        if has_own_time { answered.await.map_err(|_| AskError::Stopped)? } else { answer(answered).await? }
    }

    /// Whether apps' requests are let in from now on, by cells that come later, too.
    pub fn admit(&self, admission: Admission) -> Result<(), AskError> {
        self.send(Command::Admit(admission))
    }

    /// Ready when no request of an app is in flight and none is let in, or when they are let in again.
    pub async fn quiet(&self) -> Result<(), AskError> {
        self.ask(Query::Quiet).await.map(drop)
    }

    /// Puts others in the place of all cells that serve, or are about to where none does. Ready when they do; requests in flight finish where they are.
    pub async fn replace(&self) -> Result<(), AskError> {
        let (done, replaced) = oneshot::channel();
        self.send(Command::Replace { done })?;
        answer(replaced).await.map_err(|error| match error {
            AskError::TimedOut => AskError::NotReplaced,
            error => error,
        })
    }

    /// Cells are started with this from now on; where that makes a difference, others are put in the place of those that
    /// serve. Ready when they do. The listeners stay as they are. Should the new ones not start, the old ones serve on, and
    /// it is tried again and again.
    pub async fn reconfigure(&self, plan: CellPlan, rules: CellRules) -> Result<(), AskError> {
        let (done, replaced) = oneshot::channel();
        self.send(Command::Reconfigure { plan: Box::new(plan), rules, done })?;
        answer(replaced).await
    }

    /// Certificates for handshakes from now on. They were checked.
    pub fn renew(&self, certificates: Vec<CertificatePlan>) -> Result<(), AskError> {
        self.send(Command::Renew { certificates })
    }

    /// Owners with a cell of their own.
    pub async fn cordons(&self) -> Result<Vec<CordonView>, AskError> {
        let (done, listed) = oneshot::channel();
        self.send(Command::Cordons { done })?;
        answer(listed).await
    }

    /// Gives an owner a cell of its own, until it is released.
    pub async fn shut_away(&self, owner: Owner) -> Result<(), AskError> {
        let (done, shut) = oneshot::channel();
        self.send(Command::ShutAway { owner, done })?;
        answer(shut).await
    }

    pub async fn release(&self, owner: Owner) -> Result<Release, AskError> {
        let (done, released) = oneshot::channel();
        self.send(Command::Release { owner, done })?;
        answer(released).await
    }

    /// Whether a cell serves what it was told to.
    pub fn is_serving(&self) -> bool {
        self.tally.is_serving()
    }

    /// Requests of all cells together, as they said it last.
    pub fn requests(&self) -> u64 {
        self.tally.requests()
    }

    pub fn counts(&self) -> CellCounts {
        self.tally.counts()
    }

    /// What was counted, asked anew where there is a cell to ask.
    pub async fn fresh_stats(&self) -> CellStats {
        // The answer is noted where it comes in, before the cell can be buried. Without one, the last will do.
        let _ = tokio::time::timeout(FRESH, self.ask(Query::Stats)).await;
        self.tally.sum()
    }

    /// Leaves the cells to the program that takes our place. Nobody supervises them any more, and nothing can be asked of
    /// them any more.
    pub async fn hand_over(&self) -> HandedOver {
        let (done, handed) = oneshot::channel();
        match self.send(Command::HandOver { done }) {
            Ok(()) => handed.await.unwrap_or_default(),
            Err(_) => HandedOver::default(),
        }
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

impl Reason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Reload => "reload",
            Self::Stuck => "stuck",
            Self::Memory => "memory",
        }
    }
}

async fn answer<T>(waiting: oneshot::Receiver<T>) -> Result<T, AskError> {
    match tokio::time::timeout(PATIENCE, waiting).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(AskError::Stopped),
        Err(_) => Err(AskError::TimedOut),
    }
}
