//! Connections that a sandbox's programs make to the proxy outside, carried in the agent's stream:
//! for sandboxes without another way out. The agent listens inside (`Listen`); each connection has
//! an id.
//!
//! ```text
//! agent:   Opened, then Data, End and Taken in any order, then Gone
//! client:  Data, End and Taken in any order, then perhaps Close
//! ```
//! `Gone` always comes, once, as the last message: only then does the connection end. What the
//! client still sends about it is ignored.
//!
//! Neither side has more than [`TUNNEL_WINDOW`] bytes of a connection under way that the other has
//! not acknowledged with `Taken`, and there are never more than [`MAX_TUNNEL_CONNS`] connections.
//! So a reader that does not read holds up its own connection only, and memory is bounded. A client
//! must not rely on it, and checks.

use super::wire::{Blob, Malformed, WireValue, wire_enum};

/// Connections at once. Further ones wait.
pub const MAX_TUNNEL_CONNS: usize = 64;

/// Bytes of one connection and direction that may be under way.
pub const TUNNEL_WINDOW: usize = 128 << 10;

/// Assigned by the agent, in rising order, never twice on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TunnelConnId(pub u32);

impl WireValue for TunnelConnId {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        u32::take(from).map(Self)
    }
}

wire_enum! {
    /// A client's message about a connection.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum ToGuest, "message to a tunnel connection" {
        /// For the program.
        0 => Data { bytes: Blob },
        /// Nothing follows for the program.
        1 => End {},
        /// So many bytes of the program's were taken.
        2 => Taken { bytes: u32 },
        /// The client wants nothing more of the program. What was sent to it still reaches it.
        3 => Close {},
    }
}

wire_enum! {
    /// The agent's message about a connection.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum FromGuest, "message of a tunnel connection" {
        0 => Opened {},
        /// From the program; never empty.
        1 => Data { bytes: Blob },
        /// Nothing follows from the program.
        2 => End {},
        /// The program has received so many bytes.
        3 => Taken { bytes: u32 },
        4 => Gone {},
    }
}
