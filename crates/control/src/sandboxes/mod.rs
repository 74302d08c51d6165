//! Sandboxes as part of a server: kept by control, because they must outlive cells; used by agents over MCP and by the operator
//! over the admin API. Both call the same tools (`hearth-mcp`), so that neither can do what the other cannot.
//!
//! | file | |
//! |---|---|
//! | `action.rs` | what the operator can ask for, as requests of the admin API |
//! | `host.rs` | the sandboxes and the MCP listener, from their beginning to their end; actions carried out |
//! | `isolate.rs` | JavaScript that needs no sandbox, run by a cell |
//! | `numbers.rs` | what is counted, and how they are |

mod action;
mod host;
mod isolate;
mod numbers;

pub use action::SandboxAction;
pub(crate) use host::SandboxHost;
pub use host::{McpPlan, SandboxHostError, SandboxPlan};
pub(crate) use numbers::families;
