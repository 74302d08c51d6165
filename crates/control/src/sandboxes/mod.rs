//! Sandboxes as part of a server. Control holds them, since they must outlive cells. Agents use them over MCP and operators
//! over the admin API; both call the same tools (`hearth-mcp`), so they can do the same.
//!
//! | file | |
//! |---|---|
//! | `action.rs` | sandbox actions of the admin API |
//! | `host.rs` | lifecycle of the sandboxes and of the MCP listener; execution of actions |
//! | `isolate.rs` | JavaScript that a cell runs instead of a sandbox |
//! | `stats.rs` | metrics and health |

mod action;
mod host;
mod isolate;
mod stats;

pub use action::SandboxAction;
pub(crate) use host::SandboxHost;
pub use host::{McpPlan, SandboxHostError, SandboxPlan};
pub(crate) use stats::families;
