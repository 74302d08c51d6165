//! The supervisor's state of one cell.

use std::time::Duration;

use hearth_core::{AppName, IdleConnections};
use hearth_ipc::{ControlMessage, LoadError};
use tokio::time::Instant;

use super::crash::{CrashCause, Culprit};
use super::heartbeat::Heartbeat;
use super::process::{CellId, Process};
use super::reconcile::{ObservedCell, Stage};

pub(super) struct CellHandle {
    pub(super) id: CellId,
    pub(super) process: Process,
    pub(super) stage: Stage,
    pub(super) replace: bool,
    pub(super) started_at: Instant,
    /// Generation of the newest catalogue that the cell has loaded, and what of it it cannot serve.
    pub(super) generation: u64,
    pub(super) problems: Vec<LoadError>,
    pub(super) heartbeat: Heartbeat,
    /// Heartbeat of the start: its ping is the first catalogue.
    pub(super) start: Heartbeat,
    pub(super) stuck: Vec<StuckTurn>,
    pub(super) end: ExitReason,
    /// When it is killed.
    pub(super) deadline: Option<Instant>,
}

pub(super) struct StuckTurn {
    pub(super) app: AppName,
    pub(super) request: u64,
    pub(super) since: Instant,
}

/// Why the process ends, known before it has ended.
pub(super) enum ExitReason {
    /// Nothing has ended it: an exit is a crash.
    Unexpected,
    Requested,
    Lost {
        cause: CrashCause,
        culprit: Option<Culprit>,
    },
}

impl CellHandle {
    pub(super) fn new(id: CellId, process: Process, now: Instant) -> Self {
        Self {
            id,
            process,
            stage: Stage::Starting,
            replace: false,
            started_at: now,
            generation: 0,
            problems: Vec::new(),
            heartbeat: Heartbeat::default(),
            start: Heartbeat::default(),
            stuck: Vec::new(),
            end: ExitReason::Unexpected,
            deadline: None,
        }
    }

    pub(super) fn observed(&self) -> ObservedCell {
        ObservedCell { id: self.id, stage: self.stage, replace: self.replace }
    }

    /// Accepts connections, or has been told to.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Opening | Stage::Serving)
    }

    /// Answers pings and queries.
    pub(super) fn answers_queries(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Opening | Stage::Serving)
    }

    /// Sends the newest catalogue.
    pub(super) fn send_catalogue(&mut self, catalogue: ControlMessage, now: Instant) {
        if self.stage == Stage::Starting {
            self.start.ping_once(now);
        }
        self.process.send(catalogue);
    }

    pub(super) fn accept(&mut self) {
        self.process.send(ControlMessage::Accept);
        self.stage = Stage::Opening;
    }

    /// Lets it finish its requests and exit. It is killed at the deadline.
    pub(super) fn drain(&mut self, idle: IdleConnections, deadline: Instant) {
        self.process.send(ControlMessage::Drain(idle));
        self.stage = Stage::Draining;
        self.end = ExitReason::Requested;
        self.deadline = Some(deadline);
    }

    /// Records that the cell is lost: it sent a crash alarm, closed its socket, or is frozen.
    pub(super) fn mark_lost(&mut self, cause: CrashCause, culprit: Option<Culprit>, deadline: Instant) {
        self.stage = Stage::Draining;
        self.end = ExitReason::Lost { cause, culprit };
        self.deadline = Some(deadline);
    }

    pub(super) fn is_stuck(&self, now: Instant, limit: Duration) -> bool {
        self.stuck.iter().any(|turn| now.saturating_duration_since(turn.since) >= limit)
    }
}
