//! What a tool is, and how one is found and called.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use hearth_sandbox::Sandbox;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{files, jobs, run, sandboxes};
use crate::arguments;
use crate::error::ToolError;
use crate::progress::Progress;
use crate::schema;
use crate::session::Session;
use crate::shown::Image;

/// One call of a tool.
pub(crate) struct Call {
    pub(crate) session: Arc<Session>,
    pub(crate) arguments: Option<JsonObject>,
    pub(crate) progress: Progress,
    /// Told when nobody wants the answer any more.
    pub(crate) cancelled: CancellationToken,
}

/// What a tool gives: for programs, and the same for who reads text.
pub(crate) struct Done {
    pub(crate) structured: Value,
    pub(crate) text: String,
    pub(crate) images: Vec<Image>,
}

/// There is no tool of this name.
#[derive(Debug, thiserror::Error)]
#[error("there is no tool {name:?}; there are {known}")]
pub(crate) struct NoTool {
    name: String,
    known: String,
}

/// What a tool does to the world, for clients that ask people before they let an agent do it.
#[derive(Clone, Copy)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// Something is there afterwards that was not before, at each call.
    Adds,
    /// The second time the same call changes nothing more.
    Sets,
    /// Something is gone afterwards.
    Removes,
    /// Whatever the code does that it is given.
    Runs,
}

/// Whom a tool can be offered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// Somebody who serves files by links.
    Links,
}

type Answer = Pin<Box<dyn Future<Output = Result<Done, ToolError>> + Send>>;

pub(super) struct Entry {
    tool: Tool,
    needs: Needs,
    run: Box<dyn Fn(Call) -> Answer + Send + Sync>,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    [sandboxes::entries(), run::entries(), files::entries(), jobs::entries()].into_iter().flatten().collect()
});

pub(crate) fn list(session: &Session) -> Vec<Tool> {
    ENTRIES.iter().filter(|entry| entry.is_for(session)).map(|entry| entry.tool.clone()).collect()
}

/// Carries it out, unless it is cancelled or the session ends before.
pub(crate) async fn call(name: &str, call: Call) -> Result<Result<Done, ToolError>, NoTool> {
    let Some(entry) = ENTRIES.iter().find(|entry| entry.tool.name == name && entry.is_for(&call.session)) else {
        let known = list(&call.session).into_iter().map(|tool| tool.name.into_owned()).collect::<Vec<_>>().join(", ");
        return Err(NoTool { name: name.to_owned(), known });
    };
    let (cancelled, ending) = (call.cancelled.clone(), call.session.ending());
    // Dropping what is being done ends it.
    Ok(tokio::select! {
        biased;
        () = cancelled.cancelled() => Err(ToolError::Cancelled),
        () = ending.cancelled() => Err(ToolError::Cancelled),
        done = (entry.run)(call) => done,
    })
}

// === impl Call ===

impl Call {
    /// The sandbox of this id, if it is the session's.
    pub(super) fn sandbox(&self, id: &str) -> Result<Arc<Sandbox>, ToolError> {
        Ok(self.session.sandboxes().get(&self.session.caller(), id.parse()?)?)
    }
}

// === impl Entry ===

impl Entry {
    /// A tool that is carried out by `run`; what it takes is in the types. What it gives has no published
    /// schema: every client would read that of every tool before its first call.
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
        F: Future<Output = Result<Given<R>, ToolError>> + Send + 'static,
    {
        let tool =
            Tool::new(name, description, schema::input::<A>()).with_title(title).with_annotations(effect.annotations());
        let run = move |mut call: Call| -> Answer {
            Box::pin(async move {
                let arguments = arguments::read::<A>(call.arguments.take())?;
                run(call, arguments).await?.done()
            })
        };
        Self { tool, needs: Needs::Nothing, run: Box::new(run) }
    }

    pub(super) fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    fn is_for(&self, session: &Session) -> bool {
        self.needs == Needs::Nothing || session.links().is_some()
    }
}

/// A result, and how it is told; without words of its own, as JSON.
pub(super) struct Given<R> {
    result: R,
    text: Option<String>,
    images: Vec<Image>,
}

impl<R: Serialize> Given<R> {
    pub(super) fn told(result: R, text: String) -> Self {
        Self { result, text: Some(text), images: Vec::new() }
    }

    pub(super) fn with_images(mut self, images: Vec<Image>) -> Self {
        self.images = images;
        self
    }

    fn done(self) -> Result<Done, ToolError> {
        let structured = serde_json::to_value(&self.result)
            .map_err(|error| ToolError::argument("result", format!("it cannot be written as JSON: {error}")))?;
        let text = self.text.unwrap_or_else(|| structured.to_string());
        Ok(Done { structured, text, images: self.images })
    }
}

impl<R> From<R> for Given<R> {
    fn from(result: R) -> Self {
        Self { result, text: None, images: Vec::new() }
    }
}

// === impl Effect ===

impl Effect {
    /// Only what differs from what the protocol takes for granted: the list is to be short.
    fn annotations(self) -> ToolAnnotations {
        let hints = ToolAnnotations::new();
        match self {
            Self::Reads => hints.read_only(true).open_world(false),
            Self::Adds => hints.destructive(false).open_world(false),
            Self::Sets => hints.idempotent(true).open_world(false),
            Self::Removes => hints.destructive(true).idempotent(true).open_world(false),
            // Anything, which is what a client takes for granted.
            Self::Runs => hints,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    /// Every client's model reads the list before it does anything.
    const LONGEST_LIST: usize = 12_000;

    use super::*;

    /// What a tool's published schema says, but for its texts.
    fn takes(name: &str) -> Value {
        let entry = ENTRIES.iter().find(|entry| entry.tool.name == name).unwrap();
        let mut schema = Value::Object(entry.tool.input_schema.as_ref().clone());
        for property in schema["properties"].as_object_mut().unwrap().values_mut() {
            assert!(property.as_object_mut().unwrap().remove("description").is_some(), "{property} is explained");
        }
        schema
    }

    #[test]
    fn the_list_of_tools_is_short() {
        let tools: Vec<&Tool> = ENTRIES.iter().map(|entry| &entry.tool).collect();
        let length = serde_json::to_string(&tools).unwrap().len();
        assert!(length < LONGEST_LIST, "{length} bytes");
    }

    #[test]
    fn a_line_that_is_waited_for_and_one_that_is_not_take_the_same() {
        let wanted = json!({
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
        assert_eq!(takes("run_command"), wanted);
        assert_eq!(takes("start_job"), wanted);
    }
}
