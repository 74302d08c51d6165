//! The sandboxes of a server and the MCP listener before them, from their beginning to their end.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hearth_mcp::{FrontConfig, McpListener, Operator, ToolError};
use hearth_sandbox::{Bequest, Caller, SandboxError, Sandboxes, SandboxesConfig, WriteFile};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::action::{Reach, SandboxAction};
use super::isolate::CellIsolates;
use super::numbers;
use crate::cells::Cells;
use crate::control::{ActionError, Answer};

/// In the note to the next program.
const SANDBOXES: &str = "sandboxes";
const SESSIONS: &str = "sessions";

/// What the operator wants.
pub struct SandboxPlan {
    pub sandboxes: SandboxesConfig,
    pub mcp: Option<McpPlan>,
}

pub struct McpPlan {
    pub listener: TcpListener,
    pub front: FrontConfig,
}

pub(crate) struct SandboxHost {
    sandboxes: Sandboxes,
    operator: Operator,
    mcp: Mutex<Option<McpListener>>,
}

/// Why a server has no sandboxes that should have some.
#[derive(Debug, thiserror::Error)]
pub enum SandboxHostError {
    #[error(transparent)]
    Sandboxes(#[from] SandboxError),
    #[error("the MCP listener cannot be used: {0}")]
    Listener(#[source] std::io::Error),
}

impl SandboxHost {
    /// What is to run in an isolate is run by one of the cells. `left` is what [`hand_over`](Self::hand_over) gave in the
    /// program before.
    pub(crate) async fn start(plan: SandboxPlan, cells: Cells, left: Bequest) -> Result<Self, SandboxHostError> {
        let SandboxPlan { mut sandboxes, mcp } = plan;
        sandboxes.isolates = Some(Arc::new(CellIsolates::new(cells)));
        let sandboxes = Sandboxes::new(sandboxes);
        sandboxes.start().await?;
        let (left, sessions) = apart(left);
        if let Some(left) = left {
            sandboxes.take_over(left);
        }
        let start = |McpPlan { listener, front }| McpListener::resume(listener, front, sandboxes.clone(), sessions);
        let mcp = mcp.map(start).transpose().map_err(SandboxHostError::Listener)?;
        Ok(Self { operator: Operator::new(sandboxes.clone()), sandboxes, mcp: Mutex::new(mcp) })
    }

    pub(crate) fn sandboxes(&self) -> &Sandboxes {
        &self.sandboxes
    }

    /// Where agents come.
    pub(crate) async fn address(&self) -> Option<SocketAddr> {
        self.mcp.lock().await.as_ref().map(McpListener::address)
    }

    pub(crate) fn health(&self) -> Value {
        numbers::health(&self.sandboxes)
    }

    /// Ready when nothing is left of any sandbox.
    pub(crate) async fn stop(&self) {
        if let Some(mcp) = self.mcp.lock().await.take() {
            mcp.stop().await;
        }
        self.sandboxes.shutdown().await;
    }

    /// All that can go on in the program that takes our place. Calls under way have `patience`.
    pub(crate) async fn hand_over(&self, patience: Duration) -> Bequest {
        let deadline = Instant::now() + patience;
        self.sandboxes.hurry();
        let sessions = match self.mcp.lock().await.take() {
            Some(mcp) => mcp.leave().await,
            None => Value::Null,
        };
        let mut left = self.sandboxes.hand_over(deadline.saturating_duration_since(Instant::now())).await;
        left.note = json!({ SANDBOXES: left.note, SESSIONS: sessions });
        left
    }

    pub(crate) async fn carry_out(&self, action: SandboxAction) -> Result<Answer, ActionError> {
        let one = |id: String| Map::from_iter([("sandbox_id".to_owned(), json!(id))]);
        let with = |id: String, more: Value| {
            let mut arguments = one(id);
            if let Value::Object(more) = more {
                arguments.extend(more.into_iter().filter(|(_, value)| !value.is_null()));
            }
            arguments
        };
        let (tool, arguments) = match action {
            SandboxAction::Stats => return Ok(Answer::Json(numbers::stats(&self.sandboxes))),
            SandboxAction::ReadFile { id, path } => {
                return Ok(Answer::File(self.sandbox(&id)?.read_file(&path).await.map_err(ToolError::from)?));
            }
            SandboxAction::WriteFile { .. } => {
                return Err(ActionError::Invalid("the file's content is missing".into()));
            }
            SandboxAction::Create { arguments } => {
                let made = self.operator.call("create_sandbox", object(&arguments)?).await?;
                return Ok(Answer::Created(made));
            }
            SandboxAction::StartJob { id, arguments } => {
                let arguments = with(id, Value::Object(object(&arguments)?));
                return Ok(Answer::Created(self.operator.call("start_job", arguments).await?));
            }
            SandboxAction::List => ("list_sandboxes", Map::new()),
            SandboxAction::Show { id } => ("get_sandbox", one(id)),
            SandboxAction::Destroy { id } => ("destroy_sandbox", one(id)),
            SandboxAction::Exec { id, arguments } => {
                let arguments = object(&arguments)?;
                let tool = if arguments.contains_key("code") { "execute_code" } else { "run_command" };
                (tool, with(id, Value::Object(arguments)))
            }
            SandboxAction::Files { id, path, cursor } => {
                ("list_directory", with(id, json!({ "path": path, "cursor": cursor })))
            }
            SandboxAction::DeleteFile { id, path, reach } => {
                ("delete_file", with(id, json!({ "path": path, "recursive": reach == Reach::Tree })))
            }
            SandboxAction::Jobs { id } => ("list_jobs", one(id)),
            SandboxAction::PollJob { id, job, wait_ms } => (
                "poll_job",
                with(id, json!({ "job_id": job, "wait_ms": wait_ms, "stdout_offset": 0, "stderr_offset": 0 })),
            ),
            SandboxAction::SignalJob { id, job, signal } => {
                ("signal_job", with(id, json!({ "job_id": job, "signal": signal })))
            }
        };
        Ok(Answer::Json(self.operator.call(tool, arguments).await?))
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

/// What was left, and the sessions that came with it.
fn apart(mut left: Bequest) -> (Option<Bequest>, Value) {
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
