//! The supervisor task, which keeps cells serving. Connections wait in the listeners, which control holds open, until a cell
//! accepts them.
//!
//! One task receives all events: commands, messages of cells, exits and timers. Each event updates the state of the cells;
//! then `reconcile` takes the steps towards the desired state (`reconcile.rs`).
//!
//! | file | |
//! |---|---|
//! | `supervisor/commands.rs` | commands of control |
//! | `supervisor/placement.rs` | which owner is served in which cells |
//! | `supervisor/evaluations.rs` | the cell for evaluated code |
//! | `supervisor/exits.rs` | crash alarms and exits of cells |
//! | `supervisor/timers.rs` | heartbeats, deadlines, stuck turns |
//!
//! Invariants: each query completes once. Each catalogue is served eventually, by the present cells or by later ones, and
//! its caller waits until then. A drain ends in bounded time: cells that exceed it are killed.

mod commands;
mod evaluations;
mod exits;
mod placement;
mod timers;

use std::collections::BTreeMap;
use std::sync::Arc;

use hearth_core::{IdleConnections, Owner};
use hearth_ipc::{Admission, CellEvent, CellMessage, CellStats, ControlMessage, LoadError, QueryReply, VersionSpec};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

pub(super) use self::commands::Command;
use self::evaluations::Evaluations;
use self::exits::ExitedCell;
use self::placement::CordonGroup;
use super::cell_handle::{CellHandle, StuckTurn};
use super::cordon::CordonRegistry;
use super::cordon_sockets::CordonSockets;
use super::group::{CellGroup, EXIT_TIMEOUT, GroupKind};
use super::heartbeat::PING_INTERVAL;
use super::inherited::{InheritedCells, drain_inherited};
use super::pending_queries::PendingQueries;
use super::process::{CellEvents, CellId, CellOutput, CellSpawner};
use super::reconcile::{DesiredCells, Stage};
use super::rules::CellRules;
use super::totals::{CellTotals, MainCells};
use super::{CellChange, CellsConfig, Observer, ReplaceReason};

pub(super) struct Supervisor {
    rules: CellRules,
    observer: Arc<dyn Observer>,
    inbox: mpsc::UnboundedReceiver<Command>,
    totals: Arc<CellTotals>,
    spawner: CellSpawner,
    events: CellEvents,
    main: CellGroup,
    cordons: CordonRegistry,
    /// The cordons as last given to the observer.
    saved_cordons: Vec<hearth_store::Cordon>,
    cordon_groups: BTreeMap<Owner, CordonGroup>,
    evaluations: Evaluations,
    sockets: CordonSockets,
    /// The newest catalogue.
    versions: Vec<VersionSpec>,
    generation: u64,
    serve_waiters: Vec<oneshot::Sender<Vec<LoadError>>>,
    queries: PendingQueries,
    /// Queries that no cell could receive yet.
    deferred: Vec<Command>,
    /// Callers that wait until these cells no longer serve.
    replace_waiters: Vec<(Vec<CellId>, oneshot::Sender<()>)>,
    exit_sender: mpsc::UnboundedSender<ExitedCell>,
    exits: mpsc::UnboundedReceiver<ExitedCell>,
    /// Processes whose exit is awaited.
    exiting: usize,
    next_ping: Instant,
    /// Whether requests to apps are admitted.
    admission: Admission,
    /// Set when draining: completes when all cells have ended.
    draining: Option<oneshot::Sender<()>>,
    /// Becomes true when a main cell of this program serves.
    serving: tokio::sync::watch::Sender<bool>,
    /// Cells of the previous program.
    inherited: Option<InheritedCells>,
}

/// Whether the supervisor goes on.
enum Next {
    Continue,
    Stop,
}

impl Supervisor {
    pub(super) fn new(
        config: CellsConfig,
        observer: Arc<dyn Observer>,
        inbox: mpsc::UnboundedReceiver<Command>,
        totals: Arc<CellTotals>,
    ) -> Self {
        let CellsConfig { program, mut plan, rules, listeners, data, inherited, cordons, stuck, .. } = config;
        let (spawner, events) = CellSpawner::new(program);
        let (exit_sender, exits) = mpsc::unbounded_channel();
        let (sockets, serving) = (CordonSockets::new(&data), tokio::sync::watch::Sender::new(false));
        sockets.allow(&mut plan);
        let drain_timeout = plan.front.drain_timeout * 2 + EXIT_TIMEOUT;
        let inherited = (!inherited.is_empty()).then(|| drain_inherited(inherited, &serving, drain_timeout));
        let listeners = listeners.into_iter().map(Into::into).collect();
        Self {
            evaluations: Evaluations::new(&plan),
            main: CellGroup::new(GroupKind::Main, plan, listeners, rules.desired()),
            saved_cordons: cordons.clone(),
            cordons: CordonRegistry::new(rules.owners, cordons, stuck),
            rules,
            observer,
            inbox,
            totals,
            spawner,
            events,
            cordon_groups: BTreeMap::new(),
            sockets,
            versions: Vec::new(),
            generation: 0,
            serve_waiters: Vec::new(),
            queries: PendingQueries::default(),
            deferred: Vec::new(),
            replace_waiters: Vec::new(),
            exit_sender,
            exits,
            exiting: 0,
            next_ping: Instant::now() + PING_INTERVAL,
            admission: Admission::Open,
            draining: None,
            serving,
            inherited,
        }
    }

    pub(super) async fn run(mut self) {
        self.reconcile();
        loop {
            let wake = self.next_wake();
            let next = tokio::select! {
                biased;
                Some(cell) = self.events.alarms.recv() => self.on_crash_alarm(cell),
                () = sleep_until(wake) => self.on_tick(wake),
                Some(exited) = self.exits.recv() => self.on_exited(exited),
                command = self.inbox.recv() => match command {
                    Some(command) => self.handle_command(command),
                    // All handles are dropped.
                    None => Next::Stop,
                },
                Some((cell, output)) = self.events.output.recv() => match output {
                    CellOutput::Message(message) => self.on_message(cell, message),
                    CellOutput::Closed => self.on_closed(cell),
                },
            };
            if let Next::Stop = next {
                return;
            }
            if self.is_drained().await {
                // The caller may have given up.
                let _ = self.draining.take().map(|done| done.send(()));
                return;
            }
        }
    }

    fn on_message(&mut self, cell: CellId, message: CellMessage) -> Next {
        match message {
            CellMessage::Log(line) => self.observer.log(line),
            CellMessage::Access(line) => self.observer.access(line),
            CellMessage::Span(span) => self.observer.span(*span),
            CellMessage::Stats(stats) => self.record_stats(cell, *stats),
            CellMessage::Pong(beat) => {
                if let Some(member) = self.member(cell) {
                    member.heartbeat.pong(beat);
                }
            }
            CellMessage::Event(event) => self.on_event(cell, event),
            CellMessage::Reply { id, reply } => {
                if let QueryReply::Stats(stats) = &reply {
                    self.record_stats(cell, CellStats::clone(stats));
                }
                self.queries.answer(id, cell, reply);
            }
            CellMessage::Serving { generation, problems } => {
                if let Some(member) = self.member(cell) {
                    (member.generation, member.problems) = (generation, problems);
                    if member.stage == Stage::Starting {
                        member.stage = Stage::Ready;
                    }
                }
                self.reconcile();
            }
            CellMessage::Accepting => {
                let admission = self.admission;
                if let Some(member) = self.member(cell).filter(|member| member.stage == Stage::Opening) {
                    member.stage = Stage::Serving;
                    if admission == Admission::Closed {
                        member.process.send(ControlMessage::Admit(admission));
                    }
                }
                self.reconcile();
            }
            // The process exits next.
            CellMessage::Drained => {}
        }
        Next::Continue
    }

    fn record_stats(&mut self, cell: CellId, stats: CellStats) {
        let limit = self.rules.memory.map_or(u64::MAX, |limit| limit.bytes());
        let too_large = stats.resident_memory.filter(|size| *size > limit).map(|size| (size, stats.holders.clone()));
        self.totals.record(cell, stats);
        if let Some((size, holders)) = too_large {
            self.replace_large_cell(cell, size, &holders);
        }
    }

    fn on_event(&mut self, cell: CellId, event: CellEvent) {
        let now = Instant::now();
        match &event {
            CellEvent::StuckBegan { app, owner, request } => {
                if let Some(member) = self.member(cell) {
                    member.stuck.push(StuckTurn { app: app.clone(), request: *request, since: now });
                }
                self.on_stuck_turn(owner);
            }
            CellEvent::StuckEnded { app, request, .. } => {
                if let Some(member) = self.member(cell) {
                    member.stuck.retain(|turn| turn.app != *app || turn.request != *request);
                }
            }
        }
        self.observer.event(event);
    }

    /// Takes the steps towards the desired state, and completes what waited for the present one.
    fn reconcile(&mut self) {
        let now = Instant::now();
        if self.draining.is_some() {
            self.drain_all(now);
        } else {
            self.retire_cordons(now);
            self.evaluations.retire(now);
        }
        let (totals, spawner) = (&self.totals, &mut self.spawner);
        let (mut left, cordons) = (Vec::new(), self.cordon_groups.len() as u64);
        let apart = self.cordon_groups.values_mut().map(|cordon| &mut cordon.group);
        for group in std::iter::once(&mut self.main).chain(apart).chain([&mut self.evaluations.group]) {
            let done = group.step(now, spawner);
            totals.count(|counts| counts.created += done.started);
            left.extend(done.draining);
        }
        let main =
            if self.main.members.iter().any(CellHandle::is_open) { MainCells::Serving } else { MainCells::Missing };
        totals.set_main(main);
        self.serving.send_if_modified(|serving| main == MainCells::Serving && !std::mem::replace(serving, true));
        let members = || self.groups().flat_map(|group| &group.members);
        let (serving, standby) = (
            members().filter(|member| member.is_open()).count() as u64,
            members().filter(|member| member.stage == Stage::Ready).count() as u64,
        );
        totals.count(|counts| {
            (counts.serving, counts.standby, counts.cordons) = (serving, standby, cordons);
            counts.replaced += left.len() as u64;
        });
        self.complete_waiters();
        self.retry_deferred();
    }

    /// Completes callers whose catalogue is served, or whose cells are replaced.
    fn complete_waiters(&mut self) {
        // The cell for evaluated code serves no apps.
        let serving = || self.groups().filter(|group| group.kind != GroupKind::Evaluations);
        if serving().all(CellGroup::is_up_to_date) {
            let problems: Vec<LoadError> = serving().flat_map(CellGroup::problems).collect();
            for done in std::mem::take(&mut self.serve_waiters) {
                // The caller may have given up.
                let _ = done.send(problems.clone());
            }
        }
        let replace_waiters = std::mem::take(&mut self.replace_waiters);
        let members = || self.groups().flat_map(|group| &group.members);
        let serves = |id: &CellId| members().any(|one| one.id == *id && one.stage != Stage::Draining);
        // It is not enough that the old cells no longer serve: a new one must.
        let is_served = self.main.members.iter().any(|member| member.stage == Stage::Serving);
        let (waiting, over): (Vec<_>, Vec<_>) =
            replace_waiters.into_iter().partition(|(cells, _)| !is_served || cells.iter().any(&serves));
        self.replace_waiters = waiting;
        for (_, done) in over {
            let _ = done.send(());
        }
    }

    /// The main group first.
    fn groups(&self) -> impl Iterator<Item = &CellGroup> {
        let apart = self.cordon_groups.values().map(|cordon| &cordon.group);
        std::iter::once(&self.main).chain(apart).chain([&self.evaluations.group])
    }

    fn groups_mut(&mut self) -> impl Iterator<Item = &mut CellGroup> {
        let apart = self.cordon_groups.values_mut().map(|cordon| &mut cordon.group);
        std::iter::once(&mut self.main).chain(apart).chain([&mut self.evaluations.group])
    }

    fn member(&mut self, id: CellId) -> Option<&mut CellHandle> {
        self.groups_mut().find_map(|group| group.member(id))
    }

    /// Marks cells to be replaced, and returns them.
    fn replace(&mut self, reason: ReplaceReason, which: impl Fn(&CellHandle) -> bool) -> Vec<CellId> {
        let marked: Vec<CellId> = self.groups_mut().flat_map(|group| group.mark_for_replacement(&which)).collect();
        let pid = |id: &CellId| {
            self.groups().flat_map(|group| &group.members).find(|one| one.id == *id).map(|one| one.process.pid())
        };
        for cell in marked.iter().filter_map(pid) {
            tracing::info!(cell, reason = reason.as_str(), "cell replaced");
            self.observer.change(CellChange::Replaced { cell, reason });
        }
        marked
    }

    /// Whether a drain was requested and all cells have ended.
    async fn is_drained(&mut self) -> bool {
        if self.draining.is_none() || self.exiting > 0 || self.groups().any(|group| !group.members.is_empty()) {
            return false;
        }
        if let Some(inherited) = self.inherited.take() {
            // They drain now if they do not already: no cell serves any more.
            self.serving.send_replace(true);
            inherited.end().await;
        }
        for owner in self.cordon_groups.keys() {
            self.sockets.remove(owner);
        }
        true
    }

    /// Drains the main cells first, then the cordon cells, to which the main cells proxy.
    fn drain_all(&mut self, now: Instant) {
        let none = DesiredCells { cells: 0, standby: 0 };
        let mains_are_gone = self.main.members.is_empty();
        for (at, group) in self.groups_mut().enumerate() {
            if at > 0 && !mains_are_gone {
                // No cell is started, but running ones serve on.
                group.start_at = now + PING_INTERVAL * 1_000;
                continue;
            }
            // Connections must not wait where no cell will accept them.
            group.listeners.clear();
            group.desired = none;
            let deadline = group.deadline(now);
            for member in group.members.iter_mut().filter(|member| member.stage != Stage::Draining) {
                member.replace = true;
                member.drain(IdleConnections::Close, deadline);
            }
        }
    }
}
