//! Commands of control to the supervisor.

use hearth_core::{AppName, Owner, VersionName};
use hearth_ipc::{
    Admission, CellPlan, CertificatePlan, ControlMessage, EventOutcome, LoadError, Query, QueryReply, VersionSpec,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Next, Supervisor};
use crate::cell_handle::CellHandle;
use crate::cordon::{CordonReason, Release};
use crate::inherited::InheritedCells;
use crate::pending_queries::ReplySender;
use crate::process::CellId;
use crate::rules::CellRules;
use crate::{CordonView, HandedOver, QueryError, ReplaceReason};

pub(crate) enum Command {
    Serve { versions: Vec<VersionSpec>, done: oneshot::Sender<Vec<LoadError>> },
    Query { query: Query, reply_to: ReplySender },
    Replace { done: oneshot::Sender<()> },
    Reconfigure { plan: Box<CellPlan>, rules: CellRules, done: oneshot::Sender<()> },
    Renew { certificates: Vec<CertificatePlan> },
    Cordons { done: oneshot::Sender<Vec<CordonView>> },
    Cordon { owner: Owner, done: oneshot::Sender<()> },
    Release { owner: Owner, done: oneshot::Sender<Release> },
    Admit(Admission),
    HandOver { done: oneshot::Sender<HandedOver> },
    Drain { done: oneshot::Sender<()> },
}

impl Supervisor {
    pub(super) fn handle_command(&mut self, command: Command) -> Next {
        if self.draining.is_some() {
            refuse(command);
            return Next::Continue;
        }
        match command {
            Command::Serve { versions, done } => {
                self.versions = versions;
                self.serve_waiters.push(done);
                for owner in self.cordons.release_changed(&self.versions) {
                    self.report_release(&owner);
                }
                self.assign();
            }
            Command::Query { query, reply_to } => self.send_query(query, reply_to),
            Command::Replace { done } => {
                let cells = self.replace_all();
                self.replace_waiters.push((cells, done));
            }
            Command::Reconfigure { plan, rules, done } => match self.reconfigure(*plan, rules) {
                Some(cells) => self.replace_waiters.push((cells, done)),
                None => drop(done.send(())),
            },
            Command::Renew { certificates } => {
                for member in &self.main.members {
                    member.process.send(ControlMessage::Certificates(certificates.clone()));
                }
                self.main.plan.certificates = certificates;
            }
            // Callers may have given up: failed sends are ignored.
            Command::Cordons { done } => drop(done.send(self.cordon_views())),
            Command::Cordon { owner, done } => {
                self.cordon_owner(&owner, CordonReason::Operator);
                let _ = done.send(());
            }
            Command::Release { owner, done } => {
                let released = self.cordons.release(&owner, &self.versions);
                if released == Release::Released {
                    self.report_release(&owner);
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
                return Next::Stop;
            }
            Command::Drain { done } => self.draining = Some(done),
        }
        self.reconcile();
        Next::Continue
    }

    /// Uses another configuration for new cells. If it differs, all cells are marked for replacement and returned.
    fn reconfigure(&mut self, mut plan: CellPlan, rules: CellRules) -> Option<Vec<CellId>> {
        self.sockets.allow(&mut plan);
        self.main.desired = rules.desired();
        self.cordons.owners = rules.owners;
        self.rules = rules;
        let is_new = plan != self.main.plan;
        if is_new {
            self.main.plan = plan;
            self.main.reset_backoff(Instant::now());
            self.replan_groups();
        }
        self.assign();
        is_new.then(|| self.replace(ReplaceReason::Reload, |_| true))
    }

    /// Replaces all open cells, and in groups without one the starting cells, one of which may hang.
    fn replace_all(&mut self) -> Vec<CellId> {
        let without = self.groups().filter(|group| !group.members.iter().any(CellHandle::is_open));
        let starting: Vec<CellId> = without.flat_map(|group| &group.members).map(|member| member.id).collect();
        self.replace(ReplaceReason::Operator, |member| member.is_open() || starting.contains(&member.id))
    }

    fn send_query(&mut self, query: Query, reply_to: ReplySender) {
        let target = match &query {
            Query::Pool | Query::Workers | Query::Quiet => Ok(self.cells_where(|member| member.is_open())),
            Query::Stats => Ok(self.cells_where(|member| member.answers_queries())),
            Query::Eval(_) => Ok(self.cell_for_evaluation()),
            Query::Scheduled { app, version, .. } | Query::Task { app, version, .. } | Query::Load { app, version } => {
                self.cell_of(app, version)
            }
        };
        match target {
            Ok(cells) if cells.is_empty() => self.deferred.push(Command::Query { query, reply_to }),
            Ok(cells) => {
                let id = self.queries.insert(reply_to, cells.clone());
                for member in self.groups().flat_map(|group| &group.members).filter(|one| cells.contains(&one.id)) {
                    member.process.send(ControlMessage::Query { id, query: query.clone() });
                }
            }
            Err(refused) => {
                let _ = reply_to.send(Ok(QueryReply::Event(refused)));
            }
        }
    }

    /// The cell that receives a version's events; empty if it is not open yet.
    fn cell_of(&self, app: &AppName, version: &VersionName) -> Result<Vec<CellId>, EventOutcome> {
        let spec = self.versions.iter().find(|spec| spec.app == *app && spec.version == *version);
        let spec = spec.ok_or(EventOutcome::NoSuchApp)?;
        let group = match self.cordon_groups.get(&spec.owner) {
            Some(cordon) if cordon.is_shut() => {
                let message = format!("{}'s cell went down too often, and is started again later", spec.owner);
                return Err(EventOutcome::Refused { code: "cordoned".to_owned(), message });
            }
            Some(cordon) => &cordon.group,
            None => &self.main,
        };
        Ok(group.members.iter().filter(|member| member.is_open()).map(|member| member.id).take(1).collect())
    }

    fn cells_where(&self, which: impl Fn(&CellHandle) -> bool) -> Vec<CellId> {
        let members = self.groups().flat_map(|group| &group.members);
        members.filter(|member| which(member)).map(|member| member.id).collect()
    }

    /// Sends deferred queries again, now that a cell may be open.
    pub(super) fn retry_deferred(&mut self) {
        for command in std::mem::take(&mut self.deferred) {
            if let Command::Query { query, reply_to } = command
                && !reply_to.is_closed()
            {
                self.send_query(query, reply_to);
            }
        }
    }

    /// Gives all cells, inherited ones included, to the next program. They are not supervised until it takes over.
    fn hand_over(&mut self) -> HandedOver {
        let members: Vec<_> = self.groups_mut().flat_map(|group| std::mem::take(&mut group.members)).collect();
        let older = self.inherited.take().map(InheritedCells::hand_over).unwrap_or_default();
        let cells = members.into_iter().map(|member| member.process.hand_over()).chain(older).collect();
        HandedOver { cells, stuck: self.cordons.stuck().clone() }
    }
}

/// Refuses a command while draining. Dropping the other commands' senders fails their callers, too.
fn refuse(command: Command) {
    if let Command::Query { reply_to, .. } = command {
        let _ = reply_to.send(Err(QueryError::Stopped));
    }
}
