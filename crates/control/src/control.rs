//! Executes the actions of a running server.
//!
//! | file | |
//! |---|---|
//! | `control/refresh.rs` | assembles the catalogue and serves it: every change goes through it |
//! | `control/deploy.rs` | uploads, activation, roll-back, deletion |
//! | `control/secrets_tokens.rs` | secrets and tokens of apps |
//! | `control/readiness.rs` | what is loaded so far after the start |
//! | `control/reload.rs` | reload of the configuration and of certificates |
//! | `control/drain.rs` | drains that the admin API has begun |
//! | `control/cordons.rs` | owners with a cell of their own |
//! | `control/crashes.rs` | the last lost cells |
//! | `control/upgrade.rs`, `control/upgrade/state.rs` | replacing the program, and what it hands on |

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use hearth_config::nearest;
use hearth_core::ByteSize;
use hearth_ipc::{EventOutcome, Kind, Query, QueryReply, VersionSpec};
use hearth_mcp::ToolError;
use hearth_sandbox::UpgradePayload;
use hearth_store::{SqliteStore, StoreError, UploadError};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

use crate::action::{Action, Follow};
use crate::catalogue::{Catalogue, ReadError};
use crate::configuration::{Configuration, ConfigurationError, ConfigurationSource};
use crate::event::Events;
use crate::install::Installer;
use crate::log_store::LogStore;
use crate::metrics::{ControlMetrics, Family, Overview, RequestRate, families, prometheus};
use crate::otel::Spans;
use crate::readable_paths::ReadablePaths;
use crate::sandboxes::{self, SandboxHost, SandboxHostError, SandboxPlan};
use hearth_supervisor::{Cells, QueryError};

mod addresses;
mod cordons;
mod crashes;
mod deploy;
mod drain;
mod readiness;
mod refresh;
mod reload;
mod secrets_tokens;
mod upgrade;

pub use cordons::CordonError;
pub(crate) use cordons::CordonSaver;
pub(crate) use crashes::Crashes;
use drain::Draining;
use readiness::Readiness;
pub use readiness::{NotReady, ReadyStage};
pub use upgrade::{CHECK_OUTPUT, ControlState, UpgradeError, UpgradeTarget};

/// Clones share the state.
#[derive(Clone)]
pub struct Control {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) cells: Cells,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) configuration: watch::Sender<Arc<Configuration>>,
    pub(crate) source: Arc<dyn ConfigurationSource>,
    /// Locked while the configuration changes.
    reloading: tokio::sync::Mutex<()>,
    pub(crate) roots: Vec<PathBuf>,
    /// Paths that cells may read.
    readable_paths: Mutex<ReadablePaths>,
    pub(crate) log_store: LogStore,
    pub(crate) events: Events,
    pub(crate) installer: Installer,
    pub(crate) crashes: Crashes,
    pub(crate) cordons: CordonSaver,
    spans: Spans,
    pub(crate) request_rate: RequestRate,
    pub(crate) started: Instant,
    readiness: Readiness,
    pub(crate) catalogue: watch::Sender<Arc<Catalogue>>,
    /// The catalogue that was last sent to the cells. The lock makes refreshes run one after the other.
    last_sent: tokio::sync::Mutex<Option<Vec<VersionSpec>>>,
    ending: watch::Sender<Option<Ending>>,
    draining: Draining,
    upgrade_target: Option<UpgradeTarget>,
    /// Requests a refresh.
    pub(crate) refresh_requested: Notify,
    /// A retry of a partial refresh is scheduled.
    pub(crate) retry_scheduled: AtomicBool,
    /// Empty if the operator has configured none.
    sandboxes: OnceLock<SandboxHost>,
}

#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    #[error("there is no app {0}")]
    NoApp(String),
    #[error("there is no app {name}: did you mean {nearest}?")]
    NoAppBut { name: String, nearest: String },
    #[error("{app} has no version {version}")]
    NoVersion { app: String, version: String },
    #[error("{0} has nothing to go back to: nothing was activated or uploaded before")]
    NothingBefore(String),
    #[error("{app}@{version} lies in a folder that the server serves: remove it there")]
    NotUploaded { app: String, version: String },
    #[error("{0} is a page without a worker, and only a worker can run a task")]
    NoWorker(String),
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Upload(#[from] UploadError),
    #[error("{0}")]
    Manifest(String),
    #[error("the body is longer than {limit}")]
    TooLarge { limit: ByteSize },
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    Cordon(#[from] CordonError),
    #[error("it cannot be served: {0}")]
    Unserved(String),
    #[error(transparent)]
    Cell(#[from] QueryError),
    #[error(transparent)]
    OtherOwner(StoreError),
    #[error(transparent)]
    Store(StoreError),
    #[error("{0}")]
    Io(String),
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error(transparent)]
    Upgrade(#[from] UpgradeError),
    #[error(transparent)]
    NotReady(#[from] NotReady),
    #[error(transparent)]
    Sandbox(#[from] ToolError),
    #[error("the server ends already: its drain has come to its end")]
    Ending,
    #[error(
        "this server keeps no sandboxes: start it with --mcp ADDRESS:PORT, or with `mcp:` or `sandboxes:` in hearth.yaml"
    )]
    NoSandboxes,
}

/// Why a server ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The server ends after requests in flight have finished.
    Drain,
    /// Another program replaces it.
    Upgrade,
}

/// The result of an action.
pub enum ActionResult {
    Json(Value),
    /// Something was created.
    Created(Value),
    /// The action goes on in the background.
    Accepted(Value),
    /// The content of a file of a sandbox.
    File(Bytes),
    Prometheus(String),
    /// Lines of the log, to be read by the caller.
    Logs {
        app: Option<String>,
        lines: usize,
        follow: Follow,
    },
    Events {
        follow: Follow,
    },
}

/// The parts that [`Control`] is made of.
pub struct ControlParts {
    pub cells: Cells,
    pub store: Arc<SqliteStore>,
    pub configuration: Configuration,
    pub source: Arc<dyn ConfigurationSource>,
    pub roots: Vec<PathBuf>,
    pub(crate) readable_paths: ReadablePaths,
    pub log_store: LogStore,
    pub events: Events,
    pub(crate) crashes: Crashes,
    pub(crate) cordons: CordonSaver,
    pub(crate) spans: Spans,
    /// `None` if the server cannot be upgraded.
    pub upgrade_target: Option<UpgradeTarget>,
}

impl Control {
    pub(crate) fn new(parts: ControlParts) -> Self {
        let ControlParts { cells, store, configuration, source, roots, readable_paths, log_store, events, .. } = parts;
        let ControlParts { crashes, cordons, spans, upgrade_target, .. } = parts;
        let shared = Shared {
            cells,
            store,
            configuration: watch::Sender::new(Arc::new(configuration)),
            source,
            reloading: tokio::sync::Mutex::default(),
            roots,
            readable_paths: Mutex::new(readable_paths),
            log_store,
            events,
            installer: Installer::default(),
            crashes,
            cordons,
            spans,
            request_rate: RequestRate::default(),
            started: Instant::now(),
            readiness: Readiness::default(),
            catalogue: watch::Sender::new(Arc::default()),
            last_sent: tokio::sync::Mutex::default(),
            ending: watch::Sender::new(None),
            draining: Draining::default(),
            upgrade_target,
            refresh_requested: Notify::new(),
            retry_scheduled: AtomicBool::new(false),
            sandboxes: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub async fn execute(&self, action: Action) -> Result<ActionResult, ActionError> {
        self.dispatch(action).await.map_err(|error| self.with_suggestion(error))
    }

    /// Adds the nearest app name to an error about an unknown one.
    fn with_suggestion(&self, error: ActionError) -> ActionError {
        let ActionError::NoApp(name) = error else { return error };
        let catalogue = self.catalogue();
        let known: Vec<&str> = catalogue.versions.iter().map(|version| version.spec.app.as_str()).collect();
        match nearest(&name, &known) {
            Some(nearest) if nearest != name => ActionError::NoAppBut { nearest: nearest.to_owned(), name },
            _ => ActionError::NoApp(name),
        }
    }

    /// Fails for an app that is neither known nor has log lines. Lines of a deleted app may still be there.
    fn check_has_lines(&self, app: &str) -> Result<(), ActionError> {
        let catalogue = self.catalogue();
        let is_served = catalogue.of_app(app).next().is_some();
        let is_problem = || catalogue.problems.iter().any(|problem| problem.app.as_deref() == Some(app));
        let has_lines = || !self.log_store().last(1, |line| line.app.as_deref() == Some(app)).is_empty();
        if is_served || is_problem() || has_lines() { Ok(()) } else { Err(ActionError::NoApp(app.to_owned())) }
    }

    async fn dispatch(&self, action: Action) -> Result<ActionResult, ActionError> {
        let shared = &self.shared;
        let catalogue = shared.catalogue.borrow().clone();
        Ok(match action {
            Action::Pool => match shared.cells.query(Query::Pool).await? {
                QueryReply::Pool(report) => ActionResult::Json(report),
                _ => return Err(QueryError::Lost.into()),
            },
            Action::Workers => match shared.cells.query(Query::Workers).await? {
                QueryReply::Workers(workers) => ActionResult::Json(Value::Array(workers)),
                _ => return Err(QueryError::Lost.into()),
            },
            Action::Metrics => {
                let stats = shared.cells.fresh_stats().await;
                let overview = Overview::new(&stats, shared.request_rate.per_second(), shared.started.elapsed());
                ActionResult::Json(to_value(&overview)?)
            }
            Action::Prometheus => ActionResult::Prometheus(prometheus::write(&self.families().await)),
            Action::Crashes => ActionResult::Json(json!({ "crashes": shared.crashes.all() })),
            Action::Apps => ActionResult::Json(to_value(&catalogue.view())?),
            Action::App { name } => match catalogue.view_of(&name) {
                Some(view) => ActionResult::Json(to_value(&view)?),
                None => return Err(ActionError::NoApp(name)),
            },
            Action::Activate { name, version } => ActionResult::Json(self.activate(name, version).await?),
            Action::Rollback { name } => ActionResult::Json(self.roll_back(name).await?),
            Action::Delete { name, version } => ActionResult::Json(self.delete(name, version).await?),
            Action::Upload { .. } => return Err(ActionError::Invalid("the archive is missing".into())),
            Action::Task { name, payload } => ActionResult::Json(self.task(name, payload).await?),
            Action::Secrets { name } => ActionResult::Json(self.secrets(name).await?),
            Action::SetSecret { name, key, value } => ActionResult::Json(self.set_secret(name, key, value).await?),
            Action::DeleteSecret { name, key } => ActionResult::Json(self.delete_secret(name, key).await?),
            Action::Tokens { name } => ActionResult::Json(self.tokens(name).await?),
            Action::AddToken { name, label } => ActionResult::Created(self.add_token(name, label).await?),
            Action::DeleteToken { name, id } => ActionResult::Json(self.delete_token(name, id).await?),
            Action::Logs { app, lines, follow } => {
                app.as_deref().map_or(Ok(()), |app| self.check_has_lines(app))?;
                ActionResult::Logs { app, lines, follow }
            }
            Action::Events { follow } => ActionResult::Events { follow },
            Action::Reload => ActionResult::Json(self.reload().await?),
            Action::Replace => {
                shared.cells.replace().await?;
                ActionResult::Json(json!({ "replaced": true }))
            }
            Action::Cordons => ActionResult::Json(json!({ "cordons": self.cordons().await? })),
            Action::Cordon { owner } => ActionResult::Json(self.cordon(owner).await?),
            Action::Release { owner } => ActionResult::Json(self.release(owner).await?),
            Action::Drain => {
                self.begin_drain();
                ActionResult::Accepted(json!({ "draining": true }))
            }
            Action::UndoDrain => {
                self.undo_drain()?;
                ActionResult::Json(json!({ "draining": false }))
            }
            Action::Upgrade => ActionResult::Accepted(self.upgrade().await?),
            Action::Sandbox(action) => self.sandboxes()?.handle(action).await?,
        })
    }

    /// Starts the sandboxes, with those that the previous program handed over.
    pub(crate) async fn start_sandboxes(
        &self,
        mut plan: SandboxPlan,
        left: UpgradePayload,
    ) -> Result<(), SandboxHostError> {
        if let Some(mcp) = &mut plan.mcp {
            mcp.front.drain_timeout = self.configuration().plan.front.drain_timeout;
        }
        let host = SandboxHost::start(plan, self.shared.cells.clone(), left).await?;
        if let Some(address) = host.address().await {
            tracing::info!("MCP on http://{address}/mcp");
        }
        // It is set only here, once.
        let _ = self.shared.sandboxes.set(host);
        Ok(())
    }

    /// Destroys all sandboxes. Completes when nothing of them is left.
    pub(crate) async fn stop_sandboxes(&self) {
        if let Some(host) = self.shared.sandboxes.get() {
            host.stop().await;
        }
    }

    /// Exports the sandboxes for the next program. Those that cannot be exported are destroyed.
    pub(crate) async fn export_sandboxes(&self) -> UpgradePayload {
        let timeout = self.configuration().plan.front.drain_timeout;
        match self.shared.sandboxes.get() {
            Some(host) => host.hand_over(timeout).await,
            None => UpgradePayload::default(),
        }
    }

    pub(crate) fn sandboxes(&self) -> Result<&SandboxHost, ActionError> {
        self.shared.sandboxes.get().ok_or(ActionError::NoSandboxes)
    }

    /// Ends the server, as SIGTERM does.
    pub fn drain(&self) {
        self.end(Ending::Drain);
    }

    /// Ends the server. Only the first call has an effect.
    fn end(&self, ending: Ending) {
        self.shared.ending.send_if_modified(|before| {
            let is_first = before.is_none();
            before.get_or_insert(ending);
            is_first
        });
    }

    pub(crate) fn ending(&self) -> Option<Ending> {
        *self.shared.ending.borrow()
    }

    /// An upgrade is no drain: cells serve on, and clients need not go elsewhere.
    pub fn is_draining(&self) -> bool {
        self.ending() == Some(Ending::Drain) || self.shared.draining.is_on()
    }

    /// Completes when the server is to end.
    pub async fn drained(&self) {
        // `self` holds the sender.
        let _ = self.shared.ending.subscribe().wait_for(Option::is_some).await;
    }

    /// Marks a stage of the start as reached.
    pub(crate) fn set_stage(&self, stage: ReadyStage) {
        self.shared.readiness.set(stage);
    }

    /// Completes when the stage is reached; fails if that takes too long.
    pub(crate) async fn wait_for_stage(&self, stage: ReadyStage) -> Result<(), NotReady> {
        self.shared.readiness.wait_for(stage).await
    }

    pub fn is_ready(&self) -> bool {
        !self.is_draining() && self.shared.cells.is_serving()
    }

    pub fn log_store(&self) -> &LogStore {
        &self.shared.log_store
    }

    pub fn events(&self) -> &Events {
        &self.shared.events
    }

    /// The configuration in effect.
    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        self.shared.configuration.borrow().clone()
    }

    pub(crate) fn watch_configuration(&self) -> watch::Receiver<Arc<Configuration>> {
        self.shared.configuration.subscribe()
    }

    /// Traced requests that wait to be exported.
    pub(crate) fn spans(&self) -> &Spans {
        &self.shared.spans
    }

    /// All metrics, with new stats of the cells.
    pub(crate) async fn families(&self) -> Vec<Family> {
        let stats = self.shared.cells.fresh_stats().await;
        let catalogue = self.catalogue();
        let own = ControlMetrics {
            uptime: self.shared.started.elapsed(),
            apps: catalogue.app_count(),
            versions: catalogue.versions.len(),
            problems: catalogue.problem_count(),
            cells: self.shared.cells.counts(),
            cells_lost: self.shared.crashes.count(),
            spans_dropped: self.shared.spans.dropped(),
        };
        let mut all = families(&stats, &own);
        if let Some(host) = self.shared.sandboxes.get() {
            all.extend(sandboxes::families(host.sandboxes()));
        }
        all
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        self.shared.catalogue.borrow().clone()
    }

    async fn task(&self, name: String, payload: String) -> Result<Value, ActionError> {
        let payload = Some(payload).filter(|payload| !payload.trim().is_empty());
        if let Some(text) = &payload {
            let bad = |error| ActionError::Invalid(format!("the payload is not JSON: {error}"));
            serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(bad)?;
        }
        let catalogue = self.catalogue();
        let active = catalogue.active(&name).ok_or_else(|| ActionError::NoApp(name.clone()))?;
        if let Kind::Site { .. } = active.spec.kind {
            return Err(ActionError::NoWorker(name));
        }
        let time = hearth_core::time::unix_millis();
        let query = Query::Task {
            app: active.spec.app.clone(),
            version: active.spec.version.clone(),
            id: format!("task-{time}"),
            payload,
            attempt: 1,
            time,
        };
        let QueryReply::Event(outcome) = self.shared.cells.query(query).await? else {
            return Err(QueryError::Lost.into());
        };
        Ok(match outcome {
            EventOutcome::Succeeded { data } => {
                let data = data.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
                json!({ "success": true, "data": data })
            }
            EventOutcome::Failed { message } => json!({ "success": false, "error": message }),
            EventOutcome::Refused { code, message } => json!({ "success": false, "code": code, "error": message }),
            EventOutcome::NoSuchApp => return Err(ActionError::NoApp(name)),
        })
    }
}

/// Runs blocking work on tokio's blocking threads.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ActionError> {
    let failed = |error: tokio::task::JoinError| ActionError::Io(format!("the work did not come to its end: {error}"));
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

fn to_value(value: &impl serde::Serialize) -> Result<Value, ActionError> {
    serde_json::to_value(value).map_err(|error| ActionError::Io(error.to_string()))
}

impl From<StoreError> for ActionError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoVersion { app, version } => {
                Self::NoVersion { app: app.to_string(), version: version.to_string() }
            }
            StoreError::NoSecret { .. } | StoreError::NoToken { .. } => Self::NotFound(error.to_string()),
            StoreError::Secret(_) | StoreError::AppName { .. } | StoreError::VersionName { .. } => {
                Self::Invalid(error.to_string())
            }
            StoreError::OtherOwner { .. } => Self::OtherOwner(error),
            other => Self::Store(other),
        }
    }
}

impl From<ReadError> for ActionError {
    fn from(error: ReadError) -> Self {
        Self::Manifest(error.to_string())
    }
}
