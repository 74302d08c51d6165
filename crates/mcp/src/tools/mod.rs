//! The MCP tools. Each is a published schema and a description over one operation of [`SandboxService`].
//!
//! | file | |
//! |---|---|
//! | `tool.rs` | what a tool is, and how it is found and called |
//! | `definitions.rs` | the tools, by name |
//!
//! [`SandboxService`]: crate::sandbox_service::SandboxService

mod definitions;
mod tool;

pub(crate) use tool::{Call, ToolResult, call, list};
