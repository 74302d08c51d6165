//! What a tool is, and how it is found and called.

use std::pin::Pin;
use std::sync::LazyLock;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::definitions;
use crate::arguments::parse_arguments;
use crate::error::ToolError;
use crate::progress::Progress;
use crate::rich_output::Image;
use crate::sandbox_service::SandboxService;
use crate::schema;
use crate::session::Session;

/// One call of a tool.
pub(crate) struct Call {
    pub(crate) service: SandboxService,
    pub(crate) arguments: Option<JsonObject>,
    pub(crate) progress: Progress,
    /// Cancelled when the client cancels the request or disconnects.
    pub(crate) cancelled: CancellationToken,
}

/// What a tool returns: JSON for programs, and the same as text for models.
pub(crate) struct ToolResult {
    pub(crate) structured: Value,
    pub(crate) text: String,
    pub(crate) images: Vec<Image>,
}

/// There is no tool of this name.
#[derive(Debug, thiserror::Error)]
#[error("there is no tool {name:?}; there are {known}")]
pub(crate) struct UnknownTool {
    name: String,
    known: String,
}

/// The effect of a tool, for clients that ask the user before an agent calls it.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// Changes nothing.
    Reads,
    /// Creates something new at each call.
    Adds,
    /// Idempotent: the same call again changes nothing more.
    Sets,
    /// Destroys something.
    Removes,
    /// Any effect: it runs code.
    Runs,
}

/// What a session must have for the tool to be offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Requirement {
    Nothing,
    /// An HTTP server that serves file links.
    FileLinks,
}

type ToolFuture = Pin<Box<dyn Future<Output = Result<ToolResult, ToolError>> + Send>>;

pub(super) struct ToolDef {
    tool: Tool,
    requirement: Requirement,
    run: Box<dyn Fn(Call) -> ToolFuture + Send + Sync>,
}

static TOOLS: LazyLock<Vec<ToolDef>> = LazyLock::new(|| {
    [definitions::sandboxes(), definitions::run(), definitions::files(), definitions::jobs()]
        .into_iter()
        .flatten()
        .collect()
});

pub(crate) fn list(session: &Session) -> Vec<Tool> {
    TOOLS.iter().filter(|entry| entry.is_available(session)).map(|entry| entry.tool.clone()).collect()
}

/// Calls the tool. The call ends early if it is cancelled or the session ends.
pub(crate) async fn call(name: &str, call: Call) -> Result<Result<ToolResult, ToolError>, UnknownTool> {
    let session = call.service.session();
    let Some(entry) = TOOLS.iter().find(|entry| entry.tool.name == name && entry.is_available(session)) else {
        let known = list(session).into_iter().map(|tool| tool.name.into_owned()).collect::<Vec<_>>().join(", ");
        return Err(UnknownTool { name: name.to_owned(), known });
    };
    let (cancelled, ending) = (call.cancelled.clone(), session.ending());
    // Dropping the tool's future ends what it does.
    Ok(tokio::select! {
        biased;
        () = cancelled.cancelled() => Err(ToolError::Cancelled),
        () = ending.cancelled() => Err(ToolError::Cancelled),
        done = (entry.run)(call) => done,
    })
}

// === impl ToolDef ===

impl ToolDef {
    /// A tool that `run` carries out. Its input schema is made from the type `A`. Its output has no published schema, since
    /// every client would read that of every tool before its first call.
    pub(super) fn new<A, R, F>(
        name: &'static str,
        title: &'static str,
        description: &'static str,
        effect: Effect,
        run: fn(Call, A) -> F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + 'static,
        F: Future<Output = Result<ToolOutput<R>, ToolError>> + Send + 'static,
    {
        let tool =
            Tool::new(name, description, schema::input::<A>()).with_title(title).with_annotations(effect.annotations());
        let run = move |mut call: Call| -> ToolFuture {
            Box::pin(async move {
                let arguments = parse_arguments::<A>(call.arguments.take().unwrap_or_default())?;
                run(call, arguments).await?.into_result()
            })
        };
        Self { tool, requirement: Requirement::Nothing, run: Box::new(run) }
    }

    pub(super) fn requires(mut self, requirement: Requirement) -> Self {
        self.requirement = requirement;
        self
    }

    fn is_available(&self, session: &Session) -> bool {
        self.requirement == Requirement::Nothing || session.links().is_some()
    }
}

/// A result and its text; without a text, its JSON is the text.
pub(super) struct ToolOutput<R> {
    result: R,
    text: Option<String>,
    images: Vec<Image>,
}

impl<R: Serialize> ToolOutput<R> {
    pub(super) fn with_text(result: R, text: String) -> Self {
        Self { result, text: Some(text), images: Vec::new() }
    }

    pub(super) fn with_images(mut self, images: Vec<Image>) -> Self {
        self.images = images;
        self
    }

    fn into_result(self) -> Result<ToolResult, ToolError> {
        let structured = serde_json::to_value(&self.result)
            .map_err(|error| ToolError::argument("result", format!("it cannot be written as JSON: {error}")))?;
        let text = self.text.unwrap_or_else(|| structured.to_string());
        Ok(ToolResult { structured, text, images: self.images })
    }
}

impl<R> From<R> for ToolOutput<R> {
    fn from(result: R) -> Self {
        Self { result, text: None, images: Vec::new() }
    }
}

// === impl Effect ===

impl Effect {
    /// Only what differs from the protocol's defaults, to keep the list short.
    fn annotations(self) -> ToolAnnotations {
        let hints = ToolAnnotations::new();
        match self {
            Self::Reads => hints.read_only(true).open_world(false),
            Self::Adds => hints.destructive(false).open_world(false),
            Self::Sets => hints.idempotent(true).open_world(false),
            Self::Removes => hints.destructive(true).idempotent(true).open_world(false),
            // Any effect is the protocol's default.
            Self::Runs => hints,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    /// Every client's model reads the whole list first.
    const MAX_LIST_BYTES: usize = 12_000;

    use super::*;

    /// A tool's published schema without its descriptions.
    fn schema_of(name: &str) -> Value {
        let entry = TOOLS.iter().find(|entry| entry.tool.name == name).unwrap();
        let mut schema = Value::Object(entry.tool.input_schema.as_ref().clone());
        for property in schema["properties"].as_object_mut().unwrap().values_mut() {
            assert!(property.as_object_mut().unwrap().remove("description").is_some(), "{property} is explained");
        }
        schema
    }

    #[test]
    fn the_list_of_tools_is_short() {
        let tools: Vec<&Tool> = TOOLS.iter().map(|entry| &entry.tool).collect();
        let length = serde_json::to_string(&tools).unwrap().len();
        assert!(length < MAX_LIST_BYTES, "{length} bytes");
    }

    #[test]
    fn run_command_and_start_job_take_the_same_arguments() {
        let expected = json!({
            "type": "object",
            "properties": {
                "sandbox_id": { "type": "string" },
                "command": { "type": "string", "minLength": 1 },
                "timeout_ms": { "type": "integer", "minimum": 1, "maximum": 3_600_000 },
                "env": { "type": "object", "additionalProperties": { "type": "string" } },
                "cwd": { "type": "string" },
                "stdin": { "type": "string" },
            },
            "required": ["sandbox_id", "command"],
            "additionalProperties": false,
        });
        assert_eq!(schema_of("run_command"), expected);
        assert_eq!(schema_of("start_job"), expected);
    }
}
