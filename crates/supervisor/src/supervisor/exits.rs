//! Crash alarms and exits of cells. A lost cell is replaced first; status, culprit and stderr are collected afterwards.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use hearth_core::Owner;
use tokio::time::{Instant, timeout};

use super::{Next, Supervisor};
use crate::cell_handle::{CellHandle, ExitReason};
use crate::cordon::CordonReason;
use crate::crash::{Crash, CrashCause, Culprit};
use crate::group::{EXIT_TIMEOUT, GroupKind};
use crate::process::CellId;
use crate::reconcile::Stage;

/// Time for stderr to arrive after the exit, if another process holds the pipe open.
const STDERR_GRACE: Duration = Duration::from_millis(50);

/// A process that has ended.
pub(super) struct ExitedCell {
    id: CellId,
    pid: u32,
    status: io::Result<ExitStatus>,
    last_words: Vec<String>,
    end: ExitReason,
}

impl Supervisor {
    /// A crash handler has reported that its cell is about to crash. The process may take long to exit.
    pub(super) fn on_crash_alarm(&mut self, cell: CellId) -> Next {
        let now = Instant::now();
        let Some(member) = self.member(cell) else { return Next::Continue };
        let culprit = Culprit::from_trail(&member.process.trail());
        let (life, was) = (now.saturating_duration_since(member.started_at), member.stage);
        member.mark_lost(cause(was), culprit.clone(), now + EXIT_TIMEOUT);
        self.on_loss(cell, culprit.as_ref(), life, was);
        Next::Continue
    }

    /// A cell's socket is closed.
    pub(super) fn on_closed(&mut self, cell: CellId) -> Next {
        let now = Instant::now();
        let Some((kind, mut member)) =
            self.groups_mut().find_map(|group| group.take(cell).map(|member| (group.kind.clone(), member)))
        else {
            return Next::Continue;
        };
        if let ExitReason::Unexpected = member.end {
            let culprit = Culprit::from_trail(&member.process.trail());
            let (life, was) = (now.saturating_duration_since(member.started_at), member.stage);
            member.mark_lost(cause(was), culprit.clone(), now);
            self.handle_loss(&kind, culprit.as_ref(), life, was);
        }
        self.totals.retire(cell);
        self.queries.remove_cell(cell);
        self.reconcile();
        self.reap(member);
        Next::Continue
    }

    pub(super) fn on_loss(&mut self, cell: CellId, culprit: Option<&Culprit>, life: Duration, was: Stage) {
        let group = self.groups().find(|group| group.members.iter().any(|member| member.id == cell));
        if let Some(kind) = group.map(|group| group.kind.clone()) {
            self.handle_loss(&kind, culprit, life, was);
        }
        self.reconcile();
    }

    /// Cordons the culprit's owner before the next cell serves; without a culprit the next start is delayed.
    fn handle_loss(&mut self, kind: &GroupKind, culprit: Option<&Culprit>, life: Duration, was: Stage) {
        let now = Instant::now();
        match kind {
            GroupKind::Cordon(owner) => {
                if let Some(cordon) = self.cordon_groups.get_mut(owner) {
                    cordon.record_loss(life, now);
                    self.cordons.record_failure(owner, cordon.failure());
                }
                self.assign();
            }
            GroupKind::Evaluations => self.evaluations.group.record_loss(life, now),
            GroupKind::Main => match culprit {
                Some(culprit) if was != Stage::Starting => {
                    self.cordon_owner(&Owner::new(culprit.owner.as_str()), CordonReason::Crashed);
                    self.main.reset_backoff(now);
                }
                _ => self.main.record_loss(life, now),
            },
        }
    }

    /// Waits for the exit of a process, and kills it if that takes too long.
    pub(super) fn reap(&mut self, member: CellHandle) {
        self.exiting += 1;
        let exits = self.exit_sender.clone();
        tokio::spawn(async move {
            let CellHandle { id, mut process, end, .. } = member;
            // A lost process is killed at once, a drained one after a grace.
            let grace = if let ExitReason::Lost { .. } = end { Duration::ZERO } else { EXIT_TIMEOUT };
            let status = match timeout(grace, process.wait()).await {
                Ok(status) => status,
                Err(_) => {
                    process.kill();
                    process.wait().await
                }
            };
            let grace = if let ExitReason::Lost { .. } = end { STDERR_GRACE } else { Duration::ZERO };
            let (pid, last_words) = (process.pid(), process.stderr_tail(grace).await);
            // The supervisor may have ended.
            let _ = exits.send(ExitedCell { id, pid, status, last_words, end });
        });
    }

    pub(super) fn on_exited(&mut self, buried: ExitedCell) -> Next {
        let ExitedCell { id, pid: cell, status, last_words, end } = buried;
        self.exiting -= 1;
        self.totals.count(|counts| counts.destroyed += 1);
        tracing::debug!(cell, number = id.0, "cell exited");
        if let ExitReason::Lost { cause, culprit } = end {
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            match &culprit {
                Some(Culprit { app, version, owner, request_id, phase, .. }) => tracing::error!(
                    cell,
                    %status,
                    app,
                    version,
                    owner,
                    request_id = request_id.as_deref(),
                    phase = phase.as_deref(),
                    "cell crashed by an app; replacing it"
                ),
                None => tracing::error!(cell, %status, "cell lost; replacing it"),
            }
            self.observer.lost(Crash {
                time: hearth_core::time::unix_millis(),
                cell,
                cause,
                status,
                last_words,
                culprit,
            });
        }
        Next::Continue
    }
}

fn cause(was: Stage) -> CrashCause {
    if was == Stage::Starting { CrashCause::NotStarted } else { CrashCause::Crashed }
}
