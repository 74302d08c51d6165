//! Streamable HTTP: `/mcp` for a session's messages; `/files/TOKEN` for files that are transferred without passing through a
//! model; `/health` for monitoring.
//!
//! | file | |
//! |---|---|
//! | `listener.rs` | the listener: start, handover at an upgrade, stop |
//! | `service.rs` | routing of requests; health |
//! | `auth.rs` | token, `Host`, `Origin` |
//! | `sessions.rs`, `session_conn.rs` | the table of sessions; one session, its activity and its end |
//! | `handlers.rs` | a session's messages: `POST`, `GET`, `DELETE` |
//! | `stateless.rs` | messages of the protocol without sessions |
//! | `transport.rs`, `message_router.rs` | between HTTP requests and the SDK, in and out |
//! | `event_stream.rs` | the messages of one stream, buffered for resumption |
//! | `sse.rs` | a response of server-sent events |
//! | `file_transfer.rs` | file links |
//! | `upgrade.rs` | sessions across an upgrade |
//! | `response.rs` | responses that are no messages |

mod auth;
mod event_stream;
mod file_transfer;
mod handlers;
mod listener;
mod message_router;
mod response;
mod service;
mod session_conn;
mod sessions;
mod sse;
mod stateless;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod transport;
mod upgrade;

pub use listener::McpListener;
pub use service::{McpServiceConfig, ToolSet};
