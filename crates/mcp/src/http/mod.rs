//! Streamable HTTP: one address, `/mcp`, for a session's messages; `/files/TOKEN` for files that go in and out without passing
//! through a model; `/health` for who watches the server.
//!
//! | file | |
//! |---|---|
//! | `listener.rs` | the front at its address, from its beginning to its end |
//! | `front.rs` | which request is what; health |
//! | `door.rs` | token, `Host`, `Origin` |
//! | `table.rs`, `line.rs` | the sessions; one session, its use and its end |
//! | `talk.rs` | a session's messages: `POST`, `GET`, `DELETE` |
//! | `stateless.rs` | messages of the protocol without sessions |
//! | `wire.rs`, `outbox.rs` | between the requests and the protocol's machinery, in and out |
//! | `track.rs` | what is said on one stream, kept for a while |
//! | `events.rs` | a response that goes on: server-sent events |
//! | `transfer.rs` | files behind links |
//! | `heritage.rs` | sessions that go on in the next program |
//! | `reply.rs` | what is answered where it is no message |

mod door;
mod events;
mod front;
mod heritage;
mod line;
mod listener;
mod outbox;
mod reply;
mod stateless;
mod table;
mod talk;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod track;
mod transfer;
mod wire;

pub use front::{FrontConfig, Served};
pub use listener::McpListener;
