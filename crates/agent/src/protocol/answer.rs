//! All that the agent says.

use std::fmt;
use std::time::Duration;

use super::exec::{End, Language, Stream};
use super::file::Entry;
use super::passage::{Outward, PassageId};
use super::request::CallId;
use super::wire::{Blob, wire_enum, wire_struct, wire_tags};

wire_enum! {
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Answer, "answer" {
        /// The agent's version, and the languages whose interpreters it found.
        0 => Hello { version: u16, nonce: u64, languages: Vec<Language> },
        1 => Pong { id: CallId },
        10 => Output { id: CallId, stream: Stream, bytes: Blob },
        /// So many bytes of input have reached the program, or are of no use to it any more.
        11 => Taken { id: CallId, bytes: u32 },
        /// The last word on an exec.
        12 => Exit { id: CallId, end: End, timed_out: bool, truncated: bool, duration: Duration },
        /// So many bytes of a stream are left out between what came of it and what comes now: the last of it, just before `Exit`.
        13 => Omitted { id: CallId, stream: Stream, bytes: u64 },
        /// The session's interpreter ended with this run, and its variables with it. `Exit` follows.
        14 => SessionLost { id: CallId },
        /// A piece of a file; `end` if there is nothing after it. `size` is that of the whole file now.
        20 => Data { id: CallId, bytes: Blob, end: bool, size: u64 },
        21 => Entries { id: CallId, entries: Vec<Entry>, more: bool },
        22 => Found { id: CallId, entry: Entry },
        30 => Done { id: CallId },
        31 => Failed { id: CallId, failure: Failure },
        40 => Listening { id: CallId, port: u16 },
        41 => Passage { passage: PassageId, word: Outward },
    }
}

wire_struct! {
    /// Why something was not done, for programs and for people.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Failure {
        pub kind: FailureKind,
        pub message: String,
    }
}

wire_tags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FailureKind, "kind of failure" {
        /// No such file, folder or program.
        0 => NotFound,
        /// Not allowed in this sandbox.
        1 => Denied,
        /// The request makes no sense: a folder where a file must be, a name that is none.
        2 => Invalid,
        /// The sandbox is full: disk, processes, memory, open files.
        3 => Full,
        /// The language has no interpreter here. The message lists those that there are.
        4 => NoInterpreter,
        /// The session runs something at this moment.
        5 => Busy,
        /// It was cancelled.
        6 => Cancelled,
        /// Anything else.
        7 => Other,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Answer {
    /// The request that this is about; none for `Hello`, and for what is about a passage.
    pub fn id(&self) -> Option<CallId> {
        match self {
            Self::Hello { .. } | Self::Passage { .. } => None,
            Self::Pong { id }
            | Self::Output { id, .. }
            | Self::Taken { id, .. }
            | Self::Exit { id, .. }
            | Self::Omitted { id, .. }
            | Self::SessionLost { id }
            | Self::Data { id, .. }
            | Self::Entries { id, .. }
            | Self::Found { id, .. }
            | Self::Done { id }
            | Self::Listening { id, .. }
            | Self::Failed { id, .. } => Some(*id),
        }
    }
}
