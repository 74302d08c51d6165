//! Supervision of cells, the processes that run apps. To control, [`Cells`] is one object that serves a catalogue, answers
//! queries and can be drained; which processes do so is internal.
//!
//! | file | |
//! |---|---|
//! | `supervisor.rs` | the task that receives all events and decides |
//! | `reconcile.rs` | steps from the observed cells to the desired number |
//! | `group.rs`, `cell_handle.rs` | cells that serve the same catalogue; one of them |
//! | `process.rs`, `stderr_tail.rs` | one process with its socket, and its last lines on stderr |
//! | `heartbeat.rs` | whether a cell is alive |
//! | `cordon.rs`, `cordon_sockets.rs` | which owners have a cell of their own, and where it listens |
//! | `crash.rs` | how a cell was lost, and which app caused it |
//! | `pending_queries.rs` | queries without a reply yet |
//! | `totals.rs` | counters of all cells, those that have ended included |
//! | `rules.rs` | the operator's settings |
//! | `inherited.rs` | cells of the previous program, in an upgrade |
#![forbid(unsafe_code)]

mod cell_handle;
mod cordon;
mod cordon_sockets;
mod crash;
mod group;
mod heartbeat;
mod inherited;
mod pending_queries;
mod process;
mod reconcile;
mod rules;
mod stderr_tail;
mod supervisor;
mod totals;

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

pub use self::cordon::{CordonReason, Release};
pub use self::crash::{Crash, CrashCause, Culprit};
pub use self::inherited::InheritedCell;
pub use self::rules::CellRules;
use self::supervisor::{Command, Supervisor};
pub use self::totals::CellCounts;
use self::totals::CellTotals;

/// Limit of queries and commands; a cell that takes longer hangs.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);
/// Limit of a query for stats; after it the last known ones are used.
const STATS_TIMEOUT: Duration = Duration::from_secs(5);

pub struct CellsConfig {
    /// The program that is started as a cell, with `cell` as its only argument.
    pub program: PathBuf,
    pub plan: CellPlan,
    pub rules: CellRules,
    /// KEEP open until the drain, so that connections waiting in them when a cell ends are accepted by the next.
    pub listeners: Vec<TcpListener>,
    /// The data folder.
    pub data: PathBuf,
    /// Cells of the previous program, and its counters.
    pub inherited: Vec<InheritedCell>,
    pub counters: CellStats,
    /// The saved cordons.
    pub cordons: Vec<hearth_store::Cordon>,
    /// Counts of stuck turns from the previous program.
    pub stuck: BTreeMap<Owner, u32>,
}

/// What the next program is given in an upgrade.
#[derive(Default)]
pub struct HandedOver {
    /// Process ids and sockets of all cells. They serve on, and exit when their socket is closed.
    pub cells: Vec<(u32, OwnedFd)>,
    pub stuck: BTreeMap<Owner, u32>,
}

/// Receives what cells report on their own. Must not block.
pub trait Observer: Send + Sync + 'static {
    fn log(&self, line: LogRecord);
    fn access(&self, line: String);
    fn span(&self, span: Span);
    fn event(&self, event: CellEvent);
    fn change(&self, change: CellChange);
    /// The cordons have changed: all of them, to be saved.
    fn cordons(&self, all: Vec<hearth_store::Cordon>);
    /// A cell has ended without being told to.
    fn lost(&self, crash: Crash);
}

/// A decision of the supervisor that operators see.
#[derive(Clone, Debug)]
pub enum CellChange {
    Replaced { cell: u32, reason: ReplaceReason },
    Cordoned { owner: Owner, why: CordonReason },
    Released { owner: Owner },
}

/// Why a cell is replaced while it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplaceReason {
    Operator,
    Reload,
    /// A turn was stuck for too long.
    Stuck,
    /// The process became too large.
    Memory,
}

/// An owner with a cell of its own.
#[derive(Clone, Debug, Serialize)]
pub struct CordonView {
    pub owner: String,
    pub why: CordonReason,
    /// Milliseconds since 1970; `None` if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    pub state: CordonState,
    /// Process id of its cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<u32>,
    /// Consecutive losses of its cell.
    pub losses: u32,
    /// Requests are refused until then, in milliseconds since 1970.
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
pub enum QueryError {
    #[error("the cell was lost before it answered")]
    Lost,
    #[error("the cell did not answer in time")]
    TimedOut,
    #[error("no cell could take over in time: the log says why; it is tried again")]
    NotReplaced,
    #[error("the server is shutting down")]
    Stopped,
}

/// Clones share the supervisor.
#[derive(Clone)]
pub struct Cells {
    commands: mpsc::UnboundedSender<Command>,
    totals: Arc<CellTotals>,
}

impl Cells {
    /// Must be called on a tokio runtime.
    pub fn start(config: CellsConfig, observer: Arc<dyn Observer>) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let totals = Arc::new(CellTotals::new(config.counters.clone().retired()));
        tokio::spawn(Supervisor::new(config, observer, inbox, totals.clone()).run());
        Self { commands, totals }
    }

    /// Serves these versions from now on. Completes when the cells do, however many attempts that takes; returns the
    /// versions that they cannot serve.
    pub async fn serve(&self, versions: Vec<VersionSpec>) -> Result<Vec<LoadError>, QueryError> {
        let (done, served) = oneshot::channel();
        self.send(Command::Serve { versions, done })?;
        served.await.map_err(|_| QueryError::Stopped)
    }

    /// Sends a query. Events of apps, and others whose duration apps decide, have no timeout here.
    pub async fn query(&self, query: Query) -> Result<QueryReply, QueryError> {
        let (reply_to, answered) = oneshot::channel();
        let has_own_limit = matches!(
            query,
            Query::Scheduled { .. } | Query::Task { .. } | Query::Load { .. } | Query::Eval(_) | Query::Quiet
        );
        self.send(Command::Query { query, reply_to })?;
        if has_own_limit { answered.await.map_err(|_| QueryError::Stopped)? } else { wait_for(answered).await? }
    }

    /// Opens or closes admission of requests to apps, in later cells, too.
    pub fn admit(&self, admission: Admission) -> Result<(), QueryError> {
        self.send(Command::Admit(admission))
    }

    /// Completes when admission is closed and no request to an app is in flight, or when admission is open again.
    pub async fn quiet(&self) -> Result<(), QueryError> {
        self.query(Query::Quiet).await.map(drop)
    }

    /// Replaces all serving cells, or the starting ones of a group in which none serves. Completes when the new ones serve;
    /// requests in flight finish in the old ones.
    pub async fn replace(&self) -> Result<(), QueryError> {
        let (done, replaced) = oneshot::channel();
        self.send(Command::Replace { done })?;
        wait_for(replaced).await.map_err(|error| match error {
            QueryError::TimedOut => QueryError::NotReplaced,
            error => error,
        })
    }

    /// Uses another configuration for new cells, and replaces the running ones if it differs. Completes when the new ones
    /// serve. Listeners stay the same. If the new cells do not start, the old ones serve on while starts are retried.
    pub async fn reconfigure(&self, plan: CellPlan, rules: CellRules) -> Result<(), QueryError> {
        let (done, replaced) = oneshot::channel();
        self.send(Command::Reconfigure { plan: Box::new(plan), rules, done })?;
        wait_for(replaced).await
    }

    /// Sets the certificates of later handshakes. They must have been checked.
    pub fn renew(&self, certificates: Vec<CertificatePlan>) -> Result<(), QueryError> {
        self.send(Command::Renew { certificates })
    }

    /// Owners with a cell of their own.
    pub async fn cordons(&self) -> Result<Vec<CordonView>, QueryError> {
        let (done, listed) = oneshot::channel();
        self.send(Command::Cordons { done })?;
        wait_for(listed).await
    }

    /// Gives an owner a cell of its own, until it is released.
    pub async fn cordon(&self, owner: Owner) -> Result<(), QueryError> {
        let (done, cordoned) = oneshot::channel();
        self.send(Command::Cordon { owner, done })?;
        wait_for(cordoned).await
    }

    pub async fn release(&self, owner: Owner) -> Result<Release, QueryError> {
        let (done, released) = oneshot::channel();
        self.send(Command::Release { owner, done })?;
        wait_for(released).await
    }

    /// Whether a main cell serves the catalogue.
    pub fn is_serving(&self) -> bool {
        self.totals.is_serving()
    }

    /// Requests of all cells, as of their latest stats.
    pub fn requests(&self) -> u64 {
        self.totals.requests()
    }

    pub fn counts(&self) -> CellCounts {
        self.totals.counts()
    }

    /// Counters of all cells, after a query for new stats.
    pub async fn fresh_stats(&self) -> CellStats {
        // The supervisor records the reply before it can retire the cell. Without a reply the last stats are used.
        let _ = tokio::time::timeout(STATS_TIMEOUT, self.query(Query::Stats)).await;
        self.totals.sum()
    }

    /// Ends supervision and gives the cells to the next program. All later queries fail.
    pub async fn hand_over(&self) -> HandedOver {
        let (done, handed) = oneshot::channel();
        match self.send(Command::HandOver { done }) {
            Ok(()) => handed.await.unwrap_or_default(),
            Err(_) => HandedOver::default(),
        }
    }

    /// Drains all cells: requests in flight finish first.
    pub async fn drain(&self) {
        let (done, drained) = oneshot::channel();
        if self.send(Command::Drain { done }).is_ok() {
            // If the supervisor has ended, so have the cells.
            let _ = drained.await;
        }
    }

    fn send(&self, command: Command) -> Result<(), QueryError> {
        self.commands.send(command).map_err(|_| QueryError::Stopped)
    }
}

impl ReplaceReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Reload => "reload",
            Self::Stuck => "stuck",
            Self::Memory => "memory",
        }
    }
}

async fn wait_for<T>(waiting: oneshot::Receiver<T>) -> Result<T, QueryError> {
    match tokio::time::timeout(REPLY_TIMEOUT, waiting).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(QueryError::Stopped),
        Err(_) => Err(QueryError::TimedOut),
    }
}
