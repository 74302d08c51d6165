//! Sandboxes for agents: an MCP server over standard input and output (`stdio.rs`) and over HTTP (`http/`), on the official
//! SDK's protocol machinery and `hearth-sandbox`.
//!
//! | to understand | read |
//! |---|---|
//! | what agents can do | `tools/`, `resources.rs` |
//! | what they are told | `output.rs`, `view.rs`, `error.rs`, `progress.rs` |
//! | what they may say | `arguments.rs`, `schema.rs` |
//! | whose sandboxes are whose | `session.rs` |
//! | the same for the operator | `operator.rs` |
//! | what the official conformance suite is served | `conformance.rs` |
//! | how messages come and go | `server.rs`, `stdio.rs`, `http/` |
#![forbid(unsafe_code)]

mod arguments;
mod conformance;
mod error;
mod http;
mod links;
mod operator;
mod output;
mod progress;
mod resources;
mod schema;
mod server;
mod session;
mod shown;
mod stdio;
mod tools;
mod view;

pub use error::ToolError;
pub use http::{FrontConfig, McpListener, Served};
pub use operator::Operator;
pub use output::RunResult;
pub use stdio::serve_stdio;
pub use view::{FileView, JobView, SandboxView};
