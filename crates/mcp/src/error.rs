//! Errors of sandbox operations. Codes are stable between versions: programs match on the code, agents read the text, which
//! says what to do.

use hearth_sandbox::SandboxError;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("{field}: {reason}")]
    Argument { field: String, reason: String },
    /// The client cancelled the request, or its session ended.
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

    /// Replaces the field names of `hearth-sandbox` by the names of the tool's arguments, where they differ.
    pub(crate) fn renamed(self, names: &[(&str, &str)]) -> Self {
        match self {
            Self::Sandbox(SandboxError::InvalidArgument { field, reason }) => {
                let name = names.iter().find(|(own, _)| *own == field).map_or(field, |(_, name)| name);
                Self::argument(name, reason)
            }
            other => other,
        }
    }

    /// The tool result that reports the error, for agents and for programs.
    pub(crate) fn into_result(self) -> CallToolResult {
        let (code, message) = (self.code(), self.to_string());
        let mut result = CallToolResult::error(vec![ContentBlock::text(format!("{code}: {message}"))]);
        result.structured_content = Some(json!({ "error": { "code": code, "message": message } }));
        result
    }
}
