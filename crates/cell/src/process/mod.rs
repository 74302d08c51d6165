//! The cell as a process of its own: started by control, connected to it by its standard input, serving on control's listeners.
//!
//! ```text
//! listeners, plan -> jail -> V8, threads, pools -> first catalogue -> accepts -> … -> drain -> waitUntil -> end
//! ```
//! Until it reads messages from control, the cell ends with its parent (PR_SET_PDEATHSIG), and a panic on any thread aborts it: a
//! cell that cannot start must not stay. From then on the socket is read by a thread that does nothing else: when the socket
//! ends, control is gone, and the cell exits at once, whatever its other threads do. The parent-death signal does not stay: the
//! kernel sends it when the *thread* that started the cell ends, and an upgrade replaces all threads of control.

mod control_writer;
mod eval;
mod gateway_config;
pub mod jail;
mod queries;
mod start_guard;
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

use self::control_writer::ControlWriter;
use self::start_guard::StartGuard;
use crate::app_limits::ServerLimits;
use crate::app_pools::{AppPools, AppPoolsConfig};
use crate::budget::Budget;
use crate::crash_breadcrumbs::{CrashBreadcrumbsError, record_breadcrumbs_in_page};
use crate::routing::{AppAddresses, AppRouter, VersionLoader};
use crate::shared_services::{SharedServices, TlsRootsError};

/// How often statistics are sent to control.
const STATS_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("a cell is started by `hearth serve`, not by hand: run `hearth serve DIR`")]
    NoControl(#[source] io::Error),
    #[error(transparent)]
    Listeners(#[from] PassError),
    #[error("control sent no valid plan: {0}")]
    Link(#[from] FrameError),
    #[error("control sent no plan")]
    NoPlan,
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
    Breadcrumbs(#[source] CrashBreadcrumbsError),
    #[error("the threads cannot be started: {0}")]
    Threads(#[source] io::Error),
    #[error("signals cannot be watched: {0}")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Roots(#[from] TlsRootsError),
    #[error(transparent)]
    Gateway(#[from] gateway_config::GatewayConfigError),
}

/// Serves until control drains the cell or is gone. Must be called on the process's main thread, as V8 requires.
pub fn run(snapshot: &Snapshot) -> Result<(), ProcessError> {
    hearth_sys::fds::close_inherited().map_err(ProcessError::Descriptors)?;
    let start_guard = StartGuard::begin()?;
    let socket =
        std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).map_err(ProcessError::NoControl)?;
    start_guard.check_parent(&socket)?;
    let mut listeners = fd_passing::receive(&socket).map_err(|error| match error {
        // Standard input is a terminal or a file.
        PassError::Io(error) => ProcessError::NoControl(error),
        error => error.into(),
    })?;
    let mut from = socket.try_clone().map_err(ProcessError::NoControl)?;
    let Some(ControlMessage::Begin(plan)) = frame::read(&mut from)? else { return Err(ProcessError::NoPlan) };
    // After the listeners: the page of breadcrumbs, and the socket for crash notifications.
    let mut others = listeners.split_off(plan.listeners.len().min(listeners.len())).into_iter();
    let crumbs = others.next().zip(others.next());
    Platform::load()?;
    Platform::set_initial_heap(plan.initial_heap);
    // There is no other thread yet and nothing of an app: from here on, the process has only what serving needs.
    let jail = jail::enter(&plan.jail, plan.role)?;
    if let Some((page, alarm)) = crumbs {
        record_breadcrumbs_in_page(page, alarm).map_err(ProcessError::Breadcrumbs)?;
    }
    let writer = ControlWriter::start(socket);
    hearth_log::install(&plan.log, {
        let writer = writer.clone();
        Arc::new(move |line| writer.try_send(CellMessage::Log(line)))
    });
    jail.log_missing();
    let (messages, inbox) = mpsc::unbounded_channel();
    std::thread::spawn(move || read_messages(from, &messages));
    start_guard.release_parent()?;
    let platform = Platform::init()?;
    let threads = JsThreads::start(plan.threads).map_err(ProcessError::Threads)?;
    threads.block_on(async {
        ignore_signals().map_err(ProcessError::Signals)?;
        let pools = AppPools::start(platform, snapshot, threads.turn_pools(), pool_config(&plan));
        observe_stuck_turns(&pools, &writer);
        if let Some(grace) = plan.stuck_grace {
            Platform::set_stuck_grace(grace);
        }
        serve(pools, *plan, listeners, inbox, writer, start_guard).await
    })?;
    // The drain timeout of anything that still runs is over.
    threads.shutdown(Duration::from_secs(1));
    Ok(())
}

/// A service manager may signal all processes of a service. Control gets the signal too and drains the cell; a signal that has
/// had a listener once has no default action any more.
fn ignore_signals() -> io::Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        drop(signal(kind)?);
    }
    Ok(())
}

/// Reads messages until control is gone.
fn read_messages(mut from: UnixStream, messages: &mpsc::UnboundedSender<ControlMessage>) {
    while let Ok(Some(message)) = frame::read(&mut from) {
        if messages.send(message).is_err() {
            break;
        }
    }
    // Control is gone, or the cell has drained and ends anyway.
    std::process::exit(0);
}

async fn serve(
    pools: AppPools,
    plan: CellPlan,
    listeners: Vec<OwnedFd>,
    mut inbox: mpsc::UnboundedReceiver<ControlMessage>,
    writer: ControlWriter,
    start_guard: StartGuard,
) -> Result<(), ProcessError> {
    let mut replaced_by_upgrade = signal(SignalKind::user_defined2()).map_err(ProcessError::Signals)?;
    let CellPlan { threads, max_fresh, queue, queue_timeout, .. } = plan;
    let limits = ServerLimits { threads, max_fresh, queue, queue_timeout };
    let loader =
        Arc::new(VersionLoader::new(pools.clone(), SharedServices::new()?, addresses(&plan), limits, plan.role));
    let certificates = gateway_config::certificates(&plan)?;
    let listeners = gateway_config::listeners(&plan, listeners, certificates.as_ref())?;
    let server = Server::new(gateway_config::config(&plan, &writer, &loader.router)?, Arc::new(loader.router.clone()));
    let gateway = server.stats();
    let registry = loader.registry.clone();
    let stats = stats::StatsSource { pools: pools.clone(), registry, gateway, report_lock: Arc::default() };
    let reporter = tokio::spawn(report_stats(stats.clone(), writer.clone()));
    // Catalogues are applied one after the other, and queries of control do not wait for them.
    let (commands, queue) = mpsc::unbounded_channel();
    let (stop, stopped) = oneshot::channel();
    let listener = PendingListener { server, listeners, stopped, initial_heap: plan.initial_heap };
    let applying = tokio::spawn(apply_catalogues(loader.clone(), queue, writer.clone(), listener));
    start_guard.finish();
    let idle = loop {
        let message = tokio::select! {
            message = inbox.recv() => message,
            // After an upgrade control is a new program, which does not speak to cells of the previous one.
            _ = replaced_by_upgrade.recv() => break IdleConnections::ServeOneMore,
        };
        match message {
            // The receiver lives as long as this loop.
            Some(ControlMessage::Serve { generation, versions }) => {
                drop(commands.send(CatalogueCommand::Serve { generation, versions }));
            }
            Some(ControlMessage::Certificates(plans)) => gateway_config::renew(certificates.as_ref(), &plans),
            Some(ControlMessage::Accept) => drop(commands.send(CatalogueCommand::Accept)),
            Some(ControlMessage::Query { id, query }) => {
                let (loader, stats, writer) = (loader.clone(), stats.clone(), writer.clone());
                tokio::spawn(async move { queries::answer(&loader, &stats, &writer, id, query).await });
            }
            // Answered by a thread that serves requests, so that the answer shows that those threads run.
            Some(ControlMessage::Ping(beat)) => {
                let writer = writer.clone();
                tokio::spawn(async move { writer.send(CellMessage::Pong(beat)) });
            }
            Some(ControlMessage::Admit(admission)) => pools.set_admission(admission),
            Some(ControlMessage::Drain(idle)) => break idle,
            Some(ControlMessage::Begin(_)) => {}
            None => break IdleConnections::Close,
        }
    };
    // Without a server there is no receiver.
    let _ = stop.send(idle);
    // Ends the queue of commands.
    drop(commands);
    if let Err(error) = applying.await {
        tracing::error!(%error, "server task failed");
    }
    // Work of waitUntil has the same timeout again.
    if tokio::time::timeout(plan.front.drain_timeout, pools.close()).await.is_err() {
        tracing::warn!("workers still running after the drain timeout");
    }
    reporter.abort();
    stats.report(|stats| writer.send(CellMessage::Stats(stats)));
    writer.send(CellMessage::Drained);
    writer.flush();
    Ok(())
}

/// What is done in the order of control's messages.
enum CatalogueCommand {
    Serve { generation: u64, versions: Vec<VersionSpec> },
    Accept,
}

/// What is needed to accept connections, until control wants that.
struct PendingListener {
    server: Server<AppRouter>,
    listeners: Vec<Listener>,
    stopped: oneshot::Receiver<IdleConnections>,
    /// For the log.
    initial_heap: ByteSize,
}

/// Applies catalogues, and accepts connections once there is a catalogue and control wants it, until the queue ends and the drain
/// is over. Connections that were made earlier wait in the listeners.
async fn apply_catalogues(
    loader: Arc<VersionLoader>,
    mut commands: mpsc::UnboundedReceiver<CatalogueCommand>,
    writer: ControlWriter,
    listener: PendingListener,
) {
    let (mut listener, mut serving) = (Some(listener), None);
    let (mut has_catalogue, mut may_accept) = (false, false);
    while let Some(commands) = commands.recv().await {
        match commands {
            CatalogueCommand::Serve { generation, versions } => {
                let problems = open(&loader, versions).await;
                writer.send(CellMessage::Serving { generation, problems });
                has_catalogue = true;
                tokio::spawn(loader.clone().warm_up());
            }
            CatalogueCommand::Accept => may_accept = true,
        }
        if has_catalogue
            && may_accept
            && let Some(PendingListener { server, listeners, stopped, initial_heap }) = listener.take()
        {
            let stopped = async { stopped.await.unwrap_or(IdleConnections::Close) };
            serving = Some(tokio::spawn(server.serve_until(listeners, stopped)));
            loader.pools.log_configuration(initial_heap);
            writer.send(CellMessage::Accepting);
        }
    }
    if let Some(serving) = serving
        && let Err(error) = serving.await
    {
        tracing::error!(%error, "server task failed");
    }
}

/// Serves these versions from now on. Returns those that cannot be served.
async fn open(loader: &Arc<VersionLoader>, versions: Vec<VersionSpec>) -> Vec<LoadError> {
    let shared = loader.clone();
    let problems = tokio::task::spawn_blocking(move || {
        let applied = catch_unwind(AssertUnwindSafe(|| shared.serve(&versions)));
        applied.unwrap_or_else(|_| versions.iter().map(unserved).collect())
    });
    problems.await.unwrap_or_default()
}

/// For a catalogue whose application panicked.
fn unserved(spec: &VersionSpec) -> LoadError {
    let message = "internal error: the catalogue could not be applied".to_owned();
    LoadError { app: spec.app.clone(), version: spec.version.clone(), message }
}

async fn report_stats(stats: stats::StatsSource, writer: ControlWriter) {
    loop {
        tokio::time::sleep(STATS_INTERVAL).await;
        stats.report(|stats| writer.try_send(CellMessage::Stats(stats)));
    }
}

fn pool_config(plan: &CellPlan) -> AppPoolsConfig {
    AppPoolsConfig {
        threads: plan.threads,
        isolates: plan.isolates,
        max_per_owner: plan.max_per_owner,
        max_fresh: plan.max_fresh,
        spares: plan.spares,
        budget: Budget::for_machine(plan.threads, plan.cells, plan.memory_budget),
        max_queued: plan.max_queued,
    }
}

fn observe_stuck_turns(pools: &AppPools, writer: &ControlWriter) {
    let (pools, writer) = (pools.clone(), writer.clone());
    Platform::set_stuck_observer(Arc::new(move |turn| {
        pools.on_stuck_turn(&turn);
        let (app, owner, request) = (turn.app.clone(), turn.owner.clone(), turn.request.raw());
        writer.try_send(CellMessage::Event(match turn.state {
            Stuck::Begins => {
                tracing::error!(app = app.as_str(), request, "turn is stuck: it goes on although it was terminated");
                CellEvent::StuckBegan { app, owner, request }
            }
            Stuck::Ends => {
                tracing::info!(app = app.as_str(), request, "stuck turn ended");
                CellEvent::StuckEnded { app, owner, request }
            }
        }));
    }));
}

fn addresses(plan: &CellPlan) -> AppAddresses {
    AppAddresses { domains: plan.domains.clone(), paths: if plan.paths { Paths::On } else { Paths::Off } }
}
