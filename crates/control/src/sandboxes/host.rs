//! Lifecycle of the sandboxes and of the MCP listener, and the execution of sandbox actions.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_mcp::{
    DeleteFile, ListDirectory, McpListener, McpServiceConfig, PollJob, Progress, SandboxService, SignalJob, ToolError,
    parse_arguments,
};
use hearth_sandbox::{Caller, SandboxError, Sandboxes, SandboxesConfig, UpgradePayload, WriteFile};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::action::{DeleteScope, SandboxAction};
use super::isolate::CellIsolates;
use super::stats;
use crate::control::{ActionError, ActionResult};
use hearth_supervisor::Cells;

/// Keys in the state for the next program.
const SANDBOXES: &str = "sandboxes";
const SESSIONS: &str = "sessions";

/// Configuration of sandboxes and MCP.
pub struct SandboxPlan {
    pub sandboxes: SandboxesConfig,
    pub mcp: Option<McpPlan>,
}

pub struct McpPlan {
    pub listener: TcpListener,
    pub front: McpServiceConfig,
}

pub(crate) struct SandboxHost {
    sandboxes: Sandboxes,
    service: SandboxService,
    mcp: Mutex<Option<McpListener>>,
}

/// Why sandboxes could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxHostError {
    #[error(transparent)]
    Sandboxes(#[from] SandboxError),
    #[error("the MCP listener cannot be used: {0}")]
    Listener(#[source] std::io::Error),
}

impl SandboxHost {
    /// Code for isolates is run by `cells`. `left` is what [`hand_over`](Self::hand_over) returned in the previous program.
    pub(crate) async fn start(plan: SandboxPlan, cells: Cells, left: UpgradePayload) -> Result<Self, SandboxHostError> {
        let SandboxPlan { mut sandboxes, mcp } = plan;
        sandboxes.isolates = Some(Arc::new(CellIsolates::new(cells)));
        let sandboxes = Sandboxes::new(sandboxes);
        sandboxes.start().await?;
        let (left, sessions) = split(left);
        if let Some(left) = left {
            sandboxes.import(left);
        }
        let start = |McpPlan { listener, front }| McpListener::resume(listener, front, sandboxes.clone(), sessions);
        let mcp = mcp.map(start).transpose().map_err(SandboxHostError::Listener)?;
        Ok(Self { service: SandboxService::for_operator(sandboxes.clone()), sandboxes, mcp: Mutex::new(mcp) })
    }

    pub(crate) fn sandboxes(&self) -> &Sandboxes {
        &self.sandboxes
    }

    /// Address of the MCP listener.
    pub(crate) async fn address(&self) -> Option<SocketAddr> {
        self.mcp.lock().await.as_ref().map(McpListener::address)
    }

    pub(crate) fn health(&self) -> Value {
        stats::health(&self.sandboxes)
    }

    /// Destroys all sandboxes. Completes when nothing of them is left.
    pub(crate) async fn stop(&self) {
        if let Some(mcp) = self.mcp.lock().await.take() {
            mcp.stop().await;
        }
        self.sandboxes.shutdown().await;
    }

    /// Exports what can go on in the next program. Calls in progress may take `timeout`.
    pub(crate) async fn hand_over(&self, timeout: Duration) -> UpgradePayload {
        let deadline = Instant::now() + timeout;
        self.sandboxes.wake_pollers();
        let sessions = match self.mcp.lock().await.take() {
            Some(mcp) => mcp.export().await,
            None => Value::Null,
        };
        let mut left = self.sandboxes.export(deadline.saturating_duration_since(Instant::now())).await;
        left.note = json!({ SANDBOXES: left.note, SESSIONS: sessions });
        left
    }

    pub(crate) async fn handle(&self, action: SandboxAction) -> Result<ActionResult, ActionError> {
        let service = &self.service;
        Ok(match action {
            SandboxAction::Stats => ActionResult::Json(stats::stats(&self.sandboxes)),
            SandboxAction::ReadFile { id, path } => {
                ActionResult::File(self.sandbox(&id)?.read_file(&path).await.map_err(ToolError::from)?)
            }
            SandboxAction::WriteFile { .. } => {
                return Err(ActionError::Invalid("the file's content is missing".into()));
            }
            SandboxAction::Create { arguments } => {
                let request = parse_arguments(object(&arguments)?)?;
                ActionResult::Created(value(&service.create_sandbox(request).await?)?)
            }
            SandboxAction::StartJob { id, arguments } => {
                let request = parse_arguments(within(id, object(&arguments)?))?;
                ActionResult::Created(value(&service.start_job(request).await?)?)
            }
            SandboxAction::List => ActionResult::Json(value(&service.list_sandboxes())?),
            SandboxAction::Show { id } => ActionResult::Json(value(&service.get_sandbox(&id)?)?),
            SandboxAction::Destroy { id } => ActionResult::Json(value(&service.destroy_sandbox(id).await?)?),
            SandboxAction::Exec { id, arguments } => ActionResult::Json(self.execute(id, object(&arguments)?).await?),
            SandboxAction::Files { id, path, cursor } => {
                let request = ListDirectory { sandbox_id: id, path, cursor };
                ActionResult::Json(value(&service.list_directory(request).await?)?)
            }
            SandboxAction::DeleteFile { id, path, scope } => {
                let request = DeleteFile { sandbox_id: id, path, recursive: Some(scope == DeleteScope::Tree) };
                ActionResult::Json(value(&service.delete_file(request).await?)?)
            }
            SandboxAction::Jobs { id } => ActionResult::Json(value(&service.list_jobs(&id)?)?),
            SandboxAction::PollJob { id, job, wait_ms } => {
                // From the parts: requests of the admin API have no session that remembers a position.
                let (sandbox_id, job_id, start) = (id, job, Some(0));
                let request = PollJob { sandbox_id, job_id, wait_ms, stdout_offset: start, stderr_offset: start };
                ActionResult::Json(value(&service.poll_job(request).await?)?)
            }
            SandboxAction::SignalJob { id, job, signal } => {
                let request = SignalJob { sandbox_id: id, job_id: job, signal };
                ActionResult::Json(value(&service.signal_job(request)?)?)
            }
        })
    }

    /// Runs code if the request has `code`, else a command.
    async fn execute(&self, id: String, arguments: Map<String, Value>) -> Result<Value, ActionError> {
        let (is_code, arguments) = (arguments.contains_key("code"), within(id, arguments));
        let mut progress = Progress::default();
        if is_code {
            value(&self.service.execute_code(parse_arguments(arguments)?, &mut progress).await?)
        } else {
            value(&self.service.run_command(parse_arguments(arguments)?, &mut progress).await?)
        }
    }

    pub(crate) async fn write_file(
        &self,
        id: &str,
        path: String,
        mode: Option<String>,
        content: Bytes,
    ) -> Result<Value, ActionError> {
        let bits = |text: String| {
            let bits = u32::from_str_radix(&text, 8).ok();
            bits.ok_or_else(|| {
                ActionError::Invalid(format!("the parameter `mode` is {text:?}: use octal, such as 644"))
            })
        };
        let (mode, size) = (mode.map(bits).transpose()?, content.len());
        let written = json!({ "path": path, "size": size });
        self.sandbox(id)?.write_file(WriteFile { path, content, mode }).await.map_err(ToolError::from)?;
        Ok(written)
    }

    fn sandbox(&self, id: &str) -> Result<std::sync::Arc<hearth_sandbox::Sandbox>, ToolError> {
        Ok(self.sandboxes.get(&Caller::Admin, id.parse()?)?)
    }
}

/// Splits the sandboxes' state from the MCP sessions.
fn split(mut left: UpgradePayload) -> (Option<UpgradePayload>, Value) {
    let sessions = left.note.get_mut(SESSIONS).map(Value::take).unwrap_or_default();
    left.note = left.note.get_mut(SANDBOXES).map(Value::take).unwrap_or_default();
    let is_empty = left.note.is_null() && left.descriptors.is_empty();
    ((!is_empty).then_some(left), sessions)
}

fn object(text: &str) -> Result<Map<String, Value>, ActionError> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(text).map_err(|error| ActionError::Invalid(format!("the body is not a JSON object: {error}")))
}

/// The arguments of a request to this sandbox. An argument that is `null` is left out.
fn within(id: String, mut arguments: Map<String, Value>) -> Map<String, Value> {
    arguments.retain(|_, value| !value.is_null());
    arguments.entry("sandbox_id").or_insert(Value::String(id));
    arguments
}

fn value(result: &impl Serialize) -> Result<Value, ActionError> {
    serde_json::to_value(result).map_err(|error| {
        let (field, reason) = ("result".to_owned(), format!("it cannot be written as JSON: {error}"));
        ActionError::Sandbox(ToolError::Argument { field, reason })
    })
}
