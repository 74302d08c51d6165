//! What somebody wants of the cells.

use hearth_core::{AppName, Owner, VersionName};
use hearth_ipc::{
    Admission, CellPlan, CertificatePlan, ControlMessage, EventOutcome, LoadError, Query, QueryReply, VersionSpec,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Supervisor, Then};
use crate::cells::adopted::Farewell;
use crate::cells::calls::Asker;
use crate::cells::cordon::{Release, Why};
use crate::cells::member::Member;
use crate::cells::process::CellId;
use crate::cells::rules::CellRules;
use crate::cells::{AskError, CordonView, HandedOver, Reason};

pub(in crate::cells) enum Command {
    Serve { versions: Vec<VersionSpec>, done: oneshot::Sender<Vec<LoadError>> },
    Query { what: Query, asker: Asker },
    Replace { done: oneshot::Sender<()> },
    Reconfigure { plan: Box<CellPlan>, rules: CellRules, done: oneshot::Sender<()> },
    Renew { certificates: Vec<CertificatePlan> },
    Cordons { done: oneshot::Sender<Vec<CordonView>> },
    ShutAway { owner: Owner, done: oneshot::Sender<()> },
    Release { owner: Owner, done: oneshot::Sender<Release> },
    Admit(Admission),
    HandOver { done: oneshot::Sender<HandedOver> },
    Drain { done: oneshot::Sender<()> },
}

impl Supervisor {
    pub(super) fn take_order(&mut self, command: Command) -> Then {
        if self.ending.is_some() {
            refuse(command);
            return Then::Go;
        }
        match command {
            Command::Serve { versions, done } => {
                self.versions = versions;
                self.waiting.push(done);
                for owner in self.cordons.give_another_chance(&self.versions) {
                    self.tell_release(&owner);
                }
                self.assign();
            }
            Command::Query { what, asker } => self.ask(what, asker),
            Command::Replace { done } => {
                let cells = self.replace_all();
                self.replacing.push((cells, done));
            }
            Command::Reconfigure { plan, rules, done } => match self.reconfigure(*plan, rules) {
                Some(cells) => self.replacing.push((cells, done)),
                None => drop(done.send(())),
            },
            Command::Renew { certificates } => {
                for member in &self.main.members {
                    member.process.send(ControlMessage::Certificates(certificates.clone()));
                }
                self.main.plan.certificates = certificates;
            }
            // Who does not wait for an answer any more need not have one.
            Command::Cordons { done } => drop(done.send(self.cordon_views())),
            Command::ShutAway { owner, done } => {
                self.shut_away(&owner, Why::Operator);
                let _ = done.send(());
            }
            Command::Release { owner, done } => {
                let released = self.cordons.release(&owner, &self.versions);
                if released == Release::Released {
                    self.tell_release(&owner);
                }
                self.assign();
                let _ = done.send(released);
            }
            Command::Admit(admission) => {
                self.admission = admission;
                for member in self.groups().flat_map(|group| &group.members).filter(|member| member.is_open()) {
                    member.process.send(ControlMessage::Admit(admission));
                }
            }
            Command::HandOver { done } => {
                let _ = done.send(self.hand_over());
                return Then::End;
            }
            Command::Drain { done } => self.ending = Some(done),
        }
        self.settle();
        Then::Go
    }

    /// Cells are started with this from now on, and those that were not are replaced. Says which they are,
    /// where that makes a difference.
    fn reconfigure(&mut self, mut plan: CellPlan, rules: CellRules) -> Option<Vec<CellId>> {
        self.hops.allow(&mut plan);
        self.main.wanted = rules.wanted();
        self.cordons.owners = rules.owners;
        self.rules = rules;
        let is_new = plan != self.main.plan;
        if is_new {
            self.main.plan = plan;
            self.main.absolve(Instant::now());
            self.replan_cordons();
        }
        self.assign();
        is_new.then(|| self.replace(Reason::Reload, |_| true))
    }

    /// All cells that serve, and where none does, those that are about to: one of them may hang.
    fn replace_all(&mut self) -> Vec<CellId> {
        let without = self.groups().filter(|group| !group.members.iter().any(Member::is_open));
        let starting: Vec<CellId> = without.flat_map(|group| &group.members).map(|member| member.id).collect();
        self.replace(Reason::Operator, |member| member.is_open() || starting.contains(&member.id))
    }

    fn ask(&mut self, what: Query, asker: Asker) {
        let target = match &what {
            Query::Pool | Query::Workers | Query::Quiet => Ok(self.cells(|member| member.is_open())),
            Query::Stats => Ok(self.cells(|member| member.hears())),
            Query::Eval(_) => Ok(self.cell_for_evaluation()),
            Query::Scheduled { app, version, .. } | Query::Task { app, version, .. } | Query::Load { app, version } => {
                self.cell_of(app, version)
            }
        };
        match target {
            Ok(cells) if cells.is_empty() => self.early.push(Command::Query { what, asker }),
            Ok(cells) => {
                let call = self.calls.open(asker, cells.clone());
                for member in self.groups().flat_map(|group| &group.members).filter(|one| cells.contains(&one.id)) {
                    member.process.send(ControlMessage::Query { id: call, query: what.clone() });
                }
            }
            Err(refused) => {
                let _ = asker.send(Ok(QueryReply::Event(refused)));
            }
        }
    }

    /// Where a version's events go: one cell, or none yet.
    fn cell_of(&self, app: &AppName, version: &VersionName) -> Result<Vec<CellId>, EventOutcome> {
        let spec = self.versions.iter().find(|spec| spec.app == *app && spec.version == *version);
        let spec = spec.ok_or(EventOutcome::NoSuchApp)?;
        let group = match self.apart.get(&spec.owner) {
            Some(cordon) if cordon.is_shut() => {
                let message = format!("{}'s cell went down too often, and is started again later", spec.owner);
                return Err(EventOutcome::Refused { code: "cordoned".to_owned(), message });
            }
            Some(cordon) => &cordon.group,
            None => &self.main,
        };
        Ok(group.members.iter().filter(|member| member.is_open()).map(|member| member.id).take(1).collect())
    }

    fn cells(&self, which: impl Fn(&Member) -> bool) -> Vec<CellId> {
        let members = self.groups().flat_map(|group| &group.members);
        members.filter(|member| which(member)).map(|member| member.id).collect()
    }

    /// Perhaps there is somebody by now.
    pub(super) fn do_what_was_early(&mut self) {
        for command in std::mem::take(&mut self.early) {
            if let Command::Query { what, asker } = command {
                if !asker.is_closed() {
                    self.ask(what, asker);
                }
            }
        }
    }

    /// All cells, those of programs before that have not come to their end included, for the program that takes our place.
    /// From here on nobody supervises them.
    fn hand_over(&mut self) -> HandedOver {
        let members: Vec<_> = self.groups_mut().flat_map(|group| std::mem::take(&mut group.members)).collect();
        let older = self.adopted.take().map(Farewell::give_away).unwrap_or_default();
        let cells = members.into_iter().map(|member| member.process.give_away()).chain(older).collect();
        HandedOver { cells, stuck: self.cordons.stuck().clone() }
    }
}

/// Cells that drain hear nothing any more. Who wants something to be served learns of it as well: nobody answers.
fn refuse(command: Command) {
    if let Command::Query { asker, .. } = command {
        let _ = asker.send(Err(AskError::Stopped));
    }
}
