//! All that a client asks of the agent.
//!
//! Every request but `Hello` has an id that its client never uses twice on one connection; whatever is said about it
//! carries the id, so that a late answer reaches nobody else. A new `Hello` begins anew: what ran is killed, and nothing
//! of before is spoken of again.

use std::fmt;

use super::exec::{Exec, Language, Signal};
use super::file::{Missing, Removal};
use super::passage::{Inward, PassageId};
use super::wire::{Blob, Malformed, Wire, wire_enum};

/// Both sides must have the same.
pub const VERSION: u16 = 1;

/// Files, input and output travel in pieces of at most this many bytes.
pub const CHUNK: usize = 256 << 10;

/// How much input of one program a client may have sent that `Answer::Taken` has not told of yet.
pub const STDIN_WINDOW: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Wire for CallId {
    fn put(&self, to: &mut Vec<u8>) {
        self.0.put(to);
    }
    fn take(from: &mut &[u8]) -> Result<Self, Malformed> {
        u64::take(from).map(Self)
    }
}

wire_enum! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Request, "request" {
        /// The first of a connection. Answered by `Answer::Hello` with the same `nonce`; all that came before that answer
        /// belongs to somebody else.
        0 => Hello { version: u16, nonce: u64 },
        /// Answered by `Pong`.
        1 => Ping { id: CallId },
        /// Starts the interpreters of these languages ahead of their first use. `Done` when all wait for work.
        2 => Warm { id: CallId, languages: Vec<Language> },
        /// Answered by any number of `Output` and `Taken`, then one `Exit`, or by `Failed` if it could not be started.
        10 => Exec { id: CallId, exec: Exec },
        /// Input for a program that was started with `Stdin::Open`. Not answered but by `Taken`.
        11 => Stdin { id: CallId, bytes: Blob },
        12 => CloseStdin { id: CallId },
        /// To the program and its process group. Not answered.
        13 => Signal { id: CallId, signal: Signal },
        /// Kills the program's process tree, its `Exit` follows; what a session runs is interrupted first, so that the
        /// session may go on; ends a `Write`, whose `Failed` follows. Not answered otherwise.
        14 => Cancel { id: CallId },
        /// Ends the interpreter that keeps a session's variables. `Done`, also if there was none.
        15 => EndSession { id: CallId, language: Language, session: String },
        /// At most `limit` and at most `CHUNK` bytes. Answered by `Data`.
        20 => Read { id: CallId, path: String, offset: u64, limit: u32 },
        /// Begins a file that takes the place of `path` at once when it is whole. `Chunk`s and a `Finish` follow, which
        /// brings `Done`. After a `Failed` what follows under this id is ignored.
        21 => Write { id: CallId, path: String, mode: Option<u32>, missing: Missing },
        22 => Chunk { id: CallId, bytes: Blob },
        23 => Finish { id: CallId },
        /// Sorted by name, from the first after `after`, at most `limit`. Answered by `Entries`.
        24 => List { id: CallId, path: String, after: Option<String>, limit: u32 },
        /// Answered by `Found`.
        25 => Stat { id: CallId, path: String },
        26 => Remove { id: CallId, path: String, removal: Removal },
        27 => Mkdir { id: CallId, path: String, missing: Missing },
        /// Takes the place of what is at `to`.
        28 => Rename { id: CallId, from: String, to: String },
        /// For what was restored from a snapshot: random numbers begin anew, and interpreters that hold some.
        30 => Reseed { id: CallId, seed: Blob },
        /// For what was restored from a snapshot: the time since 1970.
        31 => SetClock { id: CallId, now: std::time::Duration },
        /// Has the agent listen on that port of the loopback, or on any where it is 0. Answered by `Listening`; connections come as
        /// passages. Once.
        40 => Listen { id: CallId, port: u16 },
        /// Not answered by itself: see `passage.rs`.
        41 => Passage { passage: PassageId, word: Inward },
    }
}
