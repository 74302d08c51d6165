//! `hearth serve`, wired together: listeners, store, cells, catalogue, watch, crons, admin, and the way out.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth_apps::watch::{Watch, WatchRules};
use hearth_config::OperatorConfig;
use hearth_gateway::{Certificates, Config, Listener, PemFile, PemPair, Server, TlsError};
use hearth_journal::LogLine;
use hearth_link::{CellEvent, CellPlan, CertificatePlan};
use hearth_store::{Embedded, StoreError};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::admin::{Admin, LARGEST_UPLOAD};
use crate::cells::{Cells, CellsConfig, Crash, Observer};
use crate::control::{ActionError, Beginning, Control, Crashes};
use crate::crons;
use crate::event::{Events, What};
use crate::journal::Journal;

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
    pub operator: OperatorConfig,
    pub plan: CellPlan,
    /// In the order of the plan's.
    pub listeners: Vec<TcpListener>,
    pub admin: Option<AdminConfig>,
    pub journal: Journal,
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
    #[error("the admin listener cannot be used: {0}")]
    Admin(#[source] io::Error),
}

/// Serves until `stop` is ready or somebody asks for a drain. `ready` is told when everything is served.
pub async fn serve(
    config: ServeConfig,
    stop: impl Future<Output = ()> + Send,
    look_again: impl AsyncFnMut() + Send,
    ready: impl FnOnce(&Control) + Send,
) -> Result<(), ServeError> {
    let ServeConfig { program, roots, data, operator, plan, listeners, admin, journal } = config;
    // Where somebody reads it: a cell could only fail, again and again.
    if !plan.certificates.is_empty() {
        Certificates::new(&plan.certificates.iter().map(pair).collect::<Vec<_>>())?;
    }
    let store = Arc::new(tokio::task::block_in_place(|| Embedded::open(&data))?);
    for note in store.notes() {
        tracing::warn!("{note}");
    }
    let (events, crashes) = (Events::default(), Crashes::default());
    let observer = Arc::new(Ears { journal: journal.clone(), events: events.clone(), crashes: crashes.clone() });
    let cells = Cells::start(CellsConfig { program, plan, listeners }, observer);
    let beginning = Beginning {
        cells: cells.clone(),
        store,
        operator: Arc::new(operator),
        roots: roots.clone(),
        journal,
        events,
        crashes,
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
            cells.drain().await;
            return Ok(());
        }
    }
    control.warn_of_strangers();
    let tasks = [
        tokio::spawn(crons::run(control.clone())),
        tokio::spawn(keep_fresh(control.clone(), watch)),
        tokio::spawn(keep_pace(control.clone())),
    ];
    ready(&control);
    wait(&control, stop.as_mut(), look_again).await;
    control.drain();
    control.events().tell(What::Draining);
    cells.drain().await;
    for task in tasks {
        task.abort();
    }
    if let Some((stop, ended)) = admin {
        drop(stop);
        // A client that does not take its answer has had its time.
        let _ = tokio::time::timeout(LAST_ANSWERS, ended).await;
    }
    Ok(())
}

/// Until somebody wants the server to end; meanwhile looks again at all there is whenever `look_again` says so.
async fn wait(control: &Control, mut stop: impl Future<Output = ()> + Unpin, mut look_again: impl AsyncFnMut()) {
    loop {
        tokio::select! {
            () = &mut stop => return,
            () = control.drained() => return,
            () = look_again() => {
                control.shared.installer.try_again();
                control.shared.stale.notify_one();
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

/// Serves the admin API, until what this returns first is dropped.
fn administer(config: AdminConfig, control: &Control) -> io::Result<(oneshot::Sender<()>, JoinHandle<()>)> {
    let AdminConfig { listener, token } = config;
    let address: SocketAddr = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let config = Config { default_host: address.to_string(), max_body: LARGEST_UPLOAD, ..Config::default() };
    let server = Server::new(config, Arc::new(Admin::new(control.clone(), &token)));
    let (stop, stopped) = oneshot::channel();
    let ended = tokio::spawn(async move {
        server.serve(vec![Listener::Plain(listener)], stopped).await;
    });
    Ok((stop, ended))
}

fn pair(plan: &CertificatePlan) -> PemPair {
    let file = |path: &str, text: &str| PemFile { path: PathBuf::from(path), text: text.as_bytes().to_vec() };
    PemPair { certificate: file(&plan.file, &plan.certificate), key: file(&plan.key_file, &plan.key) }
}

/// Hears what cells say unasked.
struct Ears {
    journal: Journal,
    events: Events,
    crashes: Crashes,
}

impl Observer for Ears {
    fn log(&self, line: LogLine) {
        self.journal.write(line);
    }

    fn access(&self, line: String) {
        self.journal.access(&line);
    }

    fn event(&self, event: CellEvent) {
        self.events.tell(What::Cell(event));
    }

    fn lost(&self, crash: Crash) {
        let Crash { cell, status, last_words, .. } = crash.clone();
        self.crashes.note(crash);
        self.events.tell(What::CellLost { cell, status, last_words });
    }
}
