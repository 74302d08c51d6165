//! What a draining server does with connections that have no request. Control says it to a cell, the cell to its HTTP front.

use serde::{Deserialize, Serialize};

/// What becomes of connections without a request when a server drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdleConnections {
    /// They are closed at once: no other process will serve them.
    Close,
    /// Each serves one more request, which may be on its way already, and is closed with the response: another process
    /// serves what comes after that.
    ServeOneMore,
}
