//! Keeps cells serving. Connections wait in the listeners, which control has too, until there is a cell that takes them.
//!
//! One task hears everything: what somebody wants, what cells say, who is gone, and the time. Each changes what is known of
//! the cells; then `settle` does what brings them nearer to what is wanted (`steps.rs`).
//!
//! | file | |
//! |---|---|
//! | `supervisor/orders.rs` | what somebody wants |
//! | `supervisor/owners.rs` | which owner is served where |
//! | `supervisor/evaluations.rs` | the cell for code that is no app's |
//! | `supervisor/losses.rs` | cells that go although nobody told them to |
//! | `supervisor/watch.rs` | the time: heartbeats, deadlines, stuck turns |
//!
//! Invariants: each question is answered once. A catalogue is served in the end, by these cells or later ones; who waits
//! for it waits until then. A drain ends, with or without the cells' help: who has not come to its end in time is ended.

mod evaluations;
mod losses;
mod orders;
mod owners;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_core::{IdleConnections, Owner};
use hearth_ipc::{Admission, CellEvent, CellMessage, CellStats, ControlMessage, LoadError, QueryReply, VersionSpec};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use self::evaluations::Evaluations;
use self::losses::Buried;
pub(super) use self::orders::Command;
use self::owners::Cordon;
use super::adopted::{Farewell, see_off};
use super::calls::Calls;
use super::cordon::Cordons;
use super::group::{Group, LAST_MOMENT, Whose};
use super::hops::Hops;
use super::member::{Member, StuckTurn};
use super::process::{CellId, Ear, Heard, Starter};
use super::pulse::BEAT;
use super::rules::CellRules;
use super::steps::{Fate, Stage, Wanted};
use super::tally::{Main, Tally};
use super::{CellsConfig, News, Observer, Reason};

pub(super) struct Supervisor {
    rules: CellRules,
    observer: Arc<dyn Observer>,
    inbox: mpsc::UnboundedReceiver<Command>,
    tally: Arc<Tally>,
    starter: Starter,
    ear: Ear,
    main: Group,
    cordons: Cordons,
    /// Who is shut away, as the observer knows it.
    record: Vec<hearth_store::Cordon>,
    apart: BTreeMap<Owner, Cordon>,
    evaluations: Evaluations,
    hops: Hops,
    /// The newest catalogue, as it was given to us.
    versions: Vec<VersionSpec>,
    generation: u64,
    waiting: Vec<oneshot::Sender<Vec<LoadError>>>,
    calls: Calls,
    /// What was wanted while there was no cell to do it.
    early: Vec<Command>,
    /// Who waits for these to serve no more.
    replacing: Vec<(Vec<CellId>, oneshot::Sender<()>)>,
    burials: mpsc::UnboundedSender<Buried>,
    buried: mpsc::UnboundedReceiver<Buried>,
    burying: usize,
    next_beat: Instant,
    /// Whether apps' requests are let in.
    admission: Admission,
    /// Somebody wants the end, and waits for it.
    ending: Option<oneshot::Sender<()>>,
    /// Told when our cells serve.
    serving: tokio::sync::watch::Sender<bool>,
    /// Cells of programs before.
    adopted: Option<Farewell>,
}

/// Whether there is more to do.
enum Then {
    Go,
    End,
}

impl Supervisor {
    pub(super) fn new(
        config: CellsConfig,
        observer: Arc<dyn Observer>,
        inbox: mpsc::UnboundedReceiver<Command>,
        tally: Arc<Tally>,
    ) -> Self {
        let CellsConfig { program, mut plan, rules, listeners, data, adopted, cordons, stuck, .. } = config;
        let (starter, ear) = Starter::new(program);
        let (burials, buried) = mpsc::unbounded_channel();
        let (hops, serving) = (Hops::new(&data), tokio::sync::watch::Sender::new(false));
        hops.allow(&mut plan);
        let patience = plan.front.drain_timeout * 2 + LAST_MOMENT;
        let adopted = (!adopted.is_empty()).then(|| see_off(adopted, &serving, patience));
        let listeners = listeners.into_iter().map(Into::into).collect();
        Self {
            evaluations: Evaluations::new(&plan),
            main: Group::new(Whose::Everybody, plan, listeners, rules.wanted()),
            record: cordons.clone(),
            cordons: Cordons::new(rules.owners, cordons, stuck),
            rules,
            observer,
            inbox,
            tally,
            starter,
            ear,
            apart: BTreeMap::new(),
            hops,
            versions: Vec::new(),
            generation: 0,
            waiting: Vec::new(),
            calls: Calls::default(),
            early: Vec::new(),
            replacing: Vec::new(),
            burials,
            buried,
            burying: 0,
            next_beat: Instant::now() + BEAT,
            admission: Admission::Open,
            ending: None,
            serving,
            adopted,
        }
    }

    pub(super) async fn run(mut self) {
        self.settle();
        loop {
            let wake = self.next_wake();
            let then = tokio::select! {
                biased;
                Some(cell) = self.ear.alarms.recv() => self.hear_alarm(cell),
                () = sleep_until(wake) => self.look_around(wake),
                Some(buried) = self.buried.recv() => self.note_burial(buried),
                command = self.inbox.recv() => match command {
                    Some(command) => self.take_order(command),
                    // Nobody wants anything any more.
                    None => Then::End,
                },
                Some((cell, heard)) = self.ear.heard.recv() => match heard {
                    Heard::Said(message) => self.hear(cell, message),
                    Heard::Gone => self.note_gone(cell),
                },
            };
            if let Then::End = then {
                return;
            }
            if self.is_over().await {
                // Who does not wait for it any more need not be told.
                let _ = self.ending.take().map(|done| done.send(()));
                return;
            }
        }
    }

    fn hear(&mut self, cell: CellId, message: CellMessage) -> Then {
        match message {
            CellMessage::Log(line) => self.observer.log(line),
            CellMessage::Access(line) => self.observer.access(line),
            CellMessage::Span(span) => self.observer.span(*span),
            CellMessage::Stats(stats) => self.note_stats(cell, *stats),
            CellMessage::Pong(beat) => {
                if let Some(member) = self.member(cell) {
                    member.pulse.answer(beat);
                }
            }
            CellMessage::Event(event) => self.note_event(cell, event),
            CellMessage::Reply { id, reply } => {
                if let QueryReply::Stats(stats) = &reply {
                    self.note_stats(cell, CellStats::clone(stats));
                }
                self.calls.answer(id, cell, reply);
            }
            CellMessage::Serving { generation, problems } => {
                if let Some(member) = self.member(cell) {
                    (member.generation, member.problems) = (generation, problems);
                    if member.stage == Stage::Starting {
                        member.stage = Stage::Ready;
                    }
                }
                self.settle();
            }
            CellMessage::Accepting => {
                let admission = self.admission;
                if let Some(member) = self.member(cell).filter(|member| member.stage == Stage::Opening) {
                    member.stage = Stage::Serving;
                    if admission == Admission::Closed {
                        member.process.send(ControlMessage::Admit(admission));
                    }
                }
                self.settle();
            }
            // Its end is near.
            CellMessage::Drained => {}
        }
        Then::Go
    }

    fn note_stats(&mut self, cell: CellId, stats: CellStats) {
        let limit = self.rules.memory.map_or(u64::MAX, |limit| limit.bytes());
        let grown = stats.resident_memory.filter(|size| *size > limit).map(|size| (size, stats.holders.clone()));
        self.tally.note(cell, stats);
        if let Some((size, holders)) = grown {
            self.replace_grown(cell, size, &holders);
        }
    }

    fn note_event(&mut self, cell: CellId, event: CellEvent) {
        let now = Instant::now();
        match &event {
            CellEvent::StuckBegan { app, owner, request } => {
                if let Some(member) = self.member(cell) {
                    member.stuck.push(StuckTurn { app: app.clone(), request: *request, since: now });
                }
                self.note_stuck(owner);
            }
            CellEvent::StuckEnded { app, request, .. } => {
                if let Some(member) = self.member(cell) {
                    member.stuck.retain(|turn| turn.app != *app || turn.request != *request);
                }
            }
        }
        self.observer.event(event);
    }

    /// Does what is to be done now, given what is known.
    fn settle(&mut self) {
        let now = Instant::now();
        if self.ending.is_some() {
            self.let_all_go(now);
        } else {
            self.retire_cordons(now);
            self.evaluations.retire(now);
        }
        let (tally, starter) = (&self.tally, &mut self.starter);
        let (mut left, cordons) = (Vec::new(), self.apart.len() as u64);
        let apart = self.apart.values_mut().map(|cordon| &mut cordon.group);
        for group in std::iter::once(&mut self.main).chain(apart).chain([&mut self.evaluations.group]) {
            let done = group.step(now, starter);
            tally.count(|counts| counts.created += done.started);
            left.extend(done.left);
        }
        let main = if self.main.members.iter().any(Member::is_open) { Main::Serves } else { Main::Missing };
        tally.note_main(main);
        self.serving.send_if_modified(|serving| main == Main::Serves && !std::mem::replace(serving, true));
        let members = || self.groups().flat_map(|group| &group.members);
        let (serving, standby) = (
            members().filter(|member| member.is_open()).count() as u64,
            members().filter(|member| member.stage == Stage::Ready).count() as u64,
        );
        tally.count(|counts| {
            (counts.serving, counts.standby, counts.cordons) = (serving, standby, cordons);
            counts.replaced += left.len() as u64;
        });
        self.tell_who_waits();
        self.do_what_was_early();
    }

    /// Those who waited for what is so by now.
    fn tell_who_waits(&mut self) {
        // The cell for evaluated code serves none of it.
        let serving = || self.groups().filter(|group| group.whose != Whose::Evaluations);
        if serving().all(Group::is_up_to_date) {
            let problems: Vec<LoadError> = serving().flat_map(Group::problems).collect();
            for done in std::mem::take(&mut self.waiting) {
                // Who does not wait any more need not be told.
                let _ = done.send(problems.clone());
            }
        }
        let replacing = std::mem::take(&mut self.replacing);
        let members = || self.groups().flat_map(|group| &group.members);
        let serves = |id: &CellId| members().any(|one| one.id == *id && one.stage != Stage::Leaving);
        // That the old ones are gone is half of it.
        let is_served = self.main.members.iter().any(|member| member.stage == Stage::Serving);
        let (waiting, over): (Vec<_>, Vec<_>) =
            replacing.into_iter().partition(|(cells, _)| !is_served || cells.iter().any(&serves));
        self.replacing = waiting;
        for (_, done) in over {
            let _ = done.send(());
        }
    }

    /// The main cells, then the others.
    fn groups(&self) -> impl Iterator<Item = &Group> {
        let apart = self.apart.values().map(|cordon| &cordon.group);
        std::iter::once(&self.main).chain(apart).chain([&self.evaluations.group])
    }

    fn groups_mut(&mut self) -> impl Iterator<Item = &mut Group> {
        let apart = self.apart.values_mut().map(|cordon| &mut cordon.group);
        std::iter::once(&mut self.main).chain(apart).chain([&mut self.evaluations.group])
    }

    fn member(&mut self, id: CellId) -> Option<&mut Member> {
        self.groups_mut().find_map(|group| group.member(id))
    }

    /// Has another take the place of those cells. Says who they are.
    fn replace(&mut self, reason: Reason, which: impl Fn(&Member) -> bool) -> Vec<CellId> {
        let condemned: Vec<CellId> = self.groups_mut().flat_map(|group| group.condemn(&which)).collect();
        let pid = |id: &CellId| {
            self.groups().flat_map(|group| &group.members).find(|one| one.id == *id).map(|one| one.process.pid())
        };
        for cell in condemned.iter().filter_map(pid) {
            tracing::info!(cell, reason = reason.as_str(), "The cell is replaced");
            self.observer.news(News::Replaced { cell, reason });
        }
        condemned
    }

    /// Whether somebody wanted the end, and it has come.
    async fn is_over(&mut self) -> bool {
        if self.ending.is_none() || self.burying > 0 || self.groups().any(|group| !group.members.is_empty()) {
            return false;
        }
        if let Some(farewell) = self.adopted.take() {
            // They have been told, or are now: nobody serves any more.
            self.serving.send_replace(true);
            farewell.end().await;
        }
        for owner in self.apart.keys() {
            self.hops.close(owner);
        }
        true
    }

    /// Nobody is wanted any more: first those who serve clients, then those whom they reach.
    fn let_all_go(&mut self, now: Instant) {
        let nobody = Wanted { cells: 0, standby: 0 };
        let mains_are_gone = self.main.members.is_empty();
        for (at, group) in self.groups_mut().enumerate() {
            if at > 0 && !mains_are_gone {
                // Nobody new, but those who are there serve on.
                group.start_at = now + BEAT * 1_000;
                continue;
            }
            // Nobody shall wait where nobody will come.
            group.listeners.clear();
            group.wanted = nobody;
            let deadline = group.deadline(now);
            for member in group.members.iter_mut().filter(|member| member.stage != Stage::Leaving) {
                member.fate = Fate::Condemned;
                member.leave(IdleConnections::Close, deadline);
            }
        }
    }
}
