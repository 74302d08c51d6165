//! Timers: heartbeats, deadlines, stuck turns, delayed starts, cordons that open again.

use std::time::Duration;

use hearth_ipc::ControlMessage;
use tokio::time::Instant;

use super::{Next, Supervisor};
use crate::ReplaceReason;
use crate::cell_handle::CellHandle;
use crate::crash::CrashCause;
use crate::group::EXIT_TIMEOUT;
use crate::heartbeat::{Liveness, PING_INTERVAL, SilenceLimit, process_state};
use crate::process::CellId;
use crate::reconcile::Stage;

/// Lateness of a timer that is not counted as a stall of control.
const STALL_THRESHOLD: Duration = Duration::from_millis(50);

impl Supervisor {
    /// When the next timer is due.
    pub(super) fn next_wake(&self) -> Instant {
        let starts = self.groups().filter(|group| group.wants_start).map(|group| group.start_at);
        starts.chain([self.next_ping]).min().unwrap_or(self.next_ping)
    }

    pub(super) fn on_tick(&mut self, planned: Instant) -> Next {
        let now = Instant::now();
        let late = now.saturating_duration_since(planned);
        if late > STALL_THRESHOLD {
            for member in self.groups_mut().flat_map(|group| &mut group.members) {
                member.heartbeat.exclude_stall(late);
                member.start.exclude_stall(late);
            }
        }
        if now >= self.next_ping {
            self.next_ping = now + PING_INTERVAL;
            self.check_heartbeats(now);
            self.kill_overdue(now);
            let limit = self.rules.stuck_limit;
            self.replace(ReplaceReason::Stuck, |member| member.stage == Stage::Serving && member.is_stuck(now, limit));
            if self.draining.is_none() && self.reopen_shut(now) {
                self.assign();
            }
        }
        self.reconcile();
        Next::Continue
    }

    fn check_heartbeats(&mut self, now: Instant) {
        let timeout = self.rules.heartbeat_timeout;
        let mut frozen: Vec<CellId> = Vec::new();
        for member in self.groups_mut().flat_map(|group| &mut group.members) {
            if check(member, now, timeout) == Liveness::Frozen {
                frozen.push(member.id);
            }
            if member.answers_queries() {
                let beat = member.heartbeat.ping(now);
                member.process.send(ControlMessage::Ping(beat));
            }
        }
        for cell in frozen {
            self.kill_frozen(cell, now);
        }
    }

    /// Kills a frozen cell; another takes its place.
    fn kill_frozen(&mut self, cell: CellId, now: Instant) {
        let Some(member) = self.member(cell) else { return };
        let (pid, stage, life) = (member.process.pid(), member.stage, now.saturating_duration_since(member.started_at));
        match stage {
            Stage::Starting => tracing::error!(cell = pid, time = ?life, "cell killed: it did not start in time"),
            Stage::Draining => {
                tracing::error!(cell = pid, "cell killed: it is stopped and does not drain")
            }
            Stage::Ready | Stage::Opening | Stage::Serving => {
                let silence = member.heartbeat.silence(now);
                tracing::error!(cell = pid, ?silence, "cell killed: it does not answer heartbeats");
            }
        }
        if stage != Stage::Draining {
            let cause = if stage == Stage::Starting { CrashCause::NotStarted } else { CrashCause::Frozen };
            member.mark_lost(cause, None, now + EXIT_TIMEOUT);
            if stage == Stage::Starting {
                self.on_loss(cell, None, life, stage);
            }
            self.reconcile();
        }
        if let Some(member) = self.member(cell) {
            member.process.kill();
        }
    }

    fn kill_overdue(&mut self, now: Instant) {
        for member in self.groups_mut().flat_map(|group| &mut group.members) {
            if member.deadline.is_some_and(|deadline| now >= deadline) {
                tracing::error!(cell = member.process.pid(), "cell killed: it did not exit in time");
                member.process.kill();
                member.deadline = None;
            }
        }
    }
}

fn check(member: &mut CellHandle, now: Instant, timeout: Duration) -> Liveness {
    let pid = member.process.pid();
    match member.stage {
        Stage::Starting => {
            let state = process_state(pid);
            match member.heartbeat.check_stopped(now, timeout, state) {
                Liveness::Alive => member.start.check(now, SilenceLimit::start(), || state),
                frozen => frozen,
            }
        }
        Stage::Draining => member.heartbeat.check_stopped(now, timeout, process_state(pid)),
        Stage::Ready | Stage::Opening | Stage::Serving => {
            member.heartbeat.check(now, SilenceLimit::heartbeat(timeout), || process_state(pid))
        }
    }
}
