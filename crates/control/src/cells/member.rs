//! A cell, as its supervisor sees it.

use std::time::Duration;

use hearth_core::{AppName, IdleConnections};
use hearth_ipc::{ControlMessage, LoadError};
use tokio::time::Instant;

use super::crash::{Cause, Culprit};
use super::process::{CellId, Process};
use super::pulse::Pulse;
use super::steps::{Fate, Seen, Stage};

pub(super) struct Member {
    pub(super) id: CellId,
    pub(super) process: Process,
    pub(super) stage: Stage,
    pub(super) fate: Fate,
    pub(super) began: Instant,
    /// The newest catalogue that it has, and what of it it cannot serve.
    pub(super) generation: u64,
    pub(super) problems: Vec<LoadError>,
    pub(super) pulse: Pulse,
    /// Its first catalogue is the question.
    pub(super) start: Pulse,
    pub(super) stuck: Vec<StuckTurn>,
    pub(super) end: End,
    /// It is ended then, whatever it does.
    pub(super) deadline: Option<Instant>,
}

pub(super) struct StuckTurn {
    pub(super) app: AppName,
    pub(super) request: u64,
    pub(super) since: Instant,
}

/// How its end will be told.
pub(super) enum End {
    /// It would be its own doing.
    Unexpected,
    Told,
    Lost {
        cause: Cause,
        culprit: Option<Culprit>,
    },
}

impl Member {
    pub(super) fn new(id: CellId, process: Process, now: Instant) -> Self {
        Self {
            id,
            process,
            stage: Stage::Starting,
            fate: Fate::Kept,
            began: now,
            generation: 0,
            problems: Vec::new(),
            pulse: Pulse::default(),
            start: Pulse::default(),
            stuck: Vec::new(),
            end: End::Unexpected,
            deadline: None,
        }
    }

    pub(super) fn seen(&self) -> Seen {
        Seen { id: self.id, stage: self.stage, fate: self.fate }
    }

    /// Takes connections, or is about to.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Opening | Stage::Serving)
    }

    /// Answers questions.
    pub(super) fn hears(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Opening | Stage::Serving)
    }

    /// The newest catalogue.
    pub(super) fn tell(&mut self, catalogue: ControlMessage, now: Instant) {
        if self.stage == Stage::Starting {
            self.start.ask_once(now);
        }
        self.process.send(catalogue);
    }

    pub(super) fn accept(&mut self) {
        self.process.send(ControlMessage::Accept);
        self.stage = Stage::Opening;
    }

    /// Finishes what it has, and ends: by itself, or at the deadline.
    pub(super) fn leave(&mut self, idle: IdleConnections, deadline: Instant) {
        self.process.send(ControlMessage::Drain(idle));
        self.stage = Stage::Leaving;
        self.end = End::Told;
        self.deadline = Some(deadline);
    }

    /// It is lost: it says so itself, or does not say anything any more.
    pub(super) fn lose(&mut self, cause: Cause, culprit: Option<Culprit>, deadline: Instant) {
        self.stage = Stage::Leaving;
        self.end = End::Lost { cause, culprit };
        self.deadline = Some(deadline);
    }

    pub(super) fn is_stuck(&self, now: Instant, limit: Duration) -> bool {
        self.stuck.iter().any(|turn| now.saturating_duration_since(turn.since) >= limit)
    }
}
