//! `hearth serve`, wired together: listeners, store, cells, catalogue, watch, crons, admin, and the way out.

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

use crate::admin::{Admin, LARGEST_UPLOAD};
use crate::configuration::{Configuration, ConfigurationSource, check_certificates};
use crate::control::{ActionError, Beginning, Control, CordonRecord, Crashes, Ending, Known, Remembered, Successor};
use crate::crons;
use crate::event::{Events, What};
use crate::journal::Journal;
use crate::otel::{self, Spans};
use crate::reach::Reach;
use crate::sandboxes::{SandboxHostError, SandboxPlan};
use hearth_supervisor::{CellChange, CellRules, Cells, CellsConfig, Crash, HandedOver, InheritedCell, Observer};

/// Before the next look after one that failed.
const ANOTHER_LOOK: Duration = Duration::from_secs(1);
/// How often requests are counted for their rate.
const PACE: Duration = Duration::from_secs(1);
/// For who asked for the end, to hear that it has come.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

pub struct ServeConfig {
    pub program: PathBuf,
    pub roots: Vec<PathBuf>,
    pub data: PathBuf,
    pub configuration: Configuration,
    /// Reads it again.
    pub source: Arc<dyn ConfigurationSource>,
    /// In the order of the plan's.
    pub listeners: Vec<TcpListener>,
    pub admin: Option<AdminConfig>,
    pub sandboxes: Option<SandboxPlan>,
    pub journal: Journal,
    /// Who takes our place in an upgrade.
    pub successor: Option<Successor>,
    /// What the program before left.
    pub inherited: Inherited,
}

/// What one program leaves to the next, listeners apart.
#[derive(Default)]
pub struct Inherited {
    /// Cells that serve until those of the next program do: process and socket.
    pub cells: Vec<(u32, OwnedFd)>,
    pub counted: CellStats,
    pub remembered: Remembered,
    /// Sandboxes, and the sessions that they belong to.
    pub sandboxes: UpgradePayload,
}

/// How serving came to its end.
pub enum Ended {
    Stopped,
    /// Another program is to take our place, now: cells serve on as long as what they are left with is open.
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
    #[error("the first look at the apps failed: {0}")]
    First(#[source] ActionError),
    #[error("a listener cannot be used: {0}")]
    Listeners(#[source] io::Error),
    #[error("the admin listener cannot be used: {0}")]
    Admin(#[source] io::Error),
    #[error(transparent)]
    Sandboxes(#[from] SandboxHostError),
}

/// Serves until `stop` is ready or somebody asks for an end. `ready` is told when everything is served.
pub async fn serve(
    config: ServeConfig,
    stop: impl Future<Output = ()> + Send,
    reload: impl AsyncFnMut() + Send,
    upgrade: impl AsyncFnMut() + Send,
    ready: impl FnOnce(&Control) + Send,
) -> Result<Ended, ServeError> {
    let ServeConfig { program, roots, data, mut configuration, source, listeners, admin, journal, .. } = config;
    let (sandboxes, successor, inherited) = (config.sandboxes, config.successor, config.inherited);
    check_certificates(&configuration.plan.certificates)?;
    // For the program that takes our place, if one does.
    let handles = Handles::new(&listeners, admin.as_ref(), sandboxes.as_ref()).map_err(ServeError::Listeners)?;
    let store = Arc::new(tokio::task::block_in_place(|| SqliteStore::open(&data))?);
    for warning in store.warnings() {
        match warning.is_degradation() {
            true => tracing::error!("{warning}"),
            false => tracing::warn!("{warning}"),
        }
    }
    let reach = Reach::new(&roots, store.data(), &store.data().join("apps"));
    configuration.plan.jail.readable = reach.folders();
    let plan = configuration.plan.clone();
    let (events, spans) = (Events::default(), Spans::default());
    let crashes = Crashes::after(&inherited.remembered);
    let cordoned = tokio::task::block_in_place(|| store.cordons())?;
    for cordon in &cordoned {
        tracing::warn!(owner = cordon.owner.as_str(), why = cordon.why, "The owner has a cell of its own, as before");
    }
    let cordons = CordonRecord::of(store.clone());
    let observer = Arc::new(Ears {
        journal: journal.clone(),
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
        counters: inherited.counted,
        cordons: cordoned,
        stuck: inherited.remembered.stuck,
    };
    let cells = Cells::start(cells, observer);
    let beginning = Beginning {
        cells: cells.clone(),
        store,
        configuration,
        source,
        roots: roots.clone(),
        reach,
        journal,
        events,
        crashes: crashes.clone(),
        cordons: cordons.clone(),
        spans,
        successor,
    };
    let control = Control::new(beginning);
    // The watch begins before the first look, so that nothing is missed between the two.
    let watch = Watch::start(roots, WatchRules::default()).await;
    // Who asks for its health is told that it is not ready yet.
    let admin = admin.map(|admin| administer(admin, &control)).transpose().map_err(ServeError::Admin)?;
    let mut stop = std::pin::pin!(stop);
    tokio::select! {
        first = control.refresh() => first.map_err(ServeError::First)?,
        () = &mut stop => {
            control.drain();
            drop(handles);
            cells.drain().await;
            return Ok(Ended::Stopped);
        }
    }
    control.note_known(Known::Apps);
    control.warn_of_strangers();
    match sandboxes {
        Some(plan) => {
            if let Err(error) = control.keep_sandboxes(plan, inherited.sandboxes).await {
                cells.drain().await;
                return Err(error.into());
            }
        }
        None if !inherited.sandboxes.descriptors.is_empty() => {
            inherited.sandboxes.discard("this server keeps no sandboxes");
        }
        None => {}
    }
    control.note_known(Known::Everything);
    let tasks = [
        tokio::spawn(crons::run(control.clone())),
        tokio::spawn(keep_fresh(control.clone(), watch)),
        tokio::spawn(keep_pace(control.clone())),
        tokio::spawn(otel::export(control.clone())),
        tokio::spawn(control.clone().keep_certificates()),
    ];
    ready(&control);
    let ending = wait(&control, stop.as_mut(), reload, upgrade).await;
    let left = match ending {
        // Cells are supervised meanwhile.
        Ending::Upgrade => tokio::select! {
            left = control.leave_sandboxes() => Some(left),
            // Whoever wants the end gets it: what was left already ends with this process.
            () = &mut stop => None,
        },
        Ending::Drain => None,
    };
    let ended = if let Some(sandboxes) = left {
        let counted = cells.fresh_stats().await;
        let HandedOver { cells, stuck } = cells.hand_over().await;
        let left = Inherited { cells, counted, remembered: crashes.remembered(stuck), sandboxes };
        Ended::Upgrade { listeners: handles.0, left: Box::new(left) }
    } else {
        control.drain();
        control.events().tell(What::Draining);
        // Nobody shall wait where nobody will come.
        drop(handles);
        cells.drain().await;
        if ending == Ending::Drain {
            control.end_sandboxes().await;
        }
        Ended::Stopped
    };
    // What became known last, too.
    cordons.settle().await;
    for task in tasks {
        task.abort();
    }
    if let Some((stop, ended)) = admin {
        drop(stop);
        // A client that does not take its answer has had its time.
        let _ = tokio::time::timeout(LAST_ANSWERS, ended).await;
    }
    Ok(ended)
}

/// Of all that is listened on, another each: as long as these are open, connections wait.
struct Handles(Vec<TcpListener>);

impl Handles {
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

/// Until somebody wants the server to end, and how; meanwhile reads the configuration again whenever `reload` says so,
/// and makes room for another program when `upgrade` does.
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
                        tracing::error!("No upgrade: {error}");
                    }
                });
            }
            () = reload() => {
                // Who wants the server to end need not wait for it.
                let control = control.clone();
                tokio::spawn(async move {
                    if let Err(error) = control.reload().await {
                        tracing::error!("The configuration stays as it was: {error}");
                    }
                });
            }
        }
    }
}

/// Serves what changes.
async fn keep_fresh(control: Control, mut watch: Watch) {
    loop {
        tokio::select! {
            () = watch.changed() => {}
            () = control.shared.stale.notified() => {}
            () = control.drained() => return,
        }
        if let Err(error) = control.refresh().await {
            tracing::error!(%error, "What changed could not be served");
            tokio::time::sleep(ANOTHER_LOOK).await;
            control.shared.stale.notify_one();
        }
    }
}

async fn keep_pace(control: Control) {
    loop {
        control.shared.pace.note(Instant::now(), control.shared.cells.requests());
        tokio::time::sleep(PACE).await;
    }
}

/// Connections to the admin API. A quarter of control's descriptors at most, however few it has: the others are for cells,
/// sandboxes and files.
const MOST_CLIENTS: usize = 256;

/// Serves the admin API, until what this returns first is dropped.
fn administer(config: AdminConfig, control: &Control) -> io::Result<(oneshot::Sender<()>, JoinHandle<()>)> {
    let AdminConfig { listener, token } = config;
    let address: SocketAddr = listener.local_addr()?;
    let listener = Listener::plain(listener)?;
    let max_connections = hearth_sys::fds::max_open().map_or(MOST_CLIENTS, |limit| (limit / 4).min(MOST_CLIENTS));
    let config =
        Config { default_host: address.to_string(), max_body: LARGEST_UPLOAD, max_connections, ..Config::default() };
    let server = Server::new(config, Arc::new(Admin::new(control.clone(), &token)));
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(async move {
        server.serve(vec![listener], stopped).await;
    });
    Ok((stop, ended))
}

/// Hears what cells say unasked.
struct Ears {
    journal: Journal,
    events: Events,
    crashes: Crashes,
    spans: Spans,
    cordons: CordonRecord,
}

impl Observer for Ears {
    fn log(&self, line: LogRecord) {
        self.journal.write(line);
    }

    fn access(&self, line: String) {
        self.journal.access(&line);
    }

    fn span(&self, span: Span) {
        self.spans.push(span);
    }

    fn event(&self, event: CellEvent) {
        self.events.tell(What::Cell(event));
    }

    fn change(&self, change: CellChange) {
        self.events.tell(match change {
            CellChange::Replaced { cell, reason } => What::CellReplaced { cell, reason },
            CellChange::Cordoned { owner, why } => What::Cordoned { owner: owner.to_string(), why },
            CellChange::Released { owner } => What::Released { owner: owner.to_string() },
        });
    }

    fn cordons(&self, all: Vec<Cordon>) {
        self.cordons.keep(all);
    }

    fn lost(&self, crash: Crash) {
        let Crash { cell, cause, status, last_words, culprit, .. } = crash.clone();
        self.crashes.note(crash);
        self.events.tell(What::CellLost { cell, cause, status, last_words, culprit });
    }
}
