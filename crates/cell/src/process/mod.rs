//! The cell as a process of its own: started by control, spoken to over its standard input, serving on control's listeners.
//!
//! ```text
//! listeners, plan -> V8, threads, pools -> first catalogue -> accepts -> … -> drain -> waitUntil -> end
//! ```
//! The socket is read by a thread that does nothing else: when it ends, control is gone, and so is the cell, at once and
//! whatever its other threads are doing.

mod answer;
mod front;
mod outbox;
mod stats;

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use hearth_core::ByteSize;
use hearth_gateway::{Listener, Server};
use hearth_link::{
    CellEvent, CellPlan, FrameError, FromCell, PassError, ToCell, Unserved, VersionSpec, frame, passing,
};
use hearth_runtime::{Platform, PlatformError, Snapshot, Stuck, Threads};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use self::outbox::Outbox;
use crate::budget::Budget;
use crate::cell::{Cell, CellConfig};
use crate::commons::{Commons, NoRoots};
use crate::crumbs::{CrumbsError, keep_breadcrumbs};
use crate::serving::{Front, Workshop};
use crate::terms::Terms;

/// How often control is told what was counted.
const TELLING: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("a cell is started by `hearth serve`, not by hand: {0}")]
    NoControl(#[source] io::Error),
    #[error(transparent)]
    Listeners(#[from] PassError),
    #[error("control did not say what to do: {0}")]
    Link(#[from] FrameError),
    #[error("control said nothing")]
    Silence,
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
    let socket =
        std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(ProcessError::NoControl)?;
    let listeners = passing::receive(&socket)?;
    let mut from = socket.try_clone().map_err(ProcessError::NoControl)?;
    let Some(ToCell::Begin(plan)) = frame::read(&mut from)? else { return Err(ProcessError::Silence) };
    let outbox = Outbox::start(socket);
    hearth_journal::install(&plan.log, {
        let outbox = outbox.clone();
        Arc::new(move |line| outbox.offer(FromCell::Log(line)))
    });
    let platform = Platform::init()?;
    if let Some(file) = &plan.breadcrumbs {
        keep_breadcrumbs(file).map_err(ProcessError::Breadcrumbs)?;
    }
    let threads = Threads::start(plan.threads).map_err(ProcessError::Threads)?;
    let (messages, inbox) = mpsc::unbounded_channel();
    std::thread::spawn(move || listen(from, &messages));
    threads.block_on(async {
        leave_signals_to_control().map_err(ProcessError::Signals)?;
        let cell = Cell::start(platform, snapshot, threads.lane(), cell_config(&plan));
        observe_stuck_turns(&cell, &outbox);
        serve(cell, *plan, listeners, inbox, outbox).await
    })?;
    // Whatever still runs has had its time.
    threads.shut_down(Duration::from_secs(1));
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
fn listen(mut from: UnixStream, messages: &mpsc::UnboundedSender<ToCell>) {
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
    listeners: Vec<TcpListener>,
    mut inbox: mpsc::UnboundedReceiver<ToCell>,
    outbox: Outbox,
) -> Result<(), ProcessError> {
    let terms = Terms { threads: plan.threads, queue: plan.queue, queue_timeout: plan.queue_timeout };
    let workshop = Arc::new(Workshop::new(cell.clone(), Commons::new()?, plan.domains.clone(), terms));
    let listeners = front::listeners(&plan, listeners)?;
    let server = Server::new(front::config(&plan, &outbox)?, Arc::new(workshop.front.clone()));
    let gateway = server.stats();
    let registry = workshop.registry.clone();
    let stats = stats::Source { cell: cell.clone(), registry, gateway, telling: Arc::default() };
    let teller = tokio::spawn(tell(stats.clone(), outbox.clone()));
    // Catalogues are taken one after the other, and nobody who asks waits for one.
    let (catalogues, taken) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let taking = tokio::spawn(take(workshop.clone(), taken, outbox.clone(), server, listeners, stopped));
    while let Some(message) = inbox.recv().await {
        match message {
            // The receiver lives as long as this loop.
            ToCell::Serve { generation, versions } => drop(catalogues.send((generation, versions))),
            ToCell::Ask { call, what } => {
                let (workshop, stats, outbox) = (workshop.clone(), stats.clone(), outbox.clone());
                tokio::spawn(async move { answer::answer(&workshop, &stats, &outbox, call, what).await });
            }
            ToCell::Drain => break,
            ToCell::Begin(_) => {}
        }
    }
    // Dropping them says that nothing more comes.
    drop((catalogues, stop));
    if let Err(error) = taking.await {
        tracing::error!(%error, "The front did not come to its end");
    }
    // What waitUntil was given has the same time again.
    if tokio::time::timeout(plan.front.drain_timeout, cell.close()).await.is_err() {
        tracing::warn!("Workers outlived the drain");
    }
    teller.abort();
    stats.tell(|stats| outbox.send(FromCell::Stats(stats)));
    outbox.send(FromCell::Drained);
    outbox.finish();
    Ok(())
}

/// Takes catalogues as they come, and serves from the first one on, until `stopped` and the drain is over.
async fn take(
    workshop: Arc<Workshop>,
    mut catalogues: mpsc::UnboundedReceiver<(u64, Vec<VersionSpec>)>,
    outbox: Outbox,
    server: Server<Front>,
    listeners: Vec<Listener>,
    stopped: oneshot::Receiver<()>,
) {
    let mut idle = Some((server, listeners, stopped));
    let mut serving = None;
    while let Some((generation, versions)) = catalogues.recv().await {
        let shop = workshop.clone();
        let problems = tokio::task::spawn_blocking(move || {
            let taken = catch_unwind(AssertUnwindSafe(|| shop.serve(&versions)));
            taken.unwrap_or_else(|_| versions.iter().map(unserved).collect())
        });
        let problems = problems.await.unwrap_or_default();
        // Who came before there was anything to serve has waited in the listeners.
        if let Some((server, listeners, stopped)) = idle.take() {
            serving = Some(tokio::spawn(server.serve(listeners, stopped)));
        }
        outbox.send(FromCell::Serving { generation, problems });
        let shop = workshop.clone();
        tokio::task::spawn_blocking(move || shop.warm());
    }
    if let Some(serving) = serving {
        if let Err(error) = serving.await {
            tracing::error!(%error, "The front did not come to its end");
        }
    }
}

/// For a catalogue that nothing came of.
fn unserved(spec: &VersionSpec) -> Unserved {
    let message = "internal error: the catalogue could not be taken".to_owned();
    Unserved { app: spec.app.clone(), version: spec.version.clone(), message }
}

async fn tell(stats: stats::Source, outbox: Outbox) {
    loop {
        tokio::time::sleep(TELLING).await;
        stats.tell(|stats| outbox.offer(FromCell::Stats(stats)));
    }
}

fn cell_config(plan: &CellPlan) -> CellConfig {
    CellConfig {
        threads: plan.threads,
        isolates: plan.isolates,
        spares: plan.spares,
        budget: Budget::for_machine(plan.threads, plan.memory_budget.filter(|size| *size > ByteSize(0))),
        max_queued: plan.max_queued,
    }
}

fn observe_stuck_turns(cell: &Cell, outbox: &Outbox) {
    let (cell, outbox) = (cell.clone(), outbox.clone());
    hearth_runtime::set_stuck_observer(Arc::new(move |turn| {
        cell.note_stuck(&turn);
        let (app, request) = (turn.app.clone(), turn.request.raw());
        outbox.offer(FromCell::Event(match turn.state {
            Stuck::Begins => {
                tracing::error!(app = app.as_str(), request, "A turn is stuck: it goes on although it was terminated");
                CellEvent::StuckBegan { app, request }
            }
            Stuck::Ends => {
                tracing::info!(app = app.as_str(), request, "A stuck turn has ended");
                CellEvent::StuckEnded { app, request }
            }
        }));
    }));
}
