//! Cells that serve the same versions on the same listeners: the main cells, the one of an owner that is shut away,
//! or the one for evaluated code, which has neither.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hearth_core::{IdleConnections, Owner};
use hearth_ipc::{CellPlan, ControlMessage, LoadError, VersionSpec};
use tokio::time::Instant;

use super::member::Member;
use super::process::{CellId, Starter};
use super::steps::{self, Fate, Stage, Step, Wanted};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A cell that lived this long was a good one.
const LONG_LIFE: Duration = Duration::from_secs(10);
/// For the process to be gone once it said that it is done.
pub(super) const LAST_MOMENT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Everybody,
    Owner(Owner),
    /// Runs code that is no app's, and serves no app.
    Evaluations,
}

pub(super) struct Group {
    pub(super) whose: Whose,
    pub(super) plan: CellPlan,
    pub(super) listeners: Vec<OwnedFd>,
    pub(super) wanted: Wanted,
    pub(super) members: Vec<Member>,
    pub(super) versions: Vec<VersionSpec>,
    /// Of `versions`; 0: there were none yet.
    pub(super) generation: u64,
    /// Nobody is started before.
    pub(super) start_at: Instant,
    pause: Duration,
    /// Somebody would be started now.
    pub(super) wants_start: bool,
}

/// What was done.
#[derive(Default)]
pub(super) struct Done {
    pub(super) started: u64,
    /// Told to leave although they served.
    pub(super) left: Vec<CellId>,
}

impl Group {
    pub(super) fn new(whose: Whose, plan: CellPlan, listeners: Vec<OwnedFd>, wanted: Wanted) -> Self {
        Self {
            whose,
            plan,
            listeners,
            wanted,
            members: Vec::new(),
            versions: Vec::new(),
            generation: 0,
            start_at: Instant::now(),
            pause: FIRST_PAUSE,
            wants_start: false,
        }
    }

    /// Serves these from now on; what has them already is left alone.
    pub(super) fn tell(&mut self, generation: u64, versions: Vec<VersionSpec>) {
        if self.generation > 0 && self.versions == versions {
            return;
        }
        (self.generation, self.versions) = (generation, versions);
        let now = Instant::now();
        for member in self.members.iter_mut().filter(|member| member.stage != Stage::Leaving) {
            member.tell(ControlMessage::Serve { generation, versions: self.versions.clone() }, now);
        }
    }

    /// Whether what was told is served.
    pub(super) fn is_up_to_date(&self) -> bool {
        let open = || self.members.iter().filter(|member| member.is_open() && member.fate == Fate::Kept);
        self.wanted.cells == 0 || (open().next().is_some() && open().all(|member| member.generation >= self.generation))
    }

    /// What cannot be served.
    pub(super) fn problems(&self) -> Vec<LoadError> {
        let open = self.members.iter().find(|member| member.is_open() && member.generation >= self.generation);
        open.map(|member| member.problems.clone()).unwrap_or_default()
    }

    /// Does what brings it nearer to what is wanted.
    pub(super) fn step(&mut self, now: Instant, starter: &mut Starter) -> Done {
        let seen: Vec<_> = self.members.iter().map(Member::seen).collect();
        let mut done = Done::default();
        self.wants_start = false;
        let deadline = self.deadline(now);
        for step in steps::next(&seen, self.wanted) {
            match step {
                Step::Accept(id) => {
                    if let Some(member) = self.member(id) {
                        member.accept();
                        self.tell_start(id);
                    }
                }
                Step::Leave(id) => {
                    if let Some(member) = self.member(id) {
                        if member.stage == Stage::Serving {
                            done.left.push(id);
                        }
                        member.leave(IdleConnections::ServeOneMore, deadline);
                    }
                }
                Step::Start if now < self.start_at => self.wants_start = true,
                Step::Start => done.started += self.start(now, starter),
            }
        }
        done
    }

    fn start(&mut self, now: Instant, starter: &mut Starter) -> u64 {
        let (id, process) = match starter.start(&self.listeners) {
            Ok(started) => started,
            Err(error) => {
                tracing::error!(%error, "No cell");
                self.hold_back(now);
                self.wants_start = true;
                return 0;
            }
        };
        tracing::debug!(cell = process.pid(), "A cell is started");
        process.send(ControlMessage::Begin(Box::new(self.plan.clone())));
        let mut member = Member::new(id, process, now);
        if self.generation > 0 {
            member.tell(ControlMessage::Serve { generation: self.generation, versions: self.versions.clone() }, now);
        }
        self.members.push(member);
        1
    }

    fn tell_start(&self, id: CellId) {
        let Some(member) = self.members.iter().find(|member| member.id == id) else { return };
        let cell = member.process.pid();
        match &self.whose {
            Whose::Everybody => tracing::info!(cell, "Cell started"),
            Whose::Owner(owner) => tracing::info!(cell, owner = owner.as_str(), "Cordon started"),
            Whose::Evaluations => tracing::info!(cell, "Cell for evaluated code started"),
        }
    }

    /// When who is told to leave now is ended.
    pub(super) fn deadline(&self, now: Instant) -> Instant {
        now + self.plan.front.drain_timeout * 2 + LAST_MOMENT
    }

    /// Somebody was lost: the next one is not started at once, the less so the shorter they live.
    pub(super) fn note_loss(&mut self, life: Duration, now: Instant) {
        if life >= LONG_LIFE {
            self.pause = FIRST_PAUSE;
        }
        let others = self.members.iter().any(Member::hears);
        if life >= LONG_LIFE && !others {
            self.start_at = now;
        } else {
            self.hold_back(now);
        }
    }

    fn hold_back(&mut self, now: Instant) {
        self.start_at = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// What was lost was no fault of the cell's: the next may come.
    pub(super) fn absolve(&mut self, now: Instant) {
        self.pause = FIRST_PAUSE;
        self.start_at = now + FIRST_PAUSE;
    }

    /// Whom others shall take the place of.
    pub(super) fn condemn(&mut self, which: impl Fn(&Member) -> bool) -> Vec<CellId> {
        let chosen = self.members.iter_mut().filter(|member| member.fate == Fate::Kept && which(member));
        chosen
            .map(|member| {
                member.fate = Fate::Condemned;
                member.id
            })
            .collect()
    }

    pub(super) fn member(&mut self, id: CellId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    pub(super) fn take(&mut self, id: CellId) -> Option<Member> {
        let at = self.members.iter().position(|member| member.id == id)?;
        Some(self.members.remove(at))
    }
}
