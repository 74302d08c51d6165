//! What a running server can be asked to do, done.
//!
//! | file | |
//! |---|---|
//! | `control/refresh.rs` | looking at all there is, and serving it: every change goes through it |
//! | `control/deploy.rs` | uploads, activation, roll-back, deletion |
//! | `control/keys.rs` | secrets and tokens |
//! | `control/known.rs` | what it knows at the beginning |
//! | `control/reload.rs` | the configuration, read again |
//! | `control/cordons.rs` | owners with a cell of their own |
//! | `control/crashes.rs` | cells that were lost |
//! | `control/remembered.rs` | what the next program should know |
//! | `control/upgrade.rs` | another program in the place of this one |

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use hearth_config::nearest;
use hearth_core::{AppName, Body, ByteSize, Owner, VersionName};
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
use crate::journal::Journal;
use crate::metrics::{Family, Overview, Own, Pace, families, prometheus};
use crate::otel::Spans;
use crate::reach::Reach;
use crate::sandboxes::{self, SandboxHost, SandboxHostError, SandboxPlan};
use hearth_supervisor::{Cells, QueryError};

mod addresses;
mod cordons;
mod crashes;
mod deploy;
mod drain;
mod keys;
mod known;
mod refresh;
mod reload;
mod remembered;
mod upgrade;

pub use cordons::CordonError;
pub(crate) use cordons::CordonRecord;
pub(crate) use crashes::Crashes;
use drain::Draining;
use known::Knowledge;
pub use known::{Known, Starting};
pub use remembered::Remembered;
pub use upgrade::{CHECKED, Successor, UpgradeError};

/// Clones are the same control.
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
    /// What of the disk cells are started with.
    reach: Mutex<Reach>,
    pub(crate) journal: Journal,
    pub(crate) events: Events,
    pub(crate) installer: Installer,
    pub(crate) crashes: Crashes,
    pub(crate) cordons: CordonRecord,
    spans: Spans,
    pub(crate) pace: Pace,
    pub(crate) started: Instant,
    knowledge: Knowledge,
    pub(crate) catalogue: watch::Sender<Arc<Catalogue>>,
    /// What cells were told to serve last. Locked while it changes: one look at all there is after the other.
    told: tokio::sync::Mutex<Option<Vec<VersionSpec>>>,
    ending: watch::Sender<Option<Ending>>,
    draining: Draining,
    successor: Option<Successor>,
    /// Somebody should look again.
    pub(crate) stale: Notify,
    /// Another look is about to be taken.
    pub(crate) looks_again: AtomicBool,
    /// Empty where the operator wants none.
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
    #[error("{0} is a page without a worker: there is nobody who could do a task")]
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
    Starting(#[from] Starting),
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
    /// What is in flight is finished, and that is all.
    Drain,
    /// Another program takes its place.
    Upgrade,
}

/// What came of an action.
pub enum Answer {
    Json(Value),
    /// Something new is there now.
    Created(Value),
    /// It goes on by itself.
    Accepted(Value),
    /// What is in a file of a sandbox.
    File(Bytes),
    Prometheus(String),
    /// Lines of the log, and whether more follow.
    Logs {
        app: Option<String>,
        lines: usize,
        follow: Follow,
    },
    Events {
        follow: Follow,
    },
}

/// What is there to begin with.
pub struct Beginning {
    pub cells: Cells,
    pub store: Arc<SqliteStore>,
    pub configuration: Configuration,
    pub source: Arc<dyn ConfigurationSource>,
    pub roots: Vec<PathBuf>,
    pub(crate) reach: Reach,
    pub journal: Journal,
    pub events: Events,
    pub(crate) crashes: Crashes,
    pub(crate) cordons: CordonRecord,
    pub(crate) spans: Spans,
    /// `None` where there can be none.
    pub successor: Option<Successor>,
}

impl Control {
    pub(crate) fn new(beginning: Beginning) -> Self {
        let Beginning { cells, store, configuration, source, roots, reach, journal, events, .. } = beginning;
        let Beginning { crashes, cordons, spans, successor, .. } = beginning;
        let shared = Shared {
            cells,
            store,
            configuration: watch::Sender::new(Arc::new(configuration)),
            source,
            reloading: tokio::sync::Mutex::default(),
            roots,
            reach: Mutex::new(reach),
            journal,
            events,
            installer: Installer::default(),
            crashes,
            cordons,
            spans,
            pace: Pace::default(),
            started: Instant::now(),
            knowledge: Knowledge::default(),
            catalogue: watch::Sender::new(Arc::default()),
            told: tokio::sync::Mutex::default(),
            ending: watch::Sender::new(None),
            draining: Draining::default(),
            successor,
            stale: Notify::new(),
            looks_again: AtomicBool::new(false),
            sandboxes: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub async fn carry_out(&self, action: Action) -> Result<Answer, ActionError> {
        self.perform(action).await.map_err(|error| self.with_suggestion(error))
    }

    /// A name that no app has is often a slip.
    fn with_suggestion(&self, error: ActionError) -> ActionError {
        let ActionError::NoApp(name) = error else { return error };
        let catalogue = self.catalogue();
        let known: Vec<&str> = catalogue.versions.iter().map(|version| version.spec.app.as_str()).collect();
        match nearest(&name, &known) {
            Some(nearest) if nearest != name => ActionError::NoAppBut { nearest: nearest.to_owned(), name },
            _ => ActionError::NoApp(name),
        }
    }

    /// Of an app that is gone there may be lines still; one that never was is a slip.
    fn check_has_lines(&self, app: &str) -> Result<(), ActionError> {
        let catalogue = self.catalogue();
        let is_served = catalogue.of_app(app).next().is_some();
        let is_problem = || catalogue.problems.iter().any(|problem| problem.app.as_deref() == Some(app));
        let has_lines = || !self.journal().last(1, |line| line.app.as_deref() == Some(app)).is_empty();
        if is_served || is_problem() || has_lines() { Ok(()) } else { Err(ActionError::NoApp(app.to_owned())) }
    }

    async fn perform(&self, action: Action) -> Result<Answer, ActionError> {
        let shared = &self.shared;
        let catalogue = shared.catalogue.borrow().clone();
        Ok(match action {
            Action::Pool => match shared.cells.query(Query::Pool).await? {
                QueryReply::Pool(report) => Answer::Json(report),
                _ => return Err(QueryError::Lost.into()),
            },
            Action::Workers => match shared.cells.query(Query::Workers).await? {
                QueryReply::Workers(workers) => Answer::Json(Value::Array(workers)),
                _ => return Err(QueryError::Lost.into()),
            },
            Action::Metrics => {
                let stats = shared.cells.fresh_stats().await;
                let overview = Overview::new(&stats, shared.pace.per_second(), shared.started.elapsed());
                Answer::Json(to_value(&overview)?)
            }
            Action::Prometheus => Answer::Prometheus(prometheus::write(&self.families().await)),
            Action::Crashes => Answer::Json(json!({ "crashes": shared.crashes.all() })),
            Action::Apps => Answer::Json(to_value(&catalogue.view())?),
            Action::App { name } => match catalogue.view_of(&name) {
                Some(view) => Answer::Json(to_value(&view)?),
                None => return Err(ActionError::NoApp(name)),
            },
            Action::Activate { name, version } => Answer::Json(self.activate(name, version).await?),
            Action::Rollback { name } => Answer::Json(self.roll_back(name).await?),
            Action::Delete { name, version } => Answer::Json(self.delete(name, version).await?),
            Action::Upload { .. } => return Err(ActionError::Invalid("the archive is missing".into())),
            Action::Task { name, payload } => Answer::Json(self.task(name, payload).await?),
            Action::Secrets { name } => Answer::Json(self.secrets(name).await?),
            Action::SetSecret { name, key, value } => Answer::Json(self.set_secret(name, key, value).await?),
            Action::DeleteSecret { name, key } => Answer::Json(self.delete_secret(name, key).await?),
            Action::Tokens { name } => Answer::Json(self.tokens(name).await?),
            Action::AddToken { name, label } => Answer::Created(self.add_token(name, label).await?),
            Action::DeleteToken { name, id } => Answer::Json(self.delete_token(name, id).await?),
            Action::Logs { app, lines, follow } => {
                app.as_deref().map_or(Ok(()), |app| self.check_has_lines(app))?;
                Answer::Logs { app, lines, follow }
            }
            Action::Events { follow } => Answer::Events { follow },
            Action::Reload => Answer::Json(self.reload().await?),
            Action::Replace => {
                shared.cells.replace().await?;
                Answer::Json(json!({ "replaced": true }))
            }
            Action::Cordons => Answer::Json(json!({ "cordons": self.cordons().await? })),
            Action::Cordon { owner } => Answer::Json(self.cordon(owner).await?),
            Action::Release { owner } => Answer::Json(self.release(owner).await?),
            Action::Drain => {
                self.begin_drain();
                Answer::Accepted(json!({ "draining": true }))
            }
            Action::UndoDrain => {
                self.undo_drain()?;
                Answer::Json(json!({ "draining": false }))
            }
            Action::Upgrade => Answer::Accepted(self.upgrade().await?),
            Action::Sandbox(action) => self.sandboxes()?.carry_out(action).await?,
        })
    }

    /// Uploads an archive. It is served when this returns.
    pub async fn upload(
        &self,
        name: String,
        version: String,
        owner: Option<String>,
        archive: Body,
    ) -> Result<Value, ActionError> {
        deploy::upload(self, AppName::new(name), VersionName::new(version), owner.map(Owner::new), archive).await
    }

    /// Keeps sandboxes from now on, until they are ended; those that the program before left, too.
    pub(crate) async fn keep_sandboxes(
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
        // Nobody else sets it.
        let _ = self.shared.sandboxes.set(host);
        Ok(())
    }

    /// Ready when nothing is left of any sandbox.
    pub(crate) async fn end_sandboxes(&self) {
        if let Some(host) = self.shared.sandboxes.get() {
            host.stop().await;
        }
    }

    /// Sandboxes that can go on in the next program. The others are gone.
    pub(crate) async fn leave_sandboxes(&self) -> UpgradePayload {
        let patience = self.configuration().plan.front.drain_timeout;
        match self.shared.sandboxes.get() {
            Some(host) => host.hand_over(patience).await,
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

    /// Who comes later changes nothing.
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

    /// An upgrade is no drain: cells serve on, and nobody need go elsewhere.
    pub fn is_draining(&self) -> bool {
        self.ending() == Some(Ending::Drain) || self.shared.draining.is_on()
    }

    /// Ready when somebody wants the server to end.
    pub async fn drained(&self) {
        // The sender is as alive as this.
        let _ = self.shared.ending.subscribe().wait_for(Option::is_some).await;
    }

    /// It knows as much from now on.
    pub(crate) fn note_known(&self, known: Known) {
        self.shared.knowledge.note(known);
    }

    /// Ready when it knows as much.
    pub(crate) async fn knows(&self, wanted: Known) -> Result<(), Starting> {
        self.shared.knowledge.wait_for(wanted).await
    }

    pub fn is_ready(&self) -> bool {
        !self.is_draining() && self.shared.cells.is_serving()
    }

    pub fn journal(&self) -> &Journal {
        &self.shared.journal
    }

    pub fn events(&self) -> &Events {
        &self.shared.events
    }

    /// What the operator wants, as of now.
    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        self.shared.configuration.borrow().clone()
    }

    pub(crate) fn watch_configuration(&self) -> watch::Receiver<Arc<Configuration>> {
        self.shared.configuration.subscribe()
    }

    /// Requests that were traced.
    pub(crate) fn spans(&self) -> &Spans {
        &self.shared.spans
    }

    /// All that is counted, as of now.
    pub(crate) async fn families(&self) -> Vec<Family> {
        let stats = self.shared.cells.fresh_stats().await;
        let catalogue = self.catalogue();
        let own = Own {
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
        let ask = Query::Task {
            app: active.spec.app.clone(),
            version: active.spec.version.clone(),
            id: format!("task-{time}"),
            payload,
            attempt: 1,
            time,
        };
        let QueryReply::Event(outcome) = self.shared.cells.query(ask).await? else {
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

/// Runs what blocks where that may be done.
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
