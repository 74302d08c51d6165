//! The time: who is alive, who has had its time, who is stuck, who may be started or let in again.

use std::time::Duration;

use hearth_ipc::ControlMessage;
use tokio::time::Instant;

use super::{Supervisor, Then};
use crate::cells::Reason;
use crate::cells::crash::Cause;
use crate::cells::group::LAST_MOMENT;
use crate::cells::member::Member;
use crate::cells::process::CellId;
use crate::cells::pulse::{BEAT, Patience, Verdict, condition};
use crate::cells::steps::Stage;

/// Being late by this much is usual.
const USUAL: Duration = Duration::from_millis(50);

impl Supervisor {
    /// When there is something to do next.
    pub(super) fn next_wake(&self) -> Instant {
        let starts = self.groups().filter(|group| group.wants_start).map(|group| group.start_at);
        starts.chain([self.next_beat]).min().unwrap_or(self.next_beat)
    }

    pub(super) fn look_around(&mut self, planned: Instant) -> Then {
        let now = Instant::now();
        let late = now.saturating_duration_since(planned);
        if late > USUAL {
            for member in self.groups_mut().flat_map(|group| &mut group.members) {
                member.pulse.forgive(late);
                member.start.forgive(late);
            }
        }
        if now >= self.next_beat {
            self.next_beat = now + BEAT;
            self.feel_pulses(now);
            self.end_who_is_late(now);
            let limit = self.rules.stuck_limit;
            self.replace(Reason::Stuck, |member| member.stage == Stage::Serving && member.is_stuck(now, limit));
            if self.ending.is_none() && self.open_what_was_shut(now) {
                self.assign();
            }
        }
        self.settle();
        Then::Go
    }

    fn feel_pulses(&mut self, now: Instant) {
        let timeout = self.rules.heartbeat_timeout;
        let mut frozen: Vec<CellId> = Vec::new();
        for member in self.groups_mut().flat_map(|group| &mut group.members) {
            if judge(member, now, timeout) == Verdict::Frozen {
                frozen.push(member.id);
            }
            if member.hears() {
                let beat = member.pulse.ask(now);
                member.process.send(ControlMessage::Ping(beat));
            }
        }
        for cell in frozen {
            self.end_frozen(cell, now);
        }
    }

    /// Another one takes its place, and it is ended.
    fn end_frozen(&mut self, cell: CellId, now: Instant) {
        let Some(member) = self.member(cell) else { return };
        let (pid, stage, life) = (member.process.pid(), member.stage, now.saturating_duration_since(member.began));
        match stage {
            Stage::Starting => tracing::error!(cell = pid, time = ?life, "The cell does not start: it is ended"),
            Stage::Leaving => {
                tracing::error!(cell = pid, "The cell is stopped and does not come to its end: it is ended")
            }
            Stage::Ready | Stage::Opening | Stage::Serving => {
                let silence = member.pulse.silence(now);
                tracing::error!(cell = pid, ?silence, "The cell does not answer any more: it is ended");
            }
        }
        if stage != Stage::Leaving {
            let cause = if stage == Stage::Starting { Cause::NotStarted } else { Cause::Frozen };
            member.lose(cause, None, now + LAST_MOMENT);
            if stage == Stage::Starting {
                self.note_loss(cell, None, life, stage);
            }
            self.settle();
        }
        if let Some(member) = self.member(cell) {
            member.process.kill();
        }
    }

    fn end_who_is_late(&mut self, now: Instant) {
        for member in self.groups_mut().flat_map(|group| &mut group.members) {
            if member.deadline.is_some_and(|deadline| now >= deadline) {
                tracing::error!(cell = member.process.pid(), "The cell did not come to its end: it is ended");
                member.process.kill();
                member.deadline = None;
            }
        }
    }
}

fn judge(member: &mut Member, now: Instant, timeout: Duration) -> Verdict {
    let pid = member.process.pid();
    match member.stage {
        Stage::Starting => {
            let condition = condition(pid);
            match member.pulse.judge_stopped(now, timeout, condition) {
                Verdict::Alive => member.start.judge(now, Patience::start(), || condition),
                frozen => frozen,
            }
        }
        Stage::Leaving => member.pulse.judge_stopped(now, timeout, condition(pid)),
        Stage::Ready | Stage::Opening | Stage::Serving => {
            member.pulse.judge(now, Patience::heartbeat(timeout), || condition(pid))
        }
    }
}
