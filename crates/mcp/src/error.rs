//! Why a tool did not do what it was asked. The code does not change between versions: programs look at the code, agents read
//! the text, and can do better with it.

use hearth_sandbox::SandboxError;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("{field}: {reason}")]
    Argument { field: String, reason: String },
    /// Nobody waits for the answer any more.
    #[error("it was cancelled")]
    Cancelled,
}

impl ToolError {
    pub(crate) fn argument(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Argument { field: field.into(), reason: reason.into() }
    }

    pub fn code(&self) -> &'static str {
        match self {
            Self::Sandbox(error) => error.code().as_str(),
            Self::Argument { .. } => "invalid_argument",
            Self::Cancelled => "cancelled",
        }
    }

    /// The same with the names that a tool's arguments have, where the sandboxes' own names for them differ.
    pub(crate) fn renamed(self, names: &[(&str, &str)]) -> Self {
        match self {
            Self::Sandbox(SandboxError::InvalidArgument { field, reason }) => {
                let name = names.iter().find(|(own, _)| *own == field).map_or(field, |(_, name)| name);
                Self::argument(name, reason)
            }
            other => other,
        }
    }

    /// An answer that says so, for agents and for programs.
    pub(crate) fn into_result(self) -> CallToolResult {
        let (code, message) = (self.code(), self.to_string());
        let mut result = CallToolResult::error(vec![ContentBlock::text(format!("{code}: {message}"))]);
        result.structured_content = Some(json!({ "error": { "code": code, "message": message } }));
        result
    }
}
