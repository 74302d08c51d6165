//! Cells that go although nobody told them to. First somebody else takes their place; who did it, how it ended and what it
//! said last is looked into afterwards.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use hearth_core::Owner;
use tokio::time::{Instant, timeout};

use super::{Supervisor, Then};
use crate::cells::cordon::Why;
use crate::cells::crash::{Cause, Crash, Culprit};
use crate::cells::group::{LAST_MOMENT, Whose};
use crate::cells::member::{End, Member};
use crate::cells::process::CellId;
use crate::cells::steps::Stage;

/// For its last words to arrive after its end, where the pipe does not end with it.
const WORDS: Duration = Duration::from_millis(50);

/// A process that is no more.
pub(super) struct Buried {
    id: CellId,
    pid: u32,
    status: io::Result<ExitStatus>,
    last_words: Vec<String>,
    end: End,
}

impl Supervisor {
    /// A cell is about to crash: it says so itself, and takes its time to be gone.
    pub(super) fn hear_alarm(&mut self, cell: CellId) -> Then {
        let now = Instant::now();
        let Some(member) = self.member(cell) else { return Then::Go };
        let culprit = Culprit::of(&member.process.trail());
        let (life, was) = (now.saturating_duration_since(member.began), member.stage);
        member.lose(cause(was), culprit.clone(), now + LAST_MOMENT);
        self.note_loss(cell, culprit.as_ref(), life, was);
        Then::Go
    }

    /// A cell's socket is closed.
    pub(super) fn note_gone(&mut self, cell: CellId) -> Then {
        let now = Instant::now();
        let Some((whose, mut member)) =
            self.groups_mut().find_map(|group| group.take(cell).map(|member| (group.whose.clone(), member)))
        else {
            return Then::Go;
        };
        if let End::Unexpected = member.end {
            let culprit = Culprit::of(&member.process.trail());
            let (life, was) = (now.saturating_duration_since(member.began), member.stage);
            member.lose(cause(was), culprit.clone(), now);
            self.answer_for(&whose, culprit.as_ref(), life, was);
        }
        self.tally.bury(cell);
        self.calls.lose(cell);
        self.settle();
        self.bury(member);
        Then::Go
    }

    pub(super) fn note_loss(&mut self, cell: CellId, culprit: Option<&Culprit>, life: Duration, was: Stage) {
        let group = self.groups().find(|group| group.members.iter().any(|member| member.id == cell));
        if let Some(whose) = group.map(|group| group.whose.clone()) {
            self.answer_for(&whose, culprit, life, was);
        }
        self.settle();
    }

    /// Who did it is shut away, before anybody else can meet it; where nobody is known, the next cell waits a little.
    fn answer_for(&mut self, whose: &Whose, culprit: Option<&Culprit>, life: Duration, was: Stage) {
        let now = Instant::now();
        match whose {
            Whose::Owner(owner) => {
                if let Some(cordon) = self.apart.get_mut(owner) {
                    cordon.note_loss(life, now);
                    self.cordons.note_fall(owner, cordon.fall());
                }
                self.assign();
            }
            Whose::Evaluations => self.evaluations.group.note_loss(life, now),
            Whose::Everybody => match culprit {
                Some(culprit) if was != Stage::Starting => {
                    self.shut_away(&Owner::new(culprit.owner.as_str()), Why::Crashed);
                    self.main.absolve(now);
                }
                _ => self.main.note_loss(life, now),
            },
        }
    }

    /// Ends it for good, and finds out how it ended.
    pub(super) fn bury(&mut self, member: Member) {
        self.burying += 1;
        let burials = self.burials.clone();
        tokio::spawn(async move {
            let Member { id, mut process, end, .. } = member;
            // It is on its way out; if it is not, it is helped.
            let patience = if let End::Lost { .. } = end { Duration::ZERO } else { LAST_MOMENT };
            let status = match timeout(patience, process.wait()).await {
                Ok(status) => status,
                Err(_) => {
                    process.kill();
                    process.wait().await
                }
            };
            let patience = if let End::Lost { .. } = end { WORDS } else { Duration::ZERO };
            let (pid, last_words) = (process.pid(), process.last_words(patience).await);
            // Nobody supervises any more, so nobody wants to know.
            let _ = burials.send(Buried { id, pid, status, last_words, end });
        });
    }

    pub(super) fn note_burial(&mut self, buried: Buried) -> Then {
        let Buried { id, pid: cell, status, last_words, end } = buried;
        self.burying -= 1;
        self.tally.count(|counts| counts.destroyed += 1);
        tracing::debug!(cell, number = id.0, "A cell has ended");
        if let End::Lost { cause, culprit } = end {
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
                    "The cell is gone, and an app did it: another one takes its place"
                ),
                None => tracing::error!(cell, %status, "The cell is gone: another one takes its place"),
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
        Then::Go
    }
}

fn cause(was: Stage) -> Cause {
    if was == Stage::Starting { Cause::NotStarted } else { Cause::Crashed }
}
