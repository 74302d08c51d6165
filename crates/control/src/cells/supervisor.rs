//! Keeps a cell running. Connections wait in the listeners, which control has too, until there is a cell again.
//!
//! ```text
//! Down --started, plan and catalogue sent--> Up --exit, cut, told to drain--> Down | Over
//!   ^ back-off: 100 ms, doubling to 10 s, from the beginning after a cell that lived for 10 s
//! ```
//! Invariant: each question is answered once: by the cell, or with `Lost` when the cell is gone. A catalogue is served in
//! the end, by this cell or a later one; who waits for it waits until then. A cell accepts nothing before it has one.
//! A drain ends, with or without the cell's help: who has not said in time that all is done is ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hearth_link::{Ask, CallId, CellStats, FromCell, Reply, ToCell, Unserved, VersionSpec};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::process::Process;
use super::tally::Tally;
use super::{AskError, CellsConfig, Crash, Observer};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A cell that lived this long was a good one.
const LONG_LIFE: Duration = Duration::from_secs(10);
/// For the process to be gone once it said that it is done.
const LAST_MOMENT: Duration = Duration::from_secs(5);
/// For its last words to arrive after its end.
const WORDS: Duration = Duration::from_millis(50);

pub(super) enum Command {
    Serve { versions: Vec<VersionSpec>, done: oneshot::Sender<Vec<Unserved>> },
    Ask { what: Ask, reply: oneshot::Sender<Result<Reply, AskError>> },
    Drain { done: oneshot::Sender<()> },
}

pub(super) struct Supervisor {
    config: CellsConfig,
    observer: Arc<dyn Observer>,
    inbox: mpsc::UnboundedReceiver<Command>,
    tally: Arc<Tally>,
    /// The newest catalogue: what a new cell gets.
    generation: u64,
    versions: Vec<VersionSpec>,
    waiting: Vec<(u64, oneshot::Sender<Vec<Unserved>>)>,
    calls: HashMap<CallId, oneshot::Sender<Result<Reply, AskError>>>,
    next_call: u64,
    /// What was wanted while there was no cell.
    early: Vec<Command>,
}

/// Why a cell's time was over.
enum Ended {
    /// It went by itself.
    Lost,
    /// It was told to.
    Drained(Option<oneshot::Sender<()>>),
    /// Nobody wants anything any more.
    Abandoned,
}

impl Supervisor {
    pub(super) fn new(
        config: CellsConfig,
        observer: Arc<dyn Observer>,
        inbox: mpsc::UnboundedReceiver<Command>,
        tally: Arc<Tally>,
    ) -> Self {
        Self {
            config,
            observer,
            inbox,
            tally,
            generation: 0,
            versions: Vec::new(),
            waiting: Vec::new(),
            calls: HashMap::new(),
            next_call: 0,
            early: Vec::new(),
        }
    }

    pub(super) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = Instant::now();
            let ended = match Process::start(&self.config.program, &self.config.listeners) {
                Ok(mut process) => {
                    let ended = self.tend(&mut process).await;
                    self.bury(process, &ended).await;
                    ended
                }
                Err(error) => {
                    tracing::error!(%error, "No cell");
                    Ended::Lost
                }
            };
            let ended = match ended {
                Ended::Lost if began.elapsed() >= LONG_LIFE => {
                    pause = FIRST_PAUSE;
                    continue;
                }
                Ended::Lost => {
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    self.pause(pause / 2).await
                }
                ended => ended,
            };
            match ended {
                Ended::Lost => {}
                Ended::Drained(done) => {
                    // Who does not wait for it any more need not be told.
                    done.map(|done| done.send(()));
                    return;
                }
                Ended::Abandoned => return,
            }
        }
    }

    /// Waits before there is another cell, unless nobody wants one any more.
    async fn pause(&mut self, time: Duration) -> Ended {
        let until = Instant::now() + time;
        loop {
            tokio::select! {
                () = sleep_until(until) => return Ended::Lost,
                command = self.inbox.recv() => match command {
                    Some(Command::Drain { done }) => return Ended::Drained(Some(done)),
                    Some(command) => self.early.push(command),
                    None => return Ended::Abandoned,
                },
            }
        }
    }

    /// A cell's life, from its plan to its end.
    async fn tend(&mut self, process: &mut Process) -> Ended {
        tracing::info!(cell = process.id(), "Cell started");
        process.send(ToCell::Begin(Box::new(self.config.plan.clone())));
        if self.generation > 0 {
            process.send(ToCell::Serve { generation: self.generation, versions: self.versions.clone() });
        }
        for command in std::mem::take(&mut self.early) {
            self.carry_out(command, process);
        }
        let mut draining = None;
        let mut deadline = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(deadline), if draining.is_some() => {
                    tracing::error!(cell = process.id(), "The cell did not come to its end: it is ended");
                    // How it ends is asked for again when it is buried.
                    let _ = process.end().await;
                    return Ended::Drained(draining);
                }
                message = process.next() => match message {
                    Some(FromCell::Drained) => return Ended::Drained(draining),
                    Some(message) => self.hear(message),
                    // A cell that is told to end and dies of it has ended.
                    None if draining.is_some() => return Ended::Drained(draining),
                    None => return Ended::Lost,
                },
                command = self.inbox.recv() => match command {
                    Some(Command::Drain { done }) => {
                        process.send(ToCell::Drain);
                        // Nobody shall wait where nobody will come.
                        self.config.listeners.clear();
                        deadline = Instant::now() + self.config.plan.front.drain_timeout * 2 + LAST_MOMENT;
                        draining = Some(done);
                    }
                    Some(command) if draining.is_some() => refuse(command),
                    Some(command) => self.carry_out(command, process),
                    None => return Ended::Abandoned,
                },
            }
        }
    }

    fn hear(&mut self, message: FromCell) {
        match message {
            FromCell::Serving { generation, problems } => {
                self.tally.note_serving();
                let (done, later) =
                    std::mem::take(&mut self.waiting).into_iter().partition(|(wanted, _)| *wanted <= generation);
                self.waiting = later;
                let done: Vec<(u64, oneshot::Sender<Vec<Unserved>>)> = done;
                for (_, done) in done {
                    // Who does not wait any more need not be told.
                    let _ = done.send(problems.clone());
                }
            }
            FromCell::Reply { call, reply } => {
                if let Reply::Stats(stats) = &reply {
                    self.tally.note(CellStats::clone(stats));
                }
                if let Some(waiting) = self.calls.remove(&call) {
                    let _ = waiting.send(Ok(reply));
                }
            }
            FromCell::Log(line) => self.observer.log(line),
            FromCell::Access(line) => self.observer.access(line),
            FromCell::Event(event) => self.observer.event(event),
            FromCell::Stats(stats) => self.tally.note(*stats),
            FromCell::Drained => {}
        }
    }

    fn carry_out(&mut self, command: Command, process: &Process) {
        match command {
            Command::Serve { versions, done } => {
                self.generation += 1;
                self.versions = versions;
                self.waiting.push((self.generation, done));
                process.send(ToCell::Serve { generation: self.generation, versions: self.versions.clone() });
            }
            Command::Ask { what, reply } => {
                let call = CallId(self.next_call);
                self.next_call += 1;
                self.calls.insert(call, reply);
                process.send(ToCell::Ask { call, what });
            }
            // Taken before it comes here.
            Command::Drain { .. } => {}
        }
    }

    async fn bury(&mut self, mut process: Process, ended: &Ended) {
        let cell = process.id();
        let status = match ended {
            // It is on its way out; if it is not, it is helped.
            Ended::Drained(_) => match timeout(LAST_MOMENT, process.wait()).await {
                Ok(status) => status,
                Err(_) => process.end().await,
            },
            Ended::Lost | Ended::Abandoned => process.end().await,
        };
        self.tally.bury();
        for (_, waiting) in self.calls.drain() {
            let _ = waiting.send(Err(AskError::Lost));
        }
        if let Ended::Lost = ended {
            // What it wrote last may still be on its way, in another pipe.
            sleep(WORDS).await;
            let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            let last_words = process.last_words();
            tracing::error!(cell, %status, "The cell is gone: another one is started");
            self.observer.lost(Crash { time: hearth_journal::now(), cell, status, last_words });
        }
    }
}

/// A cell that drains hears nothing any more. Who wants something to be served learns of it as well: nobody answers.
fn refuse(command: Command) {
    if let Command::Ask { reply, .. } = command {
        let _ = reply.send(Err(AskError::Stopped));
    }
}
