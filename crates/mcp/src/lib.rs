//! Sandboxes for agents: an MCP server over standard input and output (`stdio.rs`) and over HTTP (`http/`), on the official
//! SDK and `hearth-sandbox`.
//!
//! | to understand | read |
//! |---|---|
//! | the operations, for agents and the admin API | `sandbox_service/` |
//! | the tools and resources that agents are offered | `tools/`, `resources.rs` |
//! | results and errors | `output.rs`, `rich_output.rs`, `dto.rs`, `error.rs`, `progress.rs` |
//! | arguments and their schemas | `arguments.rs`, `schema.rs` |
//! | the ownership of sandboxes | `session.rs` |
//! | the tools for the official conformance suite | `conformance.rs` |
//! | requests and transports | `server.rs`, `stdio.rs`, `http/` |
#![forbid(unsafe_code)]

mod arguments;
mod conformance;
mod dto;
mod error;
mod http;
mod link_base;
mod output;
mod progress;
mod resources;
mod rich_output;
mod sandbox_service;
mod schema;
mod server;
mod session;
mod stdio;
mod tools;

pub use arguments::parse_arguments;
pub use dto::{FileView, JobView, SandboxView};
pub use error::ToolError;
pub use http::{McpListener, McpServiceConfig, ToolSet};
pub use output::{CodeResult, RunResult};
pub use progress::Progress;
pub use sandbox_service::*;
pub use stdio::serve_stdio;
