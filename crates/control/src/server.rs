//! `hearth serve`: wires listeners, store, cells, catalogue, file watch, crons and the admin API together, and shuts them down.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_apps::watch::{Watch, WatchRules};
use hearth_gateway::{Config, Listener, Server, TlsError};
use hearth_ipc::{CellEvent, CellStats, Span};
use hearth_log::LogRecord;
use hearth_sandbox::UpgradePayload;
use hearth_store::{Cordon, Cordons as _, SqliteStore, StoreError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::admin::{Admin, MAX_UPLOAD};
use crate::configuration::{Configuration, ConfigurationSource, check_certificates};
use crate::control::{
    ActionError, Control, ControlParts, ControlState, CordonSaver, Crashes, Ending, ReadyStage, UpgradeTarget,
};
use crate::crons;
use crate::event::{EventKind, Events};
use crate::log_store::LogStore;
use crate::otel::{self, Spans};
use crate::readable_paths::ReadablePaths;
use crate::sandboxes::{SandboxHostError, SandboxPlan};
use hearth_supervisor::{CellChange, CellRules, Cells, CellsConfig, Crash, HandedOver, InheritedCell, Observer};

/// Delay after a refresh that failed.
const REFRESH_RETRY_DELAY: Duration = Duration::from_secs(1);
/// How often the number of requests is sampled for their rate.
const RATE_SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// Time for the last responses of the admin API to be sent.
const ADMIN_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

pub struct ServeConfig {
    pub program: PathBuf,
    pub roots: Vec<PathBuf>,
    pub data: PathBuf,
    pub configuration: Configuration,
    /// Reads the configuration again.
    pub source: Arc<dyn ConfigurationSource>,
    /// In the order of the plan's listeners.
    pub listeners: Vec<TcpListener>,
    pub admin: Option<AdminConfig>,
    pub sandboxes: Option<SandboxPlan>,
    pub log_store: LogStore,
    /// The program for an upgrade.
    pub upgrade_target: Option<UpgradeTarget>,
    /// State of the previous program, in an upgrade.
    pub inherited: Inherited,
}

/// What one program hands to the next in an upgrade, apart from the listeners.
#[derive(Default)]
pub struct Inherited {
    /// Process ids and sockets of the cells, which serve until those of the next program do.
    pub cells: Vec<(u32, OwnedFd)>,
    pub counters: CellStats,
    pub state: ControlState,
    /// Sandboxes, and the MCP sessions that they belong to.
    pub sandboxes: UpgradePayload,
}

/// How serving has ended.
pub enum ServerEnd {
    Stopped,
    /// The next program is to be executed now. Cells serve on as long as `left` is not dropped.
    Upgrade {
        listeners: Vec<TcpListener>,
        left: Box<Inherited>,
    },
}

pub struct AdminConfig {
    pub listener: TcpListener,
    pub token: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("the apps cannot be loaded: {0}")]
    First(#[source] ActionError),
    #[error("a listener cannot be used: {0}")]
    Listeners(#[source] io::Error),
    #[error("the admin listener cannot be used: {0}")]
    Admin(#[source] io::Error),
    #[error(transparent)]
    Sandboxes(#[from] SandboxHostError),
}

/// Serves until `stop` completes or the admin API ends the server. `ready` is called when everything is served.
pub async fn serve(
    config: ServeConfig,
    stop: impl Future<Output = ()> + Send,
    reload: impl AsyncFnMut() + Send,
    upgrade: impl AsyncFnMut() + Send,
    ready: impl FnOnce(&Control) + Send,
) -> Result<ServerEnd, ServeError> {
    let ServeConfig { program, roots, data, mut configuration, source, listeners, admin, log_store, .. } = config;
    let (sandboxes, upgrade_target, inherited) = (config.sandboxes, config.upgrade_target, config.inherited);
    check_certificates(&configuration.plan.certificates)?;
    // For the next program, in an upgrade.
    let handles =
        ListenerHandles::new(&listeners, admin.as_ref(), sandboxes.as_ref()).map_err(ServeError::Listeners)?;
    let store = Arc::new(tokio::task::block_in_place(|| SqliteStore::open(&data))?);
    for warning in store.warnings() {
        match warning.is_degradation() {
            true => tracing::error!("{warning}"),
            false => tracing::warn!("{warning}"),
        }
    }
    let readable_paths = ReadablePaths::new(&roots, store.data(), &store.data().join("apps"));
    configuration.plan.jail.readable = readable_paths.folders();
    let plan = configuration.plan.clone();
    let (events, spans) = (Events::default(), Spans::default());
    let crashes = Crashes::restore(&inherited.state);
    let cordoned = tokio::task::block_in_place(|| store.cordons())?;
    for cordon in &cordoned {
        tracing::warn!(owner = cordon.owner.as_str(), why = cordon.why, "cordon restored");
    }
    let cordons = CordonSaver::spawn(store.clone());
    let observer = Arc::new(CellEventSink {
        log_store: log_store.clone(),
        events: events.clone(),
        crashes: crashes.clone(),
        spans: spans.clone(),
        cordons: cordons.clone(),
    });
    let rules = CellRules::new(&configuration.operator);
    let cells = CellsConfig {
        program,
        plan,
        rules,
        listeners,
        data: store.data().to_owned(),
        inherited: inherited.cells.into_iter().map(|(pid, socket)| InheritedCell { pid, socket }).collect(),
        counters: inherited.counters,
        cordons: cordoned,
        stuck: inherited.state.stuck,
    };
    let cells = Cells::start(cells, observer);
    let parts = ControlParts {
        cells: cells.clone(),
        store,
        configuration,
        source,
        roots: roots.clone(),
        readable_paths,
        log_store,
        events,
        crashes: crashes.clone(),
        cordons: cordons.clone(),
        spans,
        upgrade_target,
    };
    let control = Control::new(parts);
    // The watch starts before the first refresh, so that no change between the two is missed.
    let watch = Watch::start(roots, WatchRules::default()).await;
    // The admin API starts before the first refresh, and reports that the server is not ready yet.
    let admin = admin.map(|admin| serve_admin(admin, &control)).transpose().map_err(ServeError::Admin)?;
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        first = control.refresh() => first.map_err(ServeError::First)?,
        () = &mut stop => {
            control.drain();
            drop(handles);
            cells.drain().await;
            return Ok(ServerEnd::Stopped);
        }
    }
    control.set_stage(ReadyStage::AppsServed);
    control.warn_unknown_apps();
    match sandboxes {
        Some(plan) => {
            if let Err(error) = control.start_sandboxes(plan, inherited.sandboxes).await {
                cells.drain().await;
                return Err(error.into());
            }
        }
        None if !inherited.sandboxes.descriptors.is_empty() => {
            inherited.sandboxes.discard("this server keeps no sandboxes");
        }
        None => {}
    }
    control.set_stage(ReadyStage::Ready);
    let tasks = [
        tokio::spawn(crons::run(control.clone())),
        tokio::spawn(refresh_loop(control.clone(), watch)),
        tokio::spawn(request_rate_loop(control.clone())),
        tokio::spawn(otel::export(control.clone())),
        tokio::spawn(control.clone().certificate_loop()),
    ];
    ready(&control);
    let ending = wait(&control, stop.as_mut(), reload, upgrade).await;
    let exported = match ending {
        // Cells are still supervised meanwhile.
        Ending::Upgrade => tokio::select! {
            sandboxes = control.export_sandboxes() => Some(sandboxes),
            // A stop cancels the upgrade. What was exported already ends with this process.
            () = &mut stop => None,
        },
        Ending::Drain => None,
    };
    let ended = if let Some(sandboxes) = exported {
        let counters = cells.fresh_stats().await;
        let HandedOver { cells, stuck } = cells.hand_over().await;
        let left = Inherited { cells, counters, state: crashes.export(stuck), sandboxes };
        ServerEnd::Upgrade { listeners: handles.0, left: Box::new(left) }
    } else {
        control.drain();
        control.events().record(EventKind::Draining);
        // Connections must not wait where no cell will accept them.
        drop(handles);
        cells.drain().await;
        if ending == Ending::Drain {
            control.stop_sandboxes().await;
        }
        ServerEnd::Stopped
    };
    // Includes the last changes.
    cordons.flush().await;
    for task in tasks {
        task.abort();
    }
    if let Some((stop, ended)) = admin {
        drop(stop);
        // Clients that do not read their response in time are cut off.
        let _ = tokio::time::timeout(ADMIN_CLOSE_TIMEOUT, ended).await;
    }
    Ok(ended)
}

/// Duplicates of all listeners: while these are open, connections wait instead of being refused.
struct ListenerHandles(Vec<TcpListener>);

impl ListenerHandles {
    fn new(
        listeners: &[TcpListener],
        admin: Option<&AdminConfig>,
        sandboxes: Option<&SandboxPlan>,
    ) -> io::Result<Self> {
        let mcp = sandboxes.and_then(|plan| plan.mcp.as_ref()).map(|mcp| &mcp.listener);
        let all = listeners.iter().chain(admin.map(|admin| &admin.listener)).chain(mcp);
        all.map(TcpListener::try_clone).collect::<io::Result<_>>().map(Self)
    }
}

/// Waits until the server is to end, and returns how. Meanwhile starts reloads and upgrades as `reload` and `upgrade` complete.
async fn wait(
    control: &Control,
    mut stop: impl Future<Output = ()> + Unpin,
    mut reload: impl AsyncFnMut(),
    mut upgrade: impl AsyncFnMut(),
) -> Ending {
    loop {
        tokio::select! {
            () = &mut stop => return Ending::Drain,
            () = control.drained() => return control.ending().unwrap_or(Ending::Drain),
            () = upgrade() => {
                let control = control.clone();
                tokio::spawn(async move {
                    if let Err(error) = control.upgrade().await {
                        tracing::error!("upgrade failed: {error}");
                    }
                });
            }
            () = reload() => {
                // In a task, so that it does not delay a stop.
                let control = control.clone();
                tokio::spawn(async move {
                    if let Err(error) = control.reload().await {
                        tracing::error!("reload failed, configuration unchanged: {error}");
                    }
                });
            }
        }
    }
}

/// Refreshes the catalogue when files change or a refresh is requested.
async fn refresh_loop(control: Control, mut watch: Watch) {
    loop {
        tokio::select! {
            () = watch.changed() => {}
            () = control.shared.refresh_requested.notified() => {}
            () = control.drained() => return,
        }
        if let Err(error) = control.refresh().await {
            tracing::error!(%error, "refresh failed");
            tokio::time::sleep(REFRESH_RETRY_DELAY).await;
            control.shared.refresh_requested.notify_one();
        }
    }
}

async fn request_rate_loop(control: Control) {
    loop {
        control.shared.request_rate.record(Instant::now(), control.shared.cells.requests());
        tokio::time::sleep(RATE_SAMPLE_INTERVAL).await;
    }
}

/// Connections to the admin API; at most a quarter of control's file descriptors, since cells, sandboxes and files need the
/// others.
const MAX_ADMIN_CONNECTIONS: usize = 256;

/// Serves the admin API until the returned sender is dropped.
fn serve_admin(config: AdminConfig, control: &Control) -> io::Result<(oneshot::Sender<()>, JoinHandle<()>)> {
    let AdminConfig { listener, token } = config;
    let address: SocketAddr = listener.local_addr()?;
    let listener = Listener::plain(listener)?;
    let max_connections =
        hearth_sys::fds::max_open().map_or(MAX_ADMIN_CONNECTIONS, |limit| (limit / 4).min(MAX_ADMIN_CONNECTIONS));
    let config =
        Config { default_host: address.to_string(), max_body: MAX_UPLOAD, max_connections, ..Config::default() };
    let server = Server::new(config, Arc::new(Admin::new(control.clone(), &token)));
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(async move {
        server.serve(vec![listener], stopped).await;
    });
    Ok((stop, ended))
}

/// Forwards what cells report to logs, events, spans and the store.
struct CellEventSink {
    log_store: LogStore,
    events: Events,
    crashes: Crashes,
    spans: Spans,
    cordons: CordonSaver,
}

impl Observer for CellEventSink {
    fn log(&self, line: LogRecord) {
        self.log_store.write(line);
    }

    fn access(&self, line: String) {
        self.log_store.access(&line);
    }

    fn span(&self, span: Span) {
        self.spans.push(span);
    }

    fn event(&self, event: CellEvent) {
        self.events.record(EventKind::Cell(event));
    }

    fn change(&self, change: CellChange) {
        self.events.record(match change {
            CellChange::Replaced { cell, reason } => EventKind::CellReplaced { cell, reason },
            CellChange::Cordoned { owner, why } => EventKind::Cordoned { owner: owner.to_string(), why },
            CellChange::Released { owner } => EventKind::Released { owner: owner.to_string() },
        });
    }

    fn cordons(&self, all: Vec<Cordon>) {
        self.cordons.save(all);
    }

    fn lost(&self, crash: Crash) {
        let Crash { cell, cause, status, last_words, culprit, .. } = crash.clone();
        self.crashes.record(crash);
        self.events.record(EventKind::CellLost { cell, cause, status, last_words, culprit });
    }
}
