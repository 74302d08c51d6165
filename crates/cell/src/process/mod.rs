//! The cell as a process of its own: started by control, spoken to over its standard input, serving on control's listeners.
//!
//! ```text
//! listeners, plan -> jail -> V8, threads, pools -> first catalogue -> accepts -> … -> drain -> waitUntil -> end
//! ```
//! Until it listens to control, the cell ends with its parent (PR_SET_PDEATHSIG), and a panic on any thread aborts it: a cell that
//! cannot start must not stay. From then on the socket is read by a thread that does nothing else: when it ends, control
//! is gone, and so is the cell, at once and whatever its other threads are doing. The parent-death signal does not stay: the
//! kernel sends it when the *thread* ends that started the cell, and an upgrade replaces all threads of control.

mod answer;
mod eval;
mod front;
pub mod jail;
mod outbox;
mod start;
mod stats;
mod trace;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use hearth_apps::routes::Paths;
use hearth_core::{ByteSize, IdleConnections};
use hearth_gateway::{Listener, Server};
use hearth_ipc::{
    CellEvent, CellMessage, CellPlan, ControlMessage, FrameError, LoadError, PassError, VersionSpec, fd_passing, frame,
};
use hearth_runtime::{JsThreads, Platform, PlatformError, Snapshot, Stuck};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use self::outbox::Outbox;
use self::start::Starting;
use crate::budget::Budget;
use crate::cell::{Cell, CellConfig};
use crate::commons::{Commons, NoRoots};
use crate::crumbs::{CrumbsError, share_breadcrumbs};
use crate::serving::{Addresses, Front, Workshop};
use crate::terms::Terms;

/// How often control is told what was counted.
const TELLING: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("a cell is started by `hearth serve`, not by hand: run `hearth serve DIR`")]
    NoControl(#[source] io::Error),
    #[error(transparent)]
    Listeners(#[from] PassError),
    #[error("control did not say what to do: {0}")]
    Link(#[from] FrameError),
    #[error("control said nothing")]
    Silence,
    #[error("control is gone already")]
    Orphaned,
    #[error("the cell cannot be tied to control: {0}")]
    Parent(#[source] io::Error),
    #[error("descriptors that were left open cannot be closed: {0}")]
    Descriptors(#[source] io::Error),
    #[error(transparent)]
    Jail(#[from] jail::JailError),
    #[error(transparent)]
    Platform(#[from] PlatformError),
    #[error("breadcrumbs cannot be kept: {0}")]
    Breadcrumbs(#[source] CrumbsError),
    #[error("the threads cannot be started: {0}")]
    Threads(#[source] io::Error),
    #[error("signals cannot be watched: {0}")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Roots(#[from] NoRoots),
    #[error(transparent)]
    Front(#[from] front::FrontError),
}

/// Serves until control says otherwise or is gone. Must be called on the process's main thread, as V8 wants it.
pub fn run(snapshot: &Snapshot) -> Result<(), ProcessError> {
    hearth_sys::fds::close_inherited().map_err(ProcessError::Descriptors)?;
    let starting = Starting::begin()?;
    let socket =
        std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(ProcessError::NoControl)?;
    starting.check_parent(&socket)?;
    let mut listeners = fd_passing::receive(&socket).map_err(|error| match error {
        // Somebody's terminal, or a file.
        PassError::Io(error) => ProcessError::NoControl(error),
        error => error.into(),
    })?;
    let mut from = socket.try_clone().map_err(ProcessError::NoControl)?;
    let Some(ControlMessage::Begin(plan)) = frame::read(&mut from)? else { return Err(ProcessError::Silence) };
    // Behind the listeners: the page of breadcrumbs, and where to cry for help.
    let mut rest = listeners.split_off(plan.listeners.len().min(listeners.len())).into_iter();
    let crumbs = rest.next().zip(rest.next());
    Platform::load()?;
    Platform::set_initial_heap(plan.initial_heap);
    // No thread is there yet, and nothing of an app's: from here on, only what serving takes.
    let jail = jail::enter(&plan.jail, plan.role)?;
    if let Some((page, alarm)) = crumbs {
        share_breadcrumbs(page, alarm).map_err(ProcessError::Breadcrumbs)?;
    }
    let outbox = Outbox::start(socket);
    hearth_log::install(&plan.log, {
        let outbox = outbox.clone();
        Arc::new(move |line| outbox.offer(CellMessage::Log(line)))
    });
    jail.tell();
    let (messages, inbox) = mpsc::unbounded_channel();
    std::thread::spawn(move || listen(from, &messages));
    starting.release_parent()?;
    let platform = Platform::init()?;
    let threads = JsThreads::start(plan.threads).map_err(ProcessError::Threads)?;
    threads.block_on(async {
        leave_signals_to_control().map_err(ProcessError::Signals)?;
        let cell = Cell::start(platform, snapshot, threads.turn_pools(), cell_config(&plan));
        observe_stuck_turns(&cell, &outbox);
        if let Some(grace) = plan.stuck_grace {
            Platform::set_stuck_grace(grace);
        }
        serve(cell, *plan, listeners, inbox, outbox, starting).await
    })?;
    // Whatever still runs has had its time.
    threads.shutdown(Duration::from_secs(1));
    Ok(())
}

/// Who stops a service may tell all of its processes. Control is told too, and has the cell finish what is in flight:
/// once somebody has listened for a signal, it does nothing to the process any more.
fn leave_signals_to_control() -> io::Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        drop(signal(kind)?);
    }
    Ok(())
}

/// Reads what control says, to the end of control.
fn listen(mut from: UnixStream, messages: &mpsc::UnboundedSender<ControlMessage>) {
    while let Ok(Some(message)) = frame::read(&mut from) {
        if messages.send(message).is_err() {
            break;
        }
    }
    // Nobody is there to serve for, or the cell has drained and ends anyway.
    std::process::exit(0);
}

async fn serve(
    cell: Cell,
    plan: CellPlan,
    listeners: Vec<OwnedFd>,
    mut inbox: mpsc::UnboundedReceiver<ControlMessage>,
    outbox: Outbox,
    starting: Starting,
) -> Result<(), ProcessError> {
    let mut told_to_leave = signal(SignalKind::user_defined2()).map_err(ProcessError::Signals)?;
    let CellPlan { threads, max_fresh, queue, queue_timeout, .. } = plan;
    let terms = Terms { threads, max_fresh, queue, queue_timeout };
    let workshop = Arc::new(Workshop::new(cell.clone(), Commons::new()?, addresses(&plan), terms, plan.role));
    let certificates = front::certificates(&plan)?;
    let listeners = front::listeners(&plan, listeners, certificates.as_ref())?;
    let server = Server::new(front::config(&plan, &outbox, &workshop.front)?, Arc::new(workshop.front.clone()));
    let gateway = server.stats();
    let registry = workshop.registry.clone();
    let stats = stats::Source { cell: cell.clone(), registry, gateway, telling: Arc::default() };
    let teller = tokio::spawn(tell(stats.clone(), outbox.clone()));
    // Catalogues are taken one after the other, and nobody who asks waits for one.
    let (errands, taken) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel();
    let door = Door { server, listeners, stopped, initial_heap: plan.initial_heap };
    let taking = tokio::spawn(take(workshop.clone(), taken, outbox.clone(), door));
    starting.finish();
    let idle = loop {
        let message = tokio::select! {
            message = inbox.recv() => message,
            // Control is another program by now, which does not speak to cells of the one before.
            _ = told_to_leave.recv() => break IdleConnections::ServeOneMore,
        };
        match message {
            // The receiver lives as long as this loop.
            Some(ControlMessage::Serve { generation, versions }) => {
                drop(errands.send(Errand::Serve { generation, versions }));
            }
            Some(ControlMessage::Certificates(plans)) => front::renew(certificates.as_ref(), &plans),
            Some(ControlMessage::Accept) => drop(errands.send(Errand::Accept)),
            Some(ControlMessage::Query { id, query }) => {
                let (workshop, stats, outbox) = (workshop.clone(), stats.clone(), outbox.clone());
                tokio::spawn(async move { answer::answer(&workshop, &stats, &outbox, id, query).await });
            }
            // By a thread that serves requests: this one does not.
            Some(ControlMessage::Ping(beat)) => {
                let outbox = outbox.clone();
                tokio::spawn(async move { outbox.send(CellMessage::Pong(beat)) });
            }
            Some(ControlMessage::Admit(admission)) => cell.admit(admission),
            Some(ControlMessage::Drain(idle)) => break idle,
            Some(ControlMessage::Begin(_)) => {}
            None => break IdleConnections::Close,
        }
    };
    // Who did not open the door does not listen for it to be closed.
    let _ = stop.send(idle);
    // Says that nothing more comes.
    drop(errands);
    if let Err(error) = taking.await {
        tracing::error!(%error, "The front did not come to its end");
    }
    // What waitUntil was given has the same time again.
    if tokio::time::timeout(plan.front.drain_timeout, cell.close()).await.is_err() {
        tracing::warn!("Workers outlived the drain");
    }
    teller.abort();
    stats.tell(|stats| outbox.send(CellMessage::Stats(stats)));
    outbox.send(CellMessage::Drained);
    outbox.finish();
    Ok(())
}

/// What is done in the order in which control wants it.
enum Errand {
    Serve { generation: u64, versions: Vec<VersionSpec> },
    Accept,
}

/// What is needed to take connections, closed until somebody wants it open.
struct Door {
    server: Server<Front>,
    listeners: Vec<Listener>,
    stopped: oneshot::Receiver<IdleConnections>,
    /// For the log.
    initial_heap: ByteSize,
}

/// Takes catalogues as they come, and connections once there is a catalogue and they are wanted, until nothing more comes and
/// the drain is over. Who came before that has waited in the listeners.
async fn take(workshop: Arc<Workshop>, mut errands: mpsc::UnboundedReceiver<Errand>, outbox: Outbox, door: Door) {
    let (mut door, mut serving) = (Some(door), None);
    let (mut has_catalogue, mut is_wanted) = (false, false);
    while let Some(errand) = errands.recv().await {
        match errand {
            Errand::Serve { generation, versions } => {
                let problems = open(&workshop, versions).await;
                outbox.send(CellMessage::Serving { generation, problems });
                has_catalogue = true;
                tokio::spawn(workshop.clone().warm());
            }
            Errand::Accept => is_wanted = true,
        }
        if has_catalogue && is_wanted {
            if let Some(Door { server, listeners, stopped, initial_heap }) = door.take() {
                let stopped = async { stopped.await.unwrap_or(IdleConnections::Close) };
                serving = Some(tokio::spawn(server.serve_until(listeners, stopped)));
                workshop.cell.log_configuration(initial_heap);
                outbox.send(CellMessage::Accepting);
            }
        }
    }
    if let Some(serving) = serving {
        if let Err(error) = serving.await {
            tracing::error!(%error, "The front did not come to its end");
        }
    }
}

/// Serves these versions from now on. Says which it cannot serve.
async fn open(workshop: &Arc<Workshop>, versions: Vec<VersionSpec>) -> Vec<LoadError> {
    let shop = workshop.clone();
    let problems = tokio::task::spawn_blocking(move || {
        let taken = catch_unwind(AssertUnwindSafe(|| shop.serve(&versions)));
        taken.unwrap_or_else(|_| versions.iter().map(unserved).collect())
    });
    problems.await.unwrap_or_default()
}

/// For a catalogue that nothing came of.
fn unserved(spec: &VersionSpec) -> LoadError {
    let message = "internal error: the catalogue could not be taken".to_owned();
    LoadError { app: spec.app.clone(), version: spec.version.clone(), message }
}

async fn tell(stats: stats::Source, outbox: Outbox) {
    loop {
        tokio::time::sleep(TELLING).await;
        stats.tell(|stats| outbox.offer(CellMessage::Stats(stats)));
    }
}

fn cell_config(plan: &CellPlan) -> CellConfig {
    CellConfig {
        threads: plan.threads,
        isolates: plan.isolates,
        max_per_owner: plan.max_per_owner,
        max_fresh: plan.max_fresh,
        spares: plan.spares,
        budget: Budget::for_machine(plan.threads, plan.cells, plan.memory_budget),
        max_queued: plan.max_queued,
    }
}

fn observe_stuck_turns(cell: &Cell, outbox: &Outbox) {
    let (cell, outbox) = (cell.clone(), outbox.clone());
    Platform::set_stuck_observer(Arc::new(move |turn| {
        cell.note_stuck(&turn);
        let (app, owner, request) = (turn.app.clone(), turn.owner.clone(), turn.request.raw());
        outbox.offer(CellMessage::Event(match turn.state {
            Stuck::Begins => {
                tracing::error!(app = app.as_str(), request, "A turn is stuck: it goes on although it was terminated");
                CellEvent::StuckBegan { app, owner, request }
            }
            Stuck::Ends => {
                tracing::info!(app = app.as_str(), request, "A stuck turn has ended");
                CellEvent::StuckEnded { app, owner, request }
            }
        }));
    }));
}

fn addresses(plan: &CellPlan) -> Addresses {
    Addresses { domains: plan.domains.clone(), paths: if plan.paths { Paths::On } else { Paths::Off } }
}
