//! Connections that a sandbox's programs make to the proxy outside, carried in the agent's stream: for sandboxes that nothing
//! else leads out of. The agent listens inside (`Request::Listen`); each connection is a passage with an id.
//!
//! ```text
//! agent:   Opened, then Data, End and Taken in any order, then Gone
//! client:  Data, End and Taken in any order, then perhaps Close
//! ```
//! `Gone` always comes, once, and is the last word: only then is the passage no more. What the client still says of it is
//! passed over.
//!
//! Neither side has more than [`PASSAGE_WINDOW`] bytes of a passage under way that the other has not told as `Taken`, and there
//! are never more than [`PASSAGES`]. So who does not read holds up its own passage and nothing else, and memory is bounded. A
//! client can rely on none of it, and checks.

use super::wire::{Blob, Malformed, Wire, wire_enum};

/// Passages at once. Who connects when there are so many waits.
pub const PASSAGES: usize = 64;

/// Bytes of one passage and direction that may be under way.
pub const PASSAGE_WINDOW: usize = 128 << 10;

/// Given out by the agent, in rising order, never twice on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PassageId(pub u32);

impl Wire for PassageId {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        u32::take(from).map(Self)
    }
}

wire_enum! {
    /// What the client says of a passage.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Inward, "word to a passage" {
        /// For the program.
        0 => Data { bytes: Blob },
        /// Nothing follows for the program.
        1 => End {},
        /// So many bytes of the program's were taken.
        2 => Taken { bytes: u32 },
        /// Nothing more is wanted of the program. What was sent to it still reaches it.
        3 => Close {},
    }
}

wire_enum! {
    /// What the agent says of a passage.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Outward, "word of a passage" {
        0 => Opened {},
        /// From the program; never empty.
        1 => Data { bytes: Blob },
        /// Nothing follows from the program.
        2 => End {},
        /// So many bytes have reached the program.
        3 => Taken { bytes: u32 },
        4 => Gone {},
    }
}
