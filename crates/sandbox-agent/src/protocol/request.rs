//! Requests of the client.
//!
//! Every request but `Hello` has an id that its client never uses twice on one connection; every
//! reply carries the id, so that a late one is not taken for another's. A new `Hello` resets the
//! agent: everything that runs is killed, and nothing of before is mentioned again.

use std::fmt;

use super::exec::{Exec, Language, Signal};
use super::file::{Missing, Removal};
use super::tunnel_stream::{ToGuest, TunnelConnId};
use super::wire::{Blob, Malformed, WireValue, wire_enum};

/// Both sides must have the same version.
pub const VERSION: u16 = 1;

/// Files, input and output are sent in chunks of at most this many bytes.
pub const CHUNK: usize = 256 << 10;

/// Input of one program that a client may send before `Taken` acknowledges it.
pub const STDIN_WINDOW: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentCallId(pub u64);

impl fmt::Display for AgentCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl WireValue for AgentCallId {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        u64::take(from).map(Self)
    }
}

wire_enum! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum AgentRequest, "request" {
        /// The first of a connection. Answered by `Hello` with the same `nonce`; all replies before
        /// that belong to an earlier client.
        0 => Hello { version: u16, nonce: u64 },
        /// Answered by `Pong`.
        1 => Ping { id: AgentCallId },
        /// Starts the interpreters of these languages ahead of their first use. `Done` when all are
        /// ready.
        2 => Warm { id: AgentCallId, languages: Vec<Language> },
        /// Answered by any number of `Output` and `Taken`, then one `Exit`, or by `Failed` if it could not be started.
        10 => Exec { id: AgentCallId, exec: Exec },
        /// Input for a program that was started with `Stdin::Open`. Not answered but by `Taken`.
        11 => Stdin { id: AgentCallId, bytes: Blob },
        12 => CloseStdin { id: AgentCallId },
        /// To the program and its process group. Not answered.
        13 => Signal { id: AgentCallId, signal: Signal },
        /// Kills the program's process tree, its `Exit` follows; a session's run is interrupted
        /// first, so that the session may go on; ends a `Write`, whose `Failed` follows. Not
        /// answered otherwise.
        14 => Cancel { id: AgentCallId },
        /// Ends the interpreter that keeps a session's variables. `Done`, also if there was none.
        15 => EndSession { id: AgentCallId, language: Language, session: String },
        /// At most `limit` and at most `CHUNK` bytes. Answered by `Data`.
        20 => Read { id: AgentCallId, path: String, offset: u64, limit: u32 },
        /// Begins a file that replaces `path` atomically when it is complete. `Chunk`s and a
        /// `Finish` follow, which brings `Done`. After a `Failed` what follows under this id is
        /// ignored.
        21 => Write { id: AgentCallId, path: String, mode: Option<u32>, missing: Missing },
        22 => Chunk { id: AgentCallId, bytes: Blob },
        23 => Finish { id: AgentCallId },
        /// Sorted by name, from the first after `after`, at most `limit`. Answered by `Entries`.
        24 => List { id: AgentCallId, path: String, after: Option<String>, limit: u32 },
        /// Answered by `Found`.
        25 => Stat { id: AgentCallId, path: String },
        26 => Remove { id: AgentCallId, path: String, removal: Removal },
        27 => Mkdir { id: AgentCallId, path: String, missing: Missing },
        /// Replaces what is at `to`.
        28 => Rename { id: AgentCallId, from: String, to: String },
        /// For a restored snapshot: reseeds the random numbers of the kernel and of interpreters.
        30 => Reseed { id: AgentCallId, seed: Blob },
        /// For a restored snapshot: the time since 1970.
        31 => SetClock { id: AgentCallId, now: std::time::Duration },
        /// Has the agent listen on that port of the loopback, or on any where it is 0. Answered by
        /// `Listening`; connections come as `Tunnel` messages. Once.
        40 => Listen { id: AgentCallId, port: u16 },
        /// Not answered by itself: see `tunnel_stream.rs`.
        41 => Tunnel { conn: TunnelConnId, message: ToGuest },
    }
}
